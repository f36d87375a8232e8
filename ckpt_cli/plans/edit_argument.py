"""The plan of ``ckpt edit --task``: a child in which one task has another argument, or starts again.

The argument of a Send is in the channel ``__pregel_tasks`` of its step's checkpoint, the input of an entrypoint in
``__start__``. Both get a new version, so that values that other checkpoints share stay as they are.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ckpt_cli.errors import NotFound, NotSupported, PathNotFound, UsageError
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.state.channels import START, TASKS, order
from ckpt_cli.history.state.editing import Act, Edit, apply_edits
from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.history.tasks.nesting import callers
from ckpt_cli.history.tasks.node_names import place
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task
from ckpt_cli.history.tasks.task_names import numbered, task_names
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan, Ref
from ckpt_cli.operations.apply import basis_of, basis_of_heads
from ckpt_cli.plans.carried_writes import Carrier
from ckpt_cli.plans.continued_calls import why_not_continued
from ckpt_cli.plans.delta_snapshots import DeltaSnapshots, describe_lost, snapshots_for_child
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges, describe_changes
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import Origin, make_child, read_origin
from ckpt_cli.plans.own_memory import describe_memories, find_memories, replay_bound
from ckpt_cli.plans.pending_command import left_at_root
from ckpt_cli.plans.wording import describe_new_head, recently_written, short_ids
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import command
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.parts import inside
from ckpt_cli.values.state import State

_NAMED = r"(.+?)\s*\[(\d+)(?:/\d+)?\]"


@dataclass(frozen=True, slots=True)
class Argument:
    """The argument of one task.

    Attributes:
        tasks: the tasks of the checkpoint.
        task: the one of them whose argument it is.
        steps: the path of the argument in the checkpoint's channels; () if the task reads the state instead.
        value: the argument as it is stored.
        is_unchecked: whether nothing stored shows the task's name, so that a wrong name isn't noticed.
    """

    tasks: Snapshot
    task: Task
    steps: tuple[Any, ...]
    value: Any
    is_unchecked: bool = False

    @property
    def channel(self) -> str:
        """The channel that contains the argument."""
        return str(self.steps[0])

    @property
    def name(self) -> str:
        """The name of the task for people."""
        return numbered(self.task.node or "the input", self.task.packet)

    @property
    def doubts(self) -> list[str]:
        """A line if a wrong name of the task wouldn't be noticed."""
        doubt = f"nothing stored shows the workflow's name, so {self.name!r} isn't checked"
        return [doubt] if self.is_unchecked else []


def find_argument(reader: Reader, row: CheckpointRow, name: str, *, again: bool = False) -> Argument:
    """The argument of the task that a person named: by node, by node and number (``summarise[3]``), or by id.

    Raises:
        NotFound: no such task, or a task that has no argument of its own, unless it only starts `again`.
        UsageError: several tasks fit.
        NotSupported: this generation of LangGraph stores the Sends of a checkpoint with its parent.
    """
    state, checkpoint_tasks = reader.state(row.ref), Inspection(reader, row.ref).snapshot()
    tasks = checkpoint_tasks.tasks
    if is_javascript(state):
        raise NotSupported("the arguments of LangGraph.js tasks can't be corrected; nothing was written")
    is_nameless = START in state.values and len(tasks) == 1 and tasks[0].node is None
    if is_nameless:
        tasks = [_named_entrypoint(reader, state, tasks[0], name)]
        checkpoint_tasks = checkpoint_tasks._replace(tasks=tasks)
    task = _find_task(checkpoint_tasks, name)
    if task.packet is None:
        if START in state.values and len(tasks) == 1:
            unchecked = is_nameless and not task.writes
            return Argument(checkpoint_tasks, task, (START,), state.values[START], unchecked)
        if again:
            _must_know_the_step(state, row, checkpoint_tasks)
            return Argument(checkpoint_tasks, task, (), None)
        raise NotFound(
            f"{name!r} has no argument of its own: it reads the state",
            hint=f"`{command('ckpt edit', row.thread_id, options=['--set', 'CHANNEL=JSON'])}` changes that",
        )
    _must_know_the_step(state, row, checkpoint_tasks)
    if task.by_goto:
        raise NotFound(f"the argument of {name!r} is in a pending Command's goto, not in that checkpoint")
    stored = items(state.values.get(TASKS)) or []
    at = [one for one in tasks if one.packet is not None].index(task)
    if at >= len(stored):
        raise NotFound(f"the Send of {name!r} isn't stored in that checkpoint")
    return Argument(checkpoint_tasks, task, (TASKS, at, "arg"), task.packet.argument)


def _must_know_the_step(state: State, row: CheckpointRow, tasks: Snapshot) -> None:
    """Check that a new checkpoint has the same tasks, and that all of them are known."""
    fork = f"`{command('ckpt fork', row.thread_id, f'{row.checkpoint_id}^')}`"
    if state.sends:
        raise NotSupported(
            "this generation of LangGraph stores a checkpoint's Sends with its parent, so a new checkpoint can't have "
            "others; nothing was written",
            hint=f"{fork} makes the step that sent them anew",
        )
    if not tasks.complete:
        raise NotSupported("not all tasks of that step are known; nothing was written", hint=f"{fork} makes it anew")


def must_have_its_keys(argument: Argument, value: Any) -> None:
    """Check that a corrected argument has no new key: the node's input has such keys as the Send gave it.

    Raises:
        PathNotFound: with the nearest key.
    """
    before, after = inside(argument.value), inside(value)
    if isinstance(before, dict) and isinstance(after, dict):
        for key in after.keys() - before.keys():
            near = get_close_matches(str(key), [str(one) for one in before], n=1)
            hint = f"did you mean {near[0]}? If not, --create adds the key" if near else "--create adds the key"
            raise PathNotFound(f"no {key} in the argument of {argument.name}", hint=hint)


def _find_task(snapshot: Snapshot, name: str) -> Task:
    tasks = snapshot.tasks
    fitting = [at for at, task in enumerate(tasks) if _fits(task, name)]
    if len(fitting) != 1:
        listed = [numbered(task.node or "a task", task.packet) for task in tasks]
        if fitting:
            hint = f"--task '{name}[N]' names one of them"
            raise UsageError(
                f"{name!r} fits {len(fitting)} tasks", hint=hint, candidates=[listed[at] for at in fitting]
            )
        by = {failed: handler.node for failed, handler in snapshot.handlers.items()}
        failed = task_names(task for task in tasks if task.id in by and by[task.id] == name)
        hint = (
            f"{name} is the error handler of {', '.join(failed)}: --task takes the node that failed" if failed else ""
        )
        raise NotFound(f"no task {name!r} starts at that checkpoint", hint=hint, candidates=listed)
    return tasks[fitting[0]]


def _named_entrypoint(reader: Reader, state: State, task: Task, name: str) -> Task:
    """The entrypoint if nothing stored names it: the person who names it knows the application's graph.

    Its id hashes the name, so it finds the writes of the task only if the name is right.
    """
    start = place(state)
    expected = next(start.pull(name, [START])) if start else None
    writes = [write for write in reader.writes(state.ref) if write.task_id == expected]
    if task.writes and not writes:
        return task
    return task._replace(id=expected, node=name, writes=writes)


def _fits(task: Task, name: str) -> bool:
    match = re.fullmatch(_NAMED, name)
    if match and task.packet is not None and task.node == match[1]:
        return task.packet.number == int(match[2])
    return name == task.node or bool(task.id and len(name) >= 6 and task.id.startswith(name))


def plan(
    reader: Reader,
    row: CheckpointRow,
    argument: Argument,
    value: Any,
    mint: Mint,
    *,
    rerun: bool = False,
    keep: Sequence[str] = (),
    changes: MetadataChanges = UNCHANGED,
) -> Plan:
    """The plan that adds a child in which the task's argument is `value`.

    `keep` are the names of ``@task`` functions whose finished calls are kept: the names aren't stored, and a call's id
    hashes them. `rerun` lets the other calls, and siblings that stopped in a subgraph, run again.

    Raises:
        Refused: finished work would run again and `rerun` is false, or task ids can't be recomputed.
        NotFound: no finished call is one of a name in `keep`.
    """
    origin = read_origin(reader, row.ref)
    own = snapshots_for_child(reader, mint, origin, set())
    made = _make_corrected(reader, mint, origin, own, argument, value, changes)
    is_same = value is argument.value
    carrier = Carrier(reader, origin, argument.tasks, argument.task, reader.decode(made))
    carried = carrier.carry(keep, rerun=rerun, is_same=is_same)
    new, short = made.row.ref, short_ids(reader, row.ref, made.row.checkpoint_id)
    again = [task for task in argument.tasks.tasks if task.status is not Status.FINISHED or task is argument.task]
    what, how = (argument.name, ", which starts again") if is_same else (f"the argument of {argument.name}", "")
    return Plan(
        reason="",
        add=(made, *carried.writes),
        basis=(*basis_of_heads(reader.saver, row.thread_id, row.ns), basis_of(reader.saver, row.ref)),
        recent=recently_written(reader, reader.rows(row.thread_id)),
        verb="edit",
        summary=f"{what} at {short(row.checkpoint_id)} (step {origin.step}){how}: new checkpoint "
        f"{short(new.checkpoint_id)}, source update, step {origin.step + 1}; next: {', '.join(task_names(again))}",
        notes=(
            *carried.notes,
            *argument.doubts,
            *_describe_memories(reader, row, made.row, argument.tasks.only(again), short),
            *describe_new_head(reader, row, short),
            *_describe_start_again(reader, row),
            *own.describe(),
            *describe_lost(reader, row.ref),
            *describe_changes(origin.metadata, changes),
        ),
        result=Ref(row.thread_id, "", ""),  # with a checkpoint's id, the library would run all tasks again
    )


def _describe_start_again(reader: Reader, row: CheckpointRow) -> Iterator[str]:
    """A line where an answer waits at the root: the task takes it again, unless its caller starts again."""
    if left_at_root(reader, row) and why_not_continued(reader, row.ref) is None:
        start = command("ckpt edit", row.thread_id, options=["--task", callers(row.ns)[0], "--again"])
        yield f"`{start}` starts the call of this subgraph again, without that answer"


def _describe_memories(
    reader: Reader, row: CheckpointRow, made: CheckpointRow, again: Snapshot, short: ShortIds
) -> Iterator[str]:
    """Lines about subgraphs with their own memory: one that a due task calls may drop the new argument."""
    memories, also = find_memories(reader, row), ", but every task of the step runs again"
    yield from describe_memories(reader, row, again, memories, short, replay_bound(made, "update"), also=also)


def _make_corrected(
    reader: Reader,
    mint: Mint,
    origin: Origin,
    own: DeltaSnapshots,
    argument: Argument,
    value: Any,
    metadata: MetadataChanges,
) -> Checkpoint:
    changed = {} if value is argument.value else _changed({**origin.body, **own.edits}, mint, argument, value)
    return make_child(
        reader,
        mint,
        origin,
        parent_id=own.parent_id,
        sequence=origin.step + 1,
        edits={**own.edits, **changed},
        counters=own.counters,
        source="update",
        metadata=metadata,
    )


def _changed(body: Mapping[str, Any], mint: Mint, argument: Argument, value: Any) -> dict[str, Any]:
    """The channels with another argument, and their versions."""
    versions = body["channel_versions"]
    highest = max(versions.values(), key=order, default=None)
    return {
        "channel_values": apply_edits(dict(body["channel_values"]), [Edit(Act.SET, argument.steps, value)]),
        "channel_versions": {**versions, argument.channel: mint.version(highest)},
    }
