"""The plan of ``delete``: which threads are chosen, or which part of one thread."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ckpt_cli.errors import NotFound, UsageError
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state.filters import Filter
from ckpt_cli.model import Plan, Thread
from ckpt_cli.parameters.options import matcher
from ckpt_cli.parameters.statuses import ANY_STATUS, Statuses
from ckpt_cli.plans import delete as plans
from ckpt_cli.plans.delete import OrphanAction
from ckpt_cli.queries.metadata_filter import OlderMatches, UnreadMetadata, threads_that_fit
from ckpt_cli.queries.thread_status import ThreadStatus, prefetch_threads
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session

if TYPE_CHECKING:
    from ckpt_cli.operations.survey import Survey


@dataclass(frozen=True, slots=True)
class ThreadSelection:
    """Selects the threads to delete. If any are named, only these can be selected; all other conditions must fit too.

    Attributes:
        named: the thread ids; None if no threads were named; empty if stdin named none.
        any_checkpoint: if True, `where` tests the metadata of every checkpoint; if False, it tests only the head.
        before: chooses only threads without activity since this time, in seconds since 1970.
    """

    named: tuple[str, ...] | None = None
    match: str | None = None
    where: Filter | None = None
    any_checkpoint: bool = False
    statuses: Statuses = ANY_STATUS
    before: float | None = None

    @property
    def filtered(self) -> bool:
        """Whether there is any condition besides the names."""
        return bool(self.match or self.where or self.statuses or self.before is not None)

    def threads(
        self, reader: Reader, unread: UnreadMetadata, on_misfit: Callable[[str], None] = lambda _: None
    ) -> Iterator[Thread]:
        """The chosen threads: named threads in the order of their names, otherwise the most recently active first.

        Args:
            reader: reads the database.
            unread: collects the threads that don't fit `where`, but have metadata that can't be read.
            on_misfit: is called with the id of each thread whose head doesn't fit `where`.
        """
        every = self.named is None
        candidates = reader.saver.threads() if every else map(reader.thread, dict.fromkeys(self.named or ()))
        named: Iterator[Thread] = (thread for thread in candidates if self._is_candidate(thread))
        if self.where is not None and self.any_checkpoint:
            named = threads_that_fit(reader, named, self.where, unread)
        if not self.statuses and (self.where is None or self.any_checkpoint):
            return named
        return (thread for thread in prefetch_threads(reader, named) if self._fits(reader, thread, unread, on_misfit))

    def _is_candidate(self, thread: Thread) -> bool:
        return matcher(self.match)(thread.thread_id) and self._is_idle(thread)

    def _fits(self, reader: Reader, thread: Thread, unread: UnreadMetadata, on_misfit: Callable[[str], None]) -> bool:
        one = ThreadStatus(reader, thread)
        if self.statuses and not self.statuses.fit(one.statuses, one.updated):
            return False
        if self.where is None or self.any_checkpoint or one.fits(self.where):
            return True
        unread.add(thread.thread_id, one.problem or one.metadata_problem)
        on_misfit(thread.thread_id)
        return False

    def _is_idle(self, thread: Thread) -> bool:
        """Whether the thread had no activity since `before`; a thread whose ids contain no time is never idle."""
        when = ids.unix_time(thread.head.checkpoint_id)
        return self.before is None or (when is not None and when < self.before)


@dataclass(frozen=True, slots=True)
class ThreadPart:
    """The part of a thread that is to be deleted; at most one of the options is set."""

    branch: str | None = None
    runs: tuple[str, ...] = ()
    after: str | None = None

    @property
    def options(self) -> list[str]:
        """The names of the options that are set."""
        words = {"--branch": self.branch is not None, "--run": bool(self.runs), "--after": self.after is not None}
        return [word for word, is_set in words.items() if is_set]


def plan_forgetting(
    session: Session, chosen: ThreadSelection, part: ThreadPart, where: str | None
) -> "tuple[Plan, Survey]":
    """The plan that deletes whole threads and wipes them from the log, and what it wipes.

    Raises:
        UsageError: only a part of a thread is to be deleted.
    """
    from ckpt_cli.queries.forget_plan import Selection, plan_erasure

    if part.options:
        hint = f"delete with {part.options[0]}; then `ckpt operations N --prune` forgets what it removed"
        raise UsageError("--forget deletes whole threads only", hint=hint)
    others = chosen.named is not None or chosen.where is not None or chosen.statuses or chosen.before is not None
    words = [word for word in (chosen.match, where) if word]
    choose = partial(_choose, chosen=chosen)
    selection = Selection(choose, None if others else chosen.match, chosen.filtered, words)
    return plan_erasure(session, selection)


def plan_threads(reader: Reader, chosen: ThreadSelection) -> Plan:
    """The plan that deletes whole threads."""
    thread_ids, notes = _choose(reader, chosen)
    plan = plans.threads(reader, dict.fromkeys(thread_ids))
    return plan._replace(notes=(*plan.notes, *notes))


def _choose(reader: Reader, chosen: ThreadSelection) -> tuple[list[str], list[str]]:
    """The ids of the threads to delete, and notes about other threads that the user may have meant.

    The notes are about threads where only an older checkpoint fits, and about threads whose metadata can't be read.
    """
    if chosen.named is not None and not chosen.filtered:
        return [*chosen.named], []
    older, unread = OlderMatches(reader, chosen.where), UnreadMetadata()
    thread_ids = [thread.thread_id for thread in chosen.threads(reader, unread, older.add_misfit)]
    if chosen.where is not None and not unread.problems:
        chosen.where.must_have_worked()
    notes = [note for note in (unread.note, older.note()) if note]
    if not thread_ids and notes:
        raise NotFound("no thread's head fits; nothing to delete", hint="; ".join(notes))
    return thread_ids, notes


def plan_part(reader: Reader, thread: str, part: ThreadPart, ns: str, orphans: OrphanAction) -> Plan:
    """The plan that deletes a part of one thread."""
    if part.branch is not None:
        return plans.branch(reader, reader.resolve(thread, part.branch, ns), orphans)
    if part.after is not None:
        return plans.after(reader, reader.resolve(thread, part.after, ns), orphans)
    reader.thread(thread)
    return plans.run(reader, thread, part.runs, orphans)
