"""`CutRuns`: whether a run may have gone on after the last checkpoint of it that is stored.

What followed was deleted, or never stored, as the process was killed.
"""

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.state.channels import ERROR, INTERRUPT
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import NULL_TASK, Ref
from ckpt_cli.reading import Reader


def steps_between(older: int | None, newer: int | None) -> int:
    """The number of steps between two checkpoints, as far as both are known."""
    return 0 if older is None or newer is None else max(newer - older - 1, 0)


class CutRuns:
    """The runs of one database, each asked about once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._cut: dict[Ref, bool] = {}

    def may_be_cut(self, last: Ref, *, gone: bool = False) -> bool:
        """Whether the run that made a checkpoint may have made further steps.

        It made none where nothing was due any more, or where a task asked or failed.

        Args:
            last: the last checkpoint of the run that is stored.
            gone: whether a later checkpoint shows that steps after this one are gone.
        """
        if not gone and last not in self._cut:
            self._cut[last] = self._read(last)
        return gone or self._cut[last]

    def _read(self, last: Ref) -> bool:
        ended = {write.channel for write in self._reader.writes(last, values=0) if write.task_id != NULL_TASK}
        if ended & {INTERRUPT, ERROR}:
            return False
        try:
            snapshot = Inspection(self._reader, last).snapshot()
        except PayloadCorrupt:
            return True
        return bool(snapshot.tasks) or not snapshot.complete
