"""The SQL expressions of MySQL and MariaDB, for `sql.statements`.

The server compares ids by its collation, which may treat ``A`` and ``a``, or all emoji, or ``x`` and ``x`` with a space
as one id. So a condition on an id has two parts: a comparison by the collation, which uses the index, and one by bytes.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ckpt_cli.model import Row, Scalar
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.mysql.connection import Connection
from ckpt_cli.savers.mysql.faults import number_and_text
from ckpt_cli.savers.mysql.namespaces import namespace_hash
from ckpt_cli.savers.mysql.placeholders import AGAIN, Parameters, expand_repeats
from ckpt_cli.savers.mysql.schema import HASH, Schema
from ckpt_cli.savers.sql.engine import Engine, ResultRow
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, TABLES, WRITTEN

T = TypeVar("T")

_PROBES = (
    "DELETE a, b, c FROM checkpoints a, checkpoint_blobs b, checkpoint_writes c WHERE FALSE",
    "UPDATE checkpoints a, checkpoint_blobs b, checkpoint_writes c"
    " SET a.thread_id = a.thread_id, b.thread_id = b.thread_id, c.thread_id = c.thread_id WHERE FALSE",
    *(f"INSERT INTO {table} ({{{table}}}) SELECT {{{table}}} FROM {table} WHERE FALSE" for table in TABLES),  # noqa: S608
)
"""Statements that need all rights that a plan may need, and change nothing; `_own_columns` fills the braces."""

_CODECS = {"latin1": "cp1252", "ascii": "ascii"}
_BMP_ONLY = frozenset({"utf8", "utf8mb3"})
"""Character sets that hold no characters above U+FFFF, such as emoji."""

_CASTS = {**dict.fromkeys(("date", "time", "datetime", "timestamp", "decimal"), "char"), "bit": "unsigned"}

_PERCENT = "char(37 USING utf8mb4)"

_INVALID_JSON = (3140, 3141)

_TEXT_TYPES = frozenset({"char", "varchar", "text", "tinytext", "mediumtext", "longtext"})


class MySQLEngine(Engine):
    """One open database."""

    holds_nul = skips_groups = True

    def __init__(self, connection: Connection, schema: Schema) -> None:
        self._connection = connection
        self._schema = schema
        self._probes = [probe.format_map({table: self._own_columns(table) for table in TABLES}) for probe in _PROBES]
        self._byte_collation = "utf8mb4_nopad_bin" if connection.is_mariadb else "utf8mb4_0900_bin"

    def query(self, sql: str, parameters: Parameters = (), *, stream: bool = False) -> Iterator[ResultRow]:  # noqa: ARG002
        """The rows of one statement; every result is streamed."""
        return self._connection.query(*expand_repeats(sql, parameters))

    def moment(self, read: Callable[[], T]) -> T:
        """See `Connection.moment`."""
        return self._connection.moment(read)

    def must_be_writable(self) -> None:
        """Let the server explain, without running them, statements that together need every right a plan may need."""
        self._connection.explain(self._probes)

    def in_root(self, relation: str) -> str:
        """By the hash, as the primary key is (checkpoint-mysql 3.0, ``base.py: MIGRATIONS``).

        Without it a server whose statistics are old may go through the whole index of checkpoint ids for each thread.
        """
        hashed = self._schema.layout.has(relation, HASH)
        return f"{HASH} = x'{namespace_hash('').hex()}'" if hashed else super().in_root(relation)

    def transaction(self, work: Callable[[], T]) -> T:
        """See `Connection.transaction`."""
        return self._connection.transaction(work, self._probes)

    def side_effects(self) -> list[SideEffect]:
        """The triggers and foreign keys."""
        from ckpt_cli.savers.mysql.triggers import side_effects

        return side_effects(self._connection.query)

    def caveats(self) -> list[str]:
        """A sentence if this user can't see triggers."""
        from ckpt_cli.savers.mysql.triggers import caveats

        return caveats(self._connection.query)

    def run_many(self, sql: str, parameters: Sequence[Sequence[Scalar]]) -> int:
        """Run one writing statement for many rows."""
        rows = [expand_repeats(sql, row) for row in parameters]
        return self._connection.run_many(rows[0][0], [row for _, row in rows])

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def table(self, relation: str) -> str:
        """The table in the connection's database."""
        return self.quoted(relation)

    def quoted(self, name: str) -> str:
        """A name in backticks, which are needed for ``blob``, a keyword."""
        return "`" + name.replace("`", "``").replace("%", "%%") + "`"

    def json_text(self, path: str) -> str:
        """A text in the header, by its key."""
        return f"json_unquote(json_extract({self.quoted('checkpoint')}, '$.{path}'))"

    def select_expression(self, relation: str, column: str, expression: str = "") -> str:
        """The expression. Text and JSON need no cast: the connection's character set has the characters of all others.

        Dates, decimals and bits are cast, because the driver would make objects from them. A FLOAT becomes a DOUBLE,
        because as text it would have only six digits.
        """
        kind, plain = self._schema.layout.columns[relation][column].kind, expression or self.quoted(column)
        if kind == "float":
            return f"({plain} + 0E0)"
        return f"cast({plain} AS {_CASTS[kind]})" if kind in _CASTS else plain

    def namespace(self, relation: str) -> str:
        """The column's text; if the row's hash belongs to another text, a name spelled from the hash."""
        name = self.select_expression(relation, "checkpoint_ns")
        if not self._schema.hashed or not self._connection.has_md5:
            return name
        name = f"convert({name} USING utf8mb4)"
        matches = f"{HASH} = unhex(md5({name}))"
        spelled = f"concat({_PERCENT}, 'md5:', lower(hex({HASH})))"
        return f"CASE WHEN {HASH} = x'{namespace_hash('').hex()}' THEN '' WHEN {matches} THEN {name} ELSE {spelled} END"

    def namespace_columns(self) -> str:
        """The columns of the namespace and of its hash."""
        return f"checkpoint_ns, {HASH}" if self._schema.hashed else "checkpoint_ns"

    def channel_versions(self) -> str:
        """The header's ``channel_versions``, as JSON text."""
        return f"json_extract({self.quoted('checkpoint')}, '$.channel_versions')"

    def metadata_equals(self) -> str:
        """Compare texts by their bytes, not by a collation; the number 5 doesn't equal the text "5"."""
        value = f"json_extract({self.quoted('metadata')}, %s)"
        is_text = f"json_type({value}) = 'STRING'"
        return f"{is_text} AND cast(json_unquote({value}) AS binary) = cast(%s AS binary)"

    def metadata_parameters(self, key: str, text: str) -> list[Scalar]:
        """The path of the key, twice, and the text. The key is in quotes in the path."""
        path = self.metadata_key(key)
        return [path, path, self.search_value(CHECKPOINTS, "metadata", text)]

    def metadata_has_key(self) -> str:
        """Whether there is a value under the path; it may be null."""
        return f"coalesce(json_contains_path({self.quoted('metadata')}, 'one', %s), 0)"

    def metadata_key(self, key: str) -> Scalar:
        """The path of the key, which is in quotes in the path."""
        return f"$.{json.dumps(key, ensure_ascii=False)}"

    def metadata_text(self) -> str:
        """The value without the quotes that JSON puts around a text."""
        value, again = (f"json_extract({self.quoted('metadata')}, {mark})" for mark in ("%s", AGAIN))
        return f"CASE WHEN json_type({value}) <> 'NULL' THEN json_unquote({again}) END"

    def outermost(self, namespace: str) -> str:
        """The part before the first colon."""
        return f"substring_index({namespace}, ':', 1)"

    def metadata_contains(self) -> str:
        """The server's own containment (checkpoint-mysql 3.0, ``base.py: _search_where``)."""
        return f"json_contains({self.quoted('metadata')}, %s)"

    def refuses_value(self, error: BaseException | None) -> bool:
        """Whether MySQL can't parse the JSON (errors 3140 and 3141); MariaDB gives no rows then."""
        return isinstance(error, Exception) and number_and_text(error)[0] in _INVALID_JSON

    def byte_length(self, column: str) -> str:
        """MySQL's length counts bytes, not characters."""
        return f"length({column})"

    def digest(self, column: str) -> str:
        """The server's own SHA-256."""
        return f"lower(sha2({column}, 256))"

    def byte_order(self, expression: str) -> str:
        """The expression with a collation that sorts by code points and treats trailing spaces as part of the value."""
        return f"convert({expression} USING utf8mb4) COLLATE {self._byte_collation}"

    def equals(self, relation: str, column: str) -> str:
        """A comparison that uses the index, and one by bytes; a namespace is compared by its hash."""
        if self._is_hashed(column):
            return f"{HASH} = %s"
        name = self.quoted(column)
        if not self.equates_texts(relation, column):
            return f"{name} = %s"
        return f"({name} = %s AND {self.byte_order(name)} = {AGAIN})"

    def among(
        self, relation: str, columns: Sequence[str], rows: Sequence[Sequence[Scalar]]
    ) -> tuple[str, list[Scalar | list[Scalar]]]:
        """The condition is a range of the index if the rows differ only in their last column; else it lists the rows.

        MariaDB 10.11 joins a long list of rows with the index, but needs quadratic time to analyse the same number
        of conditions joined by OR (1.1 s for 1,000). Blobs are also found under other thread ids that the server treats
        as equal (`equal_ids.SharedBlobs`).
        """
        values = [
            [self.search_value(relation, name, value) for name, value in zip(columns, row, strict=True)] for row in rows
        ]
        if len(columns) > 1 and any(row[:-1] != values[0][:-1] for row in values):
            return self._among_rows(relation, columns, values)
        conditions = [self._column_equals(relation, name) for name in columns[:-1]]
        last, repeats = self._one_of(relation, columns[-1], len(values))
        parameters: list[Scalar | list[Scalar]] = [*values[0][:-1], *[row[-1] for row in values] * repeats]
        return f"({' AND '.join([*conditions, last])})", parameters

    def _column_equals(self, relation: str, column: str) -> str:
        """The condition that a column equals one value. Thread ids of blobs are compared by the collation only."""
        exact = self._is_hashed(column) or self._must_be_exact(relation, column)
        return self.equals(relation, column) if exact else f"{self.quoted(column)} = %s"

    def _among_rows(
        self, relation: str, columns: Sequence[str], rows: Sequence[Sequence[Scalar]]
    ) -> tuple[str, list[Scalar | list[Scalar]]]:
        hashed = [self._is_hashed(name) for name in columns]
        names = [HASH if is_hashed else self.quoted(name) for name, is_hashed in zip(columns, hashed, strict=True)]
        condition = _in(names, len(rows))
        parameters = [value for row in rows for value in row]
        exact = [at for at, name in enumerate(columns) if not hashed[at] and self._must_be_exact(relation, name)]
        if not exact:
            return condition, [*parameters]
        by_bytes = _in([self.byte_order(names[at]) for at in exact], len(rows))
        return f"({condition} AND {by_bytes})", [*parameters, *(row[at] for row in rows for at in exact)]

    def _must_be_exact(self, relation: str, column: str) -> bool:
        return self.equates_texts(relation, column) and (relation, column) != (BLOBS, "thread_id")

    def _one_of(self, relation: str, column: str, count: int) -> tuple[str, int]:
        """The condition that a column is one of `count` values, and how often the parameters must repeat the values."""
        if self._is_hashed(column):
            return _in([HASH], count), 1
        name = self.quoted(column)
        condition = _in([name], count)
        if not self._must_be_exact(relation, column):
            return condition, 1
        return f"{condition} AND {_in([self.byte_order(name)], count)}", 2

    def _is_hashed(self, column: str) -> bool:
        return column == "checkpoint_ns" and self._schema.hashed

    def search_value(self, relation: str, column: str, value: Scalar) -> Scalar:
        """The value; None for half a surrogate pair, and for text that isn't in the column's character set.

        For a namespace: its hash, which ckpt computes because MySQL 9.6 no longer has MD5.
        """
        if not isinstance(value, str):
            return value
        charset = self._schema.collations.get((relation, column), "").partition("_")[0]
        try:
            value.encode(_CODECS.get(charset, "utf-8"))
        except UnicodeEncodeError:
            return None
        if charset in _BMP_ONLY and max(value, default="") > "\uffff":
            return None
        return namespace_hash(value) if self._is_hashed(column) else value

    def with_derived_columns(self, relation: str, row: Row) -> Row:
        """The row, plus the hash of its namespace: LangGraph's own saver finds the row by this hash."""
        if not self._schema.layout.has(relation, HASH) or HASH in row:
            return row
        return {**row, HASH: namespace_hash(str(row["checkpoint_ns"]))}

    def canonical_json(self, texts: Sequence[str]) -> list[str]:
        """The texts as MySQL spells them; MariaDB keeps JSON as it was written."""
        if self._schema.layout.columns[CHECKPOINTS]["checkpoint"].kind in _TEXT_TYPES:
            return list(texts)
        results = (self.query("SELECT cast(cast(%s AS JSON) AS CHAR CHARACTER SET utf8mb4)", [text]) for text in texts)
        return [str(next(rows)[0]) for rows in results]

    def _own_columns(self, relation: str) -> str:
        names = [name for name in self._schema.layout.writable(relation) if name in WRITTEN[relation]]
        return ", ".join(map(self.quoted, names))

    def equates_texts(self, relation: str, column: str) -> bool:
        """Whether the column's collation may treat different texts as equal."""
        collation = self._schema.collations.get((relation, column), "")
        return bool(collation) and collation not in ("binary", "utf8mb4_0900_bin", "utf8mb4_nopad_bin")


def _in(names: Sequence[str], count: int) -> str:
    """The condition that some expressions together equal one of `count` rows of values."""
    if len(names) == 1:
        return f"{names[0]} IN ({', '.join(['%s'] * count)})"
    row = f"({', '.join(['%s'] * len(names))})"
    return f"({', '.join(names)}) IN ({', '.join([row] * count)})"
