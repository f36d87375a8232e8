"""`MeasureStatements`: the SQL that counts records and adds up their lengths."""

# ruff: noqa: S608 - statements contain names of tables and columns, never values

from collections.abc import Mapping, Sequence

from ckpt_cli.savers.period_case import period_case
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.layout import BLOBS, CHECKPOINTS, WRITES, Layout


class MeasureStatements:
    """Statements that measure; each takes the condition that chooses threads, which may be empty."""

    def __init__(self, engine: Engine, layout: Layout) -> None:
        self._engine = engine
        raw_id = engine.json_text("id") if layout.shallow else engine.select_expression(CHECKPOINTS, "checkpoint_id")
        self._id = engine.byte_order(raw_id)
        self._write_id = engine.byte_order(engine.select_expression(WRITES, "checkpoint_id"))
        self._path = engine.select_expression(WRITES, "task_path") if layout.task_paths else "''"
        lengths = (engine.json_length(engine.quoted(column)) for column in ("checkpoint", "metadata"))
        self._length = " + ".join(f"coalesce({length}, 0)" for length in lengths)
        self._blob_length = f"coalesce({engine.byte_length(engine.quoted('blob'))}, 0)"

    def checkpoints(self, bounds: Sequence[str], only: str) -> tuple[str, list[str]]:
        """Namespace, period, number and bytes of checkpoints; and the parameters of the periods."""
        period, times = period_case(self._id, bounds, "%s")
        columns = f"{self._ns(CHECKPOINTS)}, {period}, count(*), sum({self._length})"
        return f"SELECT {columns} FROM {self._engine.table(CHECKPOINTS)}{only} GROUP BY 1, 2", times

    def blobs(self, only: str) -> str:
        """Namespace, channel, type tag, number and bytes of channels that are stored apart."""
        columns = f"{self._ns(BLOBS)}, {self._read(BLOBS, 'channel')}, {self._read(BLOBS, 'type')}"
        sums = f"count(*), sum({self._blob_length})"
        return f"SELECT {columns}, {sums} FROM {self._engine.table(BLOBS)}{only} GROUP BY 1, 2, 3"

    def writes(self, bounds: Sequence[str], only: str) -> tuple[str, list[str]]:
        """Namespace, channel, type tag, path, period, number and bytes of writes; and the parameters of the periods."""
        period, times = period_case(self._write_id, bounds, "%s")
        columns = f"{self._ns(WRITES)}, {self._read(WRITES, 'channel')}, {self._read(WRITES, 'type')}, {self._path}"
        sums = f"{period}, count(*), sum({self._blob_length})"
        return f"SELECT {columns}, {sums} FROM {self._engine.table(WRITES)}{only} GROUP BY 1, 2, 3, 4, 5", times

    def threads(self, only: Mapping[str, str], largest: int | None) -> str:
        """Thread, checkpoints, writes, bytes and recent checkpoints of each thread; one parameter begins the recent.

        With `largest`, only so many threads with most bytes, and with most recent checkpoints.
        """
        recent = f"CASE WHEN length({self._id}) = 36 AND substr({self._id}, 15, 1) = '6' AND {self._id} >= %s THEN 1"
        parts = {
            CHECKPOINTS: f"count(*) AS n, 0 AS w, sum({self._length}) AS b, sum({recent} ELSE 0 END) AS r",
            BLOBS: f"0, 0, sum({self._blob_length}), 0",
            WRITES: f"0, count(*), sum({self._blob_length}), 0",
        }
        selects = " UNION ALL ".join(
            f"SELECT {self._engine.byte_order(self._read(table, 'thread_id'))} AS id, {sums}"
            f" FROM {self._engine.table(table)}{only[table]} GROUP BY 1"
            for table, sums in parts.items()
        )
        sums = "sum(n) AS n, sum(w) AS w, sum(b) AS b, sum(r) AS r"
        sizes = f"SELECT id, {sums} FROM ({selects}) AS parts GROUP BY id HAVING sum(n) > 0"
        if largest is None:
            return sizes
        first, second = (f"(SELECT * FROM sizes ORDER BY {by} DESC, id DESC LIMIT {int(largest)})" for by in "br")
        return f"WITH sizes AS ({sizes}) {first} UNION {second}"

    def _ns(self, relation: str) -> str:
        return self._engine.outermost(self._engine.namespace(relation))

    def _read(self, relation: str, column: str) -> str:
        return self._engine.select_expression(relation, column)
