"""`HeadRead`: a thread's head and rows, read together with those of many threads, for long lists."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write


class HeadRead(NamedTuple):
    """A head, and what a list needs of its thread.

    Attributes:
        checkpoint: the head; may be None if it is written.
        rows: all rows of the thread, ascending by namespace and id; may be empty if the head is written.
        is_written: whether writes are stored on the head.
        root_metadata: the metadata of the first checkpoint in the head's namespace; None if it has a parent, or if
            it wasn't read.
    """

    head: Ref
    checkpoint: Checkpoint | None
    rows: Sequence[CheckpointRow]
    is_written: bool
    root_metadata: Payload | None = None

    @property
    def first(self) -> CheckpointRow | None:
        """The first checkpoint of the head's namespace; None if there are no rows."""
        return next((row for row in self.rows if row.ns == self.head.ns), None)


class HeadReader:
    """The role of a saver that reads the heads of many threads; a part of the contract."""

    @abstractmethod
    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """See `Saver.rows_of`."""

    @abstractmethod
    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """See `Saver.checkpoints`."""

    @abstractmethod
    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """See `Saver.writes_on`."""

    def head_reads(self, heads: Collection[Ref]) -> Iterator[HeadRead]:
        """The heads of different threads, in any order; one that doesn't exist, and isn't written, is left out."""
        written = {write.ref for write in self.writes_on(heads, values=0)}
        quiet = [head for head in heads if head not in written]
        rows: dict[str, list[CheckpointRow]] = {head.thread_id: [] for head in quiet}
        for row in self.rows_of(list(rows)):
            rows[row.thread_id].append(row)
        for checkpoint in self.checkpoints(quiet):
            ref = checkpoint.row.ref
            yield HeadRead(ref, checkpoint, rows[ref.thread_id], False)
        yield from (HeadRead(head, None, (), True) for head in heads if head in written)
