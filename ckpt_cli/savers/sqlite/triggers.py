"""Finds what SQLite does by itself when rows change: triggers, and foreign keys if the connection enforces them.

SQLite itself says which triggers a statement fires, including those that other triggers fire: while it compiles the
statement, it calls the authorizer with the name of the trigger to which each part belongs (sqlite3_set_authorizer).
"""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import sha256

from ckpt_cli.errors import Refused
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.sqlite.driver import ResultRow
from ckpt_cli.savers.sqlite.images import quoted
from ckpt_cli.savers.sqlite.schema import WRITTEN

Query = Callable[..., Iterator[ResultRow]]

_TRIGGERS = "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY name"
_KEYS = """
SELECT t.name, lower(k."table"), k."from", k."to", k.on_delete
FROM sqlite_schema t, pragma_foreign_key_list(t.name) k
WHERE t.type = 'table' AND t.rootpage AND lower(k."table") IN ('checkpoints', 'writes') ORDER BY 1, k.id, k.seq
"""
_WRITING = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
_ACTIONS = ("CASCADE", "SET NULL", "SET DEFAULT")


def side_effects(query: Query, fired_by: Callable[[str], set[str]]) -> list[SideEffect]:
    """The triggers and foreign keys that act when ckpt changes a row.

    Args:
        query: runs one statement that reads.
        fired_by: gives the names of the triggers that a statement would fire.
    """
    effects = list(_foreign_keys(query)) if next(query("PRAGMA foreign_keys"))[0] else []
    triggers = list(query(_TRIGGERS))
    if not triggers:
        return effects
    for relation in WRITTEN:
        columns = [name for (name,) in query("SELECT name FROM pragma_table_info(?)", (relation,))]
        own = [name for name in columns if name in WRITTEN[relation]]
        by_kind = {kind: _fired_if_known(fired_by, statement) for kind, statement in _statements(relation, own)}
        for name, table, sql in triggers:
            kinds = {kind for kind, names in by_kind.items() if _fires(name, table, relation, names)}
            if kinds:
                effects.append(SideEffect("trigger", name, table, relation, frozenset(kinds), _hash(sql)))
    return effects


def caveats(query: Query) -> list[str]:
    """A sentence for each table with an unenforced foreign key: after a deletion, its rows can refer to lost rows."""
    if next(query("PRAGMA foreign_keys"))[0]:
        return []
    tables = {(table, relation) for table, relation, *_ in query(_KEYS)}
    return [
        f"table {table} has a foreign key to {relation}, which SQLite doesn't enforce here: its rows stay as they are"
        for table, relation in sorted(tables)
    ]


class Guard:
    """An authorizer that denies the writes of triggers that aren't permitted."""

    def __init__(self, permitted: Collection[str]) -> None:
        self._permitted = frozenset(permitted)
        self.denied = ""

    def __call__(
        self, action: int, _one: str | None, _two: str | None, _database: str | None, trigger: str | None
    ) -> int:
        """Whether SQLite may run one part of a statement."""
        if trigger is None or action not in _WRITING or trigger in self._permitted:
            return sqlite3.SQLITE_OK
        self.denied = trigger
        return sqlite3.SQLITE_DENY

    def refusal(self) -> Refused:
        """The error that names the denied trigger."""
        return Refused(f"trigger {self.denied} would write more than was planned; nothing was written")


def fired_by(connection: sqlite3.Connection, statement: str) -> set[str]:
    """The names of the triggers that a statement would fire; the statement is compiled and not run."""
    names: set[str] = set()

    def note(_action: int, _one: str | None, _two: str | None, _database: str | None, trigger: str | None) -> int:
        if trigger is not None:
            names.add(trigger)
        return sqlite3.SQLITE_OK

    connection.set_authorizer(note)
    try:
        connection.execute(f"EXPLAIN {statement}").close()
    finally:
        connection.set_authorizer(None)
    return names


def _fired_if_known(fired_by: Callable[[str], set[str]], statement: str) -> set[str] | None:
    """The triggers that a statement would fire; None if a trigger calls a function that only the application has."""
    try:
        return fired_by(statement)
    except sqlite3.DatabaseError:
        return None


def _fires(name: str, table: str, relation: str, names: set[str] | None) -> bool:
    """Whether a trigger is in `names`; if the names are unknown (None), whether the trigger belongs to the table."""
    return table.lower() == relation if names is None else name in names


def _statements(relation: str, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """A statement for each kind of change to a row; the values are NULL, since the statements aren't run."""
    table, names = quoted(relation), [quoted(name) for name in columns]
    if not names:
        return
    yield "add", f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(['NULL'] * len(names))})"  # noqa: S608
    yield "change", f"UPDATE {table} SET {', '.join(f'{name} = NULL' for name in names)} WHERE {names[0]} = ''"  # noqa: S608
    yield "remove", f"DELETE FROM {table} WHERE {names[0]} = ''"  # noqa: S608


def _foreign_keys(query: Query) -> Iterator[SideEffect]:
    """Foreign keys with an ON DELETE action. ON UPDATE is left out: ckpt changes no column that a key can refer to."""
    for table, relation, own, other, action in query(_KEYS):
        if action in _ACTIONS:
            digest = _hash(f"{table} {own} {relation} {other} {action}")
            name = f"{own}: ON DELETE {action}"
            yield SideEffect("foreign key", name, table, relation, frozenset({"remove"}), digest)


def _hash(text: str | None) -> str:
    return sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()
