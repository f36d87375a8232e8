"""Takes threads out of their database once a bundle has all their rows: `export --remove`"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from ckpt_cli.bulk_change import Planned, change_many
from ckpt_cli.errors import DatabaseUnreachable, NotFound, NotSupported, Refused
from ckpt_cli.model import Plan, RowChange
from ckpt_cli.operations.bundles import Packed
from ckpt_cli.plans import delete
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView

Rows = Callable[[], Iterator[RowChange]]


def rows_of(session: Session, thread_id: str) -> Rows:
    """A function that gives the removal of all rows of a thread."""
    saver = session.reader.saver
    return lambda: saver.expand(_removal(session, thread_id))


def remove_packed(session: Session, thread_ids: Iterable[str], path: Path, *, skip_refused: bool) -> BulkView:
    """Remove threads whose records and rows the bundle has, read back and compared, as one operation.

    The bundle is the before-image: the log keeps its path and checksum, and no rows.
    """
    with closing(BundleSaver(path.resolve())) as bundle:
        packed = Packed(session.reader.saver, bundle, path)

        def planned() -> Iterator[Planned]:
            for thread_id in thread_ids:
                yield thread_id, session.reader.moment(partial(_plan, session, thread_id, packed))

        return _changed(session, planned(), packed, skip_refused=skip_refused)


def preview(session: Session, thread_ids: Iterable[str], path: Path, *, skip_refused: bool) -> BulkView:
    """The plan of a removal, for a dry run: nothing is packed, and nothing removed."""

    def planned() -> Iterator[Planned]:
        for thread_id in thread_ids:
            yield thread_id, session.reader.moment(partial(_removal, session, thread_id))

    return _changed(
        session, planned(), Packed(session.reader.saver, None, path, is_preview=True), skip_refused=skip_refused
    )


def _changed(session: Session, planned: Iterable[Planned], packed: Packed, *, skip_refused: bool) -> BulkView:
    summary = f"moved to {packed.path}"
    return change_many(session, "export", summary, planned, skip_refused=skip_refused, expand=packed.expand)


def _removal(session: Session, thread_id: str) -> Plan:
    plan = delete.threads(session.reader, [thread_id])
    return plan._replace(verb="export", summary=plan.summary.partition(": ")[2], notes=())


def _plan(session: Session, thread_id: str, packed: Packed) -> Plan | str:
    """The plan that removes a thread, or why the bundle doesn't have all of it."""
    try:
        if packed.lacks(thread_id):
            return "it went on since it was packed"
        return _removal(session, thread_id)._replace(details=(packed.place,))
    except DatabaseUnreachable:
        raise
    except (Refused, NotFound, NotSupported) as error:
        return error.reason
