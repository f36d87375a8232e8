"""Reads heads with their blobs and all rows of their threads, by one statement for each page."""

# ruff: noqa: S608 - the statement contains names of tables and columns, never values

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import itemgetter

from ckpt_cli.model import Checkpoint, CheckpointRow, Ref
from ckpt_cli.savers.head_reads import HeadRead
from ckpt_cli.savers.sql.checkpoint_rows import checkpoint_of, metadata_of
from ckpt_cli.savers.sql.engine import Engine, ResultRow
from ckpt_cli.savers.sql.joined_blobs import channels_of
from ckpt_cli.savers.sql.layout import CHECKPOINTS, WRITES

_PLACE = itemgetter(0, 1)
_KEY = ("thread_id", "checkpoint_ns", "checkpoint_id")


def head_statement(engine: Engine, blobs: str) -> str:
    """The statement, which ends in ``WHERE``; its parameters are those of `Engine.joined_blobs`.

    The rows of the head's thread are lists of namespace, id, parent, and the metadata of a row without a parent.
    """
    table, own = engine.table(CHECKPOINTS), "own_rows"

    def column(name: str, of: str = table) -> str:
        return engine.select_expression(CHECKPOINTS, name, f"{of}.{engine.quoted(name)}")

    of_writes = partial(engine.select_expression, WRITES)
    here = " AND ".join(f"{of_writes(key)} = {column(key)}" for key in _KEY)
    parent = column("parent_checkpoint_id", own)
    root = f"CASE WHEN {parent} IS NULL THEN {column('metadata', own)} END"
    row = f"ARRAY[{column('checkpoint_ns', own)}, {column('checkpoint_id', own)}, {parent}, {root}]"
    rows = f"SELECT array_agg({row}) FROM {table} AS {own} WHERE {own}.thread_id = {table}.thread_id"
    return (
        f"SELECT {', '.join(map(column, (*_KEY, 'parent_checkpoint_id')))},"
        f" {column('checkpoint')}, {column('metadata')}, {blobs}, written, ({rows})"
        f" FROM {table} CROSS JOIN LATERAL"
        f" (SELECT EXISTS (SELECT 1 FROM {engine.table(WRITES)} WHERE {here}) AS written OFFSET 0) AS of_head WHERE "
    )


def read_heads(rows: Iterable[ResultRow], read: Callable[[list[Ref]], Iterator[Checkpoint]]) -> Iterator[HeadRead]:
    """The heads in the rows of the statement; `read` reads one that has a blob too long to be sent with others."""
    new = tuple.__new__  # the tuple's own `__new__` would be a function of Python's
    for row in rows:
        thread_id, ns, own_id, *_, blobs, is_written, listed = row
        head = new(Ref, (thread_id, ns, own_id))
        listed.sort(key=_PLACE)
        own_rows = [new(CheckpointRow, (thread_id, space, name, above, None)) for space, name, above, _ in listed]
        root = next((metadata_of(own[3]) for own in listed if own[2] is None and own[0] == ns), None)
        is_long = blobs is not None and None in [blob[2] for blob in blobs]
        whole = read([head]) if is_long else iter([checkpoint_of(row, channels_of(row))])
        yield new(HeadRead, (head, next(whole, None), own_rows, is_written, root, None))


def weight(row: ResultRow) -> int:
    """The bytes of a head's header and blobs in a row of the statement."""
    *_, header, _, blobs, _, _ = row
    return len(header or "") + sum([len(blob[2] or b"") for blob in blobs or ()])
