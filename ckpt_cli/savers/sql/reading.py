"""`ReadMethods`: answers the contract's questions with `statements`, in bounded pages, each blob once."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ckpt_cli.errors import DatabaseUnreachable, FilterRefused
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Scalar, Thread, Write
from ckpt_cli.savers.about import Totals
from ckpt_cli.savers.head_reads import LoneWrites
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.selection import Selection
from ckpt_cli.savers.sql.blobs import BlobName, Blobs
from ckpt_cli.savers.sql.checkpoint_rows import checkpoint_of, metadata_of
from ckpt_cli.savers.sql.engine import Engine, Query, ResultRow
from ckpt_cli.savers.sql.headers import header_versions
from ckpt_cli.savers.sql.joined_blobs import LONGEST, are_of_many_threads, read_joined
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, WRITES, Layout
from ckpt_cli.savers.sql.select_statement import select_statement
from ckpt_cli.savers.sql.statements import SIZES_END, BlobStatements, CheckpointStatements, WriteStatements
from ckpt_cli.savers.sql.thread_methods import ThreadMethods
from ckpt_cli.savers.sql.thread_statements import ThreadStatements

_LONE = 250  # checkpoints whose short writes are read in one round trip
_NAMES = 1000  # ids in one statement
_FIRST_PAGE, _LARGEST_PAGE = 25, 400  # checkpoints in a page
_PAGE_BYTES = 4_000_000  # of headers and metadata
_EVERYTHING = 1 << 62
_FEW = 20  # the rows of up to this many checkpoints are fetched at once, the rows of more are streamed


class ReadMethods(ThreadMethods):
    """Methods that read rows and make records from them; `sql.saver.SqlSaver` adds those that change rows."""

    page = 100

    def __init__(self, engine: Engine, layout: Layout) -> None:
        self._engine = engine
        self._layout = layout
        self._sql = CheckpointStatements(engine, layout)
        self._sql_threads = ThreadStatements(engine, layout)
        self._sql_writes = WriteStatements(engine, layout)
        self._sql_blobs = BlobStatements(engine, layout)
        self._blobs = Blobs(engine, self._sql_blobs)
        self._in_moment = self._writing = False
        self._last_newest: tuple[tuple[str, str, int], list[CheckpointRow]] | None = None

    def _forget(self) -> None:
        """Empty the caches. Call this method when a moment begins, and after a write."""
        self._blobs.forget()
        self._last_newest = None

    def totals(self) -> Totals:
        """Three counts over the key indexes."""
        ((checkpoints, oldest, newest),) = self._engine.query(self._sql.totals)
        ((writes,),) = self._engine.query(self._sql_writes.total)
        return Totals(self.count_threads(), checkpoints, writes, oldest, newest)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id. If the root namespace is empty, the head is the newest of all namespaces."""
        newest = self.newest(thread_id, "", 1)
        if newest:
            return Thread(thread_id, newest[0].ref)
        return next(iter(self._with_newest_heads([thread_id])), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """Jump from namespace to namespace in the key index."""
        parameters = [self._thread(thread_id)] * 2
        return sorted(ns for (ns,) in self._engine.query(self._sql.namespaces, parameters))

    def count(self, thread_id: str) -> int:
        """Count the thread's part of the key index."""
        ((number,),) = self._engine.query(self._sql.count, [self._thread(thread_id)])
        return int(number)

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """Ids and parents, without sizes: most bytes of a checkpoint are in its blobs, which this doesn't read."""
        parameters, only = [self._thread(thread_id)], ""
        if ns is not None:
            parameters, only = [*parameters, self._ns(ns)], self._sql.in_ns
        for row in self._engine.query(self._sql.rows + only + self._sql.rows_end, parameters, stream=True):
            if ns is None or row[0] == ns:
                yield CheckpointRow(thread_id, *row)

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """The rows of many threads, by one statement."""
        for page in pages(thread_ids, _NAMES):
            condition, parameters = self._engine.among(
                CHECKPOINTS, ("thread_id",), [(thread_id,) for thread_id in page]
            )
            statement = self._sql.parents + condition + self._sql.rows_of_end
            yield from (CheckpointRow(*row) for row in self._engine.query(statement, parameters, stream=True))

    def sizes(self, thread_ids: Collection[str]) -> Mapping[str, int]:
        """The server adds up the lengths of headers and blobs, and sends only the sums."""
        sizes = dict.fromkeys(thread_ids, 0)
        for page in pages(thread_ids, _NAMES):
            for table, statement in ((CHECKPOINTS, self._sql.sizes), (BLOBS, self._sql_blobs.thread_sizes)):
                condition, parameters = self._engine.among(table, ("thread_id",), [(one,) for one in page])
                for thread_id, size in self._engine.query(statement + condition + SIZES_END, parameters):
                    sizes[thread_id] = sizes.get(thread_id, 0) + int(size or 0)
        return sizes

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """Walk the key index backwards. A moment caches its last result, so a repeated call needs no query."""
        request = (thread_id, ns, limit)
        if self._in_moment and not self._writing and self._last_newest is not None and self._last_newest[0] == request:
            return list(self._last_newest[1])
        parameters = [self._thread(thread_id), self._ns(ns), limit]
        rows = [CheckpointRow(thread_id, *row) for row in self._engine.query(self._sql.newest, parameters)]
        if any(row.ns != ns for row in rows):  # a damaged row of another namespace can meet the condition
            rows = [*self.rows(thread_id, ns)][::-1][:limit]
        self._last_newest = (request, rows)
        return list(rows)

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One checkpoint's row without its payloads."""
        rows = (CheckpointRow(*row) for row in self._by_ref(self._sql.parents, [ref]))
        return next((row for row in rows if row.ref == ref), None)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """Read only the metadata column, for many checkpoints at a time."""
        for page in pages(refs, _NAMES):
            refs_of_page = set(page)
            for *name, metadata in self._by_ref(self._sql.metadata, page, stream=len(page) > _FEW):
                ref = Ref(*name)
                if ref in refs_of_page:
                    yield ref, metadata_of(metadata)

    def having(self, key: str, text: str, thread_ids: Collection[str] | None = None) -> Iterator[str]:
        """The server searches the metadata and sends only ids."""
        parameters: list[Scalar | list[Scalar]] = [*self._engine.metadata_parameters(key, text)]
        if thread_ids is None:
            return (thread_id for (thread_id,) in self._engine.query(self._sql.having, parameters, stream=True))
        return self._having_of(parameters, thread_ids)

    def _having_of(self, parameters: list[Scalar | list[Scalar]], thread_ids: Collection[str]) -> Iterator[str]:
        for page in pages(thread_ids, _NAMES):
            condition, more = self._engine.among(CHECKPOINTS, ("thread_id",), [(thread_id,) for thread_id in page])
            statement = f"{self._sql.having} AND {condition}"
            yield from (thread_id for (thread_id,) in self._engine.query(statement, [*parameters, *more]))

    def select(self, selection: Selection) -> Iterator[Ref]:
        """One statement, with the conditions, the order and the limit of LangGraph's own saver."""
        statement, parameters = select_statement(self._engine, self._sql, selection)
        try:
            for row in self._engine.query(statement, parameters, stream=selection.limit is None):
                if selection.ns in (None, row[1]):  # a damaged row of another namespace can meet the condition
                    yield Ref(*row)
        except DatabaseUnreachable as error:
            if self._engine.refuses_value(error.__cause__):
                raise FilterRefused(f"the server can't take this filter: {error.__cause__}") from error
            raise

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """Read in pages, which grow if headers are short; a blob that several checkpoints share is fetched once."""
        return self.with_channels(refs, None)

    def with_channels(self, refs: Iterable[Ref], channels: Collection[str] | None) -> Iterator[Checkpoint]:
        """As `checkpoints`; the blobs of other channels aren't read."""
        joined = self._sql.joined
        if joined is None or not isinstance(refs, Collection) or not are_of_many_threads(refs):
            return self._with_shared_blobs(refs, channels)
        parameters = [LONGEST, None if channels is None else self._storable(BLOBS, "channel", channels)]
        return read_joined(
            lambda page: self._by_ref(joined, page, parameters),
            lambda some: self._with_shared_blobs(some, channels),
            refs,
        )

    def _with_shared_blobs(self, refs: Iterable[Ref], channels: Collection[str] | None) -> Iterator[Checkpoint]:
        rest, size = iter(refs), _FIRST_PAGE
        while page := next(pages(rest, size), None):
            by_ref = {Ref(*row[:3]): row for row in self._by_ref(self._sql.headers, page)}
            rows = [by_ref[ref] for ref in page if ref in by_ref]
            names = [[n for n in self._blob_names(row) if channels is None or n.channel in channels] for row in rows]
            for row, blobs in zip(rows, self._blobs.for_checkpoints(names), strict=True):
                yield checkpoint_of(row, {name.channel: payload for name, payload in blobs.items()})
            total = sum(len(row[4] or "") + len(row[5] or "") for row in rows) or 1
            size = max(1, min(_LARGEST_PAGE, 4 * size, _PAGE_BYTES * len(rows) // total))

    def headers(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """Checkpoints without their blobs."""
        for page in pages(refs, _FIRST_PAGE):
            by_ref = {Ref(*row[:3]): row for row in self._by_ref(self._sql.headers, page)}
            yield from (checkpoint_of(by_ref[ref], {}) for ref in page if ref in by_ref)

    def sample(self, limit: int) -> list[Ref]:
        """Checkpoints of the first and of the last threads in the key index."""
        rows = self._engine.query(self._sql.sample, [limit // 2, limit // 2])
        return list(dict.fromkeys(Ref(*row) for row in rows))

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """Read in the order of the key index, but task path before task id; values longer than `values` aren't sent."""
        parameters: list[Scalar | list[Scalar]] = [
            _EVERYTHING if values is None else values,
            self._thread_of_writes(thread_id),
        ]
        only = ""
        if ns is not None:
            parameters.append(self._engine.search_value(WRITES, "checkpoint_ns", ns))
            only = self._sql_writes.in_ns
        if checkpoint_ids is None:
            rows = self._writes(thread_id, only, parameters, stream=True)
            yield from (write for write in rows if ns is None or write.ns == ns)
            return
        for page in pages(sorted(set(checkpoint_ids)), _NAMES):
            condition, more = self._engine.among(WRITES, ("checkpoint_id",), [(name,) for name in page])
            rows = self._writes(thread_id, f"{only} AND {condition}", [*parameters, *more], stream=len(page) > _FEW)
            yield from (write for write in rows if ns is None or write.ns == ns)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """The writes of many checkpoints, also of several threads, by one statement."""
        for page in pages(sorted(set(refs)), _NAMES):
            condition, more = self._engine.among(WRITES, ("thread_id", "checkpoint_ns", "checkpoint_id"), page)
            parameters = [_EVERYTHING if values is None else values, *more]
            statement = self._sql_writes.named + condition + self._sql_writes.end
            requested = set(page)
            rows = self._engine.query(statement, parameters, stream=len(page) > _FEW)
            yield from (write for write in (_write(*row) for row in rows) if write.ref in requested)

    def lone_writes(
        self, refs: Collection[Ref], task_path: str, *, without: str, values: int
    ) -> Iterator[tuple[Ref, LoneWrites | None]]:
        """One statement for each page, in one round trip, as short values are read."""
        queries, batches = list[Query](), [*self._engine.batches(sorted(set(refs)), _LONE)]
        first: list[Scalar] = [values, task_path, without] if self._sql_writes.skips else [values]
        for page in batches:
            condition, more = self._engine.among(WRITES, ("thread_id", "checkpoint_ns", "checkpoint_id"), page)
            queries.append((self._sql_writes.lone + condition + self._sql_writes.end, [*first, *more]))
        for page, rows in zip(batches, self._engine.query_each(queries), strict=True):
            given: dict[tuple[object, ...], LoneWrites | None] = {tuple(ref): [] for ref in page}
            for thread_id, ns, own_id, path, channel, tag, size, value in rows:
                own = given.get(key := (thread_id, ns, own_id))
                if path != task_path:
                    given[key] = None
                elif own is not None and not (channel or "").startswith(without):
                    own.append((channel or "", _payload(tag, size, value)))
            yield from ((ref, own) for ref in page if (own := given[tuple(ref)]) != [])

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """The writes of many threads, by one statement."""
        for page in pages(thread_ids, _NAMES):
            condition, more = self._engine.among(WRITES, ("thread_id",), [(thread_id,) for thread_id in page])
            parameters = [_EVERYTHING if values is None else values, *more]
            statement = self._sql_writes.named + condition + self._sql_writes.end_of
            yield from (_write(*row) for row in self._engine.query(statement, parameters, stream=True))

    def _writes(
        self, thread_id: str, only: str, parameters: Sequence[Scalar | list[Scalar]], *, stream: bool
    ) -> Iterator[Write]:
        statement = self._sql_writes.some + only + self._sql_writes.end
        yield from (_write(thread_id, *row) for row in self._engine.query(statement, parameters, stream=stream))

    def _by_ref(
        self, statement: str, refs: Sequence[Ref], first: Sequence[Scalar | list[Scalar]] = (), *, stream: bool = False
    ) -> Iterator[ResultRow]:
        """The rows of these checkpoints; the shallow layout has no ids, so there a row may be a later checkpoint."""
        key = self._sql.key
        condition, parameters = self._engine.among(CHECKPOINTS, key, [ref[: len(key)] for ref in refs])
        return self._engine.query(statement + condition, [*first, *parameters], stream=stream)

    def _blob_names(self, row: ResultRow) -> list[BlobName]:
        thread_id, ns, _, _, header, _ = row
        versions = header_versions(header or "")
        return [BlobName(thread_id, ns, c, "" if self._layout.shallow else version) for c, version in versions.items()]

    def _storable(self, relation: str, column: str, values: Iterable[str]) -> list[Scalar]:
        """Those of some values that a column can hold."""
        searched = (self._engine.search_value(relation, column, value) for value in values)
        return [value for value in searched if value is not None]

    def _thread(self, thread_id: str) -> Scalar:
        return self._engine.search_value(CHECKPOINTS, "thread_id", thread_id)

    def _thread_of_writes(self, thread_id: str) -> Scalar:
        return self._engine.search_value(WRITES, "thread_id", thread_id)

    def _ns(self, ns: str) -> Scalar:
        return self._engine.search_value(CHECKPOINTS, "checkpoint_ns", ns)


def _write(thread_id: str, *row: Any) -> Write:
    ns, own, path, task, idx, channel, tag, size, value = row
    return Write(thread_id, ns, own, task, idx, channel or "", path or "", _payload(tag, size, value), size or 0)


def _payload(tag: Any, size: int | None, value: Any) -> Payload | None:
    """The payload in a row; None if it wasn't read."""
    return None if size is not None and value is None else Payload(tag or "", bytes(value or b""))
