"""Stores in the log what proves later whose it is: witnesses and places; `witnesses` chooses and judges."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from ckpt_cli.model import Ref, Row
from ckpt_cli.operations.row_images import from_sqlite, parse_key, to_sqlite
from ckpt_cli.savers.about import Place

if TYPE_CHECKING:
    import sqlite3

_MOST_WITNESSES = 64
"""How many witnesses of operations a log keeps; witnesses of tags (operation 0) are always kept."""

WITNESSES = "SELECT thread_id, ns, checkpoint_id, digest FROM witnesses"

_EVIDENCE = """
SELECT c.operation, c.relation, c.key, o.state FROM changes c JOIN operations o ON o.number = c.operation
WHERE o.state IN ({states}) AND c.{image} IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM changes l JOIN operations p ON p.number = l.operation
  WHERE l.relation = c.relation AND l.key = c.key AND l.operation > c.operation AND p.state <> 'abandoned')
ORDER BY c.operation DESC, c.position DESC LIMIT 100
"""
LEFT_BY_OPERATIONS = _EVIDENCE.format(states="'done', 'planned'", image="after_hash")
FIRST_PLANNED = LEFT_BY_OPERATIONS.replace("c.operation DESC, c.position DESC", "c.operation, c.position").replace(
    "'done', 'planned'", "'planned'"
)
BEFORE_OPERATIONS = _EVIDENCE.format(states="'planned', 'abandoned'", image="before_hash")
"""Three statements: rows as operations left them; those of the first interrupted parts; rows as they were before.

The parts of an operation on many threads are applied in their order, so after a crash the first ones may be there.
"""


RowKeys = Callable[[], Iterator[tuple[str, Row]]]
"""A function that gives relation and key of all rows of an operation; each call starts at the first row."""


class Witnessing(Protocol):
    """Chooses the checkpoints that will prove a log; see `operations.witnesses`."""

    def choose(self, row_keys: RowKeys, known: Collection[Ref], /) -> tuple[Collection[Ref], Mapping[Ref, bytes]]:
        """The known witnesses that the operation changes, and new witnesses with their digests."""


def store_witnesses(connection: "sqlite3.Connection", numbers: tuple[int, int], witnessing: Witnessing) -> None:
    """Delete the witnesses that some operations change, store new ones, and delete the oldest above a limit.

    Args:
        connection: the log's connection, in a transaction.
        numbers: the first and the last of the operations; all between them are meant too.
        witnessing: chooses the witnesses.
    """

    def row_keys() -> Iterator[tuple[str, Row]]:
        found = connection.execute("SELECT relation, key FROM changes WHERE operation BETWEEN ? AND ?", numbers)
        return ((relation, parse_key(key)) for relation, key in found)

    known = {Ref(*map(from_sqlite, name)) for *name, _ in connection.execute(WITNESSES)}
    changed, new = witnessing.choose(row_keys, known)
    forget = "DELETE FROM witnesses WHERE thread_id = ? AND ns = ? AND checkpoint_id = ?"
    connection.executemany(forget, [[*map(to_sqlite, ref)] for ref in changed])
    for ref, witness in new.items():
        add_witness(connection, ref, witness, numbers[1])
    connection.execute(
        "DELETE FROM witnesses WHERE operation > 0 AND operation <= (SELECT operation FROM witnesses"
        " WHERE operation > 0 ORDER BY operation DESC LIMIT 1 OFFSET ?)",
        (_MOST_WITNESSES,),
    )


def add_witness(connection: "sqlite3.Connection", ref: Ref, digest: bytes, number: int) -> None:
    """Store a witness of an operation; the number 0 means a witness of a tag.

    A witness that is known keeps its number: it shows that the checkpoint existed when that operation was made.
    """
    connection.execute(
        "INSERT INTO witnesses VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET digest = excluded.digest,"
        " operation = CASE WHEN excluded.operation = 0 THEN 0"
        " WHEN witnesses.operation > 0 AND witnesses.digest <> excluded.digest THEN excluded.operation"
        " ELSE witnesses.operation END",
        (*map(to_sqlite, ref), digest, number),
    )


def add_place(connection: "sqlite3.Connection", place: Place, at: float) -> None:
    """Store where the database is; `at` is seconds since 1970."""
    words = to_sqlite(place.address), place.engine, place.instance, at
    connection.execute("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)", words)
