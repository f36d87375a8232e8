"""``ckpt delete --forget``: the threads go from the operation log too, and what ckpt can't reach is named."""

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
    """How the threads were chosen that are to be forgotten.

    Attributes:
        choose: gives their ids, as far as the database has them, and notes about others that may be meant.
        pattern: what ids hold that are meant; None unless ids alone were chosen so. Of threads that were deleted before
            nothing but their ids can be asked for.
        filtered: whether anything but whole ids was said.
        words: match patterns and expressions, which the log must not keep.
    """

    choose: Callable[[Reader], tuple[list[str], list[str]]]
    pattern: str | None
    filtered: bool
    words: Sequence[str]

    def texts(self) -> list[str]:
        """The texts in those words: parts of patterns, and what is quoted in an expression."""
        quoted = (first or second for word in self.words for first, second in _QUOTED.findall(word))
        return [
            *quoted,
            *(part for word in self.words if not _QUOTED.search(word) for part in re.split(r"[*?]+", word)),
        ]


def plan_erasure(session: Session, selection: Selection) -> tuple[Plan, Survey]:
    """The plan that deletes threads, and what the log is wiped of then.

    Raises:
        ThreadNotFound: neither the database nor the log has one of them.
        Refused: the reason that is to be logged names what is to be forgotten, or an operation isn't settled.
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
        plan, found = _plan(reader, session, [*thread_ids], logged, filtered=selection.filtered)
        return plan._replace(notes=(*plan.notes, *notes)), found

    return session.make_plan(plan)


def _plan(
    reader: Reader, session: Session, thread_ids: list[str], logged: Collection[str], *, filtered: bool
) -> tuple[Plan, Survey]:
    there = [thread_id for thread_id in thread_ids if thread_id not in logged]
    gone = [thread_id for thread_id in thread_ids if thread_id in logged]
    plan = plans.threads(reader, there) if there or not gone else Plan("", verb="delete")
    if not there:
        plan = plan._replace(summary=f"of {_some(len(gone), 'thread')}: the database has nothing of it any more")
    found = survey(reader.saver, session.logs.for_writing(), thread_ids)
    if found.planned and not session.options.dry_run:
        what = f"operation {found.planned[0]} was interrupted, or goes on now, and its rows are needed to settle it"
        raise Refused(f"{what}; nothing was written", hint="`ckpt operations --settle` finds out how it ended")
    notes = [*plan.notes, *(f"{thread_id}: only in the operation log" for thread_id in gone[:_LISTED])]
    notes += _wiped(found)
    notes += _copied(reader, session, thread_ids)
    if found.others:
        notes.append(
            "not looked at: other threads' rows and the reasons in the operation log may name the person too;"
            " `ckpt operations N --prune` forgets an operation"
        )
    if filtered and (others := [one for one in logged if one not in thread_ids]):
        what = f"{_some(len(others), 'more thread')} that {'was' if len(others) == 1 else 'were'} deleted before"
        notes.append(f"the operation log has {what}, which only an id finds: {_listed(sorted(others))}")
    notes.append(f"out of reach for ckpt: {reader.saver.out_of_reach}; and LangGraph's store (long-term memory)")
    return plan._replace(notes=tuple(notes)), found


def _wiped(found: Survey) -> Iterator[str]:
    whose, its = ("this thread", "its") if len(found.threads) == 1 else ("these threads", "their")
    yield f"there is no undo: the operation log is wiped of {whose} and {its} tags"
    if found.undoable:
        what = f"operation{'' if len(found.undoable) == 1 else 's'} {spans(found.undoable)}"
        yield f"{what} can't be taken back either, except in other threads"


def _copied(reader: Reader, session: Session, thread_ids: Collection[str]) -> Iterator[str]:
    found = find_copies(reader.saver, session.logs.for_writing(), thread_ids)
    if found.present:
        yield f"copies with the same checkpoints, which stay unless they are named: {_listed(found.present)}"
    if found.logged:
        yield f"deleted copies, which stay in the operation log unless they are named: {_listed(found.logged)}"


def _must_not_tell(reason: str, names: Collection[str]) -> None:
    if leave_out(reason, names) != reason:
        what = "the reason names what is to be forgotten, and the operation log would keep it"
        raise Refused(f"{what}; nothing was written", hint="say it without the name, or leave --reason out")


def _listed(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _some(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
