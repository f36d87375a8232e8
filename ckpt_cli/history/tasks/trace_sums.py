"""`TraceTally`: adds up what tasks left, by node and by channel, with the tokens of each message once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ckpt_cli.history.messages.token_usage import FIELD, usages
from ckpt_cli.history.tasks.task_runs import TaskRun
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.state import TaskWrite

_FIELD = FIELD.encode()
NO_TASK = "none"
"""The kind of what no task wrote: answers, and what ``durability="exit"`` stores for a whole run."""


@dataclass(slots=True)
class Tally:
    """What some tasks of one node left together; see `views.trace.NodeSum`."""

    runs: int = 0
    finished: int = 0
    seconds: float | None = None
    writes: int = 0
    bytes: int = 0
    asked: int = 0
    failed: int = 0
    again: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    channels: dict[str, int] = field(default_factory=dict)

    def add_time(self, seconds: float | None) -> None:
        """Add the time of a step; an unknown time adds nothing."""
        if seconds is not None:
            self.seconds = (self.seconds or 0.0) + seconds


@dataclass(slots=True)
class ChannelTally:
    """What was written to one channel, and by which nodes."""

    writes: int = 0
    bytes: int = 0
    nodes: dict[str, int] = field(default_factory=dict)


NodeKey = tuple[str, str | None, str]
"""The path of the graph, the node (None if there is none, or it isn't known), and the kind of its tasks."""


@dataclass(slots=True)
class TraceTally:
    """The sums over all tasks that were added.

    Attributes:
        nodes: by graph, node and kind.
        channels: by the name of the channel.
        unread: writes that may have tokens and can't be decoded.
    """

    nodes: dict[NodeKey, Tally] = field(default_factory=dict)
    channels: dict[str, ChannelTally] = field(default_factory=dict)
    unread: int = 0
    _counted: set[str | int] = field(default_factory=set)

    def add_run(self, path: str, run: TaskRun) -> Tally:
        """Add what a task left, and give it alone."""
        own = self._written(run.writes, run.node or run.kind)
        own.runs, own.finished = 1, int(run.finished)
        own.asked, own.failed = int(run.asked), int(run.has_failed)
        own.again = int(run.has_failed and run.finished)
        self._add((path, run.node, run.kind), own)
        return own

    def add_others(self, path: str, writes: Sequence[TaskWrite]) -> Tally:
        """Add what no task wrote, and give it alone."""
        own = self._written(writes, NO_TASK)
        self._add((path, None, NO_TASK), own)
        return own

    def add_time(self, path: str, runs: Iterable[TaskRun], seconds: float | None) -> None:
        """Add the time of a step to each node that ran in it, once."""
        for key in {(path, run.node, str(run.kind)) for run in runs}:
            self.nodes[key].add_time(seconds)

    def tokens_in(self, value: object) -> tuple[int, int]:
        """The input and output tokens of the messages in a value that were not counted before."""
        read = wrote = 0
        for usage in usages(value):
            if usage.key not in self._counted:
                self._counted.add(usage.key)
                read, wrote = read + usage.input, wrote + usage.output
        return read, wrote

    def _written(self, writes: Sequence[TaskWrite], node: str) -> Tally:
        own = Tally()
        for write in writes:
            payload = write.row.payload
            size = write.row.size if payload is None else len(payload.data)
            own.writes, own.bytes = own.writes + 1, own.bytes + size
            own.channels[write.channel] = own.channels.get(write.channel, 0) + size
            channel = self.channels.setdefault(write.channel, ChannelTally())
            channel.writes, channel.bytes = channel.writes + 1, channel.bytes + size
            channel.nodes[node] = channel.nodes.get(node, 0) + size
            if may_have_usage(write):
                self.unread += isinstance(write.value, Node) and write.value.form is Form.BROKEN
                read, wrote = self.tokens_in(write.value)
                own.input_tokens, own.output_tokens = own.input_tokens + read, own.output_tokens + wrote
        return own

    def _add(self, key: NodeKey, own: Tally) -> None:
        total = self.nodes.setdefault(key, Tally())
        for name in Tally.__slots__:
            if name == "channels":
                for channel, size in own.channels.items():
                    total.channels[channel] = total.channels.get(channel, 0) + size
            elif name != "seconds":
                setattr(total, name, getattr(total, name) + getattr(own, name))


def may_have_usage(write: TaskWrite) -> bool:
    """Whether a write must be decoded for its tokens: its bytes name the field, or they are encrypted."""
    payload = write.row.payload
    return payload is not None and (_FIELD in payload.data or "+" in payload.tag)
