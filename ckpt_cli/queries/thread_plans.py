"""The plans of a change for the threads that its target names, one or many."""

from collections.abc import Callable, Iterable, Iterator

from ckpt_cli.bulk_change import Planned, change_many
from ckpt_cli.errors import AmbiguousRevision, CkptError, DatabaseUnreachable, Failed, UsageError
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan, Thread
from ckpt_cli.parameters.target import Target
from ckpt_cli.queries.selected_heads import selected_heads
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.values.same import same
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView
from ckpt_cli.views.thread_refusals import refusal_of

_AT_ONCE = 20  # threads that are planned in one moment
_DONE = "the head is that state already"

Make = Callable[[Reader, CheckpointRow], Plan]
"""Makes the plan for one checkpoint of a thread."""


def change_target(session: Session, verb: str, target: Target, make: Make) -> PlanView | BulkView:
    """Plan a change of one thread or of many, show it, ask, and apply it."""
    if target.chosen is None:
        plan = session.make_plan(lambda reader: make(reader, reader.resolve(target.thread, target.rev, target.ns)))
        return session.change(plan)
    planned = plans_of_threads(session, target, make)
    summary = f"{'to' if verb == 'rollback' else 'at'} {target.rev}" if target.rev not in ("", "@") else ""
    return change_many(session, verb, summary, planned, skip_refused=target.skip_refused)


def plans_of_threads(session: Session, target: Target, make: Make) -> Iterator[Planned]:
    """Each selected thread with its plan, or with the reason why it has none; some are read in one moment.

    Raises:
        ThreadNotFound: a named thread doesn't exist.
        UsageError: ``--where`` fails on every thread, or the revision is none.
    """

    def planned(reader: Reader, thread_id: str) -> Planned:
        row = resolve_in_each(reader, thread_id, target)
        if isinstance(row, str):
            return thread_id, row
        try:
            plan = make(reader, row)
            return thread_id, _DONE if _is_done(reader, plan) else plan
        except (DatabaseUnreachable, Failed):
            raise
        except CkptError as error:
            return thread_id, refusal_of(error)

    for page in pages(selected(session, target), _AT_ONCE):
        yield from session.read(_on(page, planned))


def resolve_in_each(reader: Reader, thread_id: str, target: Target) -> CheckpointRow | str:
    """The checkpoint that the target names in one of many threads, or the reason why it names none there.

    Raises:
        UsageError: the text is no revision in any thread: that is one error, not one for each thread.
    """
    try:
        return reader.resolve(thread_id, target.revision(thread_id), target.ns)
    except (DatabaseUnreachable, Failed):
        raise
    except CkptError as error:
        if isinstance(error, UsageError) and not isinstance(error, AmbiguousRevision):
            raise
        return refusal_of(error)


def _is_done(reader: Reader, plan: Plan) -> bool:
    """Whether the head is what the plan would make: the same command was run before, and perhaps stopped."""
    ref = plan.result
    new = next((one for one in plan.add if isinstance(one, Checkpoint) and one.row.ref == ref), None)
    if ref is None or new is None:
        return False
    head = reader.head(ref.thread_id, ref.ns)
    if head.parent_id != new.row.parent_id or reader.writes(head.ref, values=0):
        return False
    now, then = reader.state(head.ref), reader.decode(new)
    return same(now.metadata, then.metadata) and same(now.values, then.values)


def selected(session: Session, target: Target) -> Iterable[Thread]:
    """The threads that are selected, with their heads as one moment had them; remarks are said."""
    chosen = target.chosen
    if chosen is None:
        raise ValueError("the target is one thread")
    heads, remarks = session.read(
        lambda reader: selected_heads(reader, chosen, target.limit or None, skip_missing=target.skip_refused)
    )
    for remark in remarks:
        session.say(remark)
    return heads


def _on(page: list[Thread], planned: Callable[[Reader, str], Planned]) -> Callable[[Reader], list[Planned]]:
    return lambda reader: [planned(reader, thread.thread_id) for thread in page]
