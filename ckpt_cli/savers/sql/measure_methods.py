"""`MeasureMethods`: sizes that the server adds up, so that it sends only the sums."""

from collections.abc import Collection, Iterator, Sequence
from typing import ClassVar

from ckpt_cli.model import Ref, Scalar
from ckpt_cli.savers.measures import Group, Part, StoredSizes, ThreadSize, Value
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sql.engine import Engine, ResultRow
from ckpt_cli.savers.sql.headers import parse_versions
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, WRITES, Layout
from ckpt_cli.savers.sql.measure_statements import MeasureStatements
from ckpt_cli.savers.sql.reading import ReadMethods

_NAMES = 1000  # thread ids in one statement
_Parameters = list[Scalar | list[Scalar]]


class MeasureMethods(ReadMethods):
    """Methods that measure; `sql.saver.SqlSaver` adds those that change rows."""

    unit: ClassVar[str] = "the lengths of headers, metadata, channels and written values, without keys and indexes"

    def __init__(self, engine: Engine, layout: Layout) -> None:
        super().__init__(engine, layout)
        self._sql_measures = MeasureStatements(engine, layout)

    def groups(self, bounds: Sequence[str], thread_ids: Collection[str] | None = None) -> Iterator[Group]:
        """One statement for each table. Blobs have no checkpoint id, so their periods aren't known."""
        for only in self._choices(thread_ids):
            statement, times = self._sql_measures.checkpoints(bounds, only[CHECKPOINTS][0])
            for ns, period, count, size in self._sums(statement, [*times, *only[CHECKPOINTS][1]]):
                yield Group(Part.CHECKPOINT, count, size, ns, "", "json", "", period)
            for ns, channel, tag, count, size in self._sums(self._sql_measures.blobs(only[BLOBS][0]), only[BLOBS][1]):
                yield Group(Part.CHANNEL, count, size, ns, channel, tag)
            statement, times = self._sql_measures.writes(bounds, only[WRITES][0])
            for ns, channel, tag, path, period, count, size in self._sums(statement, [*times, *only[WRITES][1]]):
                yield Group(Part.WRITE, count, size, ns, channel, tag, path or "", period)

    def stored_sizes(self, thread_id: str) -> StoredSizes:
        """Two statements: the lengths of headers, with the versions in them, and those of blobs."""
        uses, own = dict[Ref, Collection[Value]](), dict[Ref, int | None]()
        condition, parameters = self._engine.among(CHECKPOINTS, ("thread_id",), [(thread_id,)])
        for *name, versions, size in self._engine.query(self._sql.measured + condition, parameters, stream=True):
            ref = Ref(*name)
            own[ref] = int(size or 0)
            uses[ref] = [(ref.ns, *one) for one in parse_versions(versions).items()]
        condition, parameters = self._engine.among(BLOBS, ("thread_id",), [(thread_id,)])
        blobs = self._engine.query(self._sql_blobs.sizes + condition, parameters, stream=True)
        return StoredSizes(own, {(ns, channel, version): int(n or 0) for _, ns, channel, version, n in blobs}, uses)

    def thread_sizes(
        self, since: str, thread_ids: Collection[str] | None = None, *, largest: int | None = None
    ) -> Iterator[ThreadSize]:
        """One statement for the three tables."""
        for only in self._choices(thread_ids):
            conditions = {table: condition for table, (condition, _) in only.items()}
            parameters = [since, *only[CHECKPOINTS][1], *only[BLOBS][1], *only[WRITES][1]]
            rows = self._engine.query(self._sql_measures.threads(conditions, largest), parameters, stream=True)
            for thread_id, *sums in rows:
                checkpoints, writes, size, recent = map(int, sums)
                yield ThreadSize(thread_id, checkpoints, writes, size, recent)

    def heads_by(self, keys: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], int]] | None:
        """One statement: the server groups the metadata of root graphs' heads."""
        return self._heads_by(keys)

    def _heads_by(self, keys: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], int]]:
        statement = self._sql_threads.by_metadata(len(keys))
        for *texts, number in self._engine.query(statement, [self._engine.metadata_key(key) for key in keys]):
            yield tuple(texts), number

    def _sums(self, statement: str, parameters: _Parameters) -> Iterator[ResultRow]:
        """The rows of a statement; its last two columns, a count and a sum of bytes, become whole numbers."""
        for *names, count, size in self._engine.query(statement, parameters, stream=True):
            yield (*names, int(count), int(size))

    def _choices(self, thread_ids: Collection[str] | None) -> Iterator[dict[str, tuple[str, _Parameters]]]:
        """For each table the condition that chooses threads, with its parameters; for all threads or for some pages."""
        if thread_ids is None:
            yield dict.fromkeys((CHECKPOINTS, BLOBS, WRITES), ("", []))
            return
        for page in pages(thread_ids, _NAMES):
            chosen = {}
            for table in (CHECKPOINTS, BLOBS, WRITES):
                condition, parameters = self._engine.among(table, ("thread_id",), [(one,) for one in page])
                chosen[table] = (f" WHERE {condition}", [*parameters])
            yield chosen
