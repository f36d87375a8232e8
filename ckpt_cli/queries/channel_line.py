"""The value of one channel at each checkpoint of a line, oldest first, some megabytes at a time.

Only the channel's own payload is decoded, each distinct one once. A delta channel, whose value most checkpoints don't
store, is rebuilt from writes (`step_walk`).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.diff.part_moments import ABSENT
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.reducers.reducers import Reducer
from ckpt_cli.history.state.channels import NOT_NODES, is_snapshot, unwrapped
from ckpt_cli.history.tasks.metadata_notes import Note, note
from ckpt_cli.inspection import Inspection
from ckpt_cli.layouts import named, read_metadata, values_of
from ckpt_cli.model import Checkpoint, Payload, Ref
from ckpt_cli.queries.step_walk import StepWalk
from ckpt_cli.queries.walked_step import WalkedStep
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.state import Version

_AT_ONCE = 200
_BYTES = 12_000_000
_REBUILT_AT_ONCE = 50
_LAST = 3  # checkpoints of which one mostly lacks the value of a delta channel
_UNPROVEN = "it isn't stored, and no known reducer is proved to give it"


class Reading(NamedTuple):
    """The channel at one checkpoint of the line.

    Attributes:
        number: the checkpoint's place in the line.
        value: ABSENT if the channel holds nothing.
        problem: why the value can't be read; "" if it can.
        run_id: the run that made the checkpoint, if its metadata names it.
        ran: the nodes whose entry in ``versions_seen`` differs from that of the checkpoint before; None if unknown.
        is_note_whole: whether `note` is all that the metadata says.
    """

    number: int
    checkpoint_id: str
    note: Note
    value: Any = ABSENT
    version: Version | None = None
    problem: str = ""
    run_id: str | None = None
    ran: Sequence[str] | None = None
    is_note_whole: bool = False


class DeltaFoundError(Exception):
    """The channel turned out to be a delta channel: the line must be read again, with its writes."""


class ChannelLine:
    """One channel along a line of checkpoints.

    Attributes:
        refs: the checkpoints, oldest first.
        channel: its name.
    """

    def __init__(
        self,
        session: Session,
        refs: Sequence[Ref],
        channel: str,
        *,
        rebuilt: bool = False,
        named: Mapping[str, Reducer] = MappingProxyType({}),
    ) -> None:
        """Read nothing yet; `rebuilt` says that the channel is a delta channel, `named` are reducers of channels."""
        self.refs = refs
        self.channel = channel
        self.rebuilt = rebuilt
        self._session = session
        self._named = named
        self._seen: Mapping[str, Any] | None = {}
        self._is_unprovable = self._is_refuted = False
        self._last: tuple[Payload, Any] | None = None

    def readings(self) -> Iterator[Reading]:
        """The channel at each checkpoint; no transaction is open between two portions.

        Raises:
            DeltaFoundError: without `rebuilt`, a checkpoint shows that this is a delta channel.
        """
        number = 0
        for portion in self._rebuilt_portions() if self.rebuilt else self._portions():
            for reading, seen in portion:
                yield reading._replace(number=number, ran=self._ran(seen))
                number += 1

    def at(self, numbers: Sequence[int]) -> Iterator[Reading]:
        """The channel at some of the checkpoints, ascending; `ran` isn't known."""
        if self.rebuilt:
            wanted = set(numbers)
            yield from (reading for reading in self.readings() if reading.number in wanted)
            return
        for start in range(0, len(numbers), _REBUILT_AT_ONCE):
            page = numbers[start : start + _REBUILT_AT_ONCE]
            refs = [self.refs[number] for number in page]
            portion = self._session.read(partial(self._read, refs=refs))
            yield from (one._replace(number=n) for n, (one, _) in zip(page, portion, strict=True))

    def _portions(self) -> Iterator[list[tuple[Reading, Mapping[str, Any] | None]]]:
        rows = self._session.read(lambda reader: reader.lineage(*self.refs[0][:2])).rows
        page, size = list[Ref](), 0
        for ref in self.refs:
            page.append(ref)
            size += rows[ref.checkpoint_id].size or 0
            if size > _BYTES or len(page) == _AT_ONCE or ref is self.refs[-1]:
                yield self._session.read(partial(self._read, refs=page))
                page, size = [], 0

    def _read(self, reader: Reader, refs: Sequence[Ref]) -> list[tuple[Reading, Mapping[str, Any] | None]]:
        portion = {}
        for checkpoint in reader.saver.with_channels(refs, {self.channel}):
            portion[checkpoint.row.checkpoint_id] = self._decode(reader, checkpoint)
        gone = "it was deleted meanwhile"
        return [portion.get(i) or (Reading(0, i, note(None, i), problem=gone), None) for _, _, i in refs]

    def _decode(self, reader: Reader, checkpoint: Checkpoint) -> tuple[Reading, Mapping[str, Any] | None]:
        checkpoint_id = checkpoint.row.checkpoint_id
        metadata, _ = read_metadata(reader.value(checkpoint.metadata))
        reading = Reading(0, checkpoint_id, note(metadata, checkpoint_id), run_id=_run_id(metadata), is_note_whole=True)
        if checkpoint.channels is not None:
            own = checkpoint.channels.get(self.channel)
            checkpoint = checkpoint._replace(channels={} if own is None else {self.channel: own})
        seen: Mapping[str, Any] | None = None

        def decode(payload: Payload) -> Any:
            nonlocal seen
            if payload is not checkpoint.body:
                return self._value(reader, payload)
            body = reader.value(payload)
            seen = named(named(body).get("versions_seen"))
            return body

        try:
            values, versions = values_of(checkpoint, decode)
        except PayloadCorrupt as error:
            return reading._replace(problem=error.message), seen
        value, version = values.get(self.channel, ABSENT), versions.get(self.channel)
        counted = named(metadata.get("counters_since_delta_snapshot"))
        if is_snapshot(value) or (value is ABSENT and version is not None and self.channel in counted):
            raise DeltaFoundError
        return _with_value(reading, value, version), seen

    def _value(self, reader: Reader, payload: Payload) -> Any:
        """A channel's value; several checkpoints that share a payload get the same object."""
        if self._last is None or self._last[0] != payload:
            self._last = (payload, reader.value(payload))
        return self._last[1]

    def _rebuilt_portions(self) -> Iterator[list[tuple[Reading, Mapping[str, Any] | None]]]:
        walk: StepWalk | None = None

        def page(reader: Reader, refs: Sequence[Ref]) -> list[tuple[Reading, Mapping[str, Any] | None]]:
            nonlocal walk
            if walk is None:
                self._is_refuted = self.channel not in self._named and self._refuted(reader)
                walk = StepWalk(reader, None, self._named)
            return [self._walked(reader, step) for step in walk.steps(refs)]

        for start in range(0, len(self.refs), _REBUILT_AT_ONCE):
            refs = self.refs[start : start + _REBUILT_AT_ONCE]
            yield self._session.read(partial(page, refs=refs))

    def _refuted(self, reader: Reader) -> bool:
        """Whether a stored value of the channel refutes what those before it seem to prove, as at the line's end."""
        for ref in self.refs[: -_LAST - 1 : -1]:
            with suppress(PayloadCorrupt):
                if (rebuilt := Inspection(reader, ref).deltas().get(self.channel)) is not None:
                    return rebuilt.evidence is None and rebuilt.shown.steps > 0
        return False

    def _walked(self, reader: Reader, step: WalkedStep) -> tuple[Reading, Mapping[str, Any] | None]:
        checkpoint_id = step.ref.checkpoint_id
        if step.state is None or step.after is None:
            return Reading(0, checkpoint_id, note(None, checkpoint_id), problem=step.doubt), None
        metadata = step.state.metadata
        reading = Reading(0, checkpoint_id, note(metadata, checkpoint_id), run_id=_run_id(metadata), is_note_whole=True)
        value = step.after.get(self.channel, ABSENT)
        if self._is_refuted and self.channel in step.rebuilt:
            return reading._replace(version=step.state.versions.get(self.channel), problem=_UNPROVEN), step.state.seen
        if is_unproven(value) and not self._is_unprovable:  # later steps may prove the reducer
            value = Inspection(reader, step.ref).values().get(self.channel, ABSENT)
        self._is_unprovable = is_unproven(value)
        return _with_value(reading, value, step.state.versions.get(self.channel)), step.state.seen

    def _ran(self, seen: Mapping[str, Any] | None) -> Sequence[str] | None:
        """The nodes whose entry in ``versions_seen`` changed since the checkpoint before."""
        before, self._seen = self._seen, seen
        if seen is None or before is None:
            return None
        changed = [node for node, versions in seen.items() if versions != before.get(node)]
        return [node for node in changed if node not in NOT_NODES and not node.endswith(":edges")]


def _with_value(reading: Reading, value: Any, version: Version | None) -> Reading:
    if isinstance(value, Node) and value.form is Form.BROKEN:
        return reading._replace(version=version, problem=str(value.problem))
    if is_unproven(value):
        return reading._replace(version=version, problem=_UNPROVEN)
    return reading._replace(value=unwrapped(value), version=version)


def _run_id(metadata: Mapping[str, Any]) -> str | None:
    run_id = metadata.get("run_id")
    return run_id if isinstance(run_id, str) else None
