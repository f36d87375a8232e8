"""The plan of ``ckpt update`` as a whole: summary, notes, basis; its records come from `superstep_writer`.

The records are those that ``graph.update_state`` writes. The plan follows langgraph 1.2, or langgraph 0.6 if the thread
is that old or if a person says so (`plans.pending_writes`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import uuid4

from ckpt_cli.errors import UsageError
from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.reducers.names import NOTHING_NAMED, NamedReducers
from ckpt_cli.history.state.channels import END, is_control
from ckpt_cli.history.state.paths import spell
from ckpt_cli.history.tasks.snapshot import Snapshot, Task
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan
from ckpt_cli.operations.apply import basis_of, basis_of_heads
from ckpt_cli.plans.continued_calls import why_not_continued
from ckpt_cli.plans.delta_snapshots import describe_lost
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges, describe_changes
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import read_origin
from ckpt_cli.plans.node_writes import count_sends
from ckpt_cli.plans.own_memory import describe_memories, find_memories, replay_bound, without_memory
from ckpt_cli.plans.pending_command import describe_command_left, describe_started_by_goto
from ckpt_cli.plans.pending_writes import Finished, follows_old_update
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.plans.reruns import due_again, finished_calls
from ckpt_cli.plans.step_start import StepStart, read_step_start
from ckpt_cli.plans.successor import must_allow_steps
from ckpt_cli.plans.superstep_writer import INPUT, SuperstepWriter, Update, UpdateRules
from ckpt_cli.plans.unstored_channels import describe_created, describe_unstored
from ckpt_cli.plans.wording import (
    describe_cleared,
    describe_deferred_elsewhere,
    describe_end,
    describe_finished_again,
    describe_joins,
    describe_new_head,
    describe_next,
    describe_unfinished_again,
    recently_written,
    short_ids,
)
from ckpt_cli.reading import Reader
from ckpt_cli.values.difference import Difference
from ckpt_cli.values.state import State


class PlannedUpdate(NamedTuple):
    """The plan of an update, and what it changes in the user's channels."""

    plan: Plan
    changes: Sequence[Difference]


def plan(
    reader: Reader,
    row: CheckpointRow,
    mint: Mint,
    supersteps: Sequence[Sequence[Update]],
    *,
    reducers: NamedReducers = NOTHING_NAMED,
    finished: Finished | None = None,
    new_id: Callable[[], str] = lambda: str(uuid4()),
    verb: str = "update",
    changes: MetadataChanges = UNCHANGED,
) -> PlannedUpdate:
    """The plan that adds the checkpoints and writes that the real call would make: one checkpoint for each superstep.

    Each new checkpoint takes over the application's own metadata keys from the previous checkpoint, then `changes` are
    applied. The library does the same if the graph's config has those keys. `finished` says whether pending writes of
    finished tasks are applied; with None, the version of the thread's langgraph decides.

    Raises:
        UsageError, Refused: the message says which option a person must add.
        NotSupported: ckpt can't make steps in this kind of thread.
    """
    origin, learned = read_origin(reader, row.ref), Reducers(reader, row.ref, reducers, new_id)
    _must_say_something(supersteps)
    must_allow_steps(origin, of_state_graph=learned.of_state_graph)
    start, head_id = read_step_start(reader, origin, learned), reader.head(row.thread_id, row.ns).checkpoint_id
    before = _users_channels(start.channels.values, origin.state)
    old_way = follows_old_update(reader, start, finished)
    writer = SuperstepWriter(UpdateRules(reader, mint, learned, finished, old_way, new_id, changes), start, head_id)
    for number, updates in enumerate(supersteps, 1):
        writer.run(updates, is_last=number == len(supersteps))
    made = [record.row for record in writer.records if isinstance(record, Checkpoint)]
    short = short_ids(reader, row.ref, *(row.checkpoint_id for row in made))
    made_changes = differences(before, _users_channels(writer.at.channels.values, origin.state))
    plan = Plan(
        reason="",
        add=tuple(writer.records),
        basis=(*basis_of_heads(reader.saver, row.thread_id, row.ns), basis_of(reader.saver, row.ref)),
        recent=recently_written(reader, reader.rows(row.thread_id)),
        verb=verb,
        summary=f"of {short(row.checkpoint_id)} (step {origin.step}): {_describe_last(writer, short)}",
        notes=(
            *_notes(reader, row, supersteps, start, writer, made_changes),
            *describe_new_head(reader, row, short),
            *describe_changes(origin.metadata, changes),
        ),
        details=(f"changed: {', '.join(one.path for one in made_changes)}",) if made_changes else (),
        result=made[-1].ref,
    )
    return PlannedUpdate(plan, made_changes)


def _must_say_something(supersteps: Sequence[Sequence[Update]]) -> None:
    if not supersteps or not all(supersteps):
        raise UsageError("there is nothing to update")


def _users_channels(values: Mapping[str, Any], state: State) -> dict[str, Any]:
    return {channel: value for channel, value in values.items() if not is_control(channel, state)}


def _describe_last(writer: SuperstepWriter, short: ShortIds) -> str:
    last = writer.at.origin
    made = f"new checkpoint {short(last.ref.checkpoint_id)}, source {last.state.source}, step {last.step}"
    is_continued = why_not_continued(writer.rules.reader, last.ref) is None
    return f"{made}; {describe_next(writer.at.tasks if is_continued else Snapshot([]))}"


def _describe_unchanged(
    supersteps: Sequence[Sequence[Update]], ignored: Collection[str], changes: Sequence[Difference]
) -> Iterator[str]:
    """One line that names the channels that are written to and keep their value."""
    updates = [update for updates in supersteps for update in updates if update.as_node != INPUT]
    written = dict.fromkeys(channel for update in updates for channel in update.values or ())
    changed = {spell([channel]) for channel in written} & {difference.path for difference in changes}
    if same := [channel for channel in written if channel not in ignored and spell([channel]) not in changed]:
        yield f"the same as before: {', '.join(same)}"


def _describe_reducers(reducers: Reducers, due: Snapshot) -> Iterator[str]:
    """Lines about the reducers that were used.

    A channel that the step may have to empty is only named if a task runs next, which would read it. Where nothing
    runs next, the first step of an input's run empties it before a node reads it.
    """
    is_read = bool(due.tasks) or not due.complete
    if used := [*reducers.words, *(reducers.kept if is_read else ())]:
        yield f"reducers: {', '.join(used)}"
    if doubt := reducers.doubt():
        yield doubt
    yield from describe_deferred_elsewhere(reducers.deferred_elsewhere)
    if idle := reducers.idle:
        channels = f"channel{'' if len(idle) == 1 else 's'} {', '.join(idle)}"
        yield f"this thread has no {channels}: what --reducer says of {'it' if len(idle) == 1 else 'them'} isn't used"


def _describe_created(state: State, reducers: Reducers, given: Collection[str]) -> Iterator[str]:
    """A line about the channels that only a person's ``--reducer`` lets the update write."""
    new = [c for c in given if not reducers.is_recorded(c) and not is_control(c, state)]
    yield from describe_created(new, reducers.channel_names())


def _notes(
    reader: Reader,
    row: CheckpointRow,
    supersteps: Sequence[Sequence[Update]],
    start: StepStart,
    writer: SuperstepWriter,
    changes: Sequence[Difference],
) -> Iterator[str]:
    """Lines about the updates, the reducers that were used, and what becomes of the tasks at the updated checkpoint."""
    yield from writer.notes
    yield from describe_lost(reader, row.ref)
    yield from describe_joins(start.origin.state, writer.at.origin.state, writer.at.tasks, writer.joins, writer.joined)
    yield from _describe_unchanged(supersteps, writer.ignored, changes)
    is_continued = why_not_continued(reader, row.ref) is None
    due = writer.at.tasks if is_continued else Snapshot([])
    yield from _describe_reducers(writer.rules.reducers, due)
    given = {channel for updates in supersteps for update in updates for channel in update.values or ()}
    yield from describe_unstored(reader, start.origin, given, writer.rules.reducers.history.deltas)
    yield from _describe_created(start.origin.state, writer.rules.reducers, given - writer.ignored)
    before, again = start.tasks, list[Task]()
    if supersteps[0][0].as_node == END:
        yield from describe_end(before)
        yield from describe_started_by_goto(Inspection(reader, row.ref).snapshot())
    else:
        only_inputs = all(updates[0].as_node == INPUT for updates in supersteps)
        sends_after = None if only_inputs else count_sends(writer.at.origin.state)
        sends_before = count_sends(start.origin.state)
        again = due_again(before, writer.at.tasks, sends_before=sends_before, sends_after=sends_after)
        kept = writer.rules.finished is Finished.KEEP
        yield from () if only_inputs else describe_cleared(before, again, kept=kept)
        yield from () if kept else describe_command_left(reader, row)
    again = again if is_continued else []
    memories = find_memories(reader, row)
    anew = without_memory(before.only(again), memories)
    yield from describe_finished_again(anew)
    yield from (f"dropped: the results of {call}" for call in finished_calls(reader, before, row))
    yield from describe_unfinished_again(reader, row, anew)
    last = [record.row for record in writer.records if isinstance(record, Checkpoint)][-1]
    bound = replay_bound(last, writer.at.origin.state.source)
    yield from describe_memories(reader, row, due, memories, short_ids(reader, row.ref), bound)
