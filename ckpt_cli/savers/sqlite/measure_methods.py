"""The methods of `SqliteSaver` that measure: sizes from the headers of rows, and the pages of the file."""

from collections.abc import Collection, Iterator, Sequence
from typing import ClassVar

from ckpt_cli.model import Scalar
from ckpt_cli.savers.measures import Advice, Figures, Group, Part, Space, ThreadSize
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.period_case import period_case
from ckpt_cli.savers.spelling import text_of
from ckpt_cli.savers.sqlite import columns, statements
from ckpt_cli.savers.sqlite import measure_statements as sql
from ckpt_cli.savers.sqlite.columns import bound
from ckpt_cli.savers.sqlite.thread_methods import ThreadMethods

_CHUNK = 500  # values in one IN (…); older builds of SQLite take at most 999
_MANY, _WORTH = 100_000, 50_000_000  # checkpoints, bytes
_VACUUM_MODES = {0: "none", 1: "full", 2: "incremental"}
_AFTER_DELETE = {
    0: "the file doesn't shrink after a delete: new rows take the free pages; VACUUM makes it smaller, and needs the "
    "file's size once more on the disk while it runs",
    1: "the file shrinks by itself after each delete (auto_vacuum = full)",
    2: "the file doesn't shrink after a delete; PRAGMA incremental_vacuum makes it smaller (auto_vacuum = incremental)",
}


class MeasureMethods(ThreadMethods):
    """Methods that measure; `SqliteSaver` adds the others."""

    unit: ClassVar[str] = "the lengths of bodies, metadata and written values; keys and free space are not in them"

    def groups(self, bounds: Sequence[str], thread_ids: Collection[str] | None = None) -> Iterator[Group]:
        """One statement for each table. SQLite sorts the lengths, not the values."""
        for only, ids in self._chunks(thread_ids):
            when, times = period_case(self._schema.columns["id"], bounds, "?")
            rows = self._rows(sql.CHECKPOINTS, [*times, *ids], period=when, only=only)
            for ns, tag, period, count, size in rows:
                yield Group(Part.CHECKPOINT, count, size, text_of(ns), "", columns.tag(tag), "", period)
            if not self._schema.writes:
                continue
            when, times = period_case(self._schema.columns["write_id"], bounds, "?")
            rows = self._rows(sql.WRITES, [*times, *ids], period=when, only=only)
            for ns, channel, tag, path, period, count, size in rows:
                names = (text_of(ns), text_of(channel), columns.tag(tag), text_of(path))
                yield Group(Part.WRITE, count, size, *names, period)

    def thread_sizes(
        self, since: str, thread_ids: Collection[str] | None = None, *, largest: int | None = None
    ) -> Iterator[ThreadSize]:
        """One statement, in the order of the key indexes."""
        statement = sql.THREADS_AND_WRITES if self._schema.writes else sql.THREADS
        if largest is not None:
            statement = sql.LARGEST.replace("{sizes}", statement).replace("{largest}", str(int(largest)))
        for only, ids in self._chunks(thread_ids):
            parameters = [since, *ids, *(ids if self._schema.writes else ())]
            for raw, *sums in self._rows(statement, parameters, only=only):
                checkpoints, writes, size, recent = sums
                yield ThreadSize(self._name(raw), checkpoints, writes, size, recent)

    def heads_by(self, keys: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], int]]:
        """One statement, which reads the metadata of the heads and nothing else of them."""
        found = ", ".join(sql.FOUND.replace("{at}", str(place)) for place in range(1, len(keys) + 1))
        places = ", ".join(str(place) for place in range(1, len(keys) + 1))
        rows = self._rows(statements.IDS + sql.HEADS_BY, [f'$."{key}"' for key in keys], found=found, places=places)
        for *values, number in rows:
            yield tuple(None if value is None else str(value) for value in values), number

    def space(self) -> Space:
        """The pages of the file; the bytes of tables and indexes if this SQLite was built to tell them."""
        pages, page, free, mode = (next(self._connection.query(f"PRAGMA {name}"))[0] for name in sql.PRAGMAS)
        after_delete = _AFTER_DELETE.get(mode, self.shrinks)
        settings = {"auto_vacuum": _VACUUM_MODES.get(mode, str(mode)), "journal_mode": self._journal}
        size = pages * page + self._connection.file_state.wal_size
        indexes = {str(name): str(text or "") for name, text in self._connection.query(sql.INDEXES)}
        return Space(size, free * page, after_delete, {}, indexes, settings)

    def advice(self, space: Space, figures: Figures) -> Iterator[Advice]:
        """VACUUM if much is free, WAL if writers block readers, delta channels if most is stored again."""
        path = self._connection.path
        if space.free and space.bytes and space.free > space.bytes / 4 and space.free > _WORTH:
            why = f"{100 * space.free // space.bytes} % of the file is free pages"
            yield Advice(why, (f"sqlite3 {path} 'VACUUM'  -- while no agent runs",))
        if space.settings["journal_mode"] != "wal" and figures.checkpoints > _MANY:
            why = "without a write-ahead log, each writer waits for readers"
            yield Advice(why, (f"sqlite3 {path} 'PRAGMA journal_mode=WAL'",))
        if figures.repeated and figures.bytes and figures.repeated > max(figures.bytes / 2, _WORTH):
            why = "most bytes are values stored again without a change: Postgres stores each version of a channel once"
            yield Advice(why)
        if figures.checkpoints > _MANY:
            why = "old threads and old steps make the file large: see what would go, then delete"
            yield Advice(why, ("ckpt delete --idle 90d --dry-run",))

    @property
    def _journal(self) -> str:
        return "wal" if self._connection.file_state.wal_mode else "rollback"

    def _chunks(self, thread_ids: Collection[str] | None) -> Iterator[tuple[str, list[Scalar]]]:
        """The condition that chooses threads, and its parameters: one for all threads, or some for chunks of ids."""
        if thread_ids is None:
            yield "", []
            return
        for page in pages(thread_ids, _CHUNK):
            stored = [self._stored(thread_id) for thread_id in page]
            places = ", ".join("CAST(? AS TEXT)" if isinstance(one, str) else "?" for one in stored if one is not None)
            values: list[Scalar] = [bound(one) if isinstance(one, str) else one for one in stored if one is not None]
            null = " OR thread_id IS NULL" if None in stored else ""
            yield f"WHERE (thread_id IN ({places}){null})", values
