"""`SeenCheckpoints`: what a watch has seen, so that late checkpoints are shown, each once.

Ids are made by the writers' clocks. So a checkpoint can appear after others with higher ids.
"""

from collections.abc import Iterable

from ckpt_cli.history.lineage import ids
from ckpt_cli.model import Ref
from ckpt_cli.savers.arrivals import MOST

LATE = 3600.0
"""Seconds: a checkpoint is shown although it appears so long after the time in its id, as from a slow clock."""


class SeenCheckpoints:
    """What was seen since a time, the floor; older checkpoints are not news.

    Args:
        most: how many checkpoints are remembered; if there are more, the floor rises.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._times: dict[Ref, float] = {}
        self.floor = float("-inf")
        self.newest: float | None = None

    def is_new(self, ref: Ref) -> bool:
        """Whether a checkpoint was not seen, and not made before the floor. An id without a time is always new once."""
        if ref in self._times:
            return False
        made = ids.unix_time(ref.checkpoint_id)
        return made is None or made > self.floor

    def add(self, refs: Iterable[Ref], now: float) -> None:
        """Remember these checkpoints, which were seen `now`."""
        for ref in refs:
            made = ids.unix_time(ref.checkpoint_id)
            self.note_time(made)
            self._times[ref] = now if made is None else made
        if len(self._times) > self._most:
            oldest = sorted(self._times.values())[: len(self._times) - self._most * 9 // 10]
            self.raise_floor(oldest[-1])

    def note_time(self, made: float | None) -> None:
        """Note when a checkpoint was made."""
        if made is not None and (self.newest is None or made > self.newest):
            self.newest = made

    def raise_floor(self, time: float) -> None:
        """Forget what was made at or before a time: it is not news any more, seen or not."""
        if time > self.floor:
            self.floor = time
            self._times = {ref: made for ref, made in self._times.items() if made > time}

    def latest(self, now: float) -> float:
        """The newest time that both our clock and a writer's have reached; a clock that is ahead does no harm."""
        return now if self.newest is None else min(now, self.newest)
