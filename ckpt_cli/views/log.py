"""The view of ``ckpt log``: the checkpoints of a thread, newest first."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.views.base import View
from ckpt_cli.views.steps import StepView


class RailView(NamedTuple):
    """The drawing of ``--graph`` at the left of a checkpoint.

    Attributes:
        joins: the line above the checkpoint, in which lanes join; "" if no lanes join.
        lanes: the lanes in the checkpoint's own line.
    """

    joins: str
    lanes: str


@dataclass(slots=True, eq=False, repr=False)
class LogView(View):
    """A log.

    Attributes:
        checkpoints: the number of checkpoints in the namespace.
        steps: the checkpoints that the user asked for, newest first; those of a long log are read as they are taken.
        branches: the number of branches in the namespace.
        omitted: the number of further checkpoints beyond the limit; null if they weren't counted.
        other_branches: the number of branches besides the one that the log follows.
        rails: with ``--graph``, the drawing beside each step.
        oneline: whether to show only id, nodes and changes.
        all_steps: whether a terminal, too, has a row for each input and one for the step that took it in.
    """

    verb: ClassVar[str] = "log"
    rows_field: ClassVar[str] = "steps"

    thread_id: str
    ns: str
    checkpoints: int
    steps: Iterable[StepView]
    omitted: int | None = 0
    other_branches: int = 0
    rails: list[RailView] = field(default_factory=list)
    oneline: bool = False
    all_steps: bool = False
    branches: int = 1
