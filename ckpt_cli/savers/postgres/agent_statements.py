"""The SQL of `agent_rows`: reads a checkpoint whole, writes a checkpoint or the writes of a task.

They have the effects of those of LangGraph's own saver (checkpoint-postgres 3.2, ``base.py``: ``SELECT_SQL``,
``UPSERT_CHECKPOINT_BLOBS_SQL``, ``UPSERT_CHECKPOINTS_SQL``, ``UPSERT_CHECKPOINT_WRITES_SQL``,
``INSERT_CHECKPOINT_WRITES_SQL``). But the rows of one call are sent together, as arrays.
"""

# ruff: noqa: S608 - statements contain names of tables and columns, never values

from collections.abc import Mapping

from ckpt_cli.savers.postgres.engine import PostgresEngine
from ckpt_cli.savers.sql.agent_rows import CHANNEL, CHECKPOINT, WRITE
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, WRITES, Layout

_PLACE = "thread_id, checkpoint_ns"
_HERE = "%(thread_id)s::text, %(checkpoint_ns)s::text"
_NEW_VERSIONS = {"channels": "text", "versions": "text", "tags": "text", "values": "bytea"}
_NEW_WRITES = {"idxs": "int", "channels": "text", "tags": "text", "values": "bytea"}
"""Values of one row, or of several rows as arrays, with their types."""

_VERSIONS = """jsonb_each_text(CASE jsonb_typeof(head.checkpoint::jsonb -> 'channel_versions')
    WHEN 'object' THEN head.checkpoint::jsonb -> 'channel_versions' END)"""

_HEAD = """WITH head AS (
    SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata FROM {checkpoints}
    WHERE thread_id = %(thread_id)s AND checkpoint_ns = %(checkpoint_ns)s {which}
)
SELECT {checkpoint}, checkpoint_id, parent_checkpoint_id, checkpoint::text, metadata::text, NULL::int, NULL::bytea
FROM head
UNION ALL
SELECT {channel}, b.channel, b.type, b.version, NULL, NULL, b.blob
FROM head CROSS JOIN {versions} AS v JOIN {blobs} b ON b.thread_id = head.thread_id
    AND b.checkpoint_ns = head.checkpoint_ns AND b.channel = v.key AND b.version = v.value
UNION ALL
SELECT {write}, w.task_id, w.channel, w.type, {path}, w.idx, w.blob
FROM head JOIN {writes} w ON w.thread_id = head.thread_id
    AND w.checkpoint_ns = head.checkpoint_ns AND w.checkpoint_id = head.checkpoint_id"""


class AgentStatements:
    """The statements for one layout of the tables; they take named values."""

    def __init__(self, engine: PostgresEngine, layout: Layout) -> None:
        checkpoints, blobs, writes = (engine.table(name) for name in (CHECKPOINTS, BLOBS, WRITES))
        one, newest = (
            _HEAD.format(
                which=which,
                checkpoints=checkpoints,
                blobs=blobs,
                writes=writes,
                versions=_VERSIONS,
                path="w.task_path" if layout.task_paths else "NULL",
                checkpoint=CHECKPOINT,
                channel=CHANNEL,
                write=WRITE,
            )
            for which in ("AND checkpoint_id = %(checkpoint_id)s", "ORDER BY checkpoint_id DESC LIMIT 1")
        )
        self.one, self.newest = one, newest
        self.put = f"""INSERT INTO {checkpoints}
    ({_PLACE}, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
VALUES ({_HERE}, %(checkpoint_id)s, %(parent_id)s, %(header)s, %(metadata)s)
ON CONFLICT ({_PLACE}, checkpoint_id) DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata"""
        self.put_one_version, self.put_versions = (
            f"""WITH new_versions AS (
    INSERT INTO {blobs} ({_PLACE}, channel, version, type, blob) SELECT {_HERE}, {rows}
    ON CONFLICT ({_PLACE}, channel, version) DO NOTHING
)
{self.put}"""
            for rows in _one_and_many(_NEW_VERSIONS)
        )
        path, path_value = ("task_path, ", "%(task_path)s::text, ") if layout.task_paths else ("", "")
        one_write, many_writes = (
            f"""INSERT INTO {writes} ({_PLACE}, checkpoint_id, task_id, {path}idx, channel, type, blob)
SELECT {_HERE}, %(checkpoint_id)s::text, %(task_id)s::text, {path_value}{rows}
ON CONFLICT ({_PLACE}, checkpoint_id, task_id, idx) DO """
            for rows in _one_and_many(_NEW_WRITES)
        )
        self.add_one_write, self.add_writes = f"{one_write}NOTHING", f"{many_writes}NOTHING"
        update = "UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob"
        self.replace_one_write, self.replace_writes = one_write + update, many_writes + update


def _one_and_many(columns: Mapping[str, str]) -> tuple[str, str]:
    """The end of a SELECT that gives one row, and of one that gives many: arrays cost more than the values of a row."""
    placeholders = {name: f"%({name}){'b' if kind == 'bytea' else 's'}" for name, kind in columns.items()}
    one = ", ".join(f"{placeholders[name]}::{kind}" for name, kind in columns.items())
    arrays = ", ".join(f"{placeholders[name]}::{kind}[]" for name, kind in columns.items())
    return one, f"* FROM unnest({arrays})"
