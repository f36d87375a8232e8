"""Images of rows, all columns as the engine gives them: read by key, inserted, updated, deleted.

Plans, the operation log and undo compare and restore them.
"""

# ruff: noqa: S608 - statements contain names of tables and columns, never values

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby

from ckpt_cli.errors import Failed, Refused
from ckpt_cli.model import Row, RowChange, Scalar
from ckpt_cli.savers.application_columns import assignments
from ckpt_cli.savers.digests import LONG, Digest
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, WRITES, Layout

_ROWS, _HASHED_ROWS = 100, 500  # rows that one statement reads, whole and without long blobs
_BATCH_ROWS, _BATCH_BYTES = 500, 8_000_000  # sent at once
_FEW_ROWS, _FEW_BYTES = 50, 500_000  # more than these are copied as a stream, if the engine has such
_STREAM_ROWS = 10_000  # copied in one stream


class Images:
    """Rows of the three tables by their keys, read and written in batches."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        self._engine = engine
        self._layout = layout
        self._inserts: dict[tuple[str, tuple[str, ...]], str] = {}

    def current(self, relation: str, key: Row) -> Row | None:
        """All columns of the row with this key; None if there is no such row."""
        return next(self.existing(relation, [key]), None)

    def lookup(self, relation: str, keys: Iterable[Row], *, hashed: bool = False) -> Iterator[tuple[Row, Row | None]]:
        """Each key with its row or None, in the order of the keys. One statement reads a page of rows.

        Args:
            relation: the table.
            keys: the keys.
            hashed: whether to read the server's digests in place of long blobs.
        """
        for page in pages(keys, _HASHED_ROWS if hashed else _ROWS):
            rows = dict(self._rows(relation, page, hashed=hashed))
            for key in page:
                yield key, rows.get(tuple(key.values()))

    @property
    def makes_digests(self) -> bool:
        """Whether all blobs are in columns of bytes, as LangGraph makes them; the server hashes no others."""
        return all(self._layout.columns[relation]["blob"].kind in _BINARY for relation in (BLOBS, WRITES))

    def existing(self, relation: str, keys: Sequence[Row]) -> Iterator[Row]:
        """The existing rows with these keys, in any order."""
        yield from (row for _, row in self._rows(relation, keys))

    def _rows(
        self, relation: str, keys: Sequence[Row], *, hashed: bool = False
    ) -> Iterator[tuple[tuple[Scalar, ...], Row]]:
        """The values of each existing row's key, and the row. `Engine.namespace` gives the namespace in the key."""
        columns = self.columns(relation, keys[0])
        expressions = [self._engine.select_expression(relation, name) for name in columns]
        expressions.append(self._engine.namespace(relation))
        if hashed := hashed and "blob" in columns:
            expressions += self._hashed_blob(expressions, columns.index("blob"))
        condition, parameters = self._engine.among(relation, list(keys[0]), [list(key.values()) for key in keys])
        source, lock = self._engine.table(relation), self._engine.lock_clause()
        statement = f"SELECT {', '.join(expressions)} FROM {source} WHERE {condition}{lock}"
        names = [*keys[0]]
        for row in self._engine.query(statement, parameters, stream=len(keys) > 1):
            image = dict(zip(columns, row, strict=False))
            if hashed and row[-1] is not None:
                image["blob"] = Digest(bytes.fromhex(row[-1]))
            yield tuple([row[len(columns)] if name == "checkpoint_ns" else image[name] for name in names]), image

    def _hashed_blob(self, expressions: list[str], at: int) -> list[str]:
        """Make the expression of the blob give only short ones, and give that of the digest of the others."""
        blob = self._engine.quoted("blob")
        is_long = f"{self._engine.byte_length(blob)} > {LONG}"
        expressions[at] = f"CASE WHEN {is_long} THEN NULL ELSE {expressions[at]} END"
        return [f"CASE WHEN {is_long} THEN {self._engine.digest(blob)} END"]

    def columns(self, relation: str, named: Iterable[str]) -> list[str]:
        """The columns of a table except generated ones; checks that the columns in `named` are among them.

        Raises:
            Failed: an image names a table or a column that this database doesn't have (any more).
        """
        columns = self._layout.writable(relation)
        if unknown := sorted(set(named) - {*columns}):
            raise Failed(f"table {relation!r} has no column {unknown[0]!r}; nothing was written")
        return columns

    def change(self, changes: Iterable[RowChange]) -> None:
        """Insert, update and delete rows by key; consecutive changes with the same statement are sent together.

        Raises:
            Refused: a row to add exists already, or a row to change or remove is gone.
        """
        for (relation, statement, inserted), group in groupby(map(self._statement, changes), key=lambda one: one[:3]):
            rows: Iterator[list[Scalar]] = (parameters for *_, parameters in group)
            if inserted and self._engine.copies(relation, inserted):
                first, is_all = _first(rows)
                rows = chain(first, rows)
                for batch in () if is_all else _batches(rows, _STREAM_ROWS):
                    self._engine.copy(relation, inserted, batch)
            for batch in _batches(rows):
                count = self._engine.run_many(statement, batch)
                if count != len(batch):
                    raise Refused(f"a row of {relation} is gone; nothing was written", hint="run the command again")

    def _statement(self, change: RowChange) -> tuple[str, str, tuple[str, ...], list[Scalar]]:
        """The table, the statement, the columns of a row to add, and the parameters."""
        engine, relation = self._engine, change.relation
        if change.before is None and change.after is not None:
            columns = (*change.after,)
            return relation, self._insert(relation, columns), columns, [*change.after.values()]
        self.columns(relation, [*change.key, *(change.after or ())])
        table = engine.table(relation)
        where = " AND ".join(engine.equals(relation, name) for name in change.key)
        key = [engine.search_value(relation, name, value) for name, value in change.key.items()]
        if change.after is None:
            return relation, f"DELETE FROM {table} WHERE {where}", (), key
        row = assignments(change.before or {}, change.after)
        names, placeholders = [*map(engine.quoted, row)], [engine.placeholder(relation, name) for name in row]
        sets = ", ".join(f"{name} = {place}" for name, place in zip(names, placeholders, strict=True))
        return relation, f"UPDATE {table} SET {sets} WHERE {where}", (), [*row.values(), *key]

    def _insert(self, relation: str, columns: tuple[str, ...]) -> str:
        """The statement that adds a row with these columns, made once."""
        if (relation, columns) not in self._inserts:
            self.columns(relation, columns)
            engine = self._engine
            names, places = [*map(engine.quoted, columns)], [engine.placeholder(relation, name) for name in columns]
            into = f"INSERT INTO {engine.table(relation)} ({', '.join(names)})"
            override = engine.insert_override(relation, columns)
            self._inserts[relation, columns] = f"{into} {override}VALUES ({', '.join(places)})"
        return self._inserts[relation, columns]


def _batches(rows: Iterable[list[Scalar]], most: int = _BATCH_ROWS) -> Iterator[list[list[Scalar]]]:
    """Lists of rows, each bounded in number and bytes."""
    batch: list[list[Scalar]] = []
    size = 0
    for row in rows:
        length = _length(row)
        if batch and (len(batch) >= most or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += length
    if batch:
        yield batch


def _first(rows: Iterable[list[Scalar]]) -> tuple[list[list[Scalar]], bool]:
    """The first few rows, and whether these are all."""
    first: list[list[Scalar]] = []
    size = 0
    for row in rows:
        first.append(row)
        size += _length(row)
        if len(first) >= _FEW_ROWS or size > _FEW_BYTES:
            return first, False
    return first, True


def _length(row: list[Scalar]) -> int:
    return sum(len(value) for value in row if isinstance(value, str | bytes))


_BINARY = {"bytea", "blob", "mediumblob", "longblob"}

KEYS = {
    CHECKPOINTS: ("thread_id", "checkpoint_ns", "checkpoint_id"),
    BLOBS: ("thread_id", "checkpoint_ns", "channel", "version"),
    WRITES: ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx"),
}
"""The columns of each table's key."""
