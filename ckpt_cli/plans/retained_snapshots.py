"""`Snapshots`: which kept checkpoints store delta channels whole, so that ancestors can go.

A snapshot keeps the channel's version: the value at a version is always the same, so no node runs because of it, and a
checkpoint that names the same version may find the value there too (checkpoint-postgres 3.2 stores one for each).
"""

from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Set
from typing import Any

from ckpt_cli.errors import NotSupported, PayloadCorrupt, Refused, UsageError
from ckpt_cli.history.reducers.rebuilt import Rebuilt, is_unproven, unproven
from ckpt_cli.history.reducers.reducers import ABSENT, Reducer
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Checkpoint, Payload, Ref
from ckpt_cli.plans.delta_snapshots import as_snapshot
from ckpt_cli.plans.new_checkpoint import encode_checkpoint, make_origin
from ckpt_cli.reading import Reader
from ckpt_cli.row_reading import bound
from ckpt_cli.values.node import Node
from ckpt_cli.values.state import State, Version

_MSGPACK = Payload("msgpack", b"\xc0")
_KEPT = 8  # checkpoints whose rebuilt channels are in memory


class Snapshots:
    """The snapshots that a pruning writes.

    Attributes:
        channels: checkpoint to the channels that it will store whole.
        unknown: the channels of which some value is proven by nothing, so that ancestors stay for them, each with the
            checkpoints of these values.
        beyond: those of which some value has more elements than all that show the reducer, with this reducer.
        beyond_at: the checkpoints of these values.
        larger: the channels of messages that are stored with more of them than any value that shows the merge.
        unordered: those of which LangGraph's saver may read some value otherwise, so that ancestors stay for them; each
            with the checkpoints of these values.
        named: the channels whose reducer only a person named.
        unused: the channels for which a person's reducer isn't used, with the one that stored values prove, if any.
    """

    def __init__(self, reader: Reader, reducers: Mapping[str, Reducer]) -> None:
        """`reducers` are those that a person named, for channels of which the history doesn't prove it."""
        self._reader = reader
        self._reducers = reducers
        self._rebuilt = OrderedDict[Ref, Mapping[str, Rebuilt]]()
        self._possible: dict[tuple[Ref, str], bool] = {}
        self._beside: set[tuple[Ref, str]] = set()
        self._versions: dict[Ref, Mapping[str, Version]] = {}
        self.channels: dict[Ref, set[str]] = {}
        self.unknown = defaultdict[str, set[Ref]](set)
        self.beyond: dict[str, Reducer] = {}
        self.beyond_at = defaultdict[str, set[Ref]](set)
        self.larger: set[str] = set()
        self.unordered = defaultdict[str, set[Ref]](set)
        self.named: dict[str, Reducer] = {}
        self.unused: dict[str, Reducer | None] = {}

    def forget(self) -> None:
        """Forget what was tried: other checkpoints may be kept now, and need other snapshots."""
        for noted in (self.unknown, self.beyond, self.beyond_at, self.larger, self.unordered):
            noted.clear()
        self.clear()

    def clear(self) -> None:
        """Begin again: more checkpoints are kept now, some of them for lack of a snapshot."""
        self.channels = {}

    def cover(self, ref: Ref, channels: Set[str], written: Set[str]) -> Set[str]:
        """Those of these channels for which a checkpoint needs no ancestor, with the snapshots that this takes.

        A channel without a value needs no snapshot, unless it is among those `written` by ancestors that stay.
        """
        covered = set[str]()
        for channel in channels:
            if self._is_empty(ref, channel):
                covered |= {channel} - written
            elif self.add(ref, channel):
                covered.add(channel)
        return covered

    def add(self, ref: Ref, channel: str) -> bool:
        """Store a channel whole in a checkpoint; False if nothing proves its value there.

        A snapshot must hold what LangGraph reads without it. Most of its savers give the writes of tasks that ran side
        by side in the order in which they came, not in that of their paths, by which the run applied them.
        """
        if (ref, channel) not in self._possible:
            self._possible[ref, channel] = self._is_possible(ref, channel)
        if self._possible[ref, channel]:
            if channel not in self.channels.setdefault(ref, set()):
                self._note_size(ref, channel)
            self.channels[ref].add(channel)
        else:
            self._note_refusal(ref, channel)
        return self._possible[ref, channel]

    def _note_size(self, ref: Ref, channel: str) -> None:
        one = self._deltas(ref).get(channel)
        if one is not None and one.is_larger and channel not in self._reducers:
            self.larger.add(channel)

    def _note_refusal(self, ref: Ref, channel: str) -> None:
        one = self._deltas(ref).get(channel)
        if (ref, channel) in self._beside:
            self.unordered[channel].add(ref)
        elif one is not None and one.reducer is not None and one.is_beyond:
            self.beyond[channel] = one.reducer
            self.beyond_at[channel].add(ref)
        else:
            self.unknown[channel].add(ref)

    def _is_possible(self, ref: Ref, channel: str) -> bool:
        """Whether a channel's value is known, and can be stored."""
        one = self._deltas(ref).get(channel)
        if one is not None and one.beside and not self._reader.saver.orders_writes_as_library:
            self._beside.add((ref, channel))
            return False
        value = self._value(ref, channel)
        try:
            return not is_unproven(value) and bool(self._reader.codec.encode(value, like=_MSGPACK).data)
        except (UsageError, PayloadCorrupt, NotSupported):
            return False

    def _value(self, ref: Ref, channel: str) -> Any:
        one = self._deltas(ref).get(channel)
        return unproven(ABSENT, []) if one is None else one.value_by(self._reducer(one, channel))

    def _reducer(self, one: Rebuilt, channel: str) -> Reducer | None:
        """The reducer that the person named, if it explains the stored values; else the proven one.

        What is stored up to here may fit several, as an append of items of which none came again yet.
        """
        proven, named = one.proven, self._reducers.get(channel)
        if named is None or named is proven:
            return proven
        explains = proven is None or named in {candidate.reducer for candidate in one.shown.candidates}
        if explains and not one.shown.refutes(named):
            self.named[channel] = named
            return named
        self.unused[channel] = proven
        return proven

    def of(self, ref: Ref) -> Set[str]:
        """The channels that a checkpoint will store whole."""
        return self.channels.get(ref, set())

    def values(self, ref: Ref) -> Iterator[tuple[str, Node]]:
        """The snapshots that a checkpoint will store."""
        for channel in sorted(self.of(ref)):
            yield channel, as_snapshot(channel, self._value(ref, channel))

    def values_at(self, state: State) -> Iterator[tuple[str, Node]]:
        """The snapshots in other checkpoints of the namespace that have the version of a channel that a state names."""
        for ref, channels in self.channels.items():
            if ref.ns == state.ref.ns:
                versions = self._versions_at(ref)
                for channel in channels:
                    if channel not in state.values and versions.get(channel) == state.versions.get(channel):
                        yield channel, as_snapshot(channel, self._value(ref, channel))

    def _versions_at(self, ref: Ref) -> Mapping[str, Version]:
        if ref not in self._versions:
            self._versions[ref] = self._reader.state(ref).versions
        return self._versions[ref]

    def record(self, stored: Checkpoint, row_like: Checkpoint) -> Checkpoint:
        """The checkpoint `stored` with its snapshots, as the row of `row_like`; without any, byte for byte.

        Raises:
            Refused: the checkpoint can't be read.
        """
        values = dict(self.values(stored.row.ref))
        if not values:
            return row_like
        try:
            origin = make_origin(stored, self._reader.decode(stored), self._reader)
        except PayloadCorrupt as error:
            raise Refused(f"no snapshot can be stored in checkpoint {stored.row.checkpoint_id}: {error}") from error
        body = {**origin.body, "channel_values": {**(origin.body.get("channel_values") or {}), **values}}
        return encode_checkpoint(self._reader, origin, row_like.row, body, origin.metadata)

    def reader(self) -> Reader:
        """A reader to which the snapshots are stored already."""
        return _Ahead(self._reader, self)

    def _is_empty(self, ref: Ref, channel: str) -> bool:
        """Whether a channel was never written: it has no version, or one that no write gave."""
        try:
            if channel not in self._reader.state(ref).versions:
                return True
        except PayloadCorrupt:
            return False
        one = self._deltas(ref).get(channel)
        return one is not None and not (one.writes or one.lost or one.seed is not ABSENT)

    def _deltas(self, ref: Ref) -> Mapping[str, Rebuilt]:
        if ref not in self._rebuilt:
            try:
                self._rebuilt[ref] = Inspection(self._reader, ref).deltas()
            except PayloadCorrupt:
                self._rebuilt[ref] = {}
            bound(self._rebuilt, _KEPT)
        return self._rebuilt[ref]


class _Ahead(Reader):
    """Reads states with the snapshots that a plan will store."""

    def __init__(self, reader: Reader, snapshots: Snapshots) -> None:
        super().__init__(reader.saver, reader.codec, reader.clock, reader.tags)
        self.saver = reader.saver
        self._snapshots = snapshots

    def decode(self, checkpoint: Checkpoint) -> State:
        """See `Reader.decode`."""
        state = super().decode(checkpoint)
        values = dict[str, Any](self._snapshots.values(checkpoint.row.ref))
        if checkpoint.channels is not None:  # a value that is stored apart is found by its version, wherever it was
            values = {**dict(self._snapshots.values_at(state)), **values}
        return state._replace(values={**state.values, **values}) if values else state
