"""The view of ``ckpt prune`` on one thread: its plan, and what is decided of each checkpoint."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import ClassVar

from ckpt_cli.views.plan import PlanView


@dataclass(frozen=True, slots=True)
class DecidedCheckpoint:
    """A checkpoint of the thread.

    Attributes:
        stays: whether it stays.
        reasons: why it stays or goes.
    """

    ns: str
    checkpoint_id: str
    stays: bool
    reasons: tuple[str, ...]


@dataclass
class PruneView(PlanView):
    """The plan of a pruning.

    Attributes:
        checkpoints: what is decided of each checkpoint of the thread, by namespace and id.
    """

    verb: ClassVar[str] = "prune"

    checkpoints: list[DecidedCheckpoint] = field(default_factory=list)

    @classmethod
    def of(cls, plan: PlanView, checkpoints: Iterable[DecidedCheckpoint]) -> "PruneView":
        """The same plan with the decisions."""
        view = cls(**{one.name: getattr(plan, one.name) for one in fields(plan)}, checkpoints=list(checkpoints))
        view.confirmed = plan.confirmed
        return view
