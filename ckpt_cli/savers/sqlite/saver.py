"""`SqliteSaver`: the saver for LangGraph's two tables of any generation. This module has its reading methods."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar

from ckpt_cli.errors import DatabaseUnreachable, FilterRefused
from ckpt_cli.model import (
    CheckpointRow,
    Ref,
    Thread,
    Write,
)
from ckpt_cli.savers.about import Ability, About, Place, RecordFormat, Totals, ability_set
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.selection import FilterKind, Selection
from ckpt_cli.savers.spelling import text_of
from ckpt_cli.savers.sqlite import columns
from ckpt_cli.savers.sqlite import statements as sql
from ckpt_cli.savers.sqlite.columns import among, equals
from ckpt_cli.savers.sqlite.connection import Connection, ReadOnlyConnection
from ckpt_cli.savers.sqlite.faults import NotCheckpoints
from ckpt_cli.savers.sqlite.page_methods import PageMethods, writes_of
from ckpt_cli.savers.sqlite.schema import Schema, detect
from ckpt_cli.savers.sqlite.whole_methods import WholeMethods
from ckpt_cli.savers.sqlite.write_methods import WriteMethods

T = TypeVar("T")

_SCHEME = "sqlite:"


def open_file(path: Path, location: str = "") -> "SqliteSaver":
    """Open an existing database for reading.

    Args:
        path: the file.
        location: the name that the user gave it; the path if it is empty.

    Raises:
        DatabaseUnreachable: it doesn't exist, can't be read, or holds no checkpoints.
    """
    connection = ReadOnlyConnection(path.resolve())
    try:
        schema = connection.moment(lambda: detect(path, connection.query))
        return SqliteSaver(connection, schema, location or str(path))
    except BaseException:
        connection.close()
        raise


class SqliteSaver(PageMethods, WholeMethods, WriteMethods):
    """The saver of a database file of any generation."""

    name: ClassVar[str] = "sqlite"
    orders_writes_as_library: ClassVar[bool] = True
    form = RecordFormat(filter=FilterKind.PATHS)
    out_of_reach: ClassVar[str] = (
        "free pages of the file (until `VACUUM`), its -wal (until `PRAGMA wal_checkpoint(TRUNCATE)`) and its backups"
    )

    def __init__(self, connection: Connection, schema: Schema, location: str) -> None:
        self._connection = connection
        self._schema = schema
        self._location = location
        self._odd_ids = None
        self.abilities = ability_set(
            {
                Ability.WRITE: schema.parents,
                Ability.ATOMIC: schema.parents,
                Ability.MOMENT: True,
                Ability.SKIPS: True,
                Ability.BRANCHES: schema.parents,
                Ability.TASK_PATHS: schema.task_paths,
            }
        )

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look` in one read transaction, or on a file that nobody changed meanwhile."""

        def fresh() -> T:
            self._odd_ids = None
            return look()

        return self._connection.moment(fresh)

    def about(self) -> About:
        """The generation, the file's format, and the mode in which it was opened."""
        file, schema = self._connection.file_state, self._schema
        facts = {"journal mode": "WAL" if file.wal_mode else "rollback journal", "page size": str(file.page_size)}
        if file.wal_mode:
            facts["opened"] = file.read_mode.value
        if schema.other_tables:
            facts["other tables"] = ", ".join(schema.other_tables)
        size = file.size + file.wal_size
        return About("SQLite", self._location, schema.generation, schema.letter, facts, size)

    def totals(self) -> Totals:
        """Three counts over the key indexes."""
        ((checkpoints, oldest, newest),) = self._rows(sql.COUNT_CHECKPOINTS)
        writes = next(self._rows(sql.COUNT_WRITES))[0] if self._schema.writes else 0
        ((threads,),) = self._rows(sql.COUNT_GROUPS)
        return Totals(threads, checkpoints, writes, columns.parent(oldest) or None, columns.parent(newest) or None)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        spaces = self.namespaces(thread_id)
        return self._with_head(thread_id, spaces) if spaces else None

    def namespaces(self, thread_id: str) -> list[str]:
        """Jump from namespace to namespace in the key index."""
        is_thread, stored_id = self._find_thread(thread_id)
        return [text_of(ns) for (ns,) in self._rows(sql.NAMESPACES, [stored_id] * 3, thread=is_thread)]

    def count(self, thread_id: str) -> int:
        """Count the thread's part of the key index."""
        is_thread, stored_id = self._find_thread(thread_id)
        return int(next(self._rows(sql.COUNT, [stored_id], thread=is_thread))[0])

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """Read only the first page of each row, which has the parent and, in the row's header, the size."""
        is_thread, stored_id = self._find_thread(thread_id)
        parameters, only = [stored_id], ""
        if ns is not None:
            is_ns, space = equals(ns)
            parameters, only = [stored_id, space], self._schema.sql(sql.ONE_NS, is_ns=is_ns)
        for row_ns, *row in self._rows(sql.ROWS, parameters, thread=is_thread, only=only):
            yield columns.skeleton(thread_id, text_of(row_ns), *row)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """Walk the key index backwards."""
        is_thread, stored_id = self._find_thread(thread_id)
        is_ns, space = equals(ns)
        rows = self._rows(sql.NEWEST, [stored_id, space, limit], thread=is_thread, is_ns=is_ns)
        return [columns.skeleton(thread_id, ns, *row) for row in rows]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One checkpoint's row without its payloads."""
        row = next(self._rows_of_one(sql.ROW, ref), None)
        return CheckpointRow(*ref, columns.parent(row[0]), row[1]) if row else None

    def select(self, selection: Selection) -> Iterator[Ref]:
        """One statement, with the conditions, the order and the limit of LangGraph's own saver."""
        from ckpt_cli.savers.sqlite.select_conditions import select_conditions

        where, parameters = select_conditions(selection, self._schema, self._find_thread)
        limit = -1 if selection.limit is None else selection.limit
        try:
            for thread_id, ns, own_id in self._rows(sql.SELECT, [*parameters, limit], where=where):
                yield Ref(self._name(thread_id), text_of(ns), text_of(own_id))
        except DatabaseUnreachable as error:
            if "JSON path" in error.message:
                raise FilterRefused(f"a key of this filter isn't a JSON path: {error.__cause__}") from error
            raise

    def sample(self, limit: int) -> list[Ref]:
        """Checkpoints of the first and the last threads in the key index, and the first and the last stored rows."""
        rows = dict.fromkeys(self._rows(sql.SAMPLE, [limit // 4] * 4))
        return [Ref(self._name(thread_id), text_of(ns), text_of(own)) for thread_id, ns, own in rows]

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """Read in the order of the key index, but with the task path, which is in no index, before the task id."""
        if not self._schema.writes:
            return
        is_thread, stored_id = self._find_thread(thread_id)
        parameters: list[object] = [columns.EVERYTHING if values is None else values, stored_id]
        only = ""
        if ns is not None:
            is_ns, space = equals(ns)
            parameters.append(space)
            only = self._schema.sql(sql.ONE_WRITE_NS, is_ns=is_ns)
        if checkpoint_ids is None:
            yield from self._writes(thread_id, parameters, is_thread, only)
            return
        for condition, chunk in among(self._schema.columns["write_id"], sorted(set(checkpoint_ids))):
            yield from self._writes(thread_id, [*parameters, *chunk], is_thread, f"{only} AND {condition}")

    @property
    def identity(self) -> str:
        """The file's path without links: all names of one file give the same path."""
        return f"{_SCHEME}{self._connection.path}"

    def place(self) -> Place:
        """The path, the file's inode and its device."""
        from ckpt_cli.savers.whereabouts import place_of

        return place_of(self.identity, self._connection.path)

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:
        """Whether the file that is now at the other path is the database that was seen there."""
        from ckpt_cli.savers.whereabouts import original_at

        return original_at(self._connection.path, Path(seen.address.removeprefix(_SCHEME)), is_it, _open_if_checkpoints)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _writes(self, thread_id: str, parameters: Sequence[object], is_thread: str, only: str) -> Iterator[Write]:
        rows = self._rows(sql.WRITES, parameters, thread=is_thread, only=only)
        return writes_of((thread_id, *row) for row in rows)


def _open_if_checkpoints(path: Path) -> SqliteSaver | None:
    try:
        return open_file(path)
    except NotCheckpoints:
        return None
