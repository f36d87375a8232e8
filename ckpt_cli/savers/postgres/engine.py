"""Postgres' way of saying what `sql.statements` says."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar
from uuid import UUID

from ckpt_cli.model import Scalar
from ckpt_cli.savers import faults
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.postgres.connection import Connection
from ckpt_cli.savers.postgres.faults import WANTED
from ckpt_cli.savers.postgres.schema import Schema, quoted
from ckpt_cli.savers.sql.engine import Engine, ResultRow
from ckpt_cli.savers.sql.layout import CHECKPOINTS

T = TypeVar("T")

_MAY_WRITE = """
SELECT current_setting('default_transaction_read_only') = 'on' OR pg_is_in_recovery(), ARRAY(
    SELECT wanted || ' on ' || name FROM unnest(%s::text[]) AS name, unnest(%s::text[]) AS wanted
    WHERE NOT has_table_privilege(name, wanted))
"""
_RIGHTS: list[Scalar] = ["INSERT", "UPDATE", "DELETE"]
_RAW = {"bytea", "integer", "bigint", "smallint", "text"}  # types that come as they are


class PostgresEngine(Engine):
    """A database of Postgres, or of what speaks its language."""

    def __init__(self, connection: Connection, schema: Schema) -> None:
        self._connection = connection
        self._schema = schema

    def query(
        self, sql: str, parameters: Sequence[Scalar | list[Scalar]] = (), *, stream: bool = False
    ) -> Iterator[ResultRow]:
        """See `Connection.query`."""
        return self._connection.query(sql, parameters, stream=stream)

    def moment(self, look: Callable[[], T]) -> T:
        """See `Connection.moment`."""
        return self._connection.moment(look)

    def must_be_writable(self) -> None:
        """What the server's catalog says of the rights of this user; a replica is recovering all the time."""
        ((read_only, lacking),) = self.query(_MAY_WRITE, [[*self._schema.names()], _RIGHTS])
        if read_only:
            raise faults.read_only(self._connection.address.location, "its transactions are read-only")
        if lacking:
            raise faults.may_not_write(self._connection.address.location, f"no right to {lacking[0]}", WANTED)

    def transaction(self, work: Callable[[], T]) -> T:
        """See `Connection.transaction`; who may not write finds out before `work` begins."""

        def permitted() -> T:
            self.must_be_writable()
            return work()

        return self._connection.transaction(", ".join(self._schema.names()), permitted)

    def side_effects(self) -> list[SideEffect]:
        """Of the tables and their partitions."""
        from ckpt_cli.savers.postgres.triggers import side_effects

        return side_effects(self, self._schema.names())

    def caveats(self) -> list[str]:
        """Row-level security."""
        from ckpt_cli.savers.postgres.triggers import hidden_rows

        return hidden_rows(self, self._schema.names())

    def run_many(self, sql: str, parameters: Sequence[Sequence[Scalar]]) -> int:
        """See `Connection.run_many`."""
        return self._connection.run_many(sql, parameters)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def table(self, relation: str) -> str:
        """With the schema it was found in."""
        return f"{quoted(self._schema.schema_names[relation])}.{relation}"

    def quoted(self, name: str) -> str:
        """In double quotes."""
        return quoted(name)

    def json_text(self, path: str) -> str:
        """A member of the header."""
        return f"(checkpoint ->> '{path}')"

    def select_expression(self, relation: str, column: str, expression: str = "") -> str:
        """Cast to text, but for bytes, whole numbers and text itself."""
        raw = self._kind(relation, column) in _RAW
        return expression or quoted(column) if raw else f"({expression or quoted(column)})::text"

    def channel_versions(self) -> str:
        """A member of the header."""
        return "(checkpoint -> 'channel_versions')::text"

    def metadata_equals(self) -> str:
        """As JSON, so that the number 5 isn't the text "5"."""
        return "metadata::jsonb -> %s::text = to_jsonb(%s::text)"

    def metadata_parameters(self, key: str, text: str) -> list[Scalar]:
        """No JSONB holds what `search_value` gives None for."""
        return [self.search_value(CHECKPOINTS, "metadata", key), self.search_value(CHECKPOINTS, "metadata", text)]

    def byte_length(self, column: str) -> str:
        """Read from the head of a value that is stored apart (TOAST), without fetching the value."""
        return f"octet_length({column})"

    def digest(self, column: str) -> str:
        """Built in since Postgres 11."""
        return f"encode(sha256({column}), 'hex')"

    def byte_order(self, expression: str) -> str:
        """As it is where the database sorts by bytes anyway, so that its index serves."""
        return expression if self._schema.by_bytes else f'({expression}) COLLATE "C"'

    def subquery_end(self) -> str:
        """A subquery with an offset isn't pulled up (Postgres 15, ``prepjointree.c: is_simple_subquery``)."""
        return " OFFSET 0"

    def insert_override(self, relation: str, columns: Sequence[str]) -> str:
        """Needed by columns that are GENERATED ALWAYS AS IDENTITY (Postgres 15, "INSERT")."""
        always = any(self._schema.layout.columns[relation][name].always for name in columns)
        return "OVERRIDING SYSTEM VALUE " if always else ""

    def equals(self, relation: str, column: str) -> str:  # noqa: ARG002 - other engines must
        """Text is equal by its bytes whatever the collation (Postgres 15, 24.2.2.4: deterministic ones)."""
        return f"{quoted(column)} = %s"

    def among(
        self, relation: str, columns: Sequence[str], rows: Sequence[Sequence[Scalar]]
    ) -> tuple[str, list[Scalar | list[Scalar]]]:
        """Arrays as parameters, so that the statement is the same for any number."""
        names = [quoted(column) for column in columns]
        arrays = [f"%s::{self._kind(relation, column)}[]" for column in columns]
        sought = [[self.search_value(relation, column, row[n]) for row in rows] for n, column in enumerate(columns)]
        if len(columns) == 1:
            return f"{names[0]} = ANY({arrays[0]})", [*sought]
        asked = f"SELECT * FROM unnest({', '.join(arrays)})"  # noqa: S608 - types, and places for values
        return f"({', '.join(names)}) IN ({asked})", [*sought]

    def search_value(self, relation: str, column: str, value: Scalar) -> Scalar:
        """No text holds U+0000 or half a surrogate pair, and no uuid column what isn't spelled as one."""
        if not isinstance(value, str):
            return value
        if "\x00" in value or (not value.isascii() and not _encodable(value)):
            return None
        return value if self._kind(relation, column) != "uuid" or _is_uuid(value) else None

    def canonical_json(self, texts: Sequence[str]) -> list[str]:
        """Spelled by the server: JSONB keeps neither order nor spaces."""
        kind = self._kind(CHECKPOINTS, "checkpoint")
        given = "unnest(%s::text[]) WITH ORDINALITY AS given(text, n)"
        spelled = f"SELECT text::{kind}::text FROM {given} ORDER BY n"  # noqa: S608 - a type's name
        return [text for (text,) in self.query(spelled, [[*texts]])]

    def _kind(self, relation: str, column: str) -> str:
        return self._schema.layout.columns[relation][column].kind


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
