"""Which delta channels the first checkpoint of a new branch must store whole, and their snapshots.

A delta channel's value is rebuilt from the writes stored on all ancestors. The writes on a checkpoint belong to the
child that was made from them. A second child would get these writes too, unless it stores the channel's value itself
(langgraph 1.2 ``pregel/_checkpoint.py: delta_channels_with_pending_writes``, ``create_checkpoint``,
``_mark_bumps_seen``).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ckpt_cli.errors import PayloadCorrupt, Refused
from ckpt_cli.history.reducers import delta
from ckpt_cli.history.reducers.rebuilt import Rebuilt, is_unproven, unproven
from ckpt_cli.history.reducers.reducers import ABSENT
from ckpt_cli.history.state import delta_counters
from ckpt_cli.history.state.channels import unwrapped
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import Origin
from ckpt_cli.reading import Reader
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.state import ChannelValues, Version

_BUMPS = "__snapshot_bumps__"


@dataclass(frozen=True, slots=True)
class DeltaSnapshots:
    """How the delta channels get into a checkpoint with the same state as another one.

    Attributes:
        parent_id: the parent that the new checkpoint must have.
        values: channel to the snapshot that the new checkpoint stores.
        edits: the new values of its body keys: these snapshots, and their versions.
        counters: the counters of the other delta channels, for its metadata.
        unknown: channels whose value nothing proves. For their sake the new checkpoint is a sibling, not a child: there
            LangGraph rebuilds them from the same writes.
        empty: those of them that nothing was written to before the checkpoint; only their type isn't known.
    """

    parent_id: str | None
    values: Mapping[str, Node]
    edits: Mapping[str, Any]
    counters: Mapping[str, Any]
    unknown: Collection[str] = ()
    empty: Collection[str] = ()

    def describe(self) -> Iterator[str]:
        """Lines for the plan."""
        if self.values:
            names = ", ".join(sorted(self.values))
            yield f"delta channels stored whole, as their writes belong to another branch: {names}"
        written = [channel for channel in self.unknown if channel not in self.empty]
        reasons = [f"nothing proves the values of delta channels {', '.join(sorted(written))}"] if written else []
        if self.empty:
            names = ", ".join(sorted(self.empty))
            reasons.append(f"no stored value shows the type of delta channels that are empty there: {names}")
        if reasons:
            yield f"made beside it, not after it, as a fork is: {'; '.join(reasons)}"


def snapshots_for_child(reader: Reader, mint: Mint, origin: Origin, replaced: Collection[str] = ()) -> DeltaSnapshots:
    """Snapshots of those delta channels to which the tasks of a checkpoint wrote.

    A snapshot has the channel's value at the checkpoint, before these writes. The channels in `replaced` need none.
    """
    written = {write.channel for write in reader.writes(origin.ref, values=0)} - {*replaced}
    rebuilt = Inspection(reader, origin.ref).deltas()
    known = {c: one.value_to_store for c, one in rebuilt.items() if c in written}
    known |= first_values(reader, origin, written)
    unknown = sorted(channel for channel, value in known.items() if is_unproven(value))
    if unknown:
        counters = origin.metadata.get(delta_counters.COUNTERS) or {}
        empty = [channel for channel in unknown if channel not in origin.state.versions]
        return DeltaSnapshots(origin.stored.row.parent_id, {}, {}, counters, unknown, empty)
    values = {channel: as_snapshot(channel, value) for channel, value in known.items()}
    counted = delta_counters.counters(origin.metadata).items()
    onward = {c: [updates, steps + 1] for c, (updates, steps) in counted if c not in values}
    parent_id = origin.ref.checkpoint_id
    return DeltaSnapshots(parent_id, values, _edits(mint, origin, values) if values else {}, onward)


def describe_lost(reader: Reader, ref: Ref, replaced: Collection[str] = ()) -> Iterator[str]:
    """A line for the plan if a checkpoint continues with delta channels whose last stored value is gone."""
    if not delta_counters.counters(reader.state(ref).metadata):
        return  # a graph without delta channels; its ancestors aren't read
    lost = sorted(c for c, one in Inspection(reader, ref).deltas().items() if one.baseless and c not in replaced)
    if lost:
        channels = f"delta channel{'' if len(lost) == 1 else 's'} {', '.join(lost)}"
        yield f"the stored value that the writes of {channels} go on from is gone; LangGraph starts it empty"


def describe_unshown(reader: Reader, ref: Ref, before: ChannelValues, edited: ChannelValues) -> Iterator[str]:
    """Lines about delta channels that are stored with messages which a reducer around the merge may have left out."""
    rebuilt = Inspection(reader, ref).deltas()
    for channel, value in edited.items():
        old = before.get(channel)
        kept = isinstance(old, list) and isinstance(value, list) and not {*map(id, old)}.isdisjoint(map(id, value))
        if kept and channel in rebuilt and rebuilt[channel].is_unshown:
            why = "no stored value has so many, so nothing shows that your reducer doesn't trim them"
            yield f"{channel} is stored with all its messages: {why}"


def stored_values(reader: Reader, ref: Ref, hint: str) -> dict[str, Node]:
    """Snapshots of the delta channels that a checkpoint doesn't store whole.

    A channel without a stored value and without writes needs no snapshot: it stays empty.

    Raises:
        Refused: the recorded writes of a channel don't give its value; `hint` says what to do instead.
    """
    rebuilt = Inspection(reader, ref).deltas().items()
    needed = {c: one for c, one in rebuilt if one.writes or not one.is_whole or one.seed is not ABSENT}
    return {c: as_snapshot(c, one.value_to_store, hint) for c, one in needed.items()}


def first_values(reader: Reader, origin: Origin, written: Iterable[str]) -> dict[str, Any]:
    """The empty values of the delta channels that are first written by the checkpoint's own tasks.

    The metadata of an existing child shows which of the new channels are delta channels, and a stored value of a later
    checkpoint shows the type. The library can't run with an empty value of another type.
    """
    new = {channel for channel in written if channel not in origin.state.versions} if origin.state.v >= 4 else set()
    values: dict[str, Any] = {}
    for child in (
        reader.lineage(origin.ref.thread_id, origin.ref.ns).children.get(origin.ref.checkpoint_id, ()) if new else ()
    ):
        with suppress(PayloadCorrupt):  # another child may have readable metadata
            found = _first_values_before(reader, Ref(origin.ref.thread_id, origin.ref.ns, child), new)
            values |= {c: value for c, value in found.items() if is_unproven(values.get(c, unproven(ABSENT, [])))}
    return values


def _first_values_before(reader: Reader, child: Ref, new: set[str]) -> dict[str, Any]:
    state, rebuilt = reader.state(child), Inspection(reader, child).deltas()
    values: dict[str, Any] = {}
    for channel in sorted(new & delta.marked(state)):
        later = rebuilt.get(channel, Rebuilt())
        example = unwrapped(state.values[channel]) if channel in state.values else later.example
        values[channel] = Rebuilt(shown=later.shown, example=example).value
    return values


FORK_FIRST = "`ckpt fork` needs no value, then change the checkpoint that it made"
FORK_OR_REDUCER = f"{FORK_FIRST}; or name the reducer with --reducer"


def as_snapshot(channel: str, value: Any, hint: str = FORK_OR_REDUCER) -> Node:
    """The snapshot that stores a delta channel's value whole.

    Raises:
        Refused: the channel's value isn't known.
    """
    if is_unproven(value):
        raise Refused(f"the value of delta channel {channel!r} isn't proven by its recorded writes", hint=hint)
    return Node(Opened("langgraph.checkpoint.serde.types", "_DeltaSnapshot", Form.SNAPSHOT, value))


def _edits(mint: Mint, origin: Origin, values: Mapping[str, Node]) -> dict[str, Any]:
    versions: dict[str, Version] = dict(origin.body.get("channel_versions") or {})
    like = max(versions.values(), key=str, default=None)
    bumped = {c: (versions.get(c), mint.version(versions.get(c), like)) for c in values}
    return {
        "channel_values": {**(origin.body.get("channel_values") or {}), **values},
        "channel_versions": {**versions, **{c: new for c, (_, new) in bumped.items()}},
        "versions_seen": bumped_seen(origin.body.get("versions_seen") or {}, bumped),
    }


def bumped_seen(
    versions_seen: Mapping[str, Mapping[str, Version]], bumped: Mapping[str, tuple[Version | None, Version]]
) -> dict[str, Mapping[str, Version]]:
    """A copy of ``versions_seen``: each node that had seen the old version of a channel has seen the new version.

    So a stored snapshot triggers no node. `bumped` maps a channel to its old and its new version.
    """
    seen = {node: dict(versions) for node, versions in versions_seen.items()}
    marks = seen.pop(_BUMPS, {})
    for node, versions in seen.items():
        for channel, (old, new) in bumped.items():
            if versions.get(channel) != old:
                continue
            advanced, read = f"{node}|{channel}", f"{node}:{channel}"
            if old is not None and marks.get(advanced) != old:
                marks[read] = old
            marks[advanced] = versions[channel] = new
    return {**seen, **({_BUMPS: marks} if marks else {})}
