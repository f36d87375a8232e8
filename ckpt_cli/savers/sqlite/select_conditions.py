"""The conditions that find the checkpoints of a `Selection`; values are parameters."""

import json
from collections.abc import Callable

from ckpt_cli.model import Payload, Scalar
from ckpt_cli.savers.selection import Selection
from ckpt_cli.savers.sqlite import statements as sql
from ckpt_cli.savers.sqlite.columns import bound, equals
from ckpt_cli.savers.sqlite.schema import Schema


def select_conditions(
    selection: Selection, schema: Schema, find_thread: Callable[[str], tuple[str, Scalar]]
) -> tuple[str, list[Scalar]]:
    """The WHERE clause and its parameters.

    The conditions have the order of checkpoint-sqlite 3.1 (``utils.py: search_where``). SQLite reads a wrong path only
    in rows that meet the conditions before it.
    """
    found: list[tuple[str, list[Scalar]]] = []
    if selection.thread_id is not None:
        is_thread, stored_id = find_thread(selection.thread_id)
        found.append((f"thread_id {is_thread}", [stored_id]))
    for column, name in (("ns", selection.ns), ("id", selection.checkpoint_id)):
        if name is not None:
            is_name, stored = equals(name)
            found.append((f"{schema.columns[column]} {is_name}", [stored]))
    if selection.metadata is not None:
        found += _at_paths(selection.metadata, schema)
    if selection.before is not None:
        found.append((schema.sql(sql.BEFORE), [bound(selection.before)]))
    where = " AND ".join(condition for condition, _ in found)
    return f"WHERE {where}" if where else "", [value for _, values in found for value in values]


def _at_paths(metadata: Payload, schema: Schema) -> list[tuple[str, list[Scalar]]]:
    wanted: dict[str, Scalar] = json.loads(metadata.data)
    operators = {path: "IS ?" if value is None else "= ?" for path, value in wanted.items()}
    return [(schema.sql(sql.AT_PATH, is_value=operators[path]), [path, value]) for path, value in wanted.items()]
