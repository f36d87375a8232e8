"""Makes the checkpoint that ends a step, like ``create_checkpoint``: counters, snapshots, refused threads.

That function is langgraph 1.2's; here the data comes from the database.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ckpt_cli.errors import NotSupported, Refused
from ckpt_cli.history.reducers.rebuilt import is_unproven, unproven
from ckpt_cli.history.reducers.reducers import ABSENT
from ckpt_cli.history.reducers.shown_cases import size_of
from ckpt_cli.history.state import delta_counters
from ckpt_cli.history.state.channels import order
from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.history.state.paths import spell
from ckpt_cli.model import Checkpoint, CheckpointRow
from ckpt_cli.plans.command_lines import command_at
from ckpt_cli.plans.delta_snapshots import FORK_FIRST, FORK_OR_REDUCER, as_snapshot, bumped_seen
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges, new_metadata
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import Origin, encode_checkpoint
from ckpt_cli.plans.step_formats import OLDEST_FORMAT
from ckpt_cli.plans.step_start import not_of_state_graph
from ckpt_cli.plans.superstep import Channels
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument
from ckpt_cli.values.state import Version

_UNKNOWN = unproven(ABSENT, [])
_MOST_STEPS = 5000  # ``DELTA_MAX_SUPERSTEPS_SINCE_SNAPSHOT``
_CADENCE = 100  # ``DeltaChannel(snapshot_frequency=100)``


@dataclass(frozen=True, slots=True)
class StepInfo:
    """The data about a step that its new checkpoint records.

    Attributes:
        source: ``update`` or ``input``.
        number: the step of the new checkpoint.
        sequence: the step that is encoded in the new checkpoint's id.
        updated: the channels that the step updated.
        stored_whole: delta channels that must be stored whole.
    """

    source: str
    number: int
    sequence: int
    updated: Collection[str]
    stored_whole: Collection[str] = ()


def must_allow_steps(origin: Origin, *, of_state_graph: bool) -> None:
    """Check that ckpt can make steps in this thread.

    Raises:
        NotSupported: the message names the kind of thread.
    """
    state = origin.state
    if state.v < OLDEST_FORMAT:
        raise NotSupported(
            f"a step can't be made in checkpoints of format {state.v}: langgraph 0.5 and later write format 4",
            hint=_hint_edit(origin),
        )
    if is_javascript(state):
        raise NotSupported("a step can't be made in a thread of LangGraph.js", hint=_hint_edit(origin))
    if not of_state_graph:
        raise not_of_state_graph()


def _hint_edit(origin: Origin) -> str:
    return f"{command_at('ckpt edit', origin.ref, '--set', 'PATH=JSON')} changes the state itself"


def make_successor(
    reader: Reader,
    mint: Mint,
    origin: Origin,
    channels: Channels,
    step: StepInfo,
    deltas: Mapping[str, int],
    head_id: str,
    changes: MetadataChanges = UNCHANGED,
) -> Checkpoint:
    """The child of a checkpoint, with the given channels.

    `deltas` maps each delta channel to the number of updates after which it is stored whole; 0 means the library's
    default. `changes` are changes of the application's metadata.
    """
    counters = _new_counters(origin, step.updated, deltas)
    due = {c for c, count in counters.items() if c in channels.versions and _is_due(count, deltas[c])}
    trimmed = {c for c, most in channels.bounds.items() if size_of(channels.values.get(c)) > most}
    known = {c for c in due - trimmed if not is_unproven(channels.values.get(c, _UNKNOWN))}
    whole = known | {*step.stored_whole}
    like = max(channels.versions.values(), key=order, default=None)
    bumped: dict[str, tuple[Version | None, Version]] = {}
    for channel in sorted(whole):
        if (old := channels.versions.get(channel)) == origin.state.versions.get(channel):
            bumped[channel] = (old, mint.version(old, like))
    stored = {c: v for c, v in channels.values.items() if c not in deltas}
    # a reducer helps only where there is a state to go on from
    hint = FORK_OR_REDUCER if origin.state.versions else FORK_FIRST
    for channel in whole:
        value = channels.values.get(channel, _UNKNOWN)
        if is_unproven(value) and channel in origin.state.values:
            raise _unknown_reducer(channel)
        if channel in trimmed:
            raise _unshown_messages(channel)
        stored[channel] = as_snapshot(channel, value, hint)
    stamp = mint.stamp(head_id, origin.state.ts, step.sequence)
    edits = {
        "id": stamp.id,
        "ts": stamp.ts,
        "updated_channels": None,
        "channel_versions": {**channels.versions, **{c: new for c, (_, new) in bumped.items()}},
        "versions_seen": bumped_seen(channels.seen, bumped) if bumped else channels.seen,
    }
    body = {**origin.body, **{key: value for key, value in edits.items() if key in origin.body}}
    counted = {c: [*count] for c, count in counters.items() if c not in whole}
    metadata = {"source": step.source, "step": step.number, "parents": origin.metadata.get("parents", {})}
    metadata |= {delta_counters.COUNTERS: counted} if counted else {}
    row = CheckpointRow(origin.ref.thread_id, origin.ref.ns, stamp.id, origin.ref.checkpoint_id)
    body["channel_values"] = stored
    return encode_checkpoint(reader, origin, row, body, new_metadata(metadata, origin.metadata, changes))


def _unknown_reducer(channel: str) -> Refused:
    """The refusal where the value before the step is stored, so that a reducer, or the value after it, is enough."""
    return Refused(
        f"nothing proves what the reducer of delta channel {channel!r} makes of this write, and the new checkpoint "
        "must store the result; the value before it is stored",
        hint=f"--reducer {argument(channel + '=NAME')} names the reducer; "
        f"`ckpt edit --set {argument(spell([channel]) + '=JSON')}` sets the value without one; {FORK_FIRST}",
    )


def _unshown_messages(channel: str) -> Refused:
    """The refusal where a reducer around the message merge may have left out some of the messages."""
    return Refused(
        f"no stored value of delta channel {channel!r} has so many messages, so nothing shows that your reducer "
        "doesn't trim them, and the new checkpoint must store them",
        hint=f"--reducer {argument(channel + '=messages')} says that it keeps them all; {FORK_FIRST}",
    )


def _new_counters(origin: Origin, updated: Collection[str], deltas: Collection[str]) -> dict[str, tuple[int, int]]:
    before = delta_counters.counters(origin.metadata)
    counters = {channel: before.get(channel, (0, 0)) for channel in deltas}
    return {c: (updates + (c in updated), steps + 1) for c, (updates, steps) in counters.items()}


def _is_due(count: tuple[int, int], cadence: int) -> bool:
    return count[0] >= (cadence or _CADENCE) or count[1] >= _MOST_STEPS
