"""A checkpoint and its writes, decoded, with the first problem in each; `history` works on them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ckpt_cli.model import Payload, Ref, Write
from ckpt_cli.values.node import Form, Node

Version = int | str | float
"""A channel version: a plain int (JS, Mongo, langgraph 0.0), ``%032d.<md5>`` or ``%032d.<random>`` text."""

ChannelValues = Mapping[str, Any]
"""Channel to value: what a graph sees as its state."""


class State(NamedTuple):
    """One checkpoint, decoded.

    Attributes:
        v: the checkpoint format: 4 since langgraph 0.5, 3 since 0.3.24, 2 and 1 before, 0 if none is stored.
        values: channel to value as stored. A delta channel is absent or a SNAPSHOT node; a value that can't be decoded
            is a BROKEN node.
        versions: channel to version, also of channels that hold nothing.
        seen: node to the version of each channel that the node has seen.
        updated: the channels that the last step wrote to; None if not recorded.
        sends: Sends that the checkpoint itself holds (``pending_sends``, v < 4).
        metadata: as stored, {} if it can't be read.
        metadata_problem: why some metadata can't be read; "" if all can.
        own_id: the id in the stored body; "" if there is none.
        blobless: the channels that have a version whose stored value is gone, where values are stored one by one.
        damage: why a part other than the channel values can't be read ("" if all can). Then versions may be missing.
    """

    ref: Ref
    parent_id: str | None
    v: int
    ts: str
    values: Mapping[str, Any]
    versions: Mapping[str, Version]
    seen: Mapping[str, Mapping[str, Version]]
    metadata: Mapping[str, Any]
    updated: list[str] | None = None
    sends: Sequence[Any] = ()
    damage: str = ""
    metadata_problem: str = ""
    own_id: str = ""
    blobless: frozenset[str] = frozenset()

    @property
    def problem(self) -> str | None:
        """The first problem: `damage`, else that of a broken channel, else that of metadata; None if there is none."""
        if self.damage:
            return self.damage
        for name, value in self.values.items():
            if type(value) is Node and value.form is Form.BROKEN:
                return f"{name}: {value.problem}"
        return f"metadata: {self.metadata_problem}" if self.metadata_problem else None

    @property
    def source(self) -> str:
        """``input``, ``loop``, ``update``, ``fork``; "" where not recorded."""
        source = self.metadata.get("source")
        return source if isinstance(source, str) else ""

    @property
    def step(self) -> int | None:
        """The superstep: -1 for the first input; None where not recorded."""
        step = self.metadata.get("step")
        return step if isinstance(step, int) else None


class TaskWrite:
    """A write whose value is decoded at the first use.

    Attributes:
        row: the write as stored.
        channel: the channel written to, or a special one (``__interrupt__``, ``__error__``, …). An error that is no
            failure has another name than in `row`; see `history.tasks.javascript_errors`.
        task_id: the id of the task that wrote this.
    """

    __slots__ = ("_decode", "_value", "channel", "row", "task_id")
    _UNREAD = object()

    def __init__(self, row: Write, decode: Callable[[Payload], Any]) -> None:
        self.row = row
        self.channel = row.channel
        self.task_id = row.task_id
        self._decode = decode
        self._value: Any = TaskWrite._UNREAD

    @property
    def read(self) -> bool:
        """Whether the payload was read; a listing leaves long ones out."""
        return self.row.payload is not None

    @property
    def value(self) -> Any:
        """The decoded value; a BROKEN node where it can't be decoded.

        Raises:
            LookupError: the payload was not read.
        """
        if self._value is TaskWrite._UNREAD:
            if self.row.payload is None:
                raise LookupError(f"payload of {self.row.channel} was not read")
            self._value = self._decode(self.row.payload)
        return self._value
