"""`ArrivalMethods`: the checkpoints that were stored lately, and the wait for the next ones."""

from abc import abstractmethod
from collections.abc import Collection, Iterator
from itertools import islice, takewhile
from time import sleep
from typing import Any, NamedTuple

from ckpt_cli.model import CheckpointRow, Ref, Thread

MOST = 50_000
"""So many checkpoints are enough for one look, and are remembered between two (in about 20 MB)."""
_THREADS = 500  # threads whose rows are read at once


class Floor(NamedTuple):
    """A time in the past.

    Attributes:
        time: in seconds since 1970.
        lowest_id: the lowest text with which the id of a checkpoint made then can begin.
    """

    time: float
    lowest_id: str


class Arrivals(NamedTuple):
    """The checkpoints that were found.

    Attributes:
        refs: in any order; some may have been given before, or be older than was asked for.
        mark: the position from which the next look goes on; only the saver that made it understands it.
        is_complete: whether every checkpoint that was stored since the mark was found, whatever its id is.
        is_partial: whether there may be new checkpoints where this look read nothing; those of named threads are found.
        highest_missing: "" or, if there were too many, an id: of those with this id or a lower one some are missing.
    """

    refs: list[Ref]
    mark: Any = None
    is_complete: bool = False
    is_partial: bool = False
    highest_missing: str = ""


class ArrivalMethods:
    """The role of a saver that is asked again and again for new checkpoints; a part of the contract."""

    @abstractmethod
    def threads(self) -> Iterator[Thread]:
        """See `Saver.threads`."""

    @abstractmethod
    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """See `Saver.rows_of`."""

    def arrivals(
        self,
        floor: Floor,
        mark: Any = None,  # noqa: ARG002 - for engines that have positions
        thread_ids: Collection[str] | None = None,
    ) -> Arrivals:
        """The checkpoints that were made since `floor`; with a mark, at least those of them that were stored since.

        Only those of `thread_ids` are needed, or of all threads if it is None. Without a mark none is missing. Here the
        rows of each thread are read whose head is high enough. So a subgraph's checkpoints are found late if its thread
        has made none in the root graph since `floor`.
        """
        if thread_ids is not None:
            return Arrivals([row.ref for row in self.rows_of(thread_ids) if row.checkpoint_id >= floor.lowest_id])
        recent = takewhile(lambda thread: thread.head.checkpoint_id >= floor.lowest_id, self.threads())
        refs: list[Ref] = []
        while page := list(islice(recent, _THREADS)):
            rows = self.rows_of([thread.thread_id for thread in page])
            refs += [row.ref for row in rows if row.checkpoint_id >= floor.lowest_id]
            if len(refs) > MOST:
                return Arrivals(refs, highest_missing=page[-1].head.checkpoint_id)
        return Arrivals(refs)

    def await_change(self, seconds: float) -> None:
        """Wait so many seconds, or less if the server says sooner that there is something new for `arrivals`."""
        sleep(seconds)
