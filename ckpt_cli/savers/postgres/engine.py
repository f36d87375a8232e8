"""The SQL expressions of Postgres, for `sql.statements`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar
from uuid import UUID

from psycopg import DataError

from ckpt_cli.model import Scalar
from ckpt_cli.savers import faults
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.paging import GrowingPages
from ckpt_cli.savers.postgres.array_literal import array_literal
from ckpt_cli.savers.postgres.connection import Connection
from ckpt_cli.savers.postgres.copy_format import ENCODERS, encoded
from ckpt_cli.savers.postgres.faults import NEEDED_RIGHTS
from ckpt_cli.savers.postgres.schema import Schema, bare, quoted
from ckpt_cli.savers.sql.engine import Engine, Query, ResultRow
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS

T = TypeVar("T")

_MAY_WRITE = """
SELECT current_setting('default_transaction_read_only') = 'on' OR pg_is_in_recovery(), ARRAY(
    SELECT wanted || ' on ' || name FROM unnest(%s::text[]) AS name, unnest(%s::text[]) AS wanted
    WHERE NOT has_table_privilege(name, wanted))
"""
_RIGHTS: list[Scalar] = ["INSERT", "UPDATE", "DELETE"]
_IS_SPECIAL = "SELECT relhasrules OR relrowsecurity FROM pg_class WHERE oid = %s::regclass"
_HAS_LZ4 = """
SELECT 1 FROM pg_settings
WHERE name = 'default_toast_compression' AND source = 'default' AND 'lz4' = ANY(enumvals)
"""
_ONE_ARRAY = 50_000_000  # characters of JSON in one array, which JSONB can hold
_SPELLED = "SELECT item::text FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS given(item, n) ORDER BY n"
_UNCAST_TYPES = {"bytea", "integer", "bigint", "smallint", "text"}


class PostgresEngine(Engine):
    """A database of Postgres, or of a server that speaks its SQL."""

    def __init__(self, connection: Connection, schema: Schema) -> None:
        self._connection = connection
        self._schema = schema
        self._has_lz4: bool | None = None
        self._copied: dict[str, bool] = {}  # whether COPY adds rows to a table as INSERT does

    def query(
        self, sql: str, parameters: Sequence[Scalar | list[Scalar]] = (), *, stream: bool = False
    ) -> Iterator[ResultRow]:
        """See `Connection.query`."""
        return self._connection.query(sql, parameters, stream=stream)

    def query_each(self, queries: Iterable[Query]) -> Iterator[list[ResultRow]]:
        """See `Connection.query_each`."""
        return self._connection.query_each(queries) if self._connection.works_ahead else super().query_each(queries)

    def batches(self, items: Iterable[T], most: int) -> Iterator[list[T]]:
        """Short lists first: see `GrowingPages`."""
        return GrowingPages(items, most)

    def moment(self, read: Callable[[], T]) -> T:
        """See `Connection.moment`."""
        return self._connection.moment(read)

    def must_be_writable(self) -> None:
        """Read this user's rights from the server's catalogue; a replica is always in recovery."""
        ((read_only, lacking),) = self.query(_MAY_WRITE, [[*self._schema.names()], _RIGHTS])
        if read_only:
            raise faults.read_only(self._connection.address.location, "its transactions are read-only")
        if lacking:
            raise faults.may_not_write(self._connection.address.location, f"no right to {lacking[0]}", NEEDED_RIGHTS)

    def transaction(self, work: Callable[[], T]) -> T:
        """See `Connection.transaction`; the rights to write are checked before `work` begins."""

        def checked_work() -> T:
            self.must_be_writable()
            return work()

        return self._connection.transaction(", ".join(self._schema.names()), checked_work)

    def side_effects(self) -> list[SideEffect]:
        """The triggers, rules and foreign keys of the tables and their partitions."""
        from ckpt_cli.savers.postgres.triggers import side_effects

        return side_effects(self, self._schema.names())

    def caveats(self) -> list[str]:
        """A sentence for each table with row-level security."""
        from ckpt_cli.savers.postgres.triggers import hidden_rows

        return hidden_rows(self, self._schema.names())

    def run_many(self, sql: str, parameters: Sequence[Sequence[Scalar]]) -> int:
        """See `Connection.run_many`."""
        return self._connection.run_many(sql, parameters)

    def copies(self, relation: str, columns: Sequence[str]) -> bool:
        """Whether COPY takes these columns: it knows no rules, and no policies of row-level security."""
        if relation not in self._copied:
            ((is_special,),) = self.query(_IS_SPECIAL, [self.table(relation).replace("%%", "%")])
            self._copied[relation] = not is_special
        kinds = {self._kind(relation, column) for column in columns}
        return self._copied[relation] and kinds <= ENCODERS.keys()

    def copy(self, relation: str, columns: Sequence[str], rows: Sequence[Sequence[Scalar]]) -> int:
        """COPY in the binary format, which Postgres reads while it is sent.

        Long values are compressed by LZ4 where the server has it, unless its settings name a method: by Postgres' own
        method they would take most of the time.
        """
        if self._has_lz4 is None:
            self._has_lz4 = bool([*self.query(_HAS_LZ4)])
        if self._has_lz4:
            self._connection.run("SET LOCAL default_toast_compression = 'lz4'")
        names = ", ".join(map(bare, columns))
        table = self.table(relation).replace("%%", "%")
        sql = f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)"
        return self._connection.copy(sql, encoded(rows, [self._kind(relation, column) for column in columns]))

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def table(self, relation: str) -> str:
        """The name of a table, after the name of its Postgres schema."""
        return f"{quoted(self._schema.schema_names[relation])}.{relation}"

    def quoted(self, name: str) -> str:
        """A name in double quotes."""
        return quoted(name)

    def json_text(self, path: str) -> str:
        """A text in the header, by its key."""
        return f"(checkpoint ->> '{path}')"

    def select_expression(self, relation: str, column: str, expression: str = "") -> str:
        """The expression cast to text, unless it is bytes, a whole number or text already."""
        is_uncast = self._kind(relation, column) in _UNCAST_TYPES
        return expression or quoted(column) if is_uncast else f"({expression or quoted(column)})::text"

    def channel_versions(self) -> str:
        """The header's ``channel_versions``, as JSON text."""
        return "(checkpoint -> 'channel_versions')::text"

    def joined_blobs(self) -> str | None:
        """As LangGraph's own saver joins them (checkpoint-postgres 3.2, ``base.py: SELECT_SQL``).

        Only headers in JSONB have such a list: to read JSON as JSONB may fail, at U+0000 for example. That a version is
        at least "" is always true, but the planner counts on some 17 channels then. With ``IS NOT FALSE`` it counts on
        one, and reads the blobs of a short thread again for each channel.
        """
        if self._kind(CHECKPOINTS, "checkpoint") != "jsonb":
            return None
        versions, table = "checkpoint -> 'channel_versions'", self.table(CHECKPOINTS)
        keys = ["thread_id", "checkpoint_ns"]
        conditions = [
            f"{self.select_expression(BLOBS, key)} = {self.select_expression(CHECKPOINTS, key, f'{table}.{key}')}"
            for key in keys
        ]
        conditions.append(f"{self.select_expression(BLOBS, 'channel')} = versions.of_channel")
        if not self._schema.layout.shallow:
            conditions.append(f"{self.select_expression(BLOBS, 'version')} = versions.number AND versions.number >= ''")
        return f"""(
            SELECT array_agg(ARRAY[{_bytes("channel")}, {_bytes("type")}, {_up_to("blob")}])
            FROM jsonb_each_text(CASE jsonb_typeof({versions}) WHEN 'object' THEN {versions} END)
                AS versions(of_channel, number)
            JOIN {self.table(BLOBS)} ON {" AND ".join(conditions)}
            WHERE coalesce(versions.of_channel = ANY(%s::text[]), true)
        )"""  # noqa: S608 - names of tables and columns

    def metadata_equals(self) -> str:
        """Compare as JSON, so that the number 5 doesn't equal the text "5"."""
        return "metadata::jsonb -> %s::text = to_jsonb(%s::text)"

    def metadata_parameters(self, key: str, text: str) -> list[Scalar]:
        """The key and the text; each is None, which equals nothing, if JSONB can't hold it."""
        return [self.search_value(CHECKPOINTS, "metadata", key), self.search_value(CHECKPOINTS, "metadata", text)]

    def metadata_has_key(self) -> str:
        """Whether there is a value under the key; it may be null."""
        return "(metadata::jsonb -> %s::text IS NOT NULL)"

    def metadata_key(self, key: str) -> Scalar:
        """The key; None, which no metadata has, if JSONB can't hold it."""
        return self.search_value(CHECKPOINTS, "metadata", key)

    def metadata_text(self) -> str:
        """The value as text."""
        return "metadata::jsonb ->> %s::text"

    def outermost(self, namespace: str) -> str:
        """The first of the parts between colons."""
        return f"split_part({namespace}, ':', 1)"

    def metadata_contains(self) -> str:
        """Containment of JSONB (checkpoint-postgres 3.2, ``base.py: _search_where``)."""
        return "metadata::jsonb @> %s::jsonb"

    def refuses_value(self, error: BaseException | None) -> bool:
        """Whether the server's reason is the data; for example JSONB holds no U+0000 and no NaN."""
        return isinstance(error, DataError)

    def byte_length(self, column: str) -> str:
        """The length; for a value that is stored apart (TOAST), Postgres reads only the value's header."""
        return f"octet_length({column})"

    def json_length(self, column: str) -> str:
        """The stored length: for this, Postgres neither decompresses the JSON nor makes text of it."""
        return f"pg_column_size({column})"

    def begins(self, text: str) -> str:
        """The place of its first occurrence; ``starts_with`` would need version 11."""
        return f"strpos({text}, %s) = 1"

    def digest(self, column: str) -> str:
        """Postgres' own SHA-256 (since version 11)."""
        return f"encode(sha256({column}), 'hex')"

    def byte_order(self, expression: str) -> str:
        """The expression with collation "C"; unchanged where the database sorts by bytes, so that an index is used."""
        return expression if self._schema.by_bytes else f'({expression}) COLLATE "C"'

    def subquery_end(self) -> str:
        """An OFFSET: Postgres merges no subquery that has one (Postgres 15, ``prepjointree.c: is_simple_subquery``)."""
        return " OFFSET 0"

    def insert_override(self, relation: str, columns: Sequence[str]) -> str:
        """The clause for INSERTs into columns that are GENERATED ALWAYS AS IDENTITY (Postgres 15, "INSERT")."""
        always = any(self._schema.layout.columns[relation][name].always for name in columns)
        return "OVERRIDING SYSTEM VALUE " if always else ""

    def equals(self, relation: str, column: str) -> str:  # noqa: ARG002 - for engines that need it
        """Equality, which compares text by its bytes in every deterministic collation (Postgres 15, 24.2.2.4)."""
        return f"{quoted(column)} = %s"

    def among(
        self, relation: str, columns: Sequence[str], rows: Sequence[Sequence[Scalar]]
    ) -> tuple[str, list[Scalar | list[Scalar]]]:
        """The condition has an array for each column, so that the statement is the same for any number of rows."""
        names = [quoted(column) for column in columns]
        arrays = [f"%s::{self._kind(relation, column)}[]" for column in columns]
        values = [self._array(relation, column, [row[n] for row in rows]) for n, column in enumerate(columns)]
        if len(columns) == 1:
            return f"{names[0]} = ANY({arrays[0]})", [*values]
        value_rows = f"SELECT * FROM unnest({', '.join(arrays)})"  # noqa: S608 - types and placeholders
        return f"({', '.join(names)}) IN ({value_rows})", [*values]

    def _array(self, relation: str, column: str, values: list[Scalar]) -> Scalar | list[Scalar]:
        literal = array_literal(values) if self._kind(relation, column) != "uuid" else None
        return [self.search_value(relation, column, value) for value in values] if literal is None else literal

    def search_value(self, relation: str, column: str, value: Scalar) -> Scalar:
        """The value; None for text with U+0000 or half a surrogate pair, and for text that a uuid column can't hold."""
        if not isinstance(value, str):
            return value
        if "\x00" in value or (not value.isascii() and not _encodable(value)):
            return None
        return value if self._kind(relation, column) != "uuid" or _is_uuid(value) else None

    def canonical_json(self, texts: Sequence[str]) -> list[str]:
        """The texts as the server spells them: JSONB keeps neither order nor spaces."""
        kind = self._kind(CHECKPOINTS, "checkpoint")
        if kind == "jsonb" and sum(map(len, texts)) < _ONE_ARRAY:  # the driver escapes many texts slowly
            return [text for (text,) in self.query(_SPELLED, [f"[{','.join(texts)}]"])]
        numbered = "unnest(%s::text[]) WITH ORDINALITY AS given(text, n)"
        statement = f"SELECT text::{kind}::text FROM {numbered} ORDER BY n"  # noqa: S608 - a type's name
        return [text for (text,) in self.query(statement, [[*texts]])]

    def _kind(self, relation: str, column: str) -> str:
        return self._schema.layout.columns[relation][column].kind


def _bytes(column: str) -> str:
    """The bytes of a text column; none of NULL."""
    return f"convert_to(coalesce({quoted(column)}, ''), 'UTF8')"


def _up_to(column: str) -> str:
    """The bytes of a column, none of NULL; NULL if there are more than a parameter says."""
    name = quoted(column)
    return f"CASE WHEN octet_length({name}) <= %s THEN {name} WHEN {name} IS NULL THEN '' END"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
