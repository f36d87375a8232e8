"""What ``ckpt replay`` tells: what a checkpoint's pending writes come to, and what would run again."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ckpt_cli.values.difference import Difference
from ckpt_cli.views.base import View


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
    """

    node: str | None
    status: str
    again: bool
    error: Any
    asks: list[Any]
    writes: list[WriteLine]


@dataclass
class ReplayView(View):
    """A checkpoint with its pending writes applied; nothing is written.

    Attributes:
        consumed: a child has done so already, and nothing of it is pending.
        changes: what the writes make of the state.
        reducers: channel and reducer, with the evidence for it.
        next: who would run after ``--commit``; null where that can't be known.
    """

    verb: ClassVar[str] = "replay"

    thread: str
    checkpoint_id: str
    short: str
    step: int | None
    consumed: bool
    tasks: list[ReplayedTask]
    changes: list[Difference]
    reducers: list[str]
    next: list[str] | None
