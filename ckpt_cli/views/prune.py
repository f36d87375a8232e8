"""The view of ``ckpt prune`` on one thread: its plan, and what is decided of each checkpoint."""

from dataclasses import dataclass, field, fields
from typing import ClassVar

from ckpt_cli.views.base import Rows
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
        log_bytes: the operation log grows by at most so many bytes.
        packed: the bundle that keeps the rows for undo; null if the log does.
    """

    verb: ClassVar[str] = "prune"

    checkpoints: Rows | list[DecidedCheckpoint] = field(default_factory=list)
    log_bytes: int = 0
    packed: str | None = None

    @classmethod
    def of(cls, plan: PlanView, checkpoints: Rows) -> "PruneView":
        """The same plan with the decisions."""
        view = cls(**{one.name: getattr(plan, one.name) for one in fields(plan)}, checkpoints=checkpoints)
        view.confirmed, view.bundle = plan.confirmed, plan.bundle
        view.log_bytes, view.packed = plan.log_growth, plan.bundle or None
        return view
