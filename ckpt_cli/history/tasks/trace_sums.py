"""`TraceTally`: adds up what tasks left, by node and by channel, with the tokens of each message once."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ckpt_cli.history.messages.message_states import NO_SOURCES, NO_STATES, Sources, StepStates
from ckpt_cli.history.messages.placed_tokens import PlacedTokens
from ckpt_cli.history.messages.token_usage import FIELD
from ckpt_cli.history.state.channels import END, PREVIOUS, RESUME, START
from ckpt_cli.history.tasks.task_runs import TaskRun
from ckpt_cli.values.langgraph_values import send
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
        tokens: which messages were added, and those of no node.
    """

    nodes: dict[NodeKey, Tally] = field(default_factory=dict)
    channels: dict[str, ChannelTally] = field(default_factory=dict)
    unread: int = 0
    tokens: PlacedTokens = field(default_factory=PlacedTokens)

    def add_run(
        self, path: str, run: TaskRun, depth: int, step: StepStates = NO_STATES, sources: Sources = NO_SOURCES
    ) -> Tally:
        """Add what a task left, and give it alone; `depth` is that of its graph below the traced one.

        `step` gives the states around it, `sources` what else it may have messages from, for its tokens.
        """
        own = self._written(run.writes, run.node or run.kind)
        self._add_tokens(own, run, depth, step, sources)
        has_run = run.is_task and not run.is_kept
        own.runs, own.finished = int(has_run), int(has_run and run.finished)
        own.asked, own.failed, own.again = int(run.asked), int(run.has_failed), int(run.ran_again)
        self._add((path, run.node, run.kind), own)
        return own

    def add_others(self, path: str, writes: Sequence[TaskWrite]) -> Tally:
        """Add what no task wrote, and give it alone."""
        own = self._written(writes, NO_TASK)
        for value in self._with_usage(writes):
            self.tokens.add_given(value)
        self._add((path, None, NO_TASK), own)
        return own

    def add_time(self, path: str, runs: Iterable[TaskRun], seconds: float | None) -> None:
        """Add the time of a step to each node that ran in it, once."""
        for key in {(path, run.node, str(run.kind)) for run in runs}:
            self.nodes[key].add_time(seconds)

    def _written(self, writes: Sequence[TaskWrite], node: str) -> Tally:
        own = Tally()
        for write in writes:
            payload = write.row.payload
            size = write.row.size if payload is None else len(payload.data)
            own.writes, own.bytes = own.writes + 1, own.bytes + size
            own.channels[write.row.channel] = own.channels.get(write.row.channel, 0) + size
            channel = self.channels.setdefault(write.row.channel, ChannelTally())
            channel.writes, channel.bytes = channel.writes + 1, channel.bytes + size
            channel.nodes[node] = channel.nodes.get(node, 0) + size
        return own

    def _add_tokens(self, own: Tally, run: TaskRun, depth: int, step: StepStates, sources: Sources) -> None:
        """Add the tokens of what a task wrote; inputs, updates, Commands and answers come from elsewhere."""
        answers = [write for write in run.writes if write.channel == RESUME]
        for value in self._with_usage(answers):
            self.tokens.add_given(value)
        values = self._with_usage(write for write in run.writes if write.channel != RESUME)
        if run.node != START and run.is_task:
            own.input_tokens, own.output_tokens = self.tokens.add_written(values, depth, step, sources)
            return
        for value in map(_argument, values):
            if run.node == START and depth:
                self.tokens.add_copied(value, depth)
            else:
                self.tokens.add_given(value)

    def _with_usage(self, writes: Iterable[TaskWrite]) -> Iterator[object]:
        """The values that may have tokens."""
        for write in writes:
            if may_have_usage(write):
                self.unread += isinstance(write.value, Node) and write.value.form is Form.BROKEN
                yield write.value

    def _add(self, key: NodeKey, own: Tally) -> None:
        total = self.nodes.setdefault(key, Tally())
        for name in Tally.__slots__:
            if name == "channels":
                for channel, size in own.channels.items():
                    total.channels[channel] = total.channels.get(channel, 0) + size
            elif name != "seconds":
                setattr(total, name, getattr(total, name) + getattr(own, name))


def _argument(value: object) -> object:
    """What a Send that came with a Command given as input gives to its task; any other value unchanged."""
    sent = send(value)
    return value if sent is None else sent.arg


def may_have_usage(write: TaskWrite) -> bool:
    """Whether a write must be decoded for its tokens: its bytes name the field, or they are encrypted."""
    payload = write.row.payload
    return payload is not None and (_FIELD in payload.data or "+" in payload.tag)


def has_usage(runs: Iterable[TaskRun]) -> bool:
    """Whether some tasks may have written tokens."""
    return any(may_have_usage(write) for run in runs for write in run.writes)


def takes_input(runs: Iterable[TaskRun]) -> bool:
    """Whether some tasks are entrypoints (functional API), whose input no write has, and may return tokens of it."""
    return any(write.channel in (END, PREVIOUS) and may_have_usage(write) for run in runs for write in run.writes)
