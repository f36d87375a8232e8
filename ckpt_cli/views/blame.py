"""The views of ``ckpt blame``: since when each part of a value stands, what is gone, a value through time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.write_line import WriteLine


class Origin(NamedTuple):
    """The checkpoint at which something changed, and who changed it.

    Attributes:
        step: null if it isn't recorded.
        time: ISO 8601, UTC; null if the id contains no time.
        source: ``input``, ``loop``, ``update``, ``fork``; "" if not recorded.
        by: who did it: ``node``, ``input``, ``update``, ``fork``; ``channel`` if it emptied itself, as a topic does;
            ``default`` if nothing was written to the channel yet; "" if what is stored doesn't prove it.
        node: the node; for an update its ``as_node``; null if it isn't known.
        task: the task's id; null if it isn't known, and where no task did it.
        candidates: if `by` is "", the nodes of which one may have done it.
        why: if `by` is "", the reason why it isn't known.
        turn: the number of inputs up to here, on the checkpoint's own line; null if not all of them are stored.
        run_id: the run, if the metadata names it.
        copied_from: for ``fork``, the checkpoint whose value was copied; null if it isn't known.
        or_at: the ids of older checkpoints at which it may have happened instead, since equal elements of a list can't
            be distinguished; of very many the newest, and the oldest.
    """

    checkpoint_id: str
    short: str
    step: int | None
    time: str | None
    source: str
    by: str
    node: str | None = None
    task: str | None = None
    candidates: Sequence[str] = ()
    why: str = ""
    turn: int | None = None
    run_id: str | None = None
    copied_from: str | None = None
    or_at: Sequence[str] = ()


class BlameLine(NamedTuple):
    """A part of the value, and since when it stands.

    Attributes:
        unread: the number of checkpoints since then that can't be read, so that the value may have been another there.
        unread_before: the number of checkpoints directly before that can't be read, so that the value may be older.
    """

    path: str
    value: Any
    since: Origin
    unread: int = 0
    unread_before: int = 0


class GoneLine(NamedTuple):
    """A part of an earlier value that was removed or replaced.

    Attributes:
        path: where it was last.
        gone: where and by whom it was removed; null if it still stands.
        replaced: whether another value took its place.
        after: that value.
        elsewhere: where equal parts were that stayed; the values don't show which of them went.
    """

    path: str
    value: Any
    gone: Origin | None
    replaced: bool = False
    after: Any = None
    elsewhere: Sequence[str] = ()


class PastValue(NamedTuple):
    """One of the values that a path had.

    Attributes:
        path: where it was then; null if the path led nowhere from here on.
        version: the channel's version in this checkpoint.
    """

    path: str | None
    value: Any
    since: Origin
    version: int | float | str | None


class Unread(NamedTuple):
    """A checkpoint of the line that can't be read."""

    checkpoint_id: str
    short: str
    problem: str


@dataclass
class _Followed(View):
    """What was followed: a path along the line to a checkpoint.

    Attributes:
        path: what was asked for, in ckpt's own spelling.
        checkpoints: the number of checkpoints on the line.
        command: what a Command wrote to the channel at the line's end; no checkpoint holds it yet.
        notes: why values aren't proven: rebuilt, and larger than all that show how; or in a redacted bundle, where
            equal ones may have differed.
    """

    verb: ClassVar[str] = "blame"

    thread_id: str
    ns: str
    checkpoint_id: str
    short: str
    step: int | None
    path: str
    checkpoints: int
    command: list[WriteLine] = field(default_factory=list, kw_only=True)
    notes: list[str] = field(default_factory=list, kw_only=True)


@dataclass
class BlameView(_Followed):
    """Since when each part of a value stands, unbroken along the line of ancestors, and who gave it its value.

    Attributes:
        lines: the parts in their order: elements of a list, keys of a dict, else the one value.
        unread: the checkpoints of the line that can't be read.
    """

    rows_field: ClassVar[str] = "lines"

    lines: list[BlameLine]
    unread: list[Unread] = field(default_factory=list)


@dataclass
class GoneView(_Followed):
    """The parts of a value that were removed or replaced on the way to a checkpoint, and by whom.

    Attributes:
        start: the checkpoint whose parts are listed; null if all parts are that the value ever had on this line.
        lines: in the order in which they went; with `start`, the parts that still stand come last.
    """

    rows_field: ClassVar[str] = "lines"

    lines: Iterable[GoneLine]
    unread: list[Unread] = field(default_factory=list)
    start: str | None = None


@dataclass
class PastView(_Followed):
    """Every value that a path had on the line to a checkpoint.

    Attributes:
        values: oldest first; they are read while they are printed, and can be taken once.
    """

    rows_field: ClassVar[str] = "values"

    values: Iterable[PastValue]
    unread: list[Unread] = field(default_factory=list)
