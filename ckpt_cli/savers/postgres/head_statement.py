"""Reads heads with their blobs and all rows of their threads, by one statement for each page."""

# ruff: noqa: S608 - the statement contains names of tables and columns, never values

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import itemgetter

from ckpt_cli.model import Checkpoint, CheckpointRow, Ref
from ckpt_cli.savers.head_reads import HeadRead
from ckpt_cli.savers.sql.checkpoint_rows import checkpoint_of, metadata_of
from ckpt_cli.savers.sql.engine import Engine, ResultRow
from ckpt_cli.savers.sql.joined_blobs import channels_of
from ckpt_cli.savers.sql.layout import CHECKPOINTS, WRITES

_KEY = ("thread_id", "checkpoint_ns", "checkpoint_id")


def head_statement(engine: Engine, blobs: str) -> str:
    """The statement, which ends in ``WHERE``; its parameters are those of `Engine.joined_blobs`.

    The rows of the head's thread are JSON: lists of namespace, id, parent, and the
    metadata of a row without a parent.
    """
    table, own = engine.table(CHECKPOINTS), "own_rows"

    def column(name: str, of: str = table) -> str:
        return engine.select_expression(CHECKPOINTS, name, f"{of}.{engine.quoted(name)}")

    of_writes = partial(engine.select_expression, WRITES)
    here = " AND ".join(f"{of_writes(key)} = {column(key)}" for key in _KEY)
    parent = column("parent_checkpoint_id", own)
    root = f"CASE WHEN {parent} IS NULL THEN {column('metadata', own)} END"
    row = f"json_build_array({column('checkpoint_ns', own)}, {column('checkpoint_id', own)}, {parent}, {root})"
    rows = f"SELECT json_agg({row})::text FROM {table} AS {own} WHERE {own}.thread_id = {table}.thread_id"
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
        head, own_rows, root = Ref(thread_id, ns, own_id), list[CheckpointRow](), None
        for space, name, parent_id, metadata in sorted(json.loads(listed), key=itemgetter(0, 1)):
            own_rows.append(new(CheckpointRow, (thread_id, space, name, parent_id, None)))
            if parent_id is None and root is None and space == ns:
                root = metadata_of(metadata)
        is_long = any(blob[2] is None for blob in blobs or ())
        whole = read([head]) if is_long else iter([checkpoint_of(row, channels_of(row))])
        yield HeadRead(head, next(whole, None), own_rows, is_written, root)


def weight(row: ResultRow) -> int:
    """The bytes of a head's header and blobs in a row of the statement."""
    *_, header, _, blobs, _, _ = row
    return len(header or "") + sum(len(blob[2] or b"") for blob in blobs or ())
