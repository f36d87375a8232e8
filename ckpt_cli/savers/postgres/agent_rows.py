"""An agent's records in Postgres: each call is one statement, which a direct connection prepares once."""

from collections.abc import Sequence

from ckpt_cli.errors import Refused
from ckpt_cli.model import NULL, Checkpoint, Write
from ckpt_cli.savers.agent_rows import AgentRows, Found
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.postgres.agent_statements import AgentStatements
from ckpt_cli.savers.postgres.connection import Connection
from ckpt_cli.savers.postgres.engine import PostgresEngine
from ckpt_cli.savers.sql.agent_rows import found_of
from ckpt_cli.savers.sql.layout import CHECKPOINTS, Layout
from ckpt_cli.savers.sql.records import blobs_of, must_fit_json


class PostgresAgentRows(AgentRows):
    """Reads and writes an agent's records outside any transaction: a statement is atomic by itself."""

    def __init__(self, saver: Saver, connection: Connection, engine: PostgresEngine, layout: Layout) -> None:
        super().__init__(saver)
        self._connection, self._engine = connection, engine
        self._sql = AgentStatements(engine, layout)

    def get(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Found | None:
        """See `AgentRows.get`."""
        names = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
        place = {name: self._engine.search_value(CHECKPOINTS, name, value) for name, value in names.items()}
        statement = self._sql.one if checkpoint_id else self._sql.newest
        return found_of(thread_id, ns, self._connection.run_alone(statement, place, writing=False))

    def put(self, record: Checkpoint) -> None:
        """See `AgentRows.put`."""
        row = record.row
        values: dict[str, object] = {"thread_id": row.thread_id, "checkpoint_ns": row.ns}
        values |= {"checkpoint_id": row.checkpoint_id, "parent_id": row.parent_id}
        values |= {"header": record.body.data.decode(), "metadata": record.metadata.data.decode()}
        blobs = list(blobs_of(record)) if record.channels else []
        rows: list[dict[str, object]] = [
            {"channels": name.channel, "versions": name.version, "tags": payload.tag, "values": payload.data}
            for name, payload in blobs
        ]
        sql = (self._sql.put, self._sql.put_one_version, self._sql.put_versions)[min(len(rows), 2)]
        try:
            self._connection.run_alone(sql, values | _joined(rows), writing=True)
        except Refused:
            must_fit_json(record, nul=False)
            raise

    def put_writes(self, writes: Sequence[Write], *, replace: bool) -> None:
        """See `AgentRows.put_writes`."""
        first = writes[0]
        values: dict[str, object] = {"thread_id": first.thread_id, "checkpoint_ns": first.ns}
        values |= {"checkpoint_id": first.checkpoint_id, "task_id": first.task_id, "task_path": first.task_path}
        rows: list[dict[str, object]] = [
            {"idxs": write.idx, "channels": write.channel, "tags": payload.tag, "values": payload.data}
            for write, payload in ((write, write.payload or NULL) for write in writes)
        ]
        one, many = (
            (self._sql.replace_one_write, self._sql.replace_writes)
            if replace
            else (self._sql.add_one_write, self._sql.add_writes)
        )
        self._connection.run_alone(one if len(rows) == 1 else many, values | _joined(rows), writing=True)


def _joined(rows: Sequence[dict[str, object]]) -> dict[str, object]:
    """The values of one row, or of several as lists."""
    return rows[0] if len(rows) == 1 else {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
