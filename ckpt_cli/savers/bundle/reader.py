"""`BundleReader`: the index, the records and the bytes of one bundle as it was when it was opened."""

import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path

from ckpt_cli.errors import DatabaseDamaged, DatabaseUnreachable
from ckpt_cli.model import Checkpoint, Payload, Ref, Write
from ckpt_cli.savers.bundle.ends import HEADER_SIZE, find_footer, read_header
from ckpt_cli.savers.bundle.frames import FrameReader
from ckpt_cli.savers.bundle.index import Entry, read_index
from ckpt_cli.savers.bundle.json_lines import lines, parse
from ckpt_cli.savers.bundle.records import (
    StoredCheckpoint,
    StoredPayload,
    StoredWrite,
    read_checkpoint,
    read_record,
    read_write,
)
from ckpt_cli.savers.bundle.rows import RowTable
from ckpt_cli.savers.bundle.segments import Segment

_AS_PUT = "valkey"  # where this is the backend, the order of writes counts
_KEPT = 32 << 20  # bytes of the lines of threads that are kept
_RATIO, _FREE = 200, 1 << 26  # a thread whose lines claim more than this many times the file's size is refused


class Table:
    """The lines of one thread's records by checkpoint; each is parsed again where it is needed."""

    def __init__(self, entry: Entry, *, as_put: bool) -> None:
        """`as_put`: whether the order in which writes were put counts, as in their database; see `valkey.reading`."""
        self._as_put = as_put
        self.thread_id = entry.thread_id
        self.size = 0
        self._checkpoints: dict[Ref, bytes] = {}
        self._writes: dict[Ref, dict[tuple[str, int | str], bytes]] = {}

    def add(self, one: bytes) -> None:
        """Add a line.

        Raises:
            DatabaseDamaged: it is malformed, or has a record that is there already.
        """
        stored = parse(one, lambda values: read_record(self.thread_id, values))
        self.size += len(one)
        if isinstance(stored, StoredWrite):
            write = stored.write
            some = self._writes.setdefault(write.ref, {})
            if (write.task_id, write.idx) in some:
                raise DatabaseDamaged(f"the bundle has write {write.idx} of task {write.task_id} twice")
            some[write.task_id, write.idx] = one
        elif stored is not None:
            if stored.row.ref in self._checkpoints:
                raise DatabaseDamaged(f"the bundle has checkpoint {stored.row.checkpoint_id} twice")
            self._checkpoints[stored.row.ref] = one

    def finish(self, entry: Entry) -> None:
        """Sort the lines, and compare their numbers with the index.

        Raises:
            DatabaseDamaged: they differ.
        """
        self._checkpoints = dict(sorted(self._checkpoints.items()))
        writes = sum(map(len, self._writes.values()))
        if (len(self._checkpoints), writes) != (entry.checkpoints, entry.writes) or entry.head not in self._checkpoints:
            raise DatabaseDamaged(f"the records of thread {self.thread_id!r} aren't those that the index says")

    def refs(self, ns: str | None = None) -> list[Ref]:
        """Its checkpoints, or those of a namespace, in ascending order."""
        return [ref for ref in self._checkpoints if ns is None or ref.ns == ns]

    def checkpoint(self, ref: Ref) -> StoredCheckpoint | None:
        """A checkpoint; None if there is none."""
        one = self._checkpoints.get(ref)
        return None if one is None else parse(one, lambda values: read_checkpoint(self.thread_id, values))

    def checkpoints_with_writes(self) -> list[Ref]:
        """The checkpoints on which writes are, in ascending order."""
        return sorted(self._writes)

    def writes(self, ref: Ref) -> list[StoredWrite]:
        """The writes on a checkpoint, in canonical order, or in the order in which their database has them."""
        found = self._writes.get(ref, {}).values()
        writes = (parse(one, lambda values: read_write(self.thread_id, values)) for one in found)
        return [*writes] if self._as_put else sorted(writes, key=lambda stored: stored.write.order)


class BundleReader:
    """A bundle, read by offsets; additions that other programs make meanwhile aren't seen."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise DatabaseUnreachable(f"can't read {path}: {error.strerror}") from error
        try:
            self.size = os.fstat(self._file).st_size
            self.bundle_id = read_header(self._read_at(0, HEADER_SIZE))
            self.footer = find_footer(self._read_at, self.size, self.bundle_id)
            self.index = read_index(self._read_at, self.footer)
        except BaseException:
            os.close(self._file)
            raise
        self._frames = FrameReader(self._read_at, self.index.frames)
        self._rows: tuple[str, RowTable] | None = None
        self._tables: OrderedDict[str, Table] = OrderedDict()

    @property
    def unfinished(self) -> int:
        """The bytes behind the last footer: an addition that was cut off, or that is being written now."""
        return self.size - self.footer.end

    def current_size(self) -> int:
        """The file's size as it is now."""
        return os.fstat(self._file).st_size

    def table(self, thread_id: str) -> Table | None:
        """The lines of a thread; None if the bundle doesn't have it."""
        if thread_id in self._tables:
            self._tables.move_to_end(thread_id)
            return self._tables[thread_id]
        entry = self.index.threads.get(thread_id)
        if entry is None:
            return None
        table = self._read_table(entry)
        self._tables[thread_id] = table
        while len(self._tables) > 1 and sum(one.size for one in self._tables.values()) > _KEPT:
            self._tables.popitem(last=False)
        return table

    def row_table(self, thread_id: str) -> RowTable:
        """The rows of a thread that was taken out of its database; none of another thread."""
        if self._rows is None or self._rows[0] != thread_id:
            entry = self.index.threads.get(thread_id)
            pages = iter(()) if entry is None else self._lines(entry, entry.rows)
            self._rows = thread_id, RowTable(pages, self._frames.read)
        return self._rows[1]

    def _read_table(self, entry: Entry) -> Table:
        table = Table(entry, as_put=self.index.origins[entry.origin].backend == _AS_PUT)
        for one in self._lines(entry, entry.pages):
            table.add(one)
        table.finish(entry)
        return table

    def _lines(self, entry: Entry, pages: Sequence[Segment]) -> Iterator[bytes]:
        claimed = sum(page.length for page in pages)
        if claimed > max(_FREE, self.size * _RATIO):
            what = f"the records of thread {entry.thread_id!r} claim {claimed:,} bytes"
            raise DatabaseDamaged(f"{what} in a file of {self.size:,}; they are refused")
        for page in pages:
            yield from lines(self._frames.read(page))

    def payload(self, stored: StoredPayload) -> Payload:
        """A payload with its bytes."""
        return Payload(stored.tag, b"".join(map(self._frames.read, stored.segments)))

    def checkpoint(self, stored: StoredCheckpoint) -> Checkpoint:
        """A checkpoint with its payloads."""
        apart = stored.channels
        channels = None if apart is None else {name: self.payload(one) for name, one in apart.items()}
        return Checkpoint(stored.row, self.payload(stored.body), self.payload(stored.metadata), channels)

    def write(self, stored: StoredWrite, values: int | None) -> Write:
        """A write; its payload is read if it has at most `values` bytes, or if that is None."""
        if values is not None and stored.write.size > values:
            return stored.write
        return stored.write._replace(payload=self.payload(stored.value))

    def close(self) -> None:
        """Close the file; safe to call twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _read_at(self, offset: int, length: int) -> bytes:
        try:
            return os.pread(self._file, length, offset)
        except OSError as error:
            raise DatabaseUnreachable(f"the bundle can't be read: {error.strerror}") from error
