"""Where a step starts: a stored checkpoint's channels with delta channels rebuilt, its tasks and their writes."""

from dataclasses import dataclass

from ckpt_cli.errors import Refused
from ckpt_cli.history.state.channels import unwrapped
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.inspection import Inspection
from ckpt_cli.plans.child import Origin
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.plans.superstep import Board
from ckpt_cli.reading import Reader
from ckpt_cli.values.node import Node


@dataclass(frozen=True, slots=True)
class Standing:
    """A checkpoint that a step is made on.

    Attributes:
        board: its channels, which steps change.
        tasks: those of the step that begins there.
        taken: task id and place of the writes that it has already.
        touched: the delta channels that these write to, which a new branch must store whole.
    """

    of: Origin
    board: Board
    tasks: Snapshot
    taken: frozenset[tuple[str, int | str]]
    touched: frozenset[str]


def standing(reader: Reader, of: Origin, reducers: Reducers) -> Standing:
    """A stored checkpoint as the place of a step.

    Raises:
        Refused: what a delta channel holds isn't known.
    """
    ref, state, past = of.ref, of.state, reducers.past
    values = {channel: unwrapped(value) for channel, value in state.values.items()}
    for channel, rebuilt in Inspection(reader, ref).deltas().items():
        past.deltas.setdefault(channel, 0)
        values[channel] = rebuilt.value
        if isinstance(values[channel], Node) and values[channel].name == "DeltaChannel":
            raise Refused(f"what delta channel {channel!r} holds isn't known: no reducer explains its history")
    writes = reader.writes(ref, values=0)
    board = Board(
        values,
        dict(state.versions),
        {node: dict(seen) for node, seen in state.seen.items()},
        frozenset(past.deferred),
        reducers.fold,
        reducers.fading,
    )
    taken = frozenset((write.task_id, write.row.idx) for write in writes)
    touched = frozenset(write.channel for write in writes if write.channel in past.deltas)
    return Standing(of, board, Inspection(reader, ref).snapshot(), taken, touched)
