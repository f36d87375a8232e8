"""Postgres and MySQL: any value that a column's type takes in any column of any row, NULL too."""

import json
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Any, ClassVar

import psycopg
import pymysql
from hypothesis import strategies as st
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver
from langgraph.checkpoint.postgres import PostgresSaver

from tests.damage.kinds import Kind, talk, with_field
from tests.damage.stored import BLOBS, DOCUMENTS, PLAIN, TEXTS
from tests.servers.mysql import MySQLServer
from tests.servers.postgres import PostgresServer

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
_KEYS = ("thread_id", "checkpoint_ns", "checkpoint_ns_hash", "checkpoint_id", "task_id", "idx", "channel", "version")
_INTEGERS = st.one_of(st.none(), st.sampled_from([0, 1, -1, -3, 2**31 - 1, -(2**31)]), st.integers(-9, 9))
_BYTES = st.one_of(st.none(), BLOBS, DOCUMENTS)
_KEPT = 4  # threads of a database that was made once


class Tables(Kind):
    """A database whose columns take NULL, except those of keys; each table has a copy from before the damage."""

    columns: dict[str, dict[str, str]]

    def run(self, statement: str, words: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement."""
        raise NotImplementedError

    def copy(self) -> None:
        """Remember everything as it is."""
        for table in TABLES:
            self.run(f"CREATE TABLE sound_{table} AS SELECT * FROM {table}")
        self.columns = {table: self.types(table) for table in TABLES}

    def types(self, table: str) -> dict[str, str]:
        """The columns of a table with their types."""
        found = self.run(
            f"SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '{table}'"
            f" AND table_schema = {self.schema} ORDER BY ordinal_position"
        )
        return {str(name): str(kind) for name, kind in found}

    schema: ClassVar[str]

    def quoted(self, column: str) -> str:
        """A column's name in a statement."""
        return column

    def restore(self) -> None:
        """Copy everything back."""
        for table in TABLES:
            self.run(f"DELETE FROM {table}")
            self.run(f"INSERT INTO {table} SELECT * FROM sound_{table}")

    def dump(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row."""
        return {table: sorted(self.rows(table), key=repr) for table in TABLES}

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Those of one table."""
        return self.run(f"SELECT * FROM {table}")

    def harm(self, draw: Any) -> str:
        """One column of one row; what the server won't hold doesn't happen."""
        table = draw(st.sampled_from(TABLES))
        columns, names = [*self.columns[table]], ", ".join(key for key in _KEYS if key in self.columns[table])
        rows = self.run(f"SELECT {names} FROM sound_{table} ORDER BY {names}")
        row, column = rows[draw(st.integers(0, len(rows) - 1))], draw(st.sampled_from(columns))
        where = " AND ".join(f"{name} = %s" for name in names.split(", "))
        value = self.value(draw, table, column, where, row)
        with suppress(psycopg.Error, pymysql.Error, UnicodeError):
            self.run(f"UPDATE {table} SET {self.quoted(column)} = %s WHERE {where}", [value, *row])
        return str(row[0])

    def value(self, draw: Any, table: str, column: str, where: str, row: Sequence[Any]) -> Any:
        """What the column gets."""
        kind = self.columns[table][column]
        if kind in ("bytea", "longblob", "binary"):
            return draw(_BYTES)
        if kind in ("integer", "int"):
            return draw(_INTEGERS)
        if kind in ("jsonb", "json", "longtext"):
            ((text,),) = self.run(f"SELECT CAST({column} AS CHAR(100000)) FROM {table} WHERE {where}", row)
            return json.dumps(self.document(draw, json.loads(text))) if draw(st.booleans()) else draw(self.texts)
        return draw(st.one_of(st.none(), TEXTS))

    texts: ClassVar[st.SearchStrategy[Any]] = st.one_of(st.none(), PLAIN.map(json.dumps))

    def document(self, draw: Any, stored: dict[str, Any]) -> dict[str, Any]:
        """A header or metadata with a part replaced."""
        inner = draw(st.sampled_from(["channel_values", "channel_versions", "versions_seen", "parents"]))
        return with_field(draw, stored, inner, most=2)


class OnPostgres(Tables):
    """The tables that a saver made, in a schema."""

    schema = "current_schema()"

    def __init__(self, server: PostgresServer, data: str = "") -> None:
        self.written = data != "pg-shallow"  # type: ignore[misc]
        self.url = server.url(server.loaded(data)) if data else server.space()
        self._connection = psycopg.connect(self.url, autocommit=True)
        if data:
            best = "SELECT thread_id FROM checkpoints GROUP BY 1 HAVING count(*) < 20 ORDER BY count(*) DESC LIMIT %s"
            kept = [name for (name,) in self.run(best, [_KEPT])]
            for table in TABLES:
                self.run(f"DELETE FROM {table} WHERE thread_id <> ALL(%s)", [kept])
        else:
            with PostgresSaver.from_conn_string(self.url) as saver:
                saver.setup()
                talk(saver)
        self.copy()
        for table, column in [(t, c) for t, columns in self.columns.items() for c in columns if c not in _KEYS]:
            self.run(f"ALTER TABLE {table} ALTER {column} DROP NOT NULL")

    def run(self, statement: str, words: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement."""
        cursor = self._connection.execute(statement, words or None)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """JSON as the server spells it."""
        return self.run(f"SELECT {', '.join(f'{name}::text' for name in self.columns[table])} FROM {table}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class OnMySQL(Tables):
    """The tables that a saver made, without the checks on their JSON."""

    schema = "database()"
    texts = st.one_of(st.none(), PLAIN.map(json.dumps), TEXTS)

    def __init__(self, server: MySQLServer) -> None:
        name = server.fresh()
        self.url = server.url(name)
        self._connection = server.connect(name)
        talk(PyMySQLSaver(self._connection))
        self.copy()
        for table, column, kind in [(t, c, k) for t, columns in self.columns.items() for c, k in columns.items()]:
            if column not in _KEYS:
                size = "(2000)" if kind == "varchar" else ""
                self.run(f"ALTER TABLE {table} MODIFY `{column}` {kind}{size} NULL")

    def quoted(self, column: str) -> str:
        """One of them is a word of the language."""
        return f"`{column}`"

    def run(self, statement: str, words: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run one statement."""
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(statement, words or None)
            return [*cursor.fetchall()]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
