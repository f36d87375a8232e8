"""What `AgentRows` of Postgres and MySQL share: a statement's rows as records, which tables are fit."""

from collections.abc import Iterable

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Write
from ckpt_cli.savers.agent_rows import Found
from ckpt_cli.savers.sql.engine import ResultRow
from ckpt_cli.savers.sql.layout import TABLES, WRITTEN, Layout

CHECKPOINT, CHANNEL, WRITE = 0, 1, 2
"""The kinds of a row; they are its first column. The other columns:

- checkpoint: id, parent, header, metadata, NULL, NULL
- channel: its name, type tag, version, NULL, NULL, value
- write: task id, channel, type tag, task path, index, value
"""

_IDS = ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "channel", "version")
_TEXT = ("text", "varchar", "character varying")


def fits_agent(layout: Layout) -> bool:
    """Whether an agent's statements fit the tables: ids are text, and an application's columns need no value."""
    for table in TABLES:
        for name, column in layout.columns[table].items():
            is_own, has_value = name in WRITTEN[table], column.nullable or column.defaulted or column.generated
            if not (is_own or has_value) or (name in _IDS and column.kind not in _TEXT):
                return False
    return not layout.shallow


def found_of(thread_id: str, ns: str, rows: Iterable[ResultRow]) -> Found | None:
    """The checkpoint with its channels and its writes; None without a row of a checkpoint."""
    by_kind: dict[int, list[ResultRow]] = {CHECKPOINT: [], CHANNEL: [], WRITE: []}
    for kind, *values in rows:
        by_kind[kind].append(tuple(values))
    for own_id, parent_id, header, metadata, _, _ in by_kind[CHECKPOINT]:
        row = CheckpointRow(thread_id, ns, own_id, parent_id)
        channels = {name: Payload(tag, bytes(data or b"")) for name, tag, _, _, _, data in by_kind[CHANNEL]}
        writes = [
            Write(thread_id, ns, own_id, task_id, idx, channel, path or "", Payload(tag or "", bytes(data)), len(data))
            for task_id, channel, tag, path, idx, data in by_kind[WRITE]
        ]
        checkpoint = Checkpoint(row, Payload("json", header.encode()), Payload("json", metadata.encode()), channels)
        return Found(checkpoint, sorted(writes, key=lambda write: write.order))
    return None
