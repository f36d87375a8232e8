"""The views of ``ckpt replay``: the result of pending writes and what would run again, or a line of recorded steps."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ckpt_cli.values.difference import Difference
from ckpt_cli.views.base import View
from ckpt_cli.views.diff import End


@dataclass(frozen=True, slots=True)
class WriteLine:
    """One write of a task to a channel of the user's."""

    channel: str
    value: Any


@dataclass(frozen=True, slots=True)
class ReplayedTask:
    """One task of the step.

    Attributes:
        again: whether it would run again if the thread were resumed now.
        error: as stored.
        asks: the questions that it waits with.
        writes: what it wrote.
        answers: the recorded answers that it has not taken yet.
    """

    node: str | None
    status: str
    again: bool
    error: Any
    asks: list[Any]
    writes: list[WriteLine]
    answers: list[Any]


@dataclass
class ReplayView(View):
    """A checkpoint with its pending writes applied; nothing is written.

    Attributes:
        consumed: whether a child has applied them already, so that none is pending.
        changes: how the writes change the state.
        reducers: channel and reducer, with the evidence for it.
        unknown: the written channels whose value afterwards can't be known, each with the reason. `changes` has none of
            them, and ``--commit`` needs their reducers.
        next: the nodes that would run after ``--commit``; null if that can't be known.
    """

    verb: ClassVar[str] = "replay"
    rows_field: ClassVar[str] = "tasks"

    thread: str
    checkpoint_id: str
    short: str
    step: int | None
    consumed: bool
    tasks: list[ReplayedTask]
    changes: list[Difference]
    reducers: list[str]
    unknown: dict[str, str]
    next: list[str] | None


@dataclass(frozen=True, slots=True)
class PlayedWrite:
    """One write of a recorded step to a channel of the user's; `reducer` is null if none is known."""

    channel: str
    value: Any
    reducer: str | None


@dataclass(frozen=True, slots=True)
class PlayedTask:
    """The writes of one task of a recorded step, or of an input or update.

    Attributes:
        node: null if it can't be known, and for writes that no task made.
        by: ``task``, ``input`` or ``update``.
        sends: the nodes that it called, one for each Send.
    """

    node: str | None
    by: str
    writes: list[PlayedWrite]
    sends: list[str]


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """A recorded step, played again.

    Attributes:
        step: null if it is not recorded.
        source: ``input``, ``loop``, ``update``, ``fork``; "" if not recorded.
        tasks: the tasks whose writes made it, as far as they are stored.
        changes: from its parent's state to its own.
        verdict: ``agrees`` (the state is what the writes make), ``differs``, ``unknown``.
        why: the reason in words, unless it agrees.
        otherwise: the channels that hold something else than the writes make.
    """

    checkpoint_id: str
    short: str
    step: int | None
    source: str
    tasks: list[PlayedTask]
    changes: list[Difference]
    verdict: str
    why: str
    otherwise: list[str]


@dataclass
class PlayedView(View):
    """The steps from one checkpoint to a later one, as they are played.

    Attributes:
        before: where it starts; its `checkpoint_id` is null for the empty state before a first checkpoint.
        count: how many steps there are.
        reducers: channel and reducer, with the evidence for it on the whole line.
        steps: oldest first.
        verdicts: how many steps have which verdict; complete once all steps were taken.
    """

    verb: ClassVar[str] = "replay"
    rows_field: ClassVar[str] = "steps"

    before: End
    after: End
    count: int
    reducers: list[str]
    steps: Iterable[PlayedStep]
    verdicts: dict[str, int] = field(default_factory=dict)
