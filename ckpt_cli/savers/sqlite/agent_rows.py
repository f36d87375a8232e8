"""An agent's records in SQLite: each call is one statement, on the connection that stays open.

The statements have the effects of those of LangGraph's own saver (checkpoint-sqlite 3.1, ``__init__.py: put``,
``put_writes``): ``INSERT OR REPLACE`` and ``INSERT OR IGNORE``.
"""

# ruff: noqa: S608 - statements contain names of tables and columns, never values

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ckpt_cli.model import Checkpoint, Payload, Record, Scalar, Write
from ckpt_cli.savers.agent_rows import AgentRows, Found
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sqlite import columns
from ckpt_cli.savers.sqlite.columns import bound, data, equals
from ckpt_cli.savers.sqlite.images import placeholder, quoted
from ckpt_cli.savers.sqlite.records import Rows
from ckpt_cli.savers.sqlite.schema import Schema

if TYPE_CHECKING:
    from ckpt_cli.savers.sqlite.long_lived import LongLivedConnection

_ROWS = 50  # in one statement; older builds of SQLite take at most 999 values

_HEAD = "FROM checkpoints WHERE thread_id = CAST(? AS TEXT) AND {ns} {is_ns} {which}"
_FOUND = f"""
SELECT * FROM (SELECT 0, {{id}}, {{parent}}, {{tag}}, {{metadata}}, NULL, NULL, NULL, NULL, checkpoint {_HEAD})
UNION ALL
SELECT 1, {{write_ns}}, {{write_id}}, {{task_path}}, task_id, idx, channel, {{write_tag}}, NULL, value FROM writes
WHERE thread_id = CAST(? AS TEXT) AND {{write_ns}} {{is_ns}} AND {{write_id}} = (SELECT {{id}} {_HEAD})
"""
"""A checkpoint, then its writes. One statement sees one moment."""


class SqliteAgentRows(AgentRows):
    """Reads and writes an agent's records outside any transaction: a statement is atomic by itself."""

    def __init__(self, saver: Saver, connection: "LongLivedConnection", schema: Schema) -> None:
        super().__init__(saver)
        self._connection, self._schema = connection, schema
        self._rows = Rows(schema, lambda thread_id: thread_id)

    def get(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Found | None:
        """See `AgentRows.get`."""
        (is_ns, space), thread = equals(ns), bound(thread_id)
        which, place = self._schema.sql("ORDER BY {id} DESC LIMIT 1"), [thread, space]
        if checkpoint_id is not None:
            is_id, own_id = equals(checkpoint_id)
            which, place = self._schema.sql("AND {id} {is_id}", is_id=is_id), [thread, space, own_id]
        statement = self._schema.sql(_FOUND, is_ns=is_ns, which=which)
        checkpoint, writes = None, []
        for kind, *row in self._connection.query(statement, [*place, thread, space, *place]):
            if kind:
                writes.append(columns.write(thread_id, tuple(row)))
            else:
                checkpoint = self._checkpoint(thread_id, ns, row)
        return None if checkpoint is None else Found(checkpoint, sorted(writes, key=lambda write: write.order))

    def put(self, record: Checkpoint) -> None:
        """See `AgentRows.put`."""
        self._connection.run_alone("checkpoints", *self._insert("REPLACE", "checkpoints", [record]))

    def put_writes(self, writes: Sequence[Write], *, replace: bool) -> None:
        """See `AgentRows.put_writes`; very many writes need a transaction."""
        verb = "REPLACE" if replace else "IGNORE"
        inserts = [self._insert(verb, "writes", page) for page in pages(writes, _ROWS)]

        def run() -> None:
            for insert in inserts:
                self._connection.run_alone("writes", *insert)

        if len(inserts) == 1:
            run()
        else:
            self._connection.transaction(run)

    def _insert(self, verb: str, table: str, records: Sequence[Record]) -> tuple[str, list[Scalar]]:
        rows = [self._rows.row(record) for record in records]
        raw = [value for row in rows for value in row.values()]
        values = [bound(value) if type(value) is str else value for value in raw]
        places = (("?",) * len(rows[0]),) * len(rows)
        if values != raw:  # some text isn't UTF-8
            places = tuple(tuple(map(placeholder, row.values())) for row in rows)
        return _insert_statement(verb, table, tuple(rows[0]), places), values

    def _checkpoint(self, thread_id: str, ns: str, row: Sequence[Any]) -> Checkpoint:
        own_id, parent_id, tag, metadata, *_, body = row
        raw = data(body)
        skeleton = columns.skeleton(thread_id, ns, own_id, parent_id, len(raw))
        return Checkpoint(
            skeleton, Payload(columns.tag(tag), raw), columns.metadata(metadata, typed=self._schema.typed)
        )


@lru_cache(maxsize=128)
def _insert_statement(verb: str, table: str, columns: tuple[str, ...], places: tuple[tuple[str, ...], ...]) -> str:
    rows = ", ".join(f"({', '.join(row)})" for row in places)
    return f"INSERT OR {verb} INTO {table} ({', '.join(map(quoted, columns))}) VALUES {rows}"
