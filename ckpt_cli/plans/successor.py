"""The checkpoint that a step makes of a stored one: langgraph 1.2's ``create_checkpoint`` on stored data."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ckpt_cli.errors import NotSupported
from ckpt_cli.history.reducers import delta
from ckpt_cli.history.state.channels import START, order
from ckpt_cli.history.tasks.node_names import is_javascript
from ckpt_cli.model import Checkpoint, CheckpointRow
from ckpt_cli.plans.child import Origin, recorded
from ckpt_cli.plans.delta_snapshots import as_snapshot, bumped_seen
from ckpt_cli.plans.metadata import UNCHANGED, Changes, completed
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.superstep import Board
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import Version

_MOST_STEPS = 5000  # ``DELTA_MAX_SUPERSTEPS_SINCE_SNAPSHOT``
_CADENCE = 100  # ``DeltaChannel(snapshot_frequency=100)``


@dataclass(frozen=True, slots=True)
class Step:
    """What a new checkpoint says of itself.

    Attributes:
        source: ``update`` or ``input``.
        number: its step.
        sequence: the step its id carries.
        updated: the channels that were written.
        forced: delta channels to store whole.
    """

    source: str
    number: int
    sequence: int
    updated: Collection[str]
    forced: Collection[str] = ()


def must_be_known(of: Origin, *, of_state_graph: bool) -> None:
    """Hold that steps of this thread can be made here.

    Raises:
        NotSupported: saying which kind it is.
    """
    state = of.state
    if state.v < 4:
        raise NotSupported(f"a step can't be made in checkpoints of format {state.v}", hint="langgraph 0.5 made 4")
    if is_javascript(state):
        raise NotSupported("a step can't be made in a thread of LangGraph.js")
    if not of_state_graph or (START not in state.versions and state.versions):
        raise NotSupported("a step can only be made in threads of a StateGraph")


def successor(
    reader: Reader,
    mint: Mint,
    of: Origin,
    board: Board,
    step: Step,
    deltas: Mapping[str, int],
    head_id: str,
    changes: Changes = UNCHANGED,
) -> Checkpoint:
    """The child of a checkpoint with the channels of a board.

    `deltas` tells when each delta channel is stored whole, `changes` are those of the application's metadata.
    """
    counters = _counted(of, step.updated, deltas)
    whole = {c for c, count in counters.items() if c in board.versions and _is_due(count, deltas[c])} | {*step.forced}
    like = max(board.versions.values(), key=order, default=None)
    bumped: dict[str, tuple[Version | None, Version]] = {}
    for channel in sorted(whole):
        if (old := board.versions.get(channel)) == of.state.versions.get(channel):
            bumped[channel] = (old, mint.version(old, like))
    stored = {c: v for c, v in board.values.items() if c not in deltas}
    stored |= {c: as_snapshot(c, board.values.get(c, [])) for c in whole}
    stamp = mint.stamp(head_id, of.state.ts, step.sequence)
    edits = {
        "id": stamp.id,
        "ts": stamp.ts,
        "updated_channels": None,
        "channel_versions": {**board.versions, **{c: new for c, (_, new) in bumped.items()}},
        "versions_seen": bumped_seen(board.seen, bumped) if bumped else board.seen,
    }
    body = {**of.body, **{key: value for key, value in edits.items() if key in of.body}}
    counted = {c: [*count] for c, count in counters.items() if c not in whole}
    metadata = {"source": step.source, "step": step.number, "parents": of.metadata.get("parents", {})}
    metadata |= {delta.COUNTERS: counted} if counted else {}
    row = CheckpointRow(of.ref.thread_id, of.ref.ns, stamp.id, of.ref.checkpoint_id)
    body["channel_values"] = stored
    return recorded(reader, of, row, body, completed(metadata, of.metadata, changes))


def _counted(of: Origin, updated: Collection[str], deltas: Collection[str]) -> dict[str, tuple[int, int]]:
    before = delta.counters(of.metadata)
    told = {channel: before.get(channel, (0, 0)) for channel in deltas}
    return {c: (updates + (c in updated), steps + 1) for c, (updates, steps) in told.items()}


def _is_due(count: tuple[int, int], cadence: int) -> bool:
    return count[0] >= (cadence or _CADENCE) or count[1] >= _MOST_STEPS
