"""The checkpoint where a step starts: its channels (delta channels are rebuilt), its tasks, its writes."""

from dataclasses import dataclass

from ckpt_cli.errors import NotSupported
from ckpt_cli.history.state.channels import START, unwrapped
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.inspection import Inspection
from ckpt_cli.plans.delta_snapshots import first_values
from ckpt_cli.plans.new_checkpoint import Origin
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.plans.superstep import Channels
from ckpt_cli.reading import Reader


@dataclass(frozen=True, slots=True)
class StepStart:
    """A checkpoint that a step starts from.

    Attributes:
        channels: the checkpoint's channels; steps change this object.
        tasks: the tasks of the step that starts there, without those that a Command's pending ``goto`` starts: an
            update finds its tasks before it applies the goto, as ``get_state`` does (1.2 ``pregel/main.py``).
        stored_writes: task id and ``idx`` of each write that is stored on the checkpoint.
        written_deltas: the delta channels that these writes change; a new branch must store these channels whole.
    """

    origin: Origin
    channels: Channels
    tasks: Snapshot
    stored_writes: frozenset[tuple[str, int | str]]
    written_deltas: frozenset[str]


def read_step_start(reader: Reader, origin: Origin, reducers: Reducers) -> StepStart:
    """Read a stored checkpoint as the start of a step.

    Raises:
        NotSupported: the thread isn't a StateGraph's.
    """
    ref, state, past = origin.ref, origin.state, reducers.history
    past.leave_out_plain(state)
    values, bounds = {channel: unwrapped(value) for channel, value in state.values.items()}, dict[str, int]()
    for channel, rebuilt in Inspection(reader, ref).deltas().items():
        past.deltas.setdefault(channel, 0)
        values[channel] = reducers.rebuilt_value(channel, rebuilt)
        if (bound := reducers.most_messages(channel, rebuilt)) is not None:
            bounds[channel] = bound
    writes = reader.writes(ref, values=0)
    values |= first_values(reader, origin, {write.channel for write in writes if write.channel in past.deltas})
    channels = Channels(
        values,
        dict(state.versions),
        {node: dict(seen) for node, seen in state.seen.items()},
        reducers.is_deferred,
        reducers.fold,
        reducers.empties,
        reducers.is_topic,
        bounds=bounds,
    )
    taken = frozenset((write.task_id, write.row.idx) for write in writes)
    touched = frozenset(write.channel for write in writes if write.channel in past.deltas)
    snapshot = Inspection(reader, ref).snapshot(goto=False)
    if START in state.values and snapshot.tasks and all(task.node not in (None, START) for task in snapshot.tasks):
        raise not_of_state_graph()  # an input goes to the entrypoint itself, and not to the node `__start__`
    return StepStart(origin, channels, snapshot, taken, touched)


def not_of_state_graph() -> NotSupported:
    """The error for a thread in which ckpt can't make steps, with the commands that work there."""
    return NotSupported(
        "a step can only be made in threads of a StateGraph, not of the functional API (@entrypoint) or of bare Pregel "
        "nodes",
        hint="`ckpt writes` shows what has finished, `ckpt edit` changes what was saved, `ckpt resume` answers a "
        "question, and `ckpt fork` goes back",
    )
