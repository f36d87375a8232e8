"""Translates a plan into row changes: each change has the row as it is now and as the plan makes it."""

from collections.abc import Callable, Iterator

from ckpt_cli.model import Name, Plan, Row, RowChange, Scalar, name_of
from ckpt_cli.savers.faults import already_exists, no_longer_exists
from ckpt_cli.savers.sqlite.records import Rows
from ckpt_cli.savers.sqlite.schema import Schema

Current = Callable[[str, Row], Row | None]


def expand(plan: Plan, schema: Schema, stored: Callable[[str], Scalar], current: Current) -> Iterator[RowChange]:
    """The row changes of a plan, with before-images. Removals come first, so that their keys can be used again.

    `stored` gives a thread id as this database stores it (some store numbers); `current` gives a key's present row.

    Raises:
        Refused: a record to add exists already, or one to replace or remove doesn't exist.
        NotSupported: this generation has no columns for a record.
    """
    rows = Rows(schema, stored)
    for name in plan.remove:
        relation, key = rows.key(name)
        yield RowChange(relation, key, _existing(current(relation, key), name), None)
    for record in plan.replace:
        relation, key = rows.key(name_of(record))
        yield RowChange(relation, key, _existing(current(relation, key), name_of(record)), rows.row(record))
    for record in plan.add:
        relation, key = rows.key(name_of(record))
        if current(relation, key) is not None:
            raise already_exists(name_of(record))
        yield RowChange(relation, key, None, rows.row(record))


def _existing(row: Row | None, name: Name) -> Row:
    if row is None:
        raise no_longer_exists(name)
    return row
