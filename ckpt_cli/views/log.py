"""The view of ``ckpt log``: the checkpoints of a thread, newest first."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View
from ckpt_cli.views.steps import StepView


@dataclass(frozen=True, slots=True)
class RailView:
    """What ``--graph`` draws beside a checkpoint: its own lanes, and the line above it in which lanes join."""

    joins: str
    lanes: str


@dataclass(slots=True)
class LogView(View):
    """A log.

    Attributes:
        checkpoints: how many the namespace has.
        steps: those that were asked for, newest first.
        omitted: how many more there are beyond the limit; null if they weren't counted.
        other_branches: how many branches are not on the line that was followed.
        rails: the drawing beside each step, with ``--graph``.
        oneline: whether only id, nodes and changes are to be shown.
    """

    verb: ClassVar[str] = "log"
    rows_field: ClassVar[str] = "steps"

    thread_id: str
    ns: str
    checkpoints: int
    steps: list[StepView]
    omitted: int | None = 0
    other_branches: int = 0
    rails: list[RailView] = field(default_factory=list)
    oneline: bool = False
