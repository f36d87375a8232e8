"""The methods of `SqliteSaver` that measure: sizes from the headers of rows, and the pages of the file."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import ClassVar, NamedTuple

from ckpt_cli.model import Scalar
from ckpt_cli.savers.measures import Advice, Figures, Group, Part, Space, ThreadSize, Vacuum
from ckpt_cli.savers.period_case import period_case
from ckpt_cli.savers.spelling import text_of
from ckpt_cli.savers.sqlite import columns
from ckpt_cli.savers.sqlite import measure_statements as sql
from ckpt_cli.savers.sqlite.driver import ResultRow
from ckpt_cli.savers.sqlite.thread_methods import ThreadMethods

_NAMES = 50  # combinations of names of writes that get a number each
_MANY, _WORTH = 100_000, 50_000_000  # checkpoints, bytes
_VACUUM_MODES = {0: "none", 1: "full", 2: "incremental"}
_AFTER_DELETE = {
    0: "the file doesn't shrink after a delete: new rows take the free pages; VACUUM makes it smaller, and needs the "
    "file's size once more on the disk while it runs",
    1: "the file shrinks by itself after each delete (auto_vacuum = full)",
    2: "the file doesn't shrink after a delete; PRAGMA incremental_vacuum makes it smaller (auto_vacuum = incremental)",
}


class Table(NamedTuple):
    """The statements that measure one table; `checkpoint_id` is the short name of the column."""

    checkpoint_id: str
    all_names: str
    names: str
    by_number: str
    case: str


CHECKPOINTS = Table("id", sql.CHECKPOINTS, sql.NAMES, sql.CHECKPOINTS_BY_NUMBER, sql.CASE)
WRITES = Table("write_id", sql.WRITES, sql.WRITE_NAMES, sql.WRITES_BY_NUMBER, sql.WRITE_CASE)


class MeasureMethods(ThreadMethods):
    """Methods that measure; `SqliteSaver` adds the others."""

    unit: ClassVar[str] = "the lengths of bodies, metadata and written values; keys and free space are not in them"

    def groups(self, bounds: Sequence[str], thread_ids: Collection[str] | None = None) -> Iterator[Group]:
        """One statement for each table. SQLite sorts the lengths, not the values."""
        self._enlarge_cache()
        for only, ids in self._chunks(thread_ids):
            for tag, ns, period, count, size in self._by_names(CHECKPOINTS, bounds, only, ids):
                yield Group(Part.CHECKPOINT, count, size, text_of(ns), "", columns.tag(tag), "", period)
            yield from self._write_groups(bounds, only, ids)

    def _write_groups(self, bounds: Sequence[str], only: str = "", ids: Sequence[Scalar] = ()) -> Iterator[Group]:
        return self._groups_of_writes(self._by_names(WRITES, bounds, only, ids) if self._schema.writes else ())

    def _groups_of_writes(self, rows: Iterable[ResultRow]) -> Iterator[Group]:
        for channel, path, tag, ns, period, count, size in rows:
            names = (text_of(ns), text_of(channel), columns.tag(tag), text_of(path))
            yield Group(Part.WRITE, count, size, *names, period)

    def _by_names(self, table: Table, bounds: Sequence[str], only: str, ids: Sequence[Scalar]) -> Iterator[ResultRow]:
        """The names and the period of a table's rows; how many have them, and their bytes."""
        names = self._few_names(table) if not only else []
        if not names:
            when, times = period_case(self._schema.columns[table.checkpoint_id], bounds, "?")
            yield from self._rows(table.all_names, [*times, *ids], period=when, only=only, others="")
            return
        parameters, parts = self._numbered(table, bounds, names)
        yield from self._by_their_names(table, bounds, names, self._rows(table.by_number, parameters, **parts))

    def _numbered(
        self, table: Table, bounds: Sequence[str], names: Sequence[ResultRow]
    ) -> tuple[list[object], dict[str, str]]:
        """The parameters and parts of the table's statement whose rows `_by_their_names` takes."""
        when, times = period_case(self._schema.columns[table.checkpoint_id], bounds, "?")
        parts = {"cases": cases_of(table, names), "period": when, "periods": str(_periods(bounds))}
        return [*chain(*names), *times], parts

    def _by_their_names(
        self, table: Table, bounds: Sequence[str], names: Sequence[ResultRow], rows: Iterable[ResultRow]
    ) -> Iterator[ResultRow]:
        """The names and the period that each number stands for; rows with other names are then looked for."""
        periods = _periods(bounds)
        are_all = True
        for number, *sums in rows:
            if number is None:
                are_all = False
                continue
            place, period = divmod(number, periods)
            yield (*names[place], period if period < periods - 1 else None, *sums)
        if not are_all:
            yield from self._without_number(table, bounds, names)

    def _without_number(self, table: Table, bounds: Sequence[str], names: Sequence[ResultRow]) -> Iterator[ResultRow]:
        """As `_by_names`, for rows whose names aren't among these."""
        when, times = period_case(self._schema.columns[table.checkpoint_id], bounds, "?")
        others = sql.OTHERS.format(cases=cases_of(table, names))
        yield from self._rows(table.all_names, [*times, *chain(*names)], period=when, only="", others=others)

    def _few_names(self, table: Table) -> list[ResultRow]:
        """The names that the first rows have; none if they are many, or can't be compared as parameters."""
        names = [*self._rows(table.names, most=str(_NAMES + 1))]
        return names if len(names) <= _NAMES and all(map(_is_plain, chain(*names))) else []

    def thread_sizes(
        self, since: str, thread_ids: Collection[str] | None = None, *, largest: int | None = None
    ) -> Iterator[ThreadSize]:
        """One statement, in the order of the key indexes; the largest of all threads are found first."""
        self._enlarge_cache()
        statement = sql.THREADS_AND_WRITES if self._schema.writes else sql.THREADS
        if largest is not None and thread_ids is None:
            thread_ids = self._largest(since, largest)
        for only, ids in self._chunks(thread_ids):
            parameters = [since, *ids, *(ids if self._schema.writes else ())]
            for raw, *sums in self._rows(statement, parameters, only=only):
                checkpoints, writes, size, recent = sums
                yield ThreadSize(self._name(raw), checkpoints, writes, size, recent)

    def _largest(self, since: str, largest: int) -> list[str]:
        """The threads with most bytes, and those with most checkpoints that aren't below an id."""
        written, most = self._schema.sql(sql.WRITTEN) if self._schema.writes else "0", str(int(largest))
        by_size = self._rows(sql.LARGEST, written=written, largest=most)
        by_time = self._rows(sql.MOST_RECENT, [since], largest=most)
        return list(dict.fromkeys(self._name(raw) for (raw,) in chain(by_size, by_time)))

    def heads_by(self, keys: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], int]]:
        """One statement, which reads the metadata of the heads and nothing else of them."""
        self._enlarge_cache()
        numbers = range(1, len(keys) + 1)
        found = ", ".join(sql.FOUND.replace("{at}", str(number - 1)) for number in numbers)
        paths = ", ".join(f"?{number}" for number in [*numbers, 1])  # one path alone would give no array
        parts = {"found": found, "paths": paths, "places": ", ".join(map(str, numbers))}
        rows = self._rows(sql.HEADS_BY, [f'$."{key}"' for key in keys], **parts)
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

    def plan_vacuum(self) -> Vacuum:
        """VACUUM, or the pragma for a file whose free pages are listed; see `sqlite.vacuum`."""
        from ckpt_cli.savers.sqlite.vacuum import plan_vacuum

        return plan_vacuum(self._connection.path, self._vacuum_mode, _AFTER_DELETE.get(self._vacuum_mode, self.shrinks))

    def vacuum(self) -> str:
        """See `sqlite.vacuum`; this connection is closed for it."""
        from ckpt_cli.savers.sqlite.vacuum import vacuum

        path, mode = self._connection.path, self._vacuum_mode
        self._connection.close()
        return vacuum(path, mode)

    @property
    def _vacuum_mode(self) -> int:
        return int(next(self._connection.query("PRAGMA auto_vacuum"))[0])

    def advice(self, space: Space, figures: Figures) -> Iterator[Advice]:
        """VACUUM if much is free, WAL if writers block readers, delta channels if most is stored again."""
        path = shlex.quote(str(self._connection.path))
        if space.free and space.bytes and space.free > space.bytes / 4 and space.free > _WORTH:
            why = f"{100 * space.free // space.bytes} % of the file is free pages"
            yield Advice(why, (f"sqlite3 {path} 'VACUUM'  # while no agent runs",))
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


def _periods(bounds: Sequence[str]) -> int:
    """How many periods there are; the last is that of ids without a time."""
    return len(bounds) + 2


def cases_of(table: Table, names: Sequence[ResultRow]) -> str:
    """The conditions that give each of these names its number; the names themselves are parameters."""
    return "".join(table.case.format(number=number) for number in range(len(names)))


def _is_plain(name: Scalar) -> bool:
    """Whether a stored name can be a parameter as it is, and equals what is stored."""
    return name is None or (isinstance(name, str) and name.isascii())
