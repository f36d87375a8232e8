"""An agent's records in MySQL: a statement for each table, and a transaction only where two tables change."""

from collections.abc import Sequence

from ckpt_cli.errors import Refused
from ckpt_cli.model import Checkpoint, Row, Scalar, Write
from ckpt_cli.savers.agent_rows import AgentRows, Found
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.mysql.agent_statements import AgentStatements
from ckpt_cli.savers.mysql.connection import Connection, Statement
from ckpt_cli.savers.mysql.engine import MySQLEngine
from ckpt_cli.savers.mysql.schema import Schema
from ckpt_cli.savers.sql.agent_rows import found_of
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, WRITES
from ckpt_cli.savers.sql.records import Rows, blobs_of, must_fit_json

_BYTES = 500_000  # of values in one statement, unless one row has more


class MySQLAgentRows(AgentRows):
    """Reads and writes an agent's records by single statements, which are atomic by themselves."""

    def __init__(self, saver: Saver, connection: Connection, engine: MySQLEngine, schema: Schema) -> None:
        super().__init__(saver)
        self._connection = connection
        self._rows = Rows(engine, schema.layout)
        self._sql = AgentStatements(engine, schema)

    def get(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Found | None:
        """See `AgentRows.get`; a server without JSON_TABLE needs several statements."""
        if not self._connection.has_json_table:
            return super().get(thread_id, ns, checkpoint_id)
        rows = self._connection.run_alone([self._sql.found(thread_id, ns, checkpoint_id)], writing=False)
        return found_of(thread_id, ns, rows)

    def put(self, record: Checkpoint) -> None:
        """See `AgentRows.put`; with new versions of channels it is a transaction."""
        header, metadata = record.body.data.decode(), record.metadata.data.decode()
        blobs = [self._rows.blob(name, payload) for name, payload in blobs_of(record)] if record.channels else []
        statements = [
            *self._inserts(BLOBS, blobs),
            *self._inserts(CHECKPOINTS, [self._rows.checkpoint(record, header, metadata)], "checkpoint", "metadata"),
        ]
        try:
            self._connection.run_alone(statements, writing=True)
        except Refused:
            must_fit_json(record, nul=True)
            raise

    def put_writes(self, writes: Sequence[Write], *, replace: bool) -> None:
        """See `AgentRows.put_writes`; a transaction only if all together are too long for one statement."""
        changed = ("channel", "type", "blob") if replace else ()
        rows = [self._rows.write(write) for write in writes]
        self._connection.run_alone(self._inserts(WRITES, rows, *changed), writing=True)

    def _inserts(self, relation: str, rows: Sequence[Row], *changed: str) -> list[Statement]:
        """Statements that add rows; of an existing row, they replace the values in the columns `changed`."""
        statements: list[Statement] = []
        for some in _groups(rows):
            values: list[Scalar] = [value for row in some for value in row.values()]
            statements.append((self._sql.insert(relation, list(rows[0]), len(some), changed), values))
        return statements


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    groups: list[list[Row]] = []
    size = 0
    for row in rows:
        length = sum(len(value) for value in row.values() if isinstance(value, str | bytes))
        if not groups or size + length > _BYTES:
            groups.append([])
            size = 0
        groups[-1].append(row)
        size += length
    return groups
