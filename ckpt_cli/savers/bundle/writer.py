"""`BundleWriter`: adds threads to a bundle, record by record, in memory of bounded size."""

import hashlib
import os
from dataclasses import replace
from itertools import chain
from typing import Any, BinaryIO

from ckpt_cli.errors import Failed, Refused
from ckpt_cli.model import Checkpoint, Payload, Record, Ref, Row
from ckpt_cli.savers.bundle.ends import Footer, make_footer
from ckpt_cli.savers.bundle.frames import FrameWriter, Kind
from ckpt_cli.savers.bundle.index import Entry, Index, IndexBlocks, Origin, entry_line, index_blocks
from ckpt_cli.savers.bundle.known_values import KnownValues
from ckpt_cli.savers.bundle.records import LARGEST_PAYLOAD, record_line
from ckpt_cli.savers.bundle.rows import row_line
from ckpt_cli.savers.bundle.segments import Segment, parts

KEPT_ONCE = 4096
"""Payloads of so many bytes are compared with others."""
_PAGE = 1 << 19  # bytes of lines in one page


class BundleWriter:
    """An open bundle that grows. What it adds is in effect once `finish` has returned, all at once.

    Records of a thread come together, between `begin` and `end`, once for each thread.

    Attributes:
        checksum: the SHA-256 of the index, once it is written.
        size: the bytes of the whole file, once it is written.
    """

    def __init__(self, file: BinaryIO, bundle_id: bytes, index: Index, end: int) -> None:
        """`index` is what the file has already, up to the offset `end`; what is behind it is cut off."""
        self.index = index
        self.checksum = b""
        self.size = 0
        self._file = file
        self._bundle_id = bundle_id
        self._end = end
        self._frames = FrameWriter(self._append, list(index.frames))
        self._values = KnownValues()
        self._page = bytearray()
        self._row_page = bytearray()
        self._entry: Entry | None = None
        self._finished: Entry | None = None  # the last one: it may be begun again
        self._packed = IndexBlocks()

    def begin(self, thread_id: str, origin: Origin) -> None:
        """Start a thread, or go on with one that the bundle has. A thread that was begun and not ended is left out.

        The last thread may be begun again, and then replaces what was added of it.

        Raises:
            Refused: the bundle has the thread in another layout.
        """
        self._page.clear()
        self._row_page.clear()
        if origin not in self.index.origins:
            self.index.origins.append(origin)
        number = self.index.origins.index(origin)
        if self._finished is not None and self._finished.thread_id != thread_id:
            self._pack()
        old = self.index.threads.get(thread_id)
        if old is not None and self.index.origins[old.origin].form != origin.form:
            raise Refused(f"the bundle has thread {thread_id!r} in another layout; nothing was written")
        self._entry = Entry(thread_id, number) if old is None else replace(old, pages=[*old.pages], rows=[*old.rows])

    def add(self, record: Record) -> None:
        """Add a record to the thread; the bundle must not have one of the same name."""
        entry = self._open_entry()
        self._page += record_line(record, self._store)
        if isinstance(record, Checkpoint):
            _count_checkpoint(entry, record)
        else:
            entry.writes += 1
            entry.size += record.size
        if len(self._page) >= _PAGE:
            self._close_page(entry)

    def add_row(self, home: str, relation: str, key: Row, row: Row) -> None:
        """Add a row of the thread as its database has it; `home` is a hash of the database's address."""
        self._row_page += row_line(home, relation, key, row, self._store)
        if len(self._row_page) >= _PAGE:
            self._close_row_page(self._open_entry())

    def end(self) -> None:
        """Finish the thread. A thread without checkpoints is left out."""
        entry = self._open_entry()
        if self._page:
            self._close_page(entry)
        if self._row_page:
            self._close_row_page(entry)
        self._finished = entry if entry.head is not None else None
        self._entry = None

    def _pack(self) -> None:
        if self._finished is not None:
            self.index.threads.pop(self._finished.thread_id, None)
            self._packed.add(entry_line(self._finished))
            self._finished = None

    def finish(self) -> None:
        """Write the index and then its footer, each safely on disk.

        Raises:
            Failed: the disk is full, or can't be written; the bundle is what it was.
        """
        self._pack()
        self.index.frames = self._frames.flush()
        start, digest, contents = self._end, hashlib.sha256(), 0
        for block, size in chain(index_blocks(self.index), self._packed.all()):
            self._append(block)
            digest.update(block)
            contents += size
        self._sync()
        footer = Footer(self._end, start, self._end - start, contents, digest.digest())
        self._append(make_footer(self._bundle_id, footer))
        self._file.truncate(self._end)
        self._sync()
        self.checksum, self.size = footer.digest, self._end

    def _open_entry(self) -> Entry:
        if self._entry is None:
            raise ValueError("no thread was begun")
        return self._entry

    def _close_page(self, entry: Entry) -> None:
        entry.pages.append(self._frames.add(Kind.RECORDS, bytes(self._page)))
        self._page.clear()

    def _close_row_page(self, entry: Entry) -> None:
        entry.rows.append(self._frames.add(Kind.RECORDS, bytes(self._row_page)))
        self._row_page.clear()

    def _store(self, kind: Kind, payload: Payload) -> tuple[Segment, ...]:
        data = payload.data
        if len(data) > LARGEST_PAYLOAD:
            raise Refused(f"a value has {len(data):,} bytes; a bundle holds at most {LARGEST_PAYLOAD:,}")
        if len(data) < KEPT_ONCE:
            return (self._frames.add(kind, data),) if data else ()
        found = [*parts(payload)]
        if len(found) == 1:
            return (self._once(kind, data),)
        return tuple(
            self._once(Kind.LONG, data[part.start : part.end])
            if part.long
            else self._frames.add(kind, memoryview(data)[part.start : part.end])
            for part in found
        )

    def _once(self, kind: Kind, data: bytes) -> Segment:
        """Where these bytes are: added now, unless the same bytes were added before."""
        return self._values.place(data, lambda value: self._frames.add(kind, value))

    def _append(self, data: bytes) -> int:
        start = self._end
        try:
            self._file.seek(start)
            self._file.write(data)
        except OSError as error:
            raise _unwritable(error) from error
        self._end += len(data)
        return start

    def _sync(self) -> None:
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(error) from error


def _unwritable(error: OSError) -> Failed:
    return Failed(f"the bundle can't be written: {error.strerror}; it is what it was")


def _count_checkpoint(entry: Entry, record: Checkpoint) -> None:
    ref, payloads = record.row.ref, (record.body, record.metadata, *(record.channels or {}).values())
    entry.checkpoints += 1
    entry.size += sum(len(payload.data) for payload in payloads)
    entry.oldest = min(entry.oldest or ref.checkpoint_id, ref.checkpoint_id)
    entry.newest = max(entry.newest, ref.checkpoint_id)
    if entry.head is None or _rank(ref) > _rank(entry.head):
        entry.head = ref


def _rank(ref: Ref) -> tuple[Any, ...]:
    """A thread's head has the highest rank: in the root graph, if it has a checkpoint, and then by id."""
    return ref.ns == "", ref.checkpoint_id, ref.ns
