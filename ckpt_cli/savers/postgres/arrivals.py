"""The rows at the end of a table, where Postgres stores new ones unless deletions left room."""

from ckpt_cli.model import Ref
from ckpt_cli.savers.arrivals import Arrivals
from ckpt_cli.savers.sql.engine import Engine

_END = """
SELECT pg_relation_size(c.oid) / current_setting('block_size')::int, current_setting('server_version_num')::int
FROM pg_class c JOIN pg_am a ON a.oid = c.relam
WHERE c.oid = to_regclass(%s) AND c.relkind = 'r' AND a.amname = 'heap'
"""
_TID_SCANS = 140_000  # since this version the server reads a range of blocks without the others ("TID Range Scan")
_AGAIN = 32
"""So many blocks before the last known end are read again: rows may be stored there that were not yet committed, and
concurrent writers fill several new blocks at once (Postgres 15, ``hio.c: RelationAddExtraBlocks``)."""


def read_tail(engine: Engine, table: str, select: str, mark: int | None) -> Arrivals | None:
    """The checkpoints in the last blocks, read from the block `mark` on; without a mark none is read.

    None if this server or this table has no such order.
    """
    end = next(iter(engine.query(_END, [table])), None)
    if end is None or end[1] < _TID_SCANS:
        return None
    blocks = int(end[0])
    if mark is None:
        return Arrivals([], blocks)
    first = max(0, min(mark, blocks) - _AGAIN)
    rows = engine.query(f"{select} WHERE ctid >= %s::tid", [f"({first},0)"])
    return Arrivals([Ref(*row) for row in rows], blocks)
