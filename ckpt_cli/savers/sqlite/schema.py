"""Finds out which generation of LangGraph made the tables: their columns show it, a file's name never does.

Columns are always addressed by name: ``writes.task_path`` is in the middle of new tables, but at the end of tables that
checkpoint-sqlite 3.1.2 upgraded. Generations have letters: A (langgraph 0.0.26) to E (today); H is LangGraph.js 0.0.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ckpt_cli.savers.sqlite.driver import ResultRow
from ckpt_cli.savers.sqlite.faults import NotCheckpoints

_OWN_TABLES = {"checkpoints", "writes"}
_FIRST_COLUMNS = {"thread_id", "checkpoint"}

WRITTEN = {
    "checkpoints": frozenset(
        {
            *("thread_id", "checkpoint_ns", "checkpoint_id", "thread_ts", "type", "checkpoint", "metadata"),
            *("parent_checkpoint_id", "parent_ts", "parent_id"),
        }
    ),
    "writes": frozenset(
        {
            *("thread_id", "checkpoint_ns", "checkpoint_id", "thread_ts", "task_id", "task_path", "idx"),
            *("channel", "type", "value"),
        }
    ),
}
"""LangGraph's own columns in all generations. Any other column was added by an application."""

_GENERATIONS = {
    "A": "langgraph 0.0.26 or older: one state a thread, no history",
    "B": "langgraph 0.0.30 to 0.0.38",
    "C": "langgraph 0.0.48 to 0.1",
    "D": "langgraph 0.2 to 1.2 (checkpoint-sqlite before 3.1.2), or LangGraph.js",
    "E": "checkpoint-sqlite 3.1.2 or newer (task_path)",
    "H": "LangGraph.js 0.0",
}


class Schema(NamedTuple):
    """The tables of one generation.

    Attributes:
        columns: maps a short name for a column of the current generation to the SQL expression for it in these tables.
        typed: whether the tables store the type tags of payloads.
        parents: whether a checkpoint names its parent.
        writes: whether there is a table of writes.
        other_tables: the tables that aren't LangGraph's.
    """

    letter: str
    columns: dict[str, str]
    typed: bool
    parents: bool
    writes: bool
    task_paths: bool
    other_tables: tuple[str, ...]

    @property
    def generation(self) -> str:
        """The generation in words."""
        return _GENERATIONS[self.letter]

    def sql(self, template: str, **more: str) -> str:
        """A statement with this generation's columns filled in; values are always parameters."""
        return template.format_map({**self.columns, **more})


def detect(path: Path, query: Callable[[str, Sequence[object]], Iterator[ResultRow]]) -> Schema:
    """Detect the schema of an open database.

    Raises:
        NotCheckpoints: it has none of LangGraph's tables; the hint names its tables.
    """
    must_be_tables(path, query)
    tables = [name for (name,) in query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name", ())]
    own = [name for name in tables if not name.startswith("sqlite_")]
    checkpoints, writes = (_columns(query, table) for table in ("checkpoints", "writes"))
    letter = _letter(checkpoints, writes)
    if not letter:
        hint = f"its tables: {', '.join(own)}" if own else "it has no tables"
        maker = "SqliteSaver.setup()" if _OWN_TABLES.isdisjoint(own) else ""
        raise NotCheckpoints(f"{path} holds no LangGraph checkpoints", hint=hint, maker=maker)
    return Schema(
        letter=letter,
        columns=_expressions(checkpoints, writes),
        typed="type" in checkpoints,
        parents=letter != "A",
        writes=bool(writes),
        task_paths="task_path" in writes,
        other_tables=tuple(name for name in own if name not in _OWN_TABLES),
    )


def must_be_tables(path: Path, query: Callable[[str, Sequence[object]], Iterator[ResultRow]]) -> None:
    """Check that LangGraph's tables are real tables: reading a view or a virtual table would run somebody's code.

    Views and virtual tables have no page of their own in the file, whatever their SQL says.

    Raises:
        NotCheckpoints: one of the two is a view or a virtual table; it was not read.
    """
    for name, kind in query(_UNREAL_TABLES, ()):
        what = "a view" if kind == "view" else "a virtual table"
        hint = "ckpt reads only real tables: copy its rows into one"
        raise NotCheckpoints(f"{path}: {name} is {what}, not a table; it was not read", hint=hint)


_UNREAL_TABLES = """
    SELECT name, type FROM sqlite_schema
    WHERE lower(name) IN ('checkpoints', 'writes')
        AND (type = 'view' OR type = 'table' AND (NOT coalesce(rootpage, 0) OR sql LIKE 'CREATE VIRTUAL%'))
"""


def _columns(query: Callable[[str, Sequence[object]], Iterator[ResultRow]], table: str) -> set[str]:
    return {name for (name,) in query("SELECT name FROM pragma_table_info(?)", (table,))}


def _letter(checkpoints: set[str], writes: set[str]) -> str:
    """The letter of the generation with these columns; "" if there is none."""
    if not checkpoints >= _FIRST_COLUMNS:
        return ""
    if checkpoints >= {"checkpoint_ns", "checkpoint_id", "parent_checkpoint_id"}:
        return "E" if "task_path" in writes else "D"
    if checkpoints >= {"checkpoint_id", "parent_id"}:
        return "H"
    if checkpoints >= {"thread_ts", "parent_ts"}:
        return "C" if "metadata" in checkpoints else "B"
    return "A" if checkpoints == _FIRST_COLUMNS else ""


def _expressions(checkpoints: set[str], writes: set[str]) -> dict[str, str]:
    def first(columns: set[str], names: tuple[str, ...], default: str) -> str:
        return next((name for name in names if name in columns), default)

    return {
        "ns": first(checkpoints, ("checkpoint_ns",), "''"),
        "id": first(checkpoints, ("checkpoint_id", "thread_ts"), "''"),
        "parent": first(checkpoints, ("parent_checkpoint_id", "parent_ts", "parent_id"), "NULL"),
        "tag": first(checkpoints, ("type",), "NULL"),
        "metadata": first(checkpoints, ("metadata",), "NULL"),
        "metadata_size": f"ifnull({_bytes(first(checkpoints, ('metadata',), 'NULL'))}, 0)",
        "size": f"ifnull({_bytes('checkpoint')}, 0)",
        "write_ns": first(writes, ("checkpoint_ns",), "''"),
        "write_id": first(writes, ("checkpoint_id", "thread_ts"), "''"),
        "write_tag": first(writes, ("type",), "NULL"),
        "write_size": _bytes("value"),
        "task_path": first(writes, ("task_path",), "''"),
    }


def _bytes(column: str) -> str:
    """The length of a column in bytes. A blob's length is in the row's header; the length of text counts characters."""
    return f"CASE typeof({column}) WHEN 'text' THEN length(CAST({column} AS BLOB)) ELSE length({column}) END"
