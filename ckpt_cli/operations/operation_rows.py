"""Writes operations into the log in an open transaction: row, images, what becomes of phases."""

import json
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ckpt_cli.operations.changed_threads import ThreadCounts
from ckpt_cli.operations.operation import Heading, Phase
from ckpt_cli.operations.origin import find_origin
from ckpt_cli.operations.row_images import Change, images_of, key_text, to_sqlite

if TYPE_CHECKING:
    import sqlite3

_LAST_SHOWN = "last shown"
_PHASE_OF_PARTS = """
UPDATE operations SET state = CASE
  WHEN EXISTS (SELECT 1 FROM operations p WHERE p.part_of = operations.number AND p.state = 'done') THEN 'done'
  WHEN EXISTS (SELECT 1 FROM operations p WHERE p.part_of = operations.number AND p.state = 'undone') THEN 'undone'
  WHEN EXISTS (SELECT 1 FROM operations p WHERE p.part_of = operations.number AND p.state = 'refused') THEN 'refused'
  ELSE 'abandoned' END
WHERE number = ?
"""


def insert(
    connection: "sqlite3.Connection", heading: Heading, *, part_of: int | None = None, parts: int | None = None
) -> int:
    """Add an operation without images, and give its `number`.

    Args:
        connection: the log's connection, in a transaction.
        heading: the operation's description.
        part_of: the operation that it is a part of; a part has no number that people know.
        parts: the number of threads that an operation with parts is to change.
    """
    shown = None if part_of is not None else _next_shown(connection)
    texts = to_sqlite(heading.reason), to_sqlite(heading.summary)
    details = to_sqlite(json.dumps(list(heading.details), ensure_ascii=False)) if heading.details else None
    values = (heading.at, heading.verb, *texts, Phase.PLANNED, heading.undoes, *map(to_sqlite, find_origin()))
    number = connection.execute(
        "INSERT INTO operations (at, verb, reason, summary, state, undoes, user, host, version, rows, bytes,"
        " shown, part_of, parts, details) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?, ?)",
        (*values, shown, part_of, parts, details),
    ).lastrowid
    return number or 0


def _next_shown(connection: "sqlite3.Connection") -> int:
    """The next number that people see; the numbers of pruned operations aren't used again."""
    last = connection.execute("SELECT value FROM settings WHERE name = ?", (_LAST_SHOWN,)).fetchone()
    number = int(last[0]) + 1 if last else 1
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_LAST_SHOWN, number))
    return number


def store_changes(
    connection: "sqlite3.Connection", number: int, changes: Iterable[Change], threads: ThreadCounts | None
) -> int:
    """Store the images of an operation, which are read one by one, and give their size in bytes."""
    rows = size = 0

    def stored() -> Iterator[tuple[Any, ...]]:
        nonlocal rows, size
        for rows, change in enumerate(changes if threads is None else threads.count(changes), 1):
            images = images_of(change)
            size += sum(len(image) for image in images[:2] if image is not None)
            yield number, rows, change.relation, key_text(change.key), *images

    connection.executemany("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", stored())
    connection.execute("UPDATE operations SET rows = ?, bytes = ? WHERE number = ?", (rows, size, number))
    if threads is not None:
        threads.store(connection, number)
    return size


def mark_done(connection: "sqlite3.Connection", number: int) -> None:
    """Mark an operation or a part as done, and change the phases of those that it undoes.

    The operation that it undoes becomes undone. If that operation was an undo too, the operation that was undone by
    it becomes done again; and so on.
    """
    phase, parents = Phase.DONE, set()
    current: int | None = number
    while current is not None:
        connection.execute("UPDATE operations SET state = ? WHERE number = ?", (phase, current))
        row = connection.execute("SELECT undoes, part_of FROM operations WHERE number = ?", (current,)).fetchone()
        if row and row[1] is not None and current != number:
            parents.add(row[1])
        phase, current = (Phase.UNDONE if phase is Phase.DONE else Phase.DONE), row[0] if row else None
    mark_by_parts(connection, parents)


def mark_by_parts(connection: "sqlite3.Connection", parents: Collection[int]) -> None:
    """Give operations with parts the phase that follows from their parts: done as long as one part is."""
    connection.executemany(_PHASE_OF_PARTS, [(parent,) for parent in parents])
