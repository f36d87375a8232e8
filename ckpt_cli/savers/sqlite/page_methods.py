"""The methods of `SqliteSaver` that read many threads or checkpoints in one statement."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Scalar, Write
from ckpt_cli.savers.head_reads import HeadRead, LoneWrites
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.spelling import FIRST_CHARACTERS, text_of
from ckpt_cli.savers.sqlite import columns
from ckpt_cli.savers.sqlite import statements as sql
from ckpt_cli.savers.sqlite.columns import among, bound, data, equals, stored
from ckpt_cli.savers.sqlite.driver import ResultRow
from ckpt_cli.savers.sqlite.thread_methods import ThreadMethods

_AT_ONCE = 300  # names in one statement; older builds of SQLite take at most 999 parameters
_NAMES = 2000  # texts of names that are kept for the next rows
_TEXT = "CAST(? AS TEXT)"
_PLACE, _NAME_IN_THREAD = itemgetter(0), itemgetter(1, 2)
_FEW = 8  # checkpoints that are read one by one: a statement of their own costs less than they do


class _Names(dict[Scalar, str]):
    """The texts of stored names, at most `_NAMES`; most names are in several rows that come soon after each other."""

    def __missing__(self, raw: Scalar) -> str:
        if len(self) >= _NAMES:
            self.clear()
        self[raw] = text = text_of(raw)
        return text


def _name(thread_id: Scalar) -> str:
    """A thread's name: an id that is text is its own name, even if it looks like the name of another kind of id."""
    return thread_id if isinstance(thread_id, str) else text_of(thread_id)


def writes_of(rows: Iterable[ResultRow]) -> Iterator[Write]:
    """What `columns.write` gives for each row of plain names; the usual row isn't looked at column by column."""
    names, new = _Names(), tuple.__new__  # the tuples' own `__new__` would be a function of Python's
    for row in rows:
        thread_id, ns, own, path, task_id, idx, channel, kind, size, value = row
        if type(path) is type(task_id) is type(channel) is type(kind) is str and type(idx) is int is type(size):
            payload = None if value is None else new(Payload, (names[kind], data(value)))
            texts = names[task_id], idx, names[channel], names[path]
            yield new(Write, (thread_id, names[ns], names[own], *texts, payload, size))
        else:
            yield columns.write(_name(thread_id), row[1:])


@lru_cache(4)
def _wanted(count: int) -> str:
    """So many rows with a place and the three names of a checkpoint."""
    return ", ".join(f"({place}, {_TEXT}, {_TEXT}, {_TEXT})" for place in range(count))


class PageMethods(ThreadMethods):
    """Methods that read pages; names that aren't plain text are read one by one, by the methods that know them."""

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """One statement for each page, which reads as `rows` does."""
        if self._odd.stored:
            yield from super().rows_of(thread_ids)
            return
        for page in pages(thread_ids, _AT_ONCE):
            places = ", ".join([_TEXT] * len(page))
            names, new = _Names(), tuple.__new__
            for thread_id, ns, own, parent, size in self._rows(sql.ROWS_OF, [*map(bound, page)], places=places):
                thread = thread_id if type(thread_id) is str else text_of(thread_id)
                parent_id = None if parent is None else names[parent]
                yield new(CheckpointRow, (thread, names[ns], names[own], parent_id, size))

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """Many are read in one statement for each page, one row after the other; a few, by their keys."""
        if not isinstance(refs, Collection) or len(refs) <= _FEW or not self._are_plain(refs):
            yield from self._one_by_one(refs)
            return
        for page in pages(refs, _AT_ONCE):
            for place, parent, tag, body, text in self._joined(sql.CHECKPOINTS, page):
                raw, ref = data(body), Ref(*page[place])
                row = CheckpointRow(*ref, columns.parent(parent), len(raw))
                yield Checkpoint(row, Payload(columns.tag(tag), raw), self._metadata(text))

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """One statement for each page; a checkpoint without writes costs one look at their key index."""
        if len(refs) <= _FEW or not self._are_plain(refs):
            yield from super().writes_on(refs, values=values)
            return
        if not self._schema.writes:
            return
        longest = columns.EVERYTHING if values is None else values
        for page in pages(refs, _AT_ONCE):
            yield from writes_of(self._joined(sql.WRITES_ON, page, [longest]))

    def lone_writes(
        self, refs: Collection[Ref], task_path: str, *, without: str, values: int
    ) -> Iterator[tuple[Ref, LoneWrites | None]]:
        """One statement for each page; of a write it reads no more than is wanted."""
        if not self._schema.writes or not refs or not self._are_plain(refs):
            yield from super().lone_writes(refs, task_path, without=without, values=values)
            return
        names, new = _Names(), tuple.__new__
        parameters = [task_path, values, task_path, len(without), without]
        for page in pages(refs, _AT_ONCE):
            given: dict[int, LoneWrites | None] = {}
            for place, is_lone, channel, kind, value in self._joined(sql.LONE_WRITES, page, parameters):
                own = given.setdefault(place, [])
                if not is_lone:
                    given[place] = None
                elif own is not None:
                    payload = (
                        None if value is None else new(Payload, ("" if kind is None else names[kind], data(value)))
                    )
                    own.append((names[channel], payload))
            yield from ((page[place], own) for place, own in given.items())

    def head_reads(self, heads: Collection[Ref]) -> Iterator[HeadRead]:
        """One statement for each page reads rows, bodies and metadata, and looks for writes."""
        if len(heads) <= _FEW or not self._are_plain(heads):
            yield from super().head_reads(heads)
            return
        written = self._schema.sql(sql.HEAD_IS_WRITTEN) if self._schema.writes else "0"
        self._enlarge_cache()
        for page in pages(heads, _AT_ONCE):
            for place, rows in groupby(self._joined(sql.HEADS, page, written=written), _PLACE):
                if (read := self._head_read(page[place], rows)) is not None:
                    yield read

    def _head_read(self, head: Ref, stored_rows: Iterable[ResultRow]) -> HeadRead | None:
        """A head made of the rows of its thread; None if it isn't among them."""
        rows, new, last = list[CheckpointRow](), tuple.__new__, ""
        checkpoint, is_written, root = None, None, None
        thread_id, head_ns, _ = head
        for _, ns, own, parent, size, written, tag, body, text in stored_rows:
            parent_id = parent if parent is None or parent == last else text_of(parent)
            last = own if type(own) is str and own[:1] not in FIRST_CHARACTERS else text_of(own)
            space = ns if ns == head_ns else text_of(ns)
            row = new(CheckpointRow, (thread_id, space, last, parent_id, size))
            rows.append(row)
            if parent is None and root is None and space == head_ns:
                root = self._metadata(text)
            if written is not None:
                is_written = bool(written)
                payload = new(Payload, (columns.tag(tag), data(body)))
                checkpoint = new(Checkpoint, (row, payload, self._metadata(text), None))
        if is_written is None:
            return None
        rows.sort(key=_NAME_IN_THREAD)
        return new(HeadRead, (head, checkpoint, rows, is_written, root, None))

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """Many are read in one statement for each page, a thread's in one of its own.

        In a row metadata comes after the checkpoint, so SQLite walks over all pages of the row.
        """
        by_space: dict[tuple[str, str], list[str]] = {}
        for thread_id, ns, own_id in set(refs):
            by_space.setdefault((thread_id, ns), []).append(own_id)
        if len(by_space) <= _FEW or not self._are_plain(refs):
            for (thread_id, ns), own_ids in by_space.items():
                yield from self._metadata_of_one(thread_id, ns, own_ids)
            return
        for page in pages(set(refs), _AT_ONCE):
            yield from ((page[place], self._metadata(text)) for place, text in self._joined(sql.METADATA_ON, page))

    def _metadata_of_one(self, thread_id: str, ns: str, ids: Collection[str]) -> Iterator[tuple[Ref, Payload]]:
        (is_thread, stored_id), (is_ns, space) = self._find_thread(thread_id), equals(ns)
        for condition, chunk in among(self._schema.columns["id"], sorted(ids)):
            parts = {"thread": is_thread, "is_ns": is_ns, "some": condition}
            for checkpoint_id, text in self._rows(sql.METADATA, [stored_id, space, *chunk], **parts):
                yield Ref(thread_id, ns, text_of(checkpoint_id)), self._metadata(text)

    def _joined(
        self, template: str, refs: Sequence[Ref], first: Sequence[object] = (), **parts: str
    ) -> Iterator[ResultRow]:
        names = [*chain.from_iterable(refs)]
        parameters = names if "".join(names).isascii() else map(bound, names)
        return self._rows(template, [*parameters, *first], wanted=_wanted(len(refs)), **parts)

    def _are_plain(self, refs: Iterable[Ref]) -> bool:
        """Whether all these names are stored as text."""
        if self._odd.stored:
            return False
        _, spaces, ids = (set(names) for names in zip(*refs, strict=True))
        return all(name[:1] not in FIRST_CHARACTERS or stored(name) == name for name in spaces | ids)

    def _one_by_one(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        for ref in refs:
            for parent_id, tag, body, metadata in self._rows_of_one(sql.CHECKPOINT, ref):
                raw = data(body)
                row = CheckpointRow(*ref, columns.parent(parent_id), len(raw))
                yield Checkpoint(row, Payload(columns.tag(tag), raw), self._metadata(metadata))

    def _metadata(self, text: object) -> Payload:
        if type(text) is bytes and self._schema.typed:
            return tuple.__new__(Payload, ("json", text))
        return columns.metadata(text, typed=self._schema.typed)

    def _rows_of_one(self, template: str, ref: Ref) -> Iterator[ResultRow]:
        is_thread, stored_id = self._find_thread(ref.thread_id)
        (is_ns, ns), (is_id, own_id) = equals(ref.ns), equals(ref.checkpoint_id)
        return self._rows(template, [stored_id, ns, own_id], thread=is_thread, is_ns=is_ns, is_id=is_id)
