"""Which delta channels the first checkpoint of a new branch must store whole, and their snapshots.

A delta channel's value is rebuilt from the writes stored on all ancestors. The writes on a checkpoint belong to the
child that was made from them. A second child would get these writes too, unless it stores the channel's value itself
(langgraph 1.2 ``pregel/_checkpoint.py: delta_channels_with_pending_writes``, ``create_checkpoint``,
``_mark_bumps_seen``).
"""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ckpt_cli.errors import PayloadCorrupt, Refused
from ckpt_cli.history.reducers import delta
from ckpt_cli.history.reducers.reducers import UNION
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import Origin
from ckpt_cli.reading import Reader
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.state import Version

_BUMPS = "__snapshot_bumps__"


@dataclass(frozen=True, slots=True)
class DeltaSnapshots:
    """The delta channels that a new child of a checkpoint stores whole.

    Attributes:
        values: channel to snapshot.
        edits: the new values of the child's body keys: these snapshots, and their versions.
        counters: the counters of the other delta channels, for the child's metadata.
    """

    values: Mapping[str, Node]
    edits: Mapping[str, Any]
    counters: Mapping[str, Any]


def snapshots_for_child(reader: Reader, mint: Mint, origin: Origin) -> DeltaSnapshots:
    """Snapshots of those delta channels to which the tasks of a checkpoint wrote.

    A snapshot has the channel's value at the checkpoint, before these writes.

    Raises:
        Refused: the value of a channel isn't known, because its recorded writes don't give it.
    """
    written = {write.channel for write in reader.writes(origin.ref, values=0)}
    values = {**stored_values(reader, origin.ref, written), **_first_written(reader, origin, written)}
    counters = delta.counters(origin.metadata).items()
    onward = {c: [updates, steps + 1] for c, (updates, steps) in counters if c not in values}
    return DeltaSnapshots(values, _edits(mint, origin, values) if values else {}, onward)


def stored_values(reader: Reader, ref: Ref, channels: Collection[str] | None = None) -> dict[str, Node]:
    """Snapshots of the delta channels that a checkpoint doesn't store whole; if `channels` is given, only of these.

    Raises:
        Refused: the recorded writes of a channel don't give its value.
    """
    rebuilt = Inspection(reader, ref).deltas()
    return {c: as_snapshot(c, rebuilt[c].value) for c in rebuilt if channels is None or c in channels}


def _first_written(reader: Reader, origin: Origin, written: Iterable[str]) -> dict[str, Node]:
    """Snapshots of the delta channels that are empty at the checkpoint, and are first written by its own tasks.

    The metadata of an existing child shows which of the new channels are delta channels.
    """
    new = {channel for channel in written if channel not in origin.state.versions} if origin.state.v >= 4 else set()
    snapshots: dict[str, Node] = {}
    for child in (
        reader.lineage(origin.ref.thread_id, origin.ref.ns).children.get(origin.ref.checkpoint_id, ()) if new else ()
    ):
        with suppress(PayloadCorrupt):  # another child may have readable metadata
            snapshots = {
                **_first_written_before(reader, Ref(origin.ref.thread_id, origin.ref.ns, child), new),
                **snapshots,
            }
    return snapshots


def _first_written_before(reader: Reader, child: Ref, new: set[str]) -> dict[str, Node]:
    rebuilt = Inspection(reader, child).deltas()
    unions = {channel for channel, one in rebuilt.items() if one.reducer is UNION}
    return {c: as_snapshot(c, {} if c in unions else []) for c in sorted(new & delta.marked(reader.state(child)))}


def as_snapshot(channel: str, value: Any) -> Node:
    """The snapshot that stores a delta channel's value whole.

    Raises:
        Refused: the channel's value isn't known.
    """
    if isinstance(value, Node) and (value.module, value.name) == ("", "DeltaChannel"):
        hint = "`ckpt fork` needs no value: it makes a sibling, not a child"
        raise Refused(
            f"the value of delta channel {channel!r} isn't known: its recorded writes don't give it", hint=hint
        )
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
