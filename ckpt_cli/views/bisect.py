"""The view of ``ckpt bisect``: the first bad checkpoint, what it changed, and what was tested."""

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from ckpt_cli.values.difference import Difference
from ckpt_cli.views.base import View
from ckpt_cli.views.steps import CommandView, StepView


class Tested(NamedTuple):
    """One test of a checkpoint.

    Attributes:
        verdict: ``good``, ``bad`` or ``skip``.
        exit_code: the command's, with ``--run``; else null.
        why: why a checkpoint was skipped, if it can't be read; else "".
    """

    checkpoint_id: str
    short: str
    step: int | None
    verdict: str
    exit_code: int | None = None
    why: str = ""


@dataclass
class BisectView(View):
    """The result of a bisection.

    Attributes:
        test: the expression or the command; "" if a person was asked.
        good: the id of the newest good checkpoint before the first bad one, as far as it is known.
        first_bad: the candidates: one checkpoint, or several if those before the last one were skipped.
        changes: how the state of the first bad checkpoint differs from that of its parent; [] if there are several.
        line: the number of checkpoints from the good end to the bad end.
        tested: the tests in their order, those of the two ends first.
        contrary: tests whose verdicts one change from good to bad doesn't explain; they are among `tested`.
        command: a Command that waits at the bad end; no checkpoint holds what it wrote, so it isn't tested. Null if
            there is none.
    """

    verb: ClassVar[str] = "bisect"
    rows_field: ClassVar[str] = "first_bad"

    thread_id: str
    ns: str
    test: str
    good: str
    first_bad: list[StepView]
    changes: list[Difference]
    line: int
    tested: list[Tested]
    contrary: list[Tested] = field(default_factory=list)
    command: CommandView | None = None
