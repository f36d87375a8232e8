"""What ``ckpt replay`` tells: what pending writes come to and what would run again, or how a line of steps was made."""

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
        again: it would run again if the thread was resumed now.
        error: as stored.
        asks: the questions it waits with.
        writes: what it wrote.
        answers: those recorded that it has not taken yet.
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
        consumed: a child has done so already, and nothing of it is pending.
        changes: what the writes make of the state.
        reducers: channel and reducer, with the evidence for it.
        unknown: channels that are written to and whose value then can't be told, each with why; `changes` has none of
            them, and ``--commit`` wants their reducers.
        next: who would run after ``--commit``; null where that can't be known.
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
    """One write of a recorded step to a channel of the user's; `reducer` is null where none is known."""

    channel: str
    value: Any
    reducer: str | None


@dataclass(frozen=True, slots=True)
class PlayedTask:
    """Who wrote in a recorded step.

    Attributes:
        node: null where it can't be known, and for what no task wrote.
        by: ``task``, ``input`` or ``update``.
        sends: the nodes it called with a Send, one for each.
    """

    node: str | None
    by: str
    writes: list[PlayedWrite]
    sends: list[str]


@dataclass(frozen=True, slots=True)
class PlayedStep:
    """A recorded step, played again.

    Attributes:
        step: null where it is not recorded.
        source: ``input``, ``loop``, ``update``, ``fork``; "" where not recorded.
        tasks: those whose writes made it, as far as they are stored.
        changes: from its parent's state to its own.
        verdict: ``agrees`` (it is what the writes make), ``differs``, ``unknown``.
        why: in words, unless it agrees.
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
    """The steps from one checkpoint down to another, as they are played.

    Attributes:
        before: where it starts; its `checkpoint_id` is null for the nothing before a first checkpoint.
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
