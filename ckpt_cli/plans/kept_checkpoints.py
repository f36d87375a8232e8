"""`Decisions`: which checkpoints of a thread `ckpt prune` keeps, and why, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ckpt_cli.model import CheckpointRow


class Decision(NamedTuple):
    """Whether a checkpoint stays, and why."""

    ns: str
    checkpoint_id: str
    stays: bool
    reasons: tuple[str, ...]


class Decisions:
    """The decision on each checkpoint, made when it is read: the plan of a long thread has enough in memory."""

    def __init__(
        self, rows: Sequence[CheckpointRow], decide: Callable[[CheckpointRow], tuple[bool, Sequence[str]]]
    ) -> None:
        """Take the checkpoints, and a function that says of each whether it stays, and for which reasons."""
        self._rows = rows
        self._decide = decide

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Decision]:
        for row in self._rows:
            stays, reasons = self._decide(row)
            yield Decision(row.ns, row.checkpoint_id, stays, tuple(reasons))
