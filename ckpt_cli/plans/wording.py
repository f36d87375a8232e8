"""Texts for plans: short ids, nodes that run next or again and how often, a new head, dropped results."""

from collections.abc import Collection, Iterable, Sequence

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.state.channels import BRANCH_TO, sources, target
from ckpt_cli.history.tasks.next_tasks import arrived_nodes, held_back
from ckpt_cli.history.tasks.passed_over import passed_over, passed_over_words
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task
from ckpt_cli.history.tasks.task_names import counted, task_names
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.plans.continued_calls import why_not_continued, why_perhaps_not
from ckpt_cli.plans.own_memory import Memories, without_memory
from ckpt_cli.plans.pending_command import describe_command_taken
from ckpt_cli.plans.reruns import count_names, describe_left_answer, finished_calls, started_subgraphs
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State

_RECENT = 60
"""Seconds after a thread's last checkpoint during which its application may still be running."""

_STOPPED = (Status.FAILED, Status.WAITING, Status.ANSWERED)
"""What tasks are left in if their step stops: those of a step that ended have finished."""


def short_ids(reader: Reader, ref: Ref, *new_ids: str) -> ShortIds:
    """The short ids of a thread's checkpoints and of some new ones."""
    if not new_ids:
        return reader.short(ref.thread_id)
    return ShortIds([*(row.checkpoint_id for row in reader.rows(ref.thread_id)), *new_ids])


def recently_written(reader: Reader, rows: Iterable[CheckpointRow]) -> tuple[Ref, ...]:
    """The newest checkpoint of a thread if it was made less than a minute ago, else nothing.

    After such a recent checkpoint, the thread may still be running.
    """
    newest = max(rows, key=lambda row: row.checkpoint_id, default=None)
    written_at = None if newest is None else ids.unix_time(newest.checkpoint_id)
    is_recent = written_at is not None and abs(reader.clock() - written_at) < _RECENT
    return (newest.ref,) if newest is not None and is_recent else ()


def describe_next(snapshot: Snapshot) -> str:
    """``next: a, b``: the nodes of all tasks of the step, also of those that have already run."""
    names = [task.node for task in snapshot.tasks]
    if not snapshot.complete or None in names:
        return "what runs next can't be known without the graph"
    return f"next: {counted(map(str, names))}" if names else "nothing runs next"


def describe_joins(
    before: State, after: State, due: Snapshot, unnamed: Collection[str], written: Collection[str]
) -> Iterable[str]:
    """``late still waits for c``: a line for each of the joins `written`, or that got a node, which waits for others.

    And ``late is still due``: a line for each node that was due before and whose trigger an update doesn't take in. And
    ``late runs too``: a line for each of the joins `unnamed`, which a person's choice of next nodes lacks, if it is
    complete.

    The stored value of a join has the names of the nodes that arrived, its channel's name those of all its nodes
    (langgraph 1.2 ``channels/named_barrier_value.py``). Nothing is said if a node's name may contain ``+``. A node that
    is `due` for another reason runs without its join, which keeps what arrived.

    A join that was complete before stays so, even if the update is made as its node: only a run of the node takes it in
    (``named_barrier_value.py: consume``; an update's task has no trigger, 1.2 ``pregel/main.py: _bulk_update``). So
    does the trigger of a deferred node (``last_value.py: LastValueAfterFinish``).
    """
    runs = {task.node for task in due.tasks}
    for channel, value in after.values.items():
        arrived, earlier = arrived_nodes(channel, value), arrived_nodes(channel, before.values.get(channel))
        missing = [node for node in sources(channel) if node not in arrived]
        is_new, is_proved = set(arrived) - set(earlier), set(arrived) <= set(sources(channel))
        is_kept_due = target(channel) in runs and _is_kept(channel, before, after)
        if missing and is_proved and (is_new or channel in written):  # a node that arrives again changes nothing
            waits = f"still waits for {', '.join(missing)}"
            node = target(channel)
            yield (
                f"{node} runs now; its join {waits}, and then {node} runs again" if node in runs else f"{node} {waits}"
            )
        elif is_new and is_proved and channel in unnamed and target(channel) in runs:
            yield f"{target(channel)} runs too: its join is complete now"
        elif not missing and arrived and is_kept_due:
            yield f"{target(channel)} is still due after {', '.join(sorted(arrived))}: only a run of it takes that in"
        elif channel.startswith(BRANCH_TO) and is_kept_due and held_back(value) is False:
            yield f"{target(channel)} is deferred and still due: only a run of it ends that"


def _is_kept(channel: str, before: State, after: State) -> bool:
    return channel in before.versions and before.versions[channel] == after.versions.get(channel)


def describe_new_head(
    reader: Reader, row: CheckpointRow, short: ShortIds, *, is_sibling: bool = False
) -> Iterable[str]:
    """Lines about what the next run does with the new checkpoint.

    No run continues it, or perhaps none; an answer waits for its question; or it becomes the head without being a child
    of the old head.

    `is_sibling`: the new checkpoint is a sibling of `row`; otherwise it is a child of `row`.
    """
    if reason := why_not_continued(reader, row.ref):
        yield reason
        return
    yield from describe_left_answer(reader, row)
    if reason := why_perhaps_not(reader, row.ref):
        yield reason
        return
    head = reader.head(row.thread_id, row.ns)
    if is_sibling or head.checkpoint_id != row.checkpoint_id:
        what = "the subgraph" if row.ns else "the thread"
        yield f"{what} continues from the new checkpoint, no longer from {short(head.checkpoint_id)}"


def describe_reruns(reader: Reader, row: CheckpointRow, snapshot: Snapshot, memories: Memories) -> Iterable[str]:
    """Lines about stored results that the new checkpoint doesn't inherit, so that its tasks run again.

    Subgraphs with their own memory, `memories`, don't: `describe_memories` has the lines about them.
    """
    snapshot = without_memory(snapshot, memories)
    if any(task.status in _STOPPED and task.id not in snapshot.handlers for task in snapshot.tasks):
        snapshot = snapshot._replace(consumed=False)  # its child is no end of the step: an update, an edit, a new input
    yield from describe_finished_again(snapshot)
    if calls := finished_calls(reader, snapshot, row):
        yield f"{', '.join(calls)} finished at that checkpoint; no result is copied: the run makes its calls anew"
    yield from describe_unfinished_again(reader, row, snapshot)
    handled = [task for task in snapshot.tasks if task.id in snapshot.handlers and not snapshot.consumed]
    if handled:
        failed, them, again = count_names(task.node or "a task" for task in handled), "they have", "they run"
        if len(handled) == 1:
            them, again = "it has", "it runs"
        yield f"{', '.join(failed)} failed, and {them} an error handler; after the new checkpoint {again} again"


def describe_finished_again(snapshot: Snapshot) -> Iterable[str]:
    """One line that names the finished tasks, which run again after the new checkpoint."""
    finished = [task for task in snapshot.tasks if task.status is Status.FINISHED]
    if finished and not snapshot.consumed:
        had, again = ("has", "it runs") if len(finished) == 1 else ("have", "they run")
        yield f"{', '.join(task_names(finished))} {had} finished at that checkpoint; after the new one {again} again"


def describe_unfinished_again(reader: Reader, row: CheckpointRow, snapshot: Snapshot) -> Iterable[str]:
    """Lines about tasks that wait, were answered, or ran a part of a subgraph, and begin again."""
    if snapshot.consumed:
        return
    waiting = [task for task in snapshot.tasks if task.status is Status.WAITING]
    if waiting:
        waits, again = (
            ("waits", "it runs again from its start")
            if len(waiting) == 1
            else ("wait", "they run again from their start")
        )
        yield f"{', '.join(task_names(waiting))} {waits} for an answer at that checkpoint; after the new one {again}"
    answered = [task for task in snapshot.tasks if task.status is Status.ANSWERED]
    if answered:
        had, runs = ("has", "it runs") if len(answered) == 1 else ("have", "they run")
        names = ", ".join(task_names(answered))
        yield f"{names} {had} an answer at that checkpoint, which is not copied; after the new one {runs} without it"
    if started := list(started_subgraphs(reader, snapshot, row)):
        starts = "it starts" if len(started) == 1 else "they start"
        yield f"{', '.join(count_names(started))} ran in part; after the new checkpoint {starts} again"


def describe_remaining(snapshot: Snapshot) -> str:
    """``next: a, b``: the nodes of the tasks that a copy with all writes has still to run."""
    remaining = snapshot._replace(tasks=[task for task in snapshot.tasks if task.status is not Status.FINISHED])
    if snapshot.tasks and snapshot.complete and not remaining.tasks:
        return "next: what follows its finished tasks"
    return describe_next(remaining)


def describe_taken(reader: Reader, row: CheckpointRow, snapshot: Snapshot) -> str:
    """A line about the tasks whose writes a copy of the checkpoint takes along and a run of it uses."""
    again = finished_handlers(snapshot)
    started = task_names((task for task in snapshot.all_tasks if task.writes and task not in again), _status)
    calls = [
        f"the result{'' if one.startswith('1 ') else 's'} of {one}" for one in finished_calls(reader, snapshot, row)
    ]
    writes = reader.writes(row.ref)
    if taken := [*started, *calls, *describe_command_taken(writes)]:
        return f"taken along: {', '.join(taken)}"
    if count := len(writes):
        return f"taken along: {count} write{'' if count == 1 else 's'}"
    if begun := [*started_subgraphs(reader, snapshot, row)]:
        return f"taken along: {', '.join(begun)}, which ran in part"
    return "nothing is pending at that checkpoint"


def finished_handlers(snapshot: Snapshot) -> list[Task]:
    """The error handlers that have finished: a run that goes on with the step runs them again (`Snapshot.handlers`)."""
    return [task for task in snapshot.handlers.values() if task.status is Status.FINISHED]


def describe_handlers(snapshot: Snapshot) -> Iterable[str]:
    """A line about the error handlers that run again though they have finished; the tasks that failed don't."""
    if again := finished_handlers(snapshot):
        failed = "the task" if len(again) == 1 else "the tasks"
        yield f"runs again in place of {failed} that failed: {', '.join(task_names(again))}"


def describe_passed_over(state: State) -> Iterable[str]:
    """A line about due nodes that a run from a checkpoint as it is stored doesn't start."""
    if nodes := passed_over(state):
        yield passed_over_words(nodes)


def describe_deferred_elsewhere(nodes: Collection[str]) -> Iterable[str]:
    """A line about the nodes of which only other threads show whether they are deferred: the graph may have changed."""
    if nodes:
        are, one = ("is", "it") if len(nodes) == 1 else ("are", "one")
        yield (
            f"only other threads show whether {', '.join(sorted(nodes))} {are} deferred: if the application has since "
            f"changed that, LangGraph can't read the new checkpoint unless --deferred NODE=yes or =no says it of {one}"
        )


def _status(task: Task) -> str:
    return str(task.status)


def describe_end(tasks: Snapshot) -> list[str]:
    """Lines for an update as END: the tasks with kept writes, the abandoned tasks, and the tasks with lost answers."""
    if tasks.consumed:
        return []
    kept = task_names(task for task in tasks.tasks if task.status is Status.FINISHED)
    unfinished = [task for task in tasks.tasks if task.status is not Status.FINISHED]
    dropped = task_names([*unfinished, *tasks.handlers.values()], _status)
    lines = [f"kept: what {', '.join(kept)} wrote"] if kept else []
    lost = task_names(task for task in tasks.tasks if task.answered)
    lines += [f"abandoned: {', '.join(dropped)}"] if dropped else []
    return [*lines, *([f"lost: the answer that was recorded for {', '.join(lost)}"] if lost else [])]


def describe_cleared(before: Snapshot, again: Sequence[Task], *, kept: bool) -> list[str]:
    """Lines that name the tasks that an update clears.

    Args:
        before: the tasks at the updated checkpoint.
        again: those of them that are due again after the update.
        kept: whether the results of finished tasks were applied.
    """
    kept_due = {id(task) for task in again}
    cleared = before.only(task for task in before.tasks if not before.consumed and id(task) not in kept_due).all_tasks
    open_ = task_names((task for task in cleared if task.status is not Status.FINISHED), _status)
    finished = task_names(task for task in cleared if task.status is Status.FINISHED and not kept)
    lines = [f"cleared: {', '.join(open_)}"] if open_ else []
    return [*lines, *([f"dropped: the results of {', '.join(finished)}"] if finished else [])]


def describe_new_kinds(channels: Sequence[str]) -> str:
    """A sentence about the channels to which an empty, null or negative value is written as no step wrote it."""
    whose = "your reducer does" if len(channels) == 1 else "a reducer of yours does"
    what = f"no step wrote an empty, null or negative value like this to {', '.join(channels)}"
    return f"{what}: if {whose} something else with it, name it with --reducer CHANNEL=NAME"


def describe_few_steps(channels: Sequence[str]) -> str:
    """A sentence about the channels of which few steps show what they make of writes."""
    if len(channels) == 1:
        make, more = "makes", "your reducer does more, name it"
    else:
        make, more = "make", _ANOTHER
    return f"only a few steps show what {', '.join(channels)} {make} of writes: if {more} with --reducer CHANNEL=NAME"


def describe_learned(channels: Sequence[str]) -> str:
    """A sentence about the channels of which many steps show what they make of writes, as far as ckpt can tell.

    However many steps a known reducer explains, one of a graph's own may do the same in all of them and not here.
    """
    one = len(channels) == 1
    make, more = ("makes", "your reducer does more, name it") if one else ("make", _ANOTHER)
    what = f"what {', '.join(channels)} {make} of writes is learned from recorded steps"
    return f"{what}: if {more} with --reducer CHANNEL=NAME"


_ANOTHER = "a reducer of yours does more, name that one"
