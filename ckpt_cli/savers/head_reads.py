"""`HeadRead`: a thread's head and rows, read together with those of many threads, for long lists."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write

LoneWrites = list[tuple[str, Payload | None]]
"""Channels and payloads in canonical order."""


class HeadRead(NamedTuple):
    """A head, and what a list needs of its thread.

    Attributes:
        checkpoint: the head; None once it was decoded.
        rows: all rows of the thread, ascending by namespace and id.
        is_written: whether writes are stored on the head.
        root_metadata: the metadata of the first checkpoint in the head's namespace; None if it has a parent, or if
            it wasn't read.
        writes: the writes on the head with their payloads; None if they weren't read.
    """

    head: Ref
    checkpoint: Checkpoint | None
    rows: Sequence[CheckpointRow]
    is_written: bool
    root_metadata: Payload | None = None
    writes: Sequence[Write] | None = None

    @property
    def first(self) -> CheckpointRow | None:
        """The first checkpoint of the head's namespace; None if there are no rows."""
        rows, ns = self.rows, self.head.ns
        if rows and rows[0].ns == ns:  # the root graph's rows come first
            return rows[0]
        return next((row for row in rows if row.ns == ns), None)


class HeadReader:
    """The role of a saver that reads the heads of many threads; a part of the contract."""

    reads_whole_writes: ClassVar[bool] = False
    """Whether the engine reads the payloads of writes also where only the writes are asked for."""
    orders_writes_as_library: ClassVar[bool] = False
    """Whether LangGraph's own saver gives the writes on a checkpoint in the same order; if not, it may be by chance."""
    lists_before: ClassVar[bool] = True
    """Whether LangGraph's own saver lists only what is older than a checkpoint of another namespace, if asked to.

    Not that of Redis (langgraph-checkpoint-redis 0.5: only a ULID is compared), nor that of Valkey
    (langgraph-checkpoint-aws 1.2: it is looked for in the namespace itself): these give the newest.
    """

    @abstractmethod
    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """See `Saver.rows_of`."""

    @abstractmethod
    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """See `Saver.checkpoints`."""

    @abstractmethod
    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """See `Saver.writes_on`."""

    def lone_writes(
        self,
        refs: Collection[Ref],
        task_path: str,
        *,
        without: str,  # noqa: ARG002 - for engines that read less
        values: int,
    ) -> Iterator[tuple[Ref, LoneWrites | None]]:
        """For each of these checkpoints on which writes are stored: the writes, if only tasks of one path wrote.

        Args:
            refs: the checkpoints.
            task_path: that path; if another path wrote too, None is given instead of the writes.
            without: the beginning of channels whose writes may be left out if they have this path, and with them a
                checkpoint that has no others.
            values: a size in bytes; a longer payload is None.
        """
        writes: dict[Ref, LoneWrites] = {}
        others = set[Ref]()
        for write in self.writes_on(refs, values=values):
            writes.setdefault(write.ref, []).append((write.channel, write.payload))
            if write.task_path != task_path:
                others.add(write.ref)
        yield from ((ref, None if ref in others else own) for ref, own in writes.items())

    def head_reads(self, heads: Collection[Ref]) -> Iterator[HeadRead]:
        """The heads of different threads, in any order; one that doesn't exist is left out."""
        writes: dict[Ref, list[Write]] = {head: [] for head in heads}
        for write in self.writes_on(heads, values=None if self.reads_whole_writes else 0):
            writes[write.ref].append(write)
        rows: dict[str, list[CheckpointRow]] = {head.thread_id: [] for head in heads}
        for row in self.rows_of(list(rows)):
            rows[row.thread_id].append(row)
        for checkpoint in self.checkpoints(heads):
            ref = checkpoint.row.ref
            own = writes[ref]
            known = own if self.reads_whole_writes or not own else None
            yield HeadRead(ref, checkpoint, rows[ref.thread_id], bool(own), writes=known)
