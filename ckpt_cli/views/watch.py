"""The view of ``ckpt watch``: events, one after the other, until something ends them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.steps import StepView


class EventView(NamedTuple):
    """An event.

    Attributes:
        event: ``checkpoint`` (a new one), ``status`` (tasks of the head asked, failed or were answered; for a thread
            that was named, also how it is at the beginning), ``alert`` (a condition of ``--alert`` holds).
        thread_id: null for an alert.
        statuses: the thread's statuses, if the checkpoint is the thread's head; else empty.
        between: seconds between the checkpoint's parent and the checkpoint; null if an id contains no time.
        rate: how many checkpoints were seen in the last minute.
        text: the event in words, on one line.
        checkpoint: as a row of ``log``; null for an alert.
    """

    event: str
    thread_id: str | None
    statuses: Sequence[str]
    between: float | None
    rate: int
    text: str
    checkpoint: StepView | None


@dataclass(slots=True, eq=False, repr=False)
class WatchView(View):
    """A watch.

    Attributes:
        alerted: whether an alert ended it.
    """

    verb: ClassVar[str] = "watch"
    rows_field: ClassVar[str] = "events"
    is_endless: ClassVar[bool] = True

    events: Iterator[EventView] = field(default_factory=lambda: iter(()))
    alerted: bool = False

    @property
    def exit_code(self) -> int:
        """1 after an alert."""
        return int(self.alerted)
