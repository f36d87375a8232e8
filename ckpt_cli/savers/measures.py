"""`Measurer`: how many records there are and how large they are; disk space; advice."""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby, islice
from typing import ClassVar, NamedTuple

from ckpt_cli.model import CheckpointRow, Ref, Thread, Write

_THREADS = 100  # threads whose records are read at once


class Part(StrEnum):
    """The kinds of records that take space."""

    CHECKPOINT = "checkpoint"
    """A checkpoint with its metadata, and with its channels unless these are stored apart."""
    CHANNEL = "channel"
    """The value of a channel in one version, stored apart from the checkpoints that name it."""
    WRITE = "write"


class Group(NamedTuple):
    """Some records that are alike, counted and added up.

    Attributes:
        bytes: None if the engine can't tell without reading the values.
        ns: the namespace up to its first colon, which is the node that called the outermost subgraph.
        channel: "" for a checkpoint.
        tag: the type tag of the values; None if it wasn't read.
        task_path: "" for a checkpoint and where no path is stored.
        period: how many of the bounds aren't above the checkpoint's id; None if its id contains no time.
    """

    part: Part
    number: int
    bytes: int | None
    ns: str = ""
    channel: str = ""
    tag: str | None = None
    task_path: str = ""
    period: int | None = None


class ThreadSize(NamedTuple):
    """What one thread takes.

    Attributes:
        bytes: of all its records; None if the engine can't tell without reading the values.
        recent: how many of its checkpoints have an id that isn't below a bound.
    """

    thread_id: str
    checkpoints: int
    writes: int
    bytes: int | None
    recent: int


Value = tuple[str, str, str]
"""A value that is stored once for all checkpoints that name it: namespace, channel, version as text."""


class StoredSizes(NamedTuple):
    """The bytes of the checkpoints of one thread.

    Attributes:
        own: what each checkpoint takes alone; None if the engine can't tell without reading it.
        values: what each value takes that several checkpoints may share; empty if checkpoints hold their values.
        uses: the values that each checkpoint names.
    """

    own: Mapping[Ref, int | None]
    values: Mapping[Value, int] = {}
    uses: Mapping[Ref, Collection[Value]] = {}


class Space(NamedTuple):
    """What a database takes on disk or in memory.

    Attributes:
        bytes: all of it, with indexes; None if unknown.
        free: what deleted rows left inside it and new rows will take; None if unknown.
        after_delete: a sentence: whether it becomes smaller after a delete, and by what.
        tables: the bytes of each table, collection or index, by name; empty if unknown.
        indexes: the indexes of LangGraph's tables, by name, each with its definition; empty if unknown.
        settings: the settings on which advice depends, by name.
    """

    bytes: int | None
    free: int | None
    after_delete: str
    tables: Mapping[str, int] = {}
    indexes: Mapping[str, str] = {}
    settings: Mapping[str, str] = {}


class Vacuum(NamedTuple):
    """How the engine gives back what deleted rows took.

    Attributes:
        statement: what `Measurer.vacuum` runs; "" if there is nothing to run.
        effect: a sentence: what that does, or what happens by itself.
    """

    statement: str
    effect: str


class Figures(NamedTuple):
    """The figures of a database on which advice depends; None for one that isn't known."""

    threads: int
    checkpoints: int
    writes: int
    bytes: int | None
    repeated: int | None


class Advice(NamedTuple):
    """Something to consider, and statements or commands for it. They are printed to be read, and never run."""

    why: str
    commands: tuple[str, ...] = ()


class Measurer:
    """The role of a saver whose engine can tell sizes; a part of the contract.

    Attributes:
        unit: what the bytes of records are in this engine.
        foresees_sizes: whether what a changed checkpoint will take follows from its payloads.
    """

    unit: ClassVar[str] = "the lengths of stored values"
    foresees_sizes: ClassVar[bool] = True
    shrinks: ClassVar[str] = "unknown: this database doesn't say what a delete leaves"

    def advice(self, space: Space, figures: Figures) -> Iterator[Advice]:  # noqa: ARG002 - for engines with advice
        """What the sizes speak for; nothing if they speak for no change."""
        return iter(())

    @abstractmethod
    def threads(self) -> Iterator[Thread]:
        """See `Saver.threads`."""

    @abstractmethod
    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """See `Saver.rows_of`."""

    @abstractmethod
    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """See `Saver.writes_of`."""

    def groups(self, bounds: Sequence[str], thread_ids: Collection[str] | None = None) -> Iterator[Group]:
        """All records, or those of some threads, in groups; a group may come in several parts.

        Args:
            bounds: beginnings of checkpoint ids (uuid6), ascending; they separate the periods.
            thread_ids: only these threads; None for all.
        """
        for page in self._pages(thread_ids):
            rows = [*self.rows_of(page)]
            for row, size in zip(rows, self.checkpoint_sizes(rows), strict=True):
                yield Group(Part.CHECKPOINT, 1, size, outermost(row.ns), period=period(row.checkpoint_id, bounds))
            for write in self.writes_of(page, values=0):
                yield group_of(write, bounds)

    def thread_sizes(
        self,
        since: str,
        thread_ids: Collection[str] | None = None,
        *,
        largest: int | None = None,  # noqa: ARG002 - for engines that sort
    ) -> Iterator[ThreadSize]:
        """What each thread takes, each thread once and in any order.

        Args:
            since: the beginning of a checkpoint id (uuid6); checkpoints that aren't below it are recent.
            thread_ids: only these threads; None for all.
            largest: how many threads are wanted, those with most bytes and those with most recent checkpoints; the
                engine may leave out all others.
        """
        for page in self._pages(thread_ids):
            writes = {
                thread_id: [write.size for write in some]
                for thread_id, some in groupby(self.writes_of(page, values=0), key=lambda write: write.thread_id)
            }
            for thread_id, some in groupby(self.rows_of(page), key=lambda row: row.thread_id):
                rows = [*some]
                known = self.checkpoint_sizes(rows)
                size = None if None in known else sum(filter(None, known)) + sum(writes.get(thread_id, ()))
                recent = sum(1 for row in rows if period(row.checkpoint_id, [since]) == 1)
                yield ThreadSize(thread_id, len(rows), len(writes.get(thread_id, ())), size, recent)

    def measure(self, bounds: Sequence[str], since: str, largest: int) -> Iterator[Group | ThreadSize]:
        """What `groups` and `thread_sizes` give of all threads, for engines that find both at once."""
        yield from self.groups(bounds)
        yield from self.thread_sizes(since, largest=largest)

    def stored_sizes(self, thread_id: str) -> StoredSizes:
        """The bytes of each checkpoint of a thread, and of the values that they share."""
        rows = [*self.rows_of([thread_id])]
        return StoredSizes({row.ref: size for row, size in zip(rows, self.checkpoint_sizes(rows), strict=True)})

    def checkpoint_sizes(self, rows: Sequence[CheckpointRow]) -> Sequence[int | None]:
        """The bytes of these checkpoints; None where the engine can't tell without reading them."""
        return [row.size for row in rows]

    def heads_by(self, keys: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], int]] | None:  # noqa: ARG002
        """How many threads have the same texts under `keys` in the metadata of their head; None is for a missing key.

        Returns None if the engine has no such query.
        """
        return None

    def space(self) -> Space:
        """What the database takes, from the engine's own figures."""
        return Space(None, None, self.shrinks)

    def plan_vacuum(self) -> Vacuum:
        """What `vacuum` will do."""
        return Vacuum("", self.space().after_delete)

    def vacuum(self) -> str:
        """Give the space of deleted rows back, and say what that did; only if `plan_vacuum` has a statement.

        It may close the connection, and nothing else uses it any more.

        Raises:
            Refused: it would be in somebody's way, or this user may not; nothing was done.
        """
        raise NotImplementedError

    def _pages(self, thread_ids: Collection[str] | None) -> Iterator[list[str]]:
        ids = iter(thread_ids) if thread_ids is not None else (thread.thread_id for thread in self.threads())
        while page := list(islice(ids, _THREADS)):
            yield page


def group_of(write: Write, bounds: Sequence[str]) -> Group:
    """A write as a group of its own."""
    tag = None if write.payload is None else write.payload.tag
    when = period(write.checkpoint_id, bounds)
    return Group(Part.WRITE, 1, write.size, outermost(write.ns), write.channel, tag, write.task_path, when)


def outermost(ns: str) -> str:
    """A namespace up to its first colon, so that all calls of a subgraph have one name."""
    return ns.partition(":")[0]


def period(checkpoint_id: str, bounds: Sequence[str]) -> int | None:
    """How many of the ascending bounds aren't above an id; None if the id is no uuid6, so that it can't be compared."""
    if len(checkpoint_id) != 36 or checkpoint_id[14] != "6":
        return None
    return bisect_right(bounds, checkpoint_id)
