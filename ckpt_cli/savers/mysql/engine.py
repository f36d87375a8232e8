"""MySQL's and MariaDB's SQL for `sql.engine.Engine`.

Ids compare by the server's collation, to which ``A`` and ``a``, all emoji, or ``x`` and ``x`` with a space may be one
id. So every id is looked for twice: as the column compares it, which finds it in the index, and byte for byte.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

from ckpt_cli.model import Row, Scalar
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.mysql.connection import Connection
from ckpt_cli.savers.mysql.schema import HASH, Schema
from ckpt_cli.savers.sql.engine import Engine, Values
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, TABLES, WRITTEN

T = TypeVar("T")
Words = Sequence[Scalar | list[Scalar]]

_PROBES = (
    "DELETE a, b, c FROM checkpoints a, checkpoint_blobs b, checkpoint_writes c WHERE FALSE",
    "UPDATE checkpoints a, checkpoint_blobs b, checkpoint_writes c"
    " SET a.thread_id = a.thread_id, b.thread_id = b.thread_id, c.thread_id = c.thread_id WHERE FALSE",
    *(f"INSERT INTO {table} ({{{table}}}) SELECT {{{table}}} FROM {table} WHERE FALSE" for table in TABLES),  # noqa: S608
)
"""What needs all rights that a plan may need, and does nothing; the columns that ckpt writes go into the braces."""

AGAIN = "%=s"
"""In a statement: the value of the last ``%s`` once more."""

_CODECS = {"latin1": "cp1252", "ascii": "ascii"}
_NARROW = frozenset({"utf8", "utf8mb3"})
"""Character sets without emoji."""

_CASTS = {**dict.fromkeys(("date", "time", "datetime", "timestamp", "decimal"), "char"), "bit": "unsigned"}

_PERCENT = "char(37 USING utf8mb4)"
_SPELLED = re.compile(r"%md5:([0-9a-f]{32})")
"""A namespace of which only the hash is known."""

_TEXT = frozenset({"char", "varchar", "text", "tinytext", "mediumtext", "longtext"})


class MySQLEngine(Engine):
    """One open database."""

    holds_nul = True

    def __init__(self, connection: Connection, schema: Schema) -> None:
        self._connection = connection
        self._schema = schema
        self._probes = [probe.format_map({table: self._own(table) for table in TABLES}) for probe in _PROBES]
        self._exactly = "utf8mb4_nopad_bin" if connection.is_mariadb else "utf8mb4_0900_bin"

    def query(self, sql: str, words: Words = (), *, stream: bool = False) -> Iterator[Values]:  # noqa: ARG002
        """The rows of one statement; every result is streamed."""
        return self._connection.query(*repeated(sql, words))

    def moment(self, look: Callable[[], T]) -> T:
        """One consistent snapshot."""
        return self._connection.moment(look)

    def must_be_writable(self) -> None:
        """Let the server explain what needs all rights that a plan may need."""
        self._connection.explain(self._probes)

    def transaction(self, work: Callable[[], T]) -> T:
        """One serializable transaction: what is read in it stays as it is until its end."""
        return self._connection.transaction(work, self._probes)

    def side_effects(self) -> list[SideEffect]:
        """Triggers and foreign keys."""
        from ckpt_cli.savers.mysql.triggers import side_effects

        return side_effects(self._connection.query)

    def caveats(self) -> list[str]:
        """Triggers that this user can't see."""
        from ckpt_cli.savers.mysql.triggers import caveats

        return caveats(self._connection.query)

    def run_many(self, sql: str, words: Sequence[Sequence[Scalar]]) -> int:
        """Run one writing statement for many rows."""
        rows = [repeated(sql, row) for row in words]
        return self._connection.run_many(rows[0][0], [row for _, row in rows])

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def table(self, relation: str) -> str:
        """In the database of the connection."""
        return self.quoted(relation)

    def quoted(self, name: str) -> str:
        """In backticks: `blob` is a word of the language."""
        return "`" + name.replace("`", "``").replace("%", "%%") + "`"

    def json_text(self, path: str) -> str:
        """Out of the header."""
        return f"json_unquote(json_extract({self.quoted('checkpoint')}, '$.{path}'))"

    def shown(self, relation: str, column: str, expression: str = "") -> str:
        """As it is: the connection's character set holds every other, and JSON comes as text.

        What the driver makes objects of is read as text or numbers; text of a FLOAT would have six digits.
        """
        kind, own = self._schema.layout.columns[relation][column].kind, expression or self.quoted(column)
        return f"({own} + 0E0)" if kind == "float" else f"cast({own} AS {_CASTS[kind]})" if kind in _CASTS else own

    def namespace(self, relation: str) -> str:
        """The column's text, but a spelled hash where the hash beside it is another text's: rows are found by that."""
        name = self.shown(relation, "checkpoint_ns")
        if not self._schema.hashed or not self._connection.has_md5:
            return name
        name = f"convert({name} USING utf8mb4)"
        fits = f"{HASH} = unhex(md5({name}))"
        spelled = f"concat({_PERCENT}, 'md5:', lower(hex({HASH})))"
        return f"CASE WHEN {HASH} = x'{hashed('').hex()}' THEN '' WHEN {fits} THEN {name} ELSE {spelled} END"

    def namespace_columns(self) -> str:
        """Both columns."""
        return f"checkpoint_ns, {HASH}" if self._schema.hashed else "checkpoint_ns"

    def versions(self) -> str:
        """Out of the header."""
        return f"json_extract({self.quoted('checkpoint')}, '$.channel_versions')"

    def member_is(self) -> str:
        """By bytes, as a collation may find two texts equal; not the number 5 where the text "5" is asked for."""
        found = f"json_extract({self.quoted('metadata')}, %s)"
        is_text = f"json_type({found}) = 'STRING'"
        return f"{is_text} AND cast(json_unquote({found}) AS binary) = cast(%s AS binary)"

    def member_words(self, key: str, text: str) -> list[Scalar]:
        """The path twice; the key in it has quotes of its own."""
        path = f"$.{json.dumps(key, ensure_ascii=False)}"
        return [path, path, self.sought(CHECKPOINTS, "metadata", text)]

    def octets(self, column: str) -> str:
        """Bytes, not characters."""
        return f"length({column})"

    def digest(self, column: str) -> str:
        """The server's own SHA-256."""
        return f"lower(sha2({column}, 256))"

    def ordered(self, expression: str) -> str:
        """By code points, which is by bytes, trailing spaces counted."""
        return f"convert({expression} USING utf8mb4) COLLATE {self._exactly}"

    def same(self, relation: str, column: str) -> str:
        """By the index, and byte for byte; a namespace by its hash."""
        if self._by_hash(column):
            return f"{HASH} = %s"
        name = self.quoted(column)
        if not self.folds(relation, column):
            return f"{name} = %s"
        return f"({name} = %s AND {self.ordered(name)} = {AGAIN})"

    def among(
        self, relation: str, columns: Sequence[str], rows: Sequence[Sequence[Scalar]]
    ) -> tuple[str, list[Scalar | list[Scalar]]]:
        """A range of the index where the rows have all but the last column in common, else a list of rows.

        MariaDB 10.11 joins a long list of rows with the index, while it analyses as many conditions joined by OR in
        quadratic time (1,000: 1.1 s). Blobs are found under any spelling of their thread (`spellings.SharedBlobs`).
        """
        sought = [
            [self.sought(relation, name, value) for name, value in zip(columns, row, strict=True)] for row in rows
        ]
        if len(columns) > 1 and any(row[:-1] != sought[0][:-1] for row in sought):
            return self._among_rows(relation, columns, sought)
        conditions = [self._alike(relation, name) for name in columns[:-1]]
        last, repeats = self._one_of(relation, columns[-1], len(sought))
        words: list[Scalar | list[Scalar]] = [*sought[0][:-1], *[row[-1] for row in sought] * repeats]
        return f"({' AND '.join([*conditions, last])})", words

    def _alike(self, relation: str, column: str) -> str:
        exact = self._by_hash(column) or self._must_be_exact(relation, column)
        return self.same(relation, column) if exact else f"{self.quoted(column)} = %s"

    def _among_rows(
        self, relation: str, columns: Sequence[str], rows: Sequence[Sequence[Scalar]]
    ) -> tuple[str, list[Scalar | list[Scalar]]]:
        hashed = [self._by_hash(name) for name in columns]
        names = [HASH if by_hash else self.quoted(name) for name, by_hash in zip(columns, hashed, strict=True)]
        condition = _in(names, len(rows))
        words = [value for row in rows for value in row]
        exact = [at for at, name in enumerate(columns) if not hashed[at] and self._must_be_exact(relation, name)]
        if not exact:
            return condition, [*words]
        exactly = _in([self.ordered(names[at]) for at in exact], len(rows))
        return f"({condition} AND {exactly})", [*words, *(row[at] for row in rows for at in exact)]

    def _must_be_exact(self, relation: str, column: str) -> bool:
        return self.folds(relation, column) and (relation, column) != (BLOBS, "thread_id")

    def _one_of(self, relation: str, column: str, count: int) -> tuple[str, int]:
        """The condition that a column is one of so many values, and how many times it needs all of them."""
        if self._by_hash(column):
            return _in([HASH], count), 1
        name = self.quoted(column)
        condition = _in([name], count)
        if not self._must_be_exact(relation, column):
            return condition, 1
        return f"{condition} AND {_in([self.ordered(name)], count)}", 2

    def _by_hash(self, column: str) -> bool:
        return column == "checkpoint_ns" and self._schema.hashed

    def sought(self, relation: str, column: str, value: Scalar) -> Scalar:
        """Half a surrogate pair is in no column, and in one of an older character set not every text.

        A namespace is sought by its hash, which is made here: MySQL 9.6 has no MD5 of its own any more.
        """
        if not isinstance(value, str):
            return value
        charset = self._schema.collations.get((relation, column), "").partition("_")[0]
        try:
            value.encode(_CODECS.get(charset, "utf-8"))
        except UnicodeEncodeError:
            return None
        if charset in _NARROW and max(value, default="") > "\uffff":
            return None
        return hashed(value) if self._by_hash(column) else value

    def completed(self, relation: str, row: Row) -> Row:
        """With the hash of its namespace, which the official saver looks for."""
        if not self._schema.layout.has(relation, HASH) or HASH in row:
            return row
        return {**row, HASH: hashed(str(row["checkpoint_ns"]))}

    def canonical(self, texts: Sequence[str]) -> list[str]:
        """MariaDB keeps JSON as it was written; MySQL is asked how it spells it."""
        if self._schema.layout.columns[CHECKPOINTS]["checkpoint"].kind in _TEXT:
            return list(texts)
        asked = (self.query("SELECT cast(cast(%s AS JSON) AS CHAR CHARACTER SET utf8mb4)", [text]) for text in texts)
        return [str(next(rows)[0]) for rows in asked]

    def _own(self, relation: str) -> str:
        own = [name for name in self._schema.layout.writable(relation) if name in WRITTEN[relation]]
        return ", ".join(map(self.quoted, own))

    def folds(self, relation: str, column: str) -> bool:
        """Whether different texts may be equal in a column."""
        collation = self._schema.collations.get((relation, column), "")
        return bool(collation) and collation not in ("binary", "utf8mb4_0900_bin", "utf8mb4_nopad_bin")


def hashed(ns: str) -> bytes:
    """The hash that the official saver finds a namespace by (langgraph-checkpoint-mysql 3.0, ``base.py: MIGRATIONS``).

    A name that `MySQLEngine.namespace` spelled from a hash gives that hash.
    """
    if spelled := _SPELLED.fullmatch(ns):
        return bytes.fromhex(spelled[1])
    return hashlib.md5(ns.encode(), usedforsecurity=False).digest()


def _in(names: Sequence[str], count: int) -> str:
    """That some expressions together are one of so many rows of values."""
    if len(names) == 1:
        return f"{names[0]} IN ({', '.join(['%s'] * count)})"
    row = f"({', '.join(['%s'] * len(names))})"
    return f"({', '.join(names)}) IN ({', '.join([row] * count)})"


def repeated(sql: str, words: Words) -> tuple[str, list[Scalar | list[Scalar]]]:
    """A statement and its values as the driver takes them, where some values are wanted twice."""
    places = _places(sql)
    if not any(places):
        return sql, list(words)
    values: list[Scalar | list[Scalar]] = []
    rest = iter(words)
    for again in places:
        values.append(values[-1] if again else next(rest))
    if left := [*rest]:
        raise ValueError(f"{len(left)} values too many for {sql!r}")
    return sql.replace(AGAIN, "%s"), values


@lru_cache(maxsize=64)
def _places(sql: str) -> list[bool]:
    """Of every value in a statement, whether it is the one before it."""
    pieces = sql.replace("%%", "").split("%")[1:]
    return [piece.startswith("=s") for piece in pieces]
