"""Finds new checkpoints in a small table whole, else in its last blocks and by threads.

New rows also go into the room that deletions left in old blocks, and no index begins with the ids of checkpoints. Of a
large table the last blocks are read, and the threads that the caller follows.
"""

from collections.abc import Collection

from ckpt_cli.model import Ref
from ckpt_cli.savers.arrivals import Arrivals, Floor
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.layout import CHECKPOINTS

_END = """
SELECT pg_relation_size(c.oid) / current_setting('block_size')::int, current_setting('server_version_num')::int
FROM pg_class c JOIN pg_am a ON a.oid = c.relam
WHERE c.oid = to_regclass(%s) AND c.relkind = 'r' AND a.amname = 'heap'
"""
_TID_SCANS = 140_000  # since this version the server reads a range of blocks without the others ("TID Range Scan")
_AGAIN = 32
"""So many blocks before the last known end are read again: rows may be stored there that were not yet committed, and
concurrent writers fill several new blocks at once (Postgres 15, ``hio.c: RelationAddExtraBlocks``)."""
_SMALL = 4096  # blocks (32 MB): to read them all takes some hundredths of a second


def read_new(engine: Engine, select: str, floor: Floor, mark: int | None) -> Arrivals | None:
    """The checkpoints that were made since `floor`; of a large table, those in the blocks from `mark` on.

    None if this server or this table has no such order. Of a large table none is read without a mark.
    """
    end = next(iter(engine.query(_END, [engine.table(CHECKPOINTS)])), None)
    if end is None:
        return None
    blocks = int(end[0])
    if blocks <= _SMALL:
        rows = engine.query(f"{select} WHERE {_id(engine)} >= %s", [floor.lowest_id])
        return Arrivals([Ref(*row) for row in rows], blocks)
    if end[1] < _TID_SCANS:
        return None
    if mark is None:
        return Arrivals([], blocks, is_partial=True)
    first = max(0, min(mark, blocks) - _AGAIN)
    rows = engine.query(f"{select} WHERE ctid >= %s::tid", [f"({first},0)"])
    return Arrivals([Ref(*row) for row in rows], blocks, is_partial=True)


def read_threads(engine: Engine, select: str, floor: Floor, thread_ids: Collection[str]) -> Arrivals:
    """The checkpoints of these threads that were made since `floor`, by the primary key."""
    named, values = engine.among(CHECKPOINTS, ["thread_id"], [[one] for one in thread_ids])
    rows = engine.query(f"{select} WHERE {named} AND {_id(engine)} >= %s", [*values, floor.lowest_id])
    return Arrivals([Ref(*row) for row in rows])


def _id(engine: Engine) -> str:
    """The id of a checkpoint, which compares by bytes, as the text of a floor does."""
    return engine.byte_order(engine.select_expression(CHECKPOINTS, "checkpoint_id"))
