"""The plan of ``ckpt delete --forget``: it also wipes the operation log, and names what ckpt can't wipe."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from ckpt_cli.errors import Refused, ThreadNotFound
from ckpt_cli.history.lineage.finder import spans
from ckpt_cli.model import Plan
from ckpt_cli.operations.copies import find_copies
from ckpt_cli.operations.forget import leave_out
from ckpt_cli.operations.survey import Survey, known_threads, survey
from ckpt_cli.parameters.options import matcher
from ckpt_cli.plans import delete as plans
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session

_LISTED = 20  # a note names at most this many threads
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")


@dataclass(frozen=True, slots=True)
class Selection:
    """How the threads to be forgotten were chosen.

    Attributes:
        choose: gives the ids of the chosen threads, and notes about other threads that the person may have meant.
        pattern: the pattern of ids, if the threads were chosen by nothing else; else None. The pattern also chooses
            threads that were deleted before, because the log has their ids.
        has_conditions: whether the threads were chosen by anything other than whole ids.
        words: the patterns and expressions that the person typed; the log must not keep them.
    """

    choose: Callable[[Reader], tuple[list[str], list[str]]]
    pattern: str | None
    has_conditions: bool
    words: Sequence[str]

    def texts(self) -> list[str]:
        """The texts in `words` that may name a person: the parts of patterns, and the quoted texts of expressions."""
        quoted = (first or second for word in self.words for first, second in _QUOTED.findall(word))
        return [
            *quoted,
            *(part for word in self.words if not _QUOTED.search(word) for part in re.split(r"[*?]+", word)),
        ]


def plan_erasure(session: Session, selection: Selection) -> tuple[Plan, Survey]:
    """The plan that deletes threads, and the survey of what will be wiped from the log.

    Raises:
        ThreadNotFound: a thread is neither in the database nor in the log.
        Refused: the reason contains a name that is to be forgotten, or the outcome of an operation is unknown.
    """
    if not session.options.dry_run:
        session.settle(session.logs.for_writing())

    def plan(reader: Reader) -> tuple[Plan, Survey]:
        only_in_log = {
            one for one in known_threads(reader.saver, session.logs.for_writing()) if reader.saver.thread(one) is None
        }
        chosen_ids, notes = selection.choose(reader)
        thread_ids = dict.fromkeys(chosen_ids)
        if selection.pattern is not None:
            thread_ids |= dict.fromkeys(filter(matcher(selection.pattern), sorted(only_in_log)))
        _must_not_name(session.options.reason, [*thread_ids, *selection.texts()])
        plan, in_log = _plan(reader, session, [*thread_ids], only_in_log, has_conditions=selection.has_conditions)
        return plan._replace(notes=(*plan.notes, *notes)), in_log

    try:
        return session.make_plan(plan)
    except ThreadNotFound as error:
        raise _not_in_this_log(error, session) from error


def _not_in_this_log(error: ThreadNotFound, session: Session) -> ThreadNotFound:
    """The error for a thread that is gone and not in this user's log: another user's log may still have its rows."""
    where = f"it isn't in this user's operation log ({session.logs.for_writing().path}) either"
    hint = f"{where}; the log of whoever deleted it may still have it: --forget must be run there"
    return ThreadNotFound(error.message, hint=hint, candidates=error.candidates)


def _plan(
    reader: Reader, session: Session, thread_ids: list[str], only_in_log: Collection[str], *, has_conditions: bool
) -> tuple[Plan, Survey]:
    stored = [thread_id for thread_id in thread_ids if thread_id not in only_in_log]
    only_logged = [thread_id for thread_id in thread_ids if thread_id in only_in_log]
    plan = plans.threads(reader, stored) if stored or not only_logged else Plan("", verb="delete")
    if not stored:
        plan = plan._replace(summary=f"of {_count_text(len(only_logged), 'thread')}: no longer in the database")
    in_log = survey(reader.saver, session.logs.for_writing(), thread_ids)
    if in_log.planned and not session.options.dry_run:
        what = (
            f"operation {in_log.planned[0]} was interrupted, or is still running, and its rows are needed to settle it"
        )
        raise Refused(f"{what}; nothing was written", hint="`ckpt operations --settle` finds out how it ended")
    notes = [*plan.notes, *(f"{thread_id}: only in the operation log" for thread_id in only_logged[:_LISTED])]
    notes += _notes_on_the_log(in_log)
    notes += _notes_on_copies(reader, session, thread_ids)
    if in_log.others:
        notes.append(
            "not searched: the reasons and other threads' rows in the operation log; they may name the same person;"
            " `ckpt operations N --prune` forgets an operation"
        )
    if has_conditions and (others := [one for one in only_in_log if one not in thread_ids]):
        what = f"{_count_text(len(others), 'more thread')} that {'was' if len(others) == 1 else 'were'} deleted before"
        also = "to forget it too, give its id" if len(others) == 1 else "to forget them too, give their ids"
        notes.append(f"the operation log has {what}; {also}: {_listed(sorted(others))}")
    elsewhere = "the operation logs of other users and machines; and LangGraph's store (long-term memory)"
    notes.append(f"ckpt can't wipe: {reader.saver.out_of_reach}; {elsewhere}")
    return plan._replace(notes=tuple(notes)), in_log


def _notes_on_the_log(in_log: Survey) -> Iterator[str]:
    threads, its = ("this thread", "its") if len(in_log.threads) == 1 else ("these threads", "their")
    yield f"there is no undo: the operation log is wiped of {threads} and {its} tags"
    if in_log.undoable:
        what = f"operation{'' if len(in_log.undoable) == 1 else 's'} {spans(in_log.undoable)} can no longer be undone"
        yield f"{what}{_for_others(in_log, threads)}"


def _for_others(in_log: Survey, threads: str) -> str:
    """Which of these operations can still be undone for other threads than the forgotten ones."""
    if not in_log.shared:
        return ""
    only = "" if in_log.shared == in_log.undoable else f" {spans(in_log.shared)}"
    return f" for {threads}, only{only} for others"


def _notes_on_copies(reader: Reader, session: Session, thread_ids: Collection[str]) -> Iterator[str]:
    copied = find_copies(reader.saver, session.logs.for_writing(), thread_ids)
    if copied.present:
        yield f"copies with the same checkpoints; they stay unless you name them too: {_listed(copied.present)}"
    if copied.logged:
        yield f"deleted copies; they stay in the operation log unless you name them too: {_listed(copied.logged)}"


def _must_not_name(reason: str, names: Collection[str]) -> None:
    if leave_out(reason, names) != reason:
        what = "the reason contains a name that is to be forgotten, and the operation log would keep it"
        raise Refused(f"{what}; nothing was written", hint="give a reason without the name, or leave --reason out")


def _listed(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def _count_text(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
