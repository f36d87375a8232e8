"""The records that `delete` or `prune` removes: names for the plan, number and size for people."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ckpt_cli.model import CheckpointRow, Ref, Write, WriteKey
from ckpt_cli.values.counts import count_text


@dataclass(slots=True)
class RemovedCount:
    """The number of removed checkpoints and writes, and their bytes; None if one size is unknown."""

    checkpoints: int = 0
    writes: int = 0
    size: int | None = 0

    def __str__(self) -> str:
        parts = [count_text(self.checkpoints, "checkpoint")] if self.checkpoints else []
        parts += [count_text(self.writes, "write")] if self.writes else []
        return " and ".join(parts) + ("" if self.size is None else f", {self.size:,} bytes")

    def add_size(self, size: int | None) -> None:
        """Add some bytes; one unknown size makes the sum unknown."""
        self.size = None if self.size is None or size is None else self.size + size

    def add(self, other: "RemovedCount") -> None:
        """Add the count of another thread."""
        self.checkpoints += other.checkpoints
        self.writes += other.writes
        self.add_size(other.size)


def count_removed(
    rows: Iterable[CheckpointRow], writes: Iterable[Write], count: RemovedCount
) -> Iterator[Ref | WriteKey]:
    """Give the names of the removed records, and add the number and the sizes of these records to `count`."""
    refs: dict[Ref, Ref] = {}  # so that each name is in memory once, also as a part of the names of writes
    for row in rows:
        count.checkpoints += 1
        count.add_size(row.size)
        yield refs.setdefault(row.ref, row.ref)
    for write in writes:
        count.writes += 1
        count.add_size(write.size)
        yield WriteKey(refs.setdefault(write.ref, write.ref), write.task_id, write.idx)
