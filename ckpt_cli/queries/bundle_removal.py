"""Takes threads out of their database once a bundle has all their rows: `export --remove`"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from ckpt_cli.bulk_change import Planned, change_many, log_bytes
from ckpt_cli.errors import DatabaseUnreachable, NotFound, NotSupported, Refused
from ckpt_cli.model import Plan, RowChange
from ckpt_cli.operations.bundles import bundled
from ckpt_cli.plans import delete
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.bundle.thread_export import export_thread
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

        def planned() -> Iterator[Planned]:
            for thread_id in thread_ids:
                yield thread_id, session.reader.moment(partial(_plan, session, thread_id, bundle))

        def expand(plan: Plan) -> Iterator[RowChange]:
            return bundled(session.reader.saver.expand(plan), bundle, path, plan.basis[0].ref.thread_id)

        return change_many(session, "export", f"moved to {path}", planned(), skip_refused=skip_refused, expand=expand)


def preview(session: Session, thread_ids: Iterable[str], path: Path, *, skip_refused: bool) -> BulkView:
    """The plan of a removal, for a dry run: nothing is packed, and nothing removed."""

    def planned() -> Iterator[Planned]:
        for thread_id in thread_ids:
            yield thread_id, session.reader.moment(partial(_removal, session, thread_id))

    view = change_many(session, "export", f"moved to {path}", planned(), skip_refused=skip_refused)
    view.log_bytes = log_bytes(0, view.rows)  # the bundle has the images
    return view


def _removal(session: Session, thread_id: str) -> Plan:
    plan = delete.threads(session.reader, [thread_id])
    return plan._replace(verb="export", summary=plan.summary.partition(": ")[2], notes=())


def _plan(session: Session, thread_id: str, bundle: BundleSaver) -> Plan | str:
    """The plan that removes a thread, or why the bundle doesn't have all of it."""
    try:
        added = export_thread(session.reader.saver, thread_id, None, bundle)
        if added.checkpoints or added.writes:
            return "it went on since it was packed"
        place = f"packed in {bundle.about().location}, checksum {bundle.about().facts['checksum']}"
        return _removal(session, thread_id)._replace(details=(place,))
    except DatabaseUnreachable:
        raise
    except (Refused, NotFound, NotSupported) as error:
        return error.reason
