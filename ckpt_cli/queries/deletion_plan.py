"""The plan of ``delete``: which threads are chosen, or which part of one thread."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ckpt_cli.errors import UsageError
from ckpt_cli.model import Plan
from ckpt_cli.operations.makers import Makers
from ckpt_cli.parameters.selector import ThreadSelection
from ckpt_cli.plans import delete as plans
from ckpt_cli.plans.delete import OrphanAction
from ckpt_cli.queries.selected_threads import selected_with_notes
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session

if TYPE_CHECKING:
    from ckpt_cli.operations.survey import Survey


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
    others = chosen.named is not None or chosen.where is not None or chosen.statuses or chosen.is_timed
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
    """The ids of the threads to delete, and notes about other threads that the user may have meant."""
    if chosen.named is not None and not chosen.filtered:
        return [*chosen.named], []
    return selected_with_notes(reader, chosen)


def plan_part(session: Session, thread: str, part: ThreadPart, ns: str, orphans: OrphanAction) -> Plan:
    """The plan that deletes a part of one thread; the operation log shows what ckpt stored with a checkpoint."""
    log = session.logs.for_writing()

    def make(reader: Reader) -> Plan:
        stored_with = Makers(reader.saver, log).stored_with
        if part.branch is not None:
            return plans.branch(reader, reader.resolve(thread, part.branch, ns), orphans, stored_with)
        if part.after is not None:
            return plans.after(reader, reader.resolve(thread, part.after, ns), orphans, stored_with)
        reader.thread(thread)
        return plans.run(reader, thread, part.runs, orphans, stored_with)

    return session.make_plan(make)
