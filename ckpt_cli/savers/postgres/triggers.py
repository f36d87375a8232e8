"""Reads from the catalogue what Postgres does by itself when rows change (Postgres 15, 53.37, 53.57 and 53.13)."""

# ruff: noqa: S608 - statements contain constants, never values

from collections.abc import Collection, Iterator, Sequence
from hashlib import sha256
from typing import Any

from ckpt_cli.model import Scalar
from ckpt_cli.savers.about import SideEffect
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.images import KEYS
from ckpt_cli.savers.sql.layout import WRITTEN

_TREE = """
WITH RECURSIVE tree(root, name, oid) AS (
    SELECT c.oid, c.relname::text, c.oid FROM pg_class c
    WHERE c.oid = ANY(ARRAY(SELECT name::regclass::oid FROM unnest(%s::text[]) AS name))
    UNION
    SELECT tree.root, tree.name, i.inhrelid FROM tree JOIN pg_inherits i ON i.inhparent = tree.oid
)
"""
"""The tables, and their partitions and children; each row has the name of the table that these belong to."""

_ROLE = "CASE current_setting('session_replication_role') WHEN 'replica' THEN 'R' ELSE 'O' END"
"""The tgenabled or ev_enabled that fires in this session. 'A' fires in every session (Postgres 15, "ALTER TABLE")."""

_TRIGGERS = f"""{_TREE}
SELECT tree.name, t.tgrelid::regclass::text, t.tgname::text, t.tgtype::int, t.tgenabled::text,
    ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = t.tgrelid AND attnum = ANY(t.tgattr)),
    concat_ws(E'\\n', pg_get_triggerdef(t.oid), t.tgenabled, p.prosrc, p.probin)
FROM tree JOIN pg_trigger t ON t.tgrelid = tree.oid JOIN pg_proc p ON p.oid = t.tgfoid
WHERE NOT t.tgisinternal AND t.tgenabled::text = ANY(ARRAY['A', {_ROLE}]) AND (tree.oid = tree.root OR NOT EXISTS (
    SELECT FROM pg_trigger o WHERE o.tgrelid = tree.root AND o.tgname = t.tgname AND o.tgfoid = t.tgfoid))
ORDER BY 1, 2, 3
"""
"""Triggers, except those that a partition inherits from its table and those that implement foreign keys."""

_RULES = f"""{_TREE}
SELECT tree.name, w.ev_class::regclass::text, w.rulename::text, w.ev_type::text, pg_get_ruledef(w.oid)
FROM tree JOIN pg_rewrite w ON w.ev_class = tree.oid
WHERE w.rulename <> '_RETURN' AND w.ev_enabled::text = ANY(ARRAY['A', {_ROLE}]) ORDER BY 1, 2, 3
"""

_KEYS = f"""{_TREE}
SELECT tree.name, k.conrelid::regclass::text, k.conname::text, k.confdeltype::text, k.confupdtype::text,
    ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = k.confrelid AND attnum = ANY(k.confkey)),
    pg_get_constraintdef(k.oid)
FROM tree JOIN pg_constraint k ON k.confrelid = tree.oid AND k.contype = 'f'
JOIN pg_class own ON own.oid = k.conrelid JOIN pg_class other ON other.oid = k.confrelid
WHERE NOT own.relispartition AND (tree.oid = tree.root OR NOT other.relispartition) ORDER BY 1, 2, 3
"""
"""Foreign keys, except those that partitions inherit from their tables."""

_HIDDEN = "SELECT name FROM unnest(%s::text[]) AS name WHERE row_security_active(name::regclass)"

_BITS = {"add": 4, "remove": 8, "change": 16}  # of tgtype
_EVENTS = {"2": "change", "3": "add", "4": "remove"}  # of ev_type
_ACTIONS = ("c", "n", "d")
"""CASCADE, SET NULL and SET DEFAULT change rows; the other actions refuse the change."""


def side_effects(engine: Engine, names: Sequence[str]) -> list[SideEffect]:
    """The triggers, rules and foreign keys that act when ckpt changes a row of these tables or their partitions."""
    parameters: list[Scalar | list[Scalar]] = [[*names]]
    return [
        *_triggers(engine.query(_TRIGGERS, parameters)),
        *_rules(engine.query(_RULES, parameters)),
        *_foreign_keys(engine.query(_KEYS, parameters)),
    ]


def hidden_rows(engine: Engine, names: Sequence[str]) -> list[str]:
    """A sentence for each table where row-level security may hide rows from this user."""
    tables = [name for (name,) in engine.query(_HIDDEN, [[*names]])]
    return [f"row-level security on {name}: rows hidden from this user are not seen, nor changed" for name in tables]


def _triggers(rows: Iterator[tuple[Any, ...]]) -> Iterator[SideEffect]:
    for relation, table, name, bits, _, columns, definition in rows:
        kinds = {kind for kind, bit in _BITS.items() if bits & bit}
        if columns and not WRITTEN[relation] & {*columns}:
            kinds.discard("change")
        if kinds:
            yield _side_effect("trigger", name, table, relation, kinds, definition)


def _rules(rows: Iterator[tuple[Any, ...]]) -> Iterator[SideEffect]:
    for relation, table, name, event, definition in rows:
        if event in _EVENTS:
            yield _side_effect("rule", name, table, relation, {_EVENTS[event]}, definition)


def _foreign_keys(rows: Iterator[tuple[Any, ...]]) -> Iterator[SideEffect]:
    for relation, table, name, deleting, updating, columns, definition in rows:
        kinds = {"remove"} if deleting in _ACTIONS else set()
        if updating in _ACTIONS and {*columns} - {*KEYS[relation]}:  # ckpt changes no key
            kinds.add("change")
        if kinds:
            yield _side_effect("foreign key", name, table, relation, kinds, definition)


def _side_effect(
    kind: str, name: str, table: str, relation: str, changes: Collection[str], definition: str
) -> SideEffect:
    return SideEffect(kind, name, table, relation, frozenset(changes), sha256(definition.encode()).hexdigest())
