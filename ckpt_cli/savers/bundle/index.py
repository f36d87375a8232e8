"""The index at the end of a bundle: frames, the origins of threads, threads with their heads."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ckpt_cli.errors import DatabaseDamaged
from ckpt_cli.model import Ref
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.savers.bundle.ends import VERSION, Footer, ReadAt
from ckpt_cli.savers.bundle.frames import LARGEST_FRAME, Frame
from ckpt_cli.savers.bundle.json_lines import line, number, parse, text
from ckpt_cli.savers.bundle.records import COLUMNS
from ckpt_cli.savers.bundle.segments import Segment
from ckpt_cli.savers.bundle.zstd import compress, decompress_stream
from ckpt_cli.savers.selection import FilterKind

_BLOCK = 1 << 20  # bytes of the index in one frame
_RATIO, _FREE = 200, 1 << 24  # an index that expands to more than this many times its size is refused


class Origin(NamedTuple):
    """The database that threads were copied from, with what a reader needs to understand its records."""

    backend: str
    generation: str
    layout: str
    form: RecordFormat


class Redaction(NamedTuple):
    """What the records lack of those in the databases that they come from.

    Attributes:
        by: what chose the texts that were replaced: ``pattern``, ``path``, ``structure``.
        key: equal only for the same rules and salt; "" without a salt, and then it is equal to none.
    """

    by: tuple[str, ...]
    key: str

    @property
    def joins_texts(self) -> bool:
        """Whether different texts may be equal now: without a salt each is ``[redacted]``, but not in an outline."""
        return not self.key and self.by != ("structure",)


def lost_differences(what: str, ways: Iterable[Redaction | None]) -> str:
    """The remark that replaced values which are equal in `what` may have been different; "" if none was replaced.

    With a salt too, numbers, dates, bytes and what can't be looked into get the same replacement. In an outline,
    integers of a few digits may.
    """
    redacted = [one for one in ways if one is not None]
    if not redacted:
        return ""
    how, values = "is redacted", "numbers, dates and some others"
    if any(one.joins_texts for one in redacted):
        how, values = "is redacted without a salt", "values"
    return f"{what} {how}: replaced {values} that are equal now may have been different, so changes may be missing"


@dataclass(slots=True)
class Entry:
    """A thread in the index.

    Attributes:
        origin: the number of its origin.
        head: its newest checkpoint.
        oldest: the lowest checkpoint id of all its namespaces.
        newest: the highest one.
        size: the bytes of its payloads, each counted as often as it is there.
        pages: where the lines of its records are.
        rows: where the lines of its rows are, if it was taken out of its database.
    """

    thread_id: str
    origin: int
    head: Ref | None = None
    oldest: str = ""
    newest: str = ""
    checkpoints: int = 0
    writes: int = 0
    size: int = 0
    pages: list[Segment] = field(default_factory=list)
    rows: list[Segment] = field(default_factory=list)


@dataclass
class Index:
    """Everything that a reader must know before it reads a record.

    Attributes:
        redaction: None if the records are byte for byte those of their databases.
    """

    origins: list[Origin] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    threads: dict[str, Entry] = field(default_factory=dict)
    redaction: Redaction | None = None


class IndexBlocks:
    """Lines of an index in compressed frames.

    A writer packs the line of each thread that it finishes: it takes tens of bytes then, an `Entry` a thousand.
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[bytes, int]] = []
        self._block = bytearray()

    def add(self, one: bytes) -> None:
        """Add a line."""
        self._block += one
        if len(self._block) >= _BLOCK:
            self._pack()

    def all(self) -> list[tuple[bytes, int]]:
        """The frames, each with the number of its bytes decompressed."""
        if self._block:
            self._pack()
        return self._blocks

    def _pack(self) -> None:
        self._blocks.append((compress(self._block), len(self._block)))
        self._block.clear()


def index_blocks(index: Index) -> Iterator[tuple[bytes, int]]:
    """The index in compressed frames, each with the number of its bytes decompressed."""
    blocks = IndexBlocks()
    for one in _index_lines(index):
        blocks.add(one)
    yield from blocks.all()


def _index_lines(index: Index) -> Iterator[bytes]:
    yield line({"format": "ckpt bundle", "version": VERSION, "columns": COLUMNS})
    if index.redaction is not None:
        yield line({"redacted": index.redaction._asdict()})
    for origin in index.origins:
        yield line({"origin": {**origin._asdict(), "form": origin.form._asdict()}})
    for frame in index.frames:
        yield line({"frame": [frame.offset, frame.size, frame.contents, frame.digest.hex()]})
    yield from map(entry_line, index.threads.values())


def entry_line(one: Entry) -> bytes:
    """The line of a thread in the index."""
    if one.head is None:
        raise ValueError(f"thread {one.thread_id!r} has no checkpoint")
    counts = {"checkpoints": one.checkpoints, "writes": one.writes, "size": one.size}
    head = [one.head.ns, one.head.checkpoint_id]
    ids = {"head": head, "oldest": one.oldest, "newest": one.newest, "origin": one.origin}
    rows = {"rows": one.rows} if one.rows else {}
    return line({"thread": one.thread_id, **ids, **counts, "pages": one.pages, **rows})


def read_index(read_at: ReadAt, footer: Footer) -> Index:
    """The index that a footer names.

    Raises:
        DatabaseDamaged: its bytes aren't those that were written, or it contradicts itself.
    """
    if footer.contents > max(_FREE, footer.size * _RATIO):
        raise DatabaseDamaged(f"the bundle's index claims {footer.contents:,} bytes in {footer.size:,}; it is refused")
    _check(read_at, footer)
    index, rest = Index(), b""
    for block in decompress_stream(_blocks(read_at, footer), footer.contents):
        *whole, rest = (rest + block).split(b"\n")
        for one in whole:
            parse(one, lambda value: _read_line(value, index, footer))
        if len(rest) > LARGEST_FRAME:
            raise DatabaseDamaged("the bundle's index has a line without an end")
    if rest:
        raise DatabaseDamaged("the bundle's index is cut off")
    return index


def _blocks(read_at: ReadAt, footer: Footer) -> Iterator[bytes]:
    for position in range(footer.offset, footer.at, _BLOCK):
        yield read_at(position, min(_BLOCK, footer.at - position))


def _check(read_at: ReadAt, footer: Footer) -> None:
    digest = hashlib.sha256()
    for block in _blocks(read_at, footer):
        digest.update(block)
    if digest.digest() != footer.digest:
        raise DatabaseDamaged("the bundle's index is damaged: its checksum differs")


def _read_line(value: Any, index: Index, footer: Footer) -> None:
    if "frame" in value:
        index.frames.append(_read_frame(value["frame"], footer))
    elif "thread" in value:
        entry = _read_entry(value)
        if entry.thread_id in index.threads or entry.origin >= len(index.origins):
            raise ValueError(f"thread {entry.thread_id!r} is there twice, or its origin is missing")
        index.threads[entry.thread_id] = entry
    elif "origin" in value:
        index.origins.append(_read_origin(value["origin"]))
    elif "redacted" in value:
        found = value["redacted"]
        index.redaction = Redaction(tuple(map(text, found["by"])), text(found["key"]))


def _read_frame(values: Any, footer: Footer) -> Frame:
    offset, size, contents, digest = values
    frame = Frame(number(offset), number(size), number(contents), bytes.fromhex(digest))
    if frame.offset + frame.size > footer.offset or max(frame.size, frame.contents) > LARGEST_FRAME:
        raise ValueError("a frame is larger than a frame may be, or isn't before the index")
    return frame


def _read_entry(value: Any) -> Entry:
    ns, checkpoint_id = value["head"]
    thread_id = text(value["thread"])
    return Entry(
        thread_id,
        number(value["origin"]),
        Ref(thread_id, text(ns), text(checkpoint_id)),
        text(value["oldest"]),
        text(value["newest"]),
        number(value["checkpoints"]),
        number(value["writes"]),
        number(value["size"]),
        [Segment(*map(number, page)) for page in value["pages"]],
        [Segment(*map(number, page)) for page in value.get("rows", ())],
    )


def _read_origin(value: Any) -> Origin:
    form = {key: one for key, one in value["form"].items() if key in RecordFormat._fields}
    form["filter"] = FilterKind(form.get("filter", FilterKind.EQUAL))
    return Origin(text(value["backend"]), text(value["generation"]), text(value["layout"]), RecordFormat(**form))
