"""Reads what MySQL and MariaDB do by themselves when rows change, as far as this user may see it."""

from collections.abc import Iterator
from hashlib import sha256

from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.mysql.schema import HASH, Query, catalogue_text
from ckpt_cli.savers.sql.images import KEYS
from ckpt_cli.savers.sql.layout import TABLES

_TRIGGERS = """
    SELECT event_object_table, trigger_name, event_manipulation, action_timing, action_statement, definer
    FROM information_schema.triggers
    WHERE event_object_schema = DATABASE() AND event_object_table IN (%s, %s, %s) ORDER BY 1, 2
"""
_KEYS = """
    SELECT r.referenced_table_name, r.table_name, r.constraint_name, r.delete_rule, r.update_rule,
        k.column_name, k.referenced_column_name
    FROM information_schema.referential_constraints r JOIN information_schema.key_column_usage k
        ON k.constraint_schema = r.constraint_schema AND k.constraint_name = r.constraint_name
        AND k.table_name = r.table_name
    WHERE r.unique_constraint_schema = DATABASE() AND r.referenced_table_name IN (%s, %s, %s)
    ORDER BY 1, 2, 3, k.ordinal_position
"""
_RIGHTS = """
    SELECT 1 FROM information_schema.user_privileges WHERE privilege_type = 'TRIGGER'
    UNION SELECT 1 FROM information_schema.schema_privileges
    WHERE privilege_type = 'TRIGGER' AND DATABASE() LIKE table_schema
    UNION SELECT 1 FROM information_schema.table_privileges
    WHERE privilege_type = 'TRIGGER' AND table_schema = DATABASE() AND table_name IN (%s, %s, %s)
"""
"""A row if this user has the TRIGGER right; without it, triggers aren't visible (MySQL 8.4 manual, 28.3.45)."""

_EVENTS = {"INSERT": "add", "UPDATE": "change", "DELETE": "remove"}
_ACTIONS = ("CASCADE", "SET NULL", "SET DEFAULT")


def side_effects(query: Query) -> list[SideEffect]:
    """The triggers and foreign keys that act when ckpt changes a row."""
    return [*_triggers(query), *_foreign_keys(query)]


def caveats(query: Query) -> list[str]:
    """A sentence if this user has no TRIGGER right: triggers are then hidden."""
    if any(query(_RIGHTS, TABLES)):
        return []
    return ["this user has no TRIGGER right: if the tables have triggers, ckpt can't see them, and they fire"]


def _triggers(query: Query) -> Iterator[SideEffect]:
    for table, name, event, *definition in query(_TRIGGERS, TABLES):
        relation = catalogue_text(table)
        changes = frozenset({_EVENTS[catalogue_text(event)]})
        yield SideEffect("trigger", catalogue_text(name), relation, relation, changes, _hash(event, *definition))


def _foreign_keys(query: Query) -> Iterator[SideEffect]:
    keys: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for *key, column, other in query(_KEYS, TABLES):
        keys.setdefault(tuple(map(catalogue_text, key)), []).append((catalogue_text(column), catalogue_text(other)))
    for (relation, table, name, deleting, updating), columns in keys.items():
        changes = {"remove"} if deleting in _ACTIONS else set()
        if updating in _ACTIONS and {other for _, other in columns} - {*KEYS[relation], HASH}:  # ckpt changes no key
            changes.add("change")
        if changes:
            digest = _hash(deleting, updating, *(name for pair in columns for name in pair))
            yield SideEffect("foreign key", name, table, relation, frozenset(changes), digest)


def _hash(*parts: object) -> str:
    return sha256("\n".join(map(catalogue_text, parts)).encode("utf-8", "surrogatepass")).hexdigest()
