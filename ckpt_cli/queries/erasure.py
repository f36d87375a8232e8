"""``ckpt delete --forget``: also wipes threads from the operation log, and names what ckpt can't reach."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from ckpt_cli.errors import Refused
from ckpt_cli.history.lineage.finder import spans
from ckpt_cli.model import Plan
from ckpt_cli.operations.copies import find_copies
from ckpt_cli.operations.forget import leave_out
from ckpt_cli.operations.survey import Survey, known_threads, survey
from ckpt_cli.parameters.options import matcher
from ckpt_cli.plans import delete as plans
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session

_LISTED = 20  # threads that a note names
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")


@dataclass(frozen=True, slots=True)
class Selection:
    """How the threads to be forgotten were chosen.

    Attributes:
        choose: gives the ids of those in the database, and notes about others that may be meant.
        pattern: the pattern of ids, if nothing else chose them; else None. Threads that were deleted before can be
            chosen by their ids only.
        filtered: whether there is any condition beside whole ids.
        words: the patterns and expressions, which the log must not keep.
    """

    choose: Callable[[Reader], tuple[list[str], list[str]]]
    pattern: str | None
    filtered: bool
    words: Sequence[str]

    def texts(self) -> list[str]:
        """The texts in `words`: the parts of patterns, and the quoted texts of expressions."""
        quoted = (first or second for word in self.words for first, second in _QUOTED.findall(word))
        return [
            *quoted,
            *(part for word in self.words if not _QUOTED.search(word) for part in re.split(r"[*?]+", word)),
        ]


def plan_erasure(session: Session, selection: Selection) -> tuple[Plan, Survey]:
    """The plan that deletes threads, and what will be wiped from the log.

    Raises:
        ThreadNotFound: a thread is neither in the database nor in the log.
        Refused: the reason to be logged names what is to be forgotten, or an operation isn't settled.
    """
    if not session.options.dry_run:
        session.settle(session.logs.for_writing())

    def plan(reader: Reader) -> tuple[Plan, Survey]:
        logged = {
            one for one in known_threads(reader.saver, session.logs.for_writing()) if reader.saver.thread(one) is None
        }
        chosen, notes = selection.choose(reader)
        thread_ids = dict.fromkeys(chosen)
        if selection.pattern is not None:
            thread_ids |= dict.fromkeys(filter(matcher(selection.pattern), sorted(logged)))
        _must_not_tell(session.options.reason, [*thread_ids, *selection.texts()])
        plan, in_log = _plan(reader, session, [*thread_ids], logged, filtered=selection.filtered)
        return plan._replace(notes=(*plan.notes, *notes)), in_log

    return session.make_plan(plan)


def _plan(
    reader: Reader, session: Session, thread_ids: list[str], logged: Collection[str], *, filtered: bool
) -> tuple[Plan, Survey]:
    stored = [thread_id for thread_id in thread_ids if thread_id not in logged]
    only_logged = [thread_id for thread_id in thread_ids if thread_id in logged]
    plan = plans.threads(reader, stored) if stored or not only_logged else Plan("", verb="delete")
    if not stored:
        plan = plan._replace(summary=f"of {_some(len(only_logged), 'thread')}: the database has nothing of it any more")
    in_log = survey(reader.saver, session.logs.for_writing(), thread_ids)
    if in_log.planned and not session.options.dry_run:
        what = (
            f"operation {in_log.planned[0]} was interrupted, or is still running, and its rows are needed to settle it"
        )
        raise Refused(f"{what}; nothing was written", hint="`ckpt operations --settle` finds out how it ended")
    notes = [*plan.notes, *(f"{thread_id}: only in the operation log" for thread_id in only_logged[:_LISTED])]
    notes += _wiped(in_log)
    notes += _copied(reader, session, thread_ids)
    if in_log.others:
        notes.append(
            "not looked at: other threads' rows and the reasons in the operation log may name the person too;"
            " `ckpt operations N --prune` forgets an operation"
        )
    if filtered and (others := [one for one in logged if one not in thread_ids]):
        what = f"{_some(len(others), 'more thread')} that {'was' if len(others) == 1 else 'were'} deleted before"
        notes.append(f"the operation log has {what}, which only an id finds: {_listed(sorted(others))}")
    notes.append(f"out of reach for ckpt: {reader.saver.out_of_reach}; and LangGraph's store (long-term memory)")
    return plan._replace(notes=tuple(notes)), in_log


def _wiped(in_log: Survey) -> Iterator[str]:
    threads, its = ("this thread", "its") if len(in_log.threads) == 1 else ("these threads", "their")
    yield f"there is no undo: the operation log is wiped of {threads} and {its} tags"
    if in_log.undoable:
        what = f"operation{'' if len(in_log.undoable) == 1 else 's'} {spans(in_log.undoable)}"
        yield f"{what} can't be taken back either, except in other threads"


def _copied(reader: Reader, session: Session, thread_ids: Collection[str]) -> Iterator[str]:
    copied = find_copies(reader.saver, session.logs.for_writing(), thread_ids)
    if copied.present:
        yield f"copies with the same checkpoints, which stay unless they are named: {_listed(copied.present)}"
    if copied.logged:
        yield f"deleted copies, which stay in the operation log unless they are named: {_listed(copied.logged)}"


def _must_not_tell(reason: str, names: Collection[str]) -> None:
    if leave_out(reason, names) != reason:
        what = "the reason names what is to be forgotten, and the operation log would keep it"
        raise Refused(f"{what}; nothing was written", hint="give a reason without the name, or leave --reason out")


def _listed(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
