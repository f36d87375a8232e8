"""What SQLite does by itself when rows change: triggers, and foreign keys where a connection enforces them.

Which triggers a statement fires, those fired by other triggers among them, is what SQLite itself says while it compiles
the statement: the authorizer hears the name of the trigger that each part belongs to (sqlite3_set_authorizer).
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
    """Triggers and foreign keys that act when ckpt changes a row.

    Args:
        query: runs one statement that reads.
        fired_by: the names of the triggers that a statement would fire.
    """
    found = list(_foreign_keys(query)) if next(query("PRAGMA foreign_keys"))[0] else []
    triggers = list(query(_TRIGGERS))
    if not triggers:
        return found
    for relation in WRITTEN:
        columns = [name for (name,) in query("SELECT name FROM pragma_table_info(?)", (relation,))]
        own = [name for name in columns if name in WRITTEN[relation]]
        by_kind = {kind: _fired(fired_by, statement) for kind, statement in _statements(relation, own)}
        for name, table, sql in triggers:
            kinds = {kind for kind, names in by_kind.items() if _fires(name, table, relation, names)}
            if kinds:
                found.append(SideEffect("trigger", name, table, relation, frozenset(kinds), _hash(sql)))
    return found


def caveats(query: Query) -> list[str]:
    """Foreign keys that aren't enforced where ckpt writes: what refers to a deleted row then refers to nothing."""
    if next(query("PRAGMA foreign_keys"))[0]:
        return []
    tables = {(table, relation) for table, relation, *_ in query(_KEYS)}
    return [
        f"table {table} has a foreign key to {relation}, which SQLite doesn't enforce here: its rows stay as they are"
        for table, relation in sorted(tables)
    ]


class Guard:
    """An authorizer that denies what a trigger writes, unless the trigger is permitted."""

    def __init__(self, permitted: Collection[str]) -> None:
        self._permitted = frozenset(permitted)
        self.denied = ""

    def __call__(
        self, action: int, _one: str | None, _two: str | None, _database: str | None, trigger: str | None
    ) -> int:
        """The answer to SQLite for one part of a statement."""
        if trigger is None or action not in _WRITING or trigger in self._permitted:
            return sqlite3.SQLITE_OK
        self.denied = trigger
        return sqlite3.SQLITE_DENY

    def refusal(self) -> Refused:
        """An error that names the trigger."""
        return Refused(f"trigger {self.denied} would write more than was planned; nothing was written")


def fired_by(connection: sqlite3.Connection, statement: str) -> set[str]:
    """The triggers that a statement would fire, by compiling it and not running it."""
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


def _fired(fired_by: Callable[[str], set[str]], statement: str) -> set[str] | None:
    """None where the statement can't be compiled: a trigger calls what only the application has."""
    try:
        return fired_by(statement)
    except sqlite3.DatabaseError:
        return None


def _fires(name: str, table: str, relation: str, names: set[str] | None) -> bool:
    return table.lower() == relation if names is None else name in names


def _statements(relation: str, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """One statement for each thing that is done to a row; values are NULL, as nothing is run."""
    table, names = quoted(relation), [quoted(name) for name in columns]
    if not names:
        return
    yield "add", f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(['NULL'] * len(names))})"  # noqa: S608
    yield "change", f"UPDATE {table} SET {', '.join(f'{name} = NULL' for name in names)} WHERE {names[0]} = ''"  # noqa: S608
    yield "remove", f"DELETE FROM {table} WHERE {names[0]} = ''"  # noqa: S608


def _foreign_keys(query: Query) -> Iterator[SideEffect]:
    """Keys of other tables with an action on deleting; ckpt changes no column that a key could refer to."""
    for table, relation, own, other, action in query(_KEYS):
        if action in _ACTIONS:
            says = _hash(f"{table} {own} {relation} {other} {action}")
            yield SideEffect("foreign key", f"{own}: ON DELETE {action}", table, relation, frozenset({"remove"}), says)


def _hash(text: str | None) -> str:
    return sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()
