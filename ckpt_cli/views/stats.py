"""The view of ``ckpt stats``: what the threads of a database do, and what takes its space."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.views.base import View


class HaltedView(NamedTuple):
    """A thread that waits or failed.

    Attributes:
        since: when its head was made (ISO 8601, UTC).
        age: seconds since then.
        node: the node that stopped; null if unknown.
        text: the question, or the type of the error.
        inside: the nodes inside the subgraph that this node called, the outermost first, down to the one that failed.
    """

    thread_id: str
    status: str
    since: str | None
    age: float
    node: str | None
    text: str
    inside: Sequence[str] = ()


class TextCount(NamedTuple):
    """How many threads have an error of this type, or a question with this text, at this node (null if unknown).

    Attributes:
        inside: the nodes inside the subgraph that this node called, the outermost first, down to the one that failed.
    """

    text: str
    node: str | None
    threads: int
    inside: Sequence[str] = ()


class AgentCount(NamedTuple):
    """How many threads have this text under a key in the metadata of their head; null: they have no such key."""

    key: str
    value: str | None
    threads: int


class SizeLine(NamedTuple):
    """Records that are alike in one respect.

    Attributes:
        name: what they have in common; null if the database doesn't tell it.
        checkpoints, channels, writes: how many of each; channels are those that are stored apart.
        bytes: null if the engine can't tell without reading the values.
    """

    name: str | None
    checkpoints: int
    channels: int
    writes: int
    bytes: int | None


class PeriodLine(NamedTuple):
    """What was made in a period, by the times in the ids of checkpoints.

    Attributes:
        begin: its first moment (ISO 8601, UTC); null for the time before all others, and if the ids contain no time.
        end: the first moment after it; null if it isn't over.
        dated: whether the ids contain a time. Channels that are stored apart never have one.
    """

    begin: str | None
    end: str | None
    dated: bool
    checkpoints: int
    channels: int
    writes: int
    bytes: int | None


class ThreadLine(NamedTuple):
    """What one thread takes; `last_day` is how many checkpoints it got in the last 24 hours."""

    thread_id: str
    checkpoints: int
    writes: int
    bytes: int | None
    last_day: int


class ChannelLine(NamedTuple):
    """A channel, by its values in all checkpoints (``--values``).

    Attributes:
        values: how many checkpoints have a value of the channel.
        bytes: of all these values, as they are encoded.
        repeats: how many of the values are the same bytes as in the checkpoint before.
        repeated_bytes: their bytes: what storing a value only when it changes would save.
        grown_bytes: in lists that begin with the same elements as before, the bytes of those elements: what storing
            only the new elements would save as well.
    """

    name: str
    values: int
    bytes: int
    repeats: int
    repeated_bytes: int
    grown_bytes: int


class CheckLine(NamedTuple):
    """A condition of ``--check``, and whether it holds.

    Attributes:
        value: null if the database can't tell it.
        shown: the value with its unit, for people.
    """

    condition: str
    value: float | None
    holds: bool
    shown: str = "unknown"


class AdviceLine(NamedTuple):
    """Something to consider: why, and the statements or commands for it, which ckpt never runs."""

    why: str
    commands: tuple[str, ...]


class Sample(NamedTuple):
    """One figure for OpenMetrics; `labels` are pairs of name and text."""

    name: str
    help: str
    labels: tuple[tuple[str, str], ...]
    value: float


@dataclass
class StatsView(View):
    """A database, a part of its threads, or one thread.

    Attributes:
        location: path or URL without credentials.
        selected: whether only some threads were asked for; then the figures are about those alone.
        unit: what the bytes of records are in this engine.
        threads, checkpoints, writes: how many there are.
        waiting, failed: how many threads wait for an answer, or have a failed task at their head. A thread can do both.
        done, unfinished, unknown: threads by their other statuses; null without ``--values``.
        unreadable: threads whose head was read and can't be decoded.
        oldest_waiting, oldest_failed: seconds since the oldest such head was made; 0 if there is none.
        idle: seconds since the newest checkpoint was made; null if no id contains a time.
        rate: how many checkpoints were made in the last hour; null if no id contains a time.
        bytes: all records together; null if the engine can't tell without reading the values.
        file_bytes: the database on disk, with indexes and free space; null if unknown.
        free_bytes: what deleted rows left inside it; null if unknown.
        repeated_bytes: what storing each value only when it changes would save; null without ``--values``.
        halted: the ten threads that have waited longest, then the ten that failed first.
        more_waiting, more_failed: how many other threads wait or failed; ``ckpt threads --status waiting`` lists all.
        errors, questions: threads by the type of the error and by the question, each with its node; beyond a thousand
            different ones, the others are one line, ``(other texts)``.
        agents: threads by texts in the metadata of their heads.
        by_namespace, by_channel, by_node, by_type: records by what they have in common, the largest first.
        by_period: the newest first.
        largest: the threads that take most; `talkers`: those that got most checkpoints in the last 24 hours.
        channels: the channels inside checkpoints; empty without ``--values``.
        unread_checkpoints: how many checkpoints ``--values`` couldn't split into channels.
        after_delete: whether the database becomes smaller after a delete, and by what.
        tables: bytes of tables, collections and indexes, by name.
        checks: the conditions of ``--check``.
        advice: what the sizes speak for (``--advice``).
        notes: what this database can't tell, a sentence each.
    """

    verb: ClassVar[str] = "stats"
    samples: ClassVar[list[Sample] | None] = None
    advised: ClassVar[bool] = False

    location: str
    selected: bool
    unit: str
    threads: int = 0
    checkpoints: int = 0
    writes: int = 0
    waiting: int = 0
    failed: int = 0
    done: int | None = None
    unfinished: int | None = None
    unknown: int | None = None
    unreadable: int = 0
    oldest_waiting: float | None = 0.0
    oldest_failed: float | None = 0.0
    idle: float | None = None
    rate: int | None = None
    bytes: int | None = None
    file_bytes: int | None = None
    free_bytes: int | None = None
    repeated_bytes: int | None = None
    halted: list[HaltedView] = field(default_factory=list)
    more_waiting: int = 0
    more_failed: int = 0
    errors: list[TextCount] = field(default_factory=list)
    questions: list[TextCount] = field(default_factory=list)
    agents: list[AgentCount] = field(default_factory=list)
    by_namespace: list[SizeLine] = field(default_factory=list)
    by_channel: list[SizeLine] = field(default_factory=list)
    by_node: list[SizeLine] = field(default_factory=list)
    by_type: list[SizeLine] = field(default_factory=list)
    by_period: list[PeriodLine] = field(default_factory=list)
    largest: list[ThreadLine] = field(default_factory=list)
    talkers: list[ThreadLine] = field(default_factory=list)
    channels: list[ChannelLine] = field(default_factory=list)
    unread_checkpoints: int = 0
    after_delete: str = ""
    tables: dict[str, int] = field(default_factory=dict)
    checks: list[CheckLine] = field(default_factory=list)
    advice: list[AdviceLine] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """1 if a condition of ``--check`` doesn't hold, else 0."""
        return int(any(not check.holds for check in self.checks))

    @property
    def cut(self) -> str:
        """The conditions that don't hold, for stderr."""
        failed = [
            f"{one.condition} ({'' if one.value is None else 'it is '}{one.shown})"
            for one in self.checks
            if not one.holds
        ]
        return f"check failed: {', '.join(failed)}" if failed else ""
