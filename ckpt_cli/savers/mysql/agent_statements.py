"""The SQL of `agent_rows`: reads a checkpoint whole, adds rows, replaces or keeps existing ones.

It has the effects of that of LangGraph's own saver (langgraph-checkpoint-mysql 3.0, ``base.py``: ``SELECT_SQL``,
``UPSERT_…_SQL``, ``INSERT_CHECKPOINT_WRITES_SQL``), except that nothing is truncated: its INSERT IGNORE does that.
"""

# ruff: noqa: S608 - statements contain names of tables and columns, never values

from collections.abc import Collection, Sequence

from ckpt_cli.model import Scalar
from ckpt_cli.savers.mysql.connection import Statement
from ckpt_cli.savers.mysql.engine import MySQLEngine
from ckpt_cli.savers.mysql.placeholders import expand_repeats
from ckpt_cli.savers.mysql.schema import Schema
from ckpt_cli.savers.sql.agent_rows import CHANNEL, CHECKPOINT, WRITE
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, WRITES

_VERSIONS = """json_table(json_keys(head.header, '$.channel_versions'),
    '$[*]' COLUMNS (n FOR ORDINALITY, name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$')) AS names
JOIN json_table(json_extract(head.header, '$.channel_versions.*'),
    '$[*]' COLUMNS (n FOR ORDINALITY, text VARCHAR(255) CHARACTER SET utf8mb4 PATH '$')) AS versions
    ON versions.n = names.n"""
"""The channels of a header and their versions. Both lists have the same order."""


class AgentStatements:
    """The statements for one layout of the tables."""

    def __init__(self, engine: MySQLEngine, schema: Schema) -> None:
        self._engine, self._schema = engine, schema
        self._path = "task_path" if schema.layout.task_paths else "''"

    def found(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Statement:
        """The statement that reads a checkpoint, or the newest one, with its channels and its writes."""
        engine, place = self._engine, {"thread_id": thread_id, "checkpoint_ns": ns}
        key = place if checkpoint_id is None else {**place, "checkpoint_id": checkpoint_id}
        which = " ORDER BY checkpoint_id DESC LIMIT 1" if checkpoint_id is None else ""
        of_blobs, blob_values = engine.among(BLOBS, list(place), [list(place.values())])
        channel, version = self._as_column("channel", "names.name"), self._as_column("version", "versions.text")
        statement = f"""WITH head AS (
    SELECT checkpoint_id AS own_id, parent_checkpoint_id AS parent, checkpoint AS header, metadata AS more
    FROM checkpoints WHERE {self._equal(CHECKPOINTS, key)}{which}
)
SELECT {CHECKPOINT}, {self._texts("own_id", "parent", "header", "more")}, NULL, NULL FROM head
UNION ALL
SELECT {CHANNEL}, {self._texts("channel", "type", "version")}, NULL, NULL, `blob`
FROM head JOIN {_VERSIONS} JOIN checkpoint_blobs ON {of_blobs} AND channel = {channel} AND version = {version}
UNION ALL
SELECT {WRITE}, {self._texts("task_id", "channel", "type", self._path)}, idx, `blob`
FROM checkpoint_writes WHERE {self._equal(WRITES, place)} AND checkpoint_id = (SELECT own_id FROM head)"""
        values = [*self._values(CHECKPOINTS, key), *blob_values, *self._values(WRITES, place)]
        return expand_repeats(statement, values)

    def insert(self, relation: str, columns: Sequence[str], count: int, changed: Collection[str]) -> str:
        """The statement that adds `count` rows; of an existing row, it replaces the values in the columns `changed`."""
        quoted = self._engine.quoted
        row = f"({', '.join(['%s'] * len(columns))})"
        kept = f"{quoted(columns[0])} = {quoted(columns[0])}"
        changes = ", ".join(f"{quoted(name)} = VALUES({quoted(name)})" for name in changed) or kept
        return f"""INSERT INTO {quoted(relation)} ({", ".join(map(quoted, columns))})
VALUES {", ".join([row] * count)}
ON DUPLICATE KEY UPDATE {changes}"""

    def _as_column(self, column: str, text: str) -> str:
        """A text as the column of blobs that it is compared with: only then the server uses the column's index."""
        collation = self._schema.collations[BLOBS, column]
        return f"convert({text} USING {collation.partition('_')[0]}) COLLATE {collation}"

    def _equal(self, relation: str, key: dict[str, str]) -> str:
        return " AND ".join(self._engine.equals(relation, name) for name in key)

    def _values(self, relation: str, key: dict[str, str]) -> list[Scalar]:
        return [self._engine.search_value(relation, name, value) for name, value in key.items()]

    def _texts(self, *expressions: str) -> str:
        """Texts of one character set and collation, which the parts of a UNION need."""
        return ", ".join(map(self._engine.byte_order, expressions))
