"""Copies threads between databases: plans each thread, applies all, reads them back and compares."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from ckpt_cli.bulk_change import Planned, change_many, refusal_of
from ckpt_cli.copying.thread_copy import compare
from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed
from ckpt_cli.model import Record, Ref, Seen
from ckpt_cli.operations.apply import ANY_NS, basis_of
from ckpt_cli.plans import copy as plans
from ckpt_cli.savers.contract import Saver
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView

MustFit = Callable[[Saver, Saver, str], None]
"""Raises `Refused` if a thread of one database may not be added to what another has of it."""


def copy_threads(
    source: Session,
    target: Session,
    thread_ids: Iterable[str],
    *,
    skip_refused: bool,
    verb: str = "copy",
    must_fit: MustFit = lambda *_: None,
) -> BulkView:
    """Copy what the target lacks of these threads: plans are shown, confirmed, applied as one operation, and checked.

    Args:
        source: has the threads.
        target: gets them.
        thread_ids: the threads.
        skip_refused: copy the others if some can't be copied.
        verb: the command, as the log names it.
        must_fit: is asked of each thread before it is compared.

    Raises:
        Failed: a copied thread isn't in the target what it is in the source.
    """
    known, totals = 0, dict[str, int]()

    def planned() -> Iterator[Planned]:
        nonlocal known
        for thread_id in thread_ids:
            found = _compare(source, target, thread_id, must_fit)
            if isinstance(found, str):
                yield thread_id, found
            elif found.missing:
                totals[thread_id] = found.total
                yield thread_id, plans.plan(thread_id, found.missing, found.basis)._replace(verb=verb)
            else:
                known += 1

    about = source.reader.saver.about()
    redacted = ", which is redacted: its threads are not what they were" if "redacted" in about.facts else ""
    summary = f"from {about.location}{redacted}"
    view = change_many(target, verb, summary, planned(), skip_refused=skip_refused)
    if known:
        target.say(f"{known:,} {'thread is' if known == 1 else 'threads are'} there already, whole and the same")
    if view.applied:
        _check(source, target, view, totals)
    return view


class _Found(NamedTuple):
    missing: list[Record]
    total: int
    basis: Seen


def _compare(source: Session, target: Session, thread_id: str, must_fit: MustFit = lambda *_: None) -> _Found | str:
    """What the target lacks of one thread, or why the thread can't be copied."""
    reader, saver = source.reader, target.reader.saver

    def look() -> _Found:
        must_fit(reader.saver, saver, thread_id)
        basis = basis_of(saver, Ref(thread_id, ANY_NS, ""))
        return _Found(*compare(reader, saver, thread_id, reader.saver.form_of(thread_id)), basis)

    try:
        return reader.moment(partial(saver.moment, look))
    except (DatabaseUnreachable, Failed):
        raise
    except CkptError as error:
        return refusal_of(error)


def _check(source: Session, target: Session, view: BulkView, totals: Mapping[str, int]) -> None:
    """Read the copied threads back, and compare them with the source, which may have gone on."""
    for line in view.threads:
        if line.state != "applied":
            continue
        target.progress(f"{view.command}: checking {line.thread_id}")
        found = _compare(source, target, line.thread_id)
        if not isinstance(found, str) and found.missing and found.total > totals[line.thread_id]:
            target.say(f"thread {line.thread_id!r} went on meanwhile; the same command again copies what is new")
        elif isinstance(found, str) or found.missing:
            why = found if isinstance(found, str) else "records that were copied are missing"
            what = f"thread {line.thread_id!r} was copied, but isn't what it is in the source: {why}"
            raise Failed(what, hint=f"`{view.undo}` takes the copy back")
    target.progress("")
