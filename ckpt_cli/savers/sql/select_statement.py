"""The statement that finds the checkpoints of a `Selection`; its values are always parameters."""

from ckpt_cli.model import Scalar
from ckpt_cli.savers.selection import Selection
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.layout import CHECKPOINTS
from ckpt_cli.savers.sql.statements import CheckpointStatements


def select_statement(
    engine: Engine, sql: CheckpointStatements, selection: Selection
) -> tuple[str, list[Scalar | list[Scalar]]]:
    """The statement and its parameters; conditions as in checkpoint-postgres 3.2, ``base.py: _search_where``."""
    columns = (
        (engine.equals(CHECKPOINTS, "thread_id"), "thread_id", selection.thread_id),
        (engine.equals(CHECKPOINTS, "checkpoint_ns"), "checkpoint_ns", selection.ns),
        (sql.select_id, "checkpoint_id", selection.checkpoint_id),
        (sql.select_before, "checkpoint_id", selection.before),
    )
    conditions: list[str] = []
    parameters: list[Scalar | list[Scalar]] = []
    for condition, column, value in columns:
        if value is not None:
            conditions.append(condition)
            parameters.append(engine.search_value(CHECKPOINTS, column, value))
    if selection.metadata is not None:
        conditions.append(engine.metadata_contains())
        parameters.append(selection.metadata.data.decode())
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    if selection.limit is None:
        return sql.select + where + sql.select_end, parameters
    return f"{sql.select}{where}{sql.select_end} LIMIT %s", [*parameters, selection.limit]
