"""Copies threads between databases: plans each thread, applies all, reads them back and compares."""

from collections.abc import Iterable, Iterator
from functools import partial

from ckpt_cli.bulk_change import Planned, change_many, refusal_of
from ckpt_cli.copying.thread_copy import missing_records
from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed
from ckpt_cli.model import Plan, Ref
from ckpt_cli.operations.apply import ANY_NS, basis_of
from ckpt_cli.plans import copy as plans
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView


def copy_threads(source: Session, target: Session, thread_ids: Iterable[str], *, skip_refused: bool) -> BulkView:
    """Copy what the target lacks of these threads: plans are shown, confirmed, applied as one operation, and checked.

    Raises:
        Failed: a copied thread isn't in the target what it is in the source.
    """
    known = 0

    def planned() -> Iterator[Planned]:
        nonlocal known
        for thread_id in thread_ids:
            plan = _plan(source, target, thread_id)
            if plan is None:
                known += 1
            else:
                yield thread_id, plan

    view = change_many(
        target, "copy", f"from {source.reader.saver.about().location}", planned(), skip_refused=skip_refused
    )
    if known:
        target.say(f"{known:,} {'thread is' if known == 1 else 'threads are'} there already, whole and the same")
    if view.applied:
        _check(source, target, view)
    return view


def _plan(source: Session, target: Session, thread_id: str) -> Plan | str | None:
    """The plan for one thread, or why it can't be copied; None if nothing of it is missing."""
    reader, saver = source.reader, target.reader.saver

    def make() -> Plan | None:
        basis = basis_of(saver, Ref(thread_id, ANY_NS, ""))
        missing = missing_records(reader, saver, thread_id, _written_as(source, thread_id))
        return plans.plan(thread_id, missing, basis) if missing else None

    try:
        return reader.moment(partial(saver.moment, make))
    except (DatabaseUnreachable, Failed):
        raise
    except CkptError as error:
        return refusal_of(error)


def _written_as(source: Session, thread_id: str) -> RecordFormat:
    """How the records of a thread were written; a bundle has threads of several databases."""
    saver = source.reader.saver
    return saver.origin(thread_id).form if isinstance(saver, BundleSaver) else saver.form


def _check(source: Session, target: Session, view: BulkView) -> None:
    """Read the copied threads back, and compare them with the source."""
    for line in view.threads:
        if line.state != "applied":
            continue
        target.progress(f"{view.command}: checking {line.thread_id}")
        left = _plan(source, target, line.thread_id)
        if left is not None:
            why = left if isinstance(left, str) else f"{left.summary} are missing; the source may have gone on"
            what = f"thread {line.thread_id!r} was copied, but isn't what it is in the source: {why}"
            raise Failed(what, hint=f"`{view.undo}` takes the copy back")
    target.progress("")
