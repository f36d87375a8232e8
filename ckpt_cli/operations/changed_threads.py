"""The threads and namespaces that each operation changed: counted, stored, read for lists.

The images of an operation over many threads are never read for a list: the counts are stored with the operation, and
only the first few names are read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ckpt_cli.model import Name, Ref, Row
from ckpt_cli.operations.log_file import LogFile
from ckpt_cli.operations.operation_list import WRITTEN
from ckpt_cli.operations.row_images import Change, from_sqlite, parse_key, to_sqlite
from ckpt_cli.views.changed_threads import MOST_NAMED, ChangedNamespace, ChangedThreads

if TYPE_CHECKING:
    import sqlite3

_SINCE = 4  # the version of the log's schema that has these counts
_PARTS_SINCE = 5  # the version that has operations with parts

RecordOf = Callable[[str, Row], Name | None]
"""Gives the record that a row stores; None if the row is neither a checkpoint nor a write."""


class ThreadCounts:
    """Counts the checkpoints and writes of an operation by thread and namespace, while its rows are logged.

    Args:
        record_of: gives the record that a row stores.
        is_named: whether the names of the threads are stored too; not so for threads that are to be forgotten.
    """

    def __init__(self, record_of: RecordOf, *, is_named: bool = True) -> None:
        self._record_of = record_of
        self._is_named = is_named
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, changes: Iterable[Change]) -> Iterator[Change]:
        """The same changes, each counted when it is read."""
        for change in changes:
            name = self._record_of(change.relation, change.key)
            if name is not None:
                ref = name if isinstance(name, Ref) else name.ref
                self._counts[ref.thread_id, ref.ns] += 1
            yield change

    def store(self, connection: "sqlite3.Connection", number: int) -> None:
        """Store the counts of an operation."""
        threads = len({thread_id for thread_id, _ in self._counts})
        sizes = (threads, len(self._counts), number)
        connection.execute("UPDATE operations SET threads = ?, namespaces = ? WHERE number = ?", sizes)
        if self._is_named:
            rows = (
                (number, to_sqlite(thread_id), to_sqlite(ns), count) for (thread_id, ns), count in self._counts.items()
            )
            connection.executemany("INSERT INTO changed_threads VALUES (?, ?, ?, ?)", rows)


def read_changed_threads(
    log: LogFile, number: int, counts: tuple[int, int] | None, thread_id: str | None = None
) -> ChangedThreads | None:
    """The threads that an operation changed, the first few by name; of one thread if `thread_id` is given.

    Args:
        log: the operation log.
        number: the operation's number.
        counts: the number of its threads and namespaces; None if an older ckpt logged it, and then None is returned.
        thread_id: name only the namespaces of this thread.
    """
    if counts is None:
        return None
    condition, words = ("", ()) if thread_id is None else (" AND thread_id = ?", (to_sqlite(thread_id),))
    own = "operation = ?1"
    if log.version >= _PARTS_SINCE:
        own = f"operation IN (SELECT number FROM operations WHERE number = ?1 OR (part_of = ?1 AND {WRITTEN}))"  # noqa: S608 - constants
    rows = log.rows(
        f"SELECT thread_id, ns, records FROM changed_threads WHERE {own}{condition}"  # noqa: S608 - constants
        " ORDER BY thread_id, ns LIMIT ?",
        (number, *words, MOST_NAMED),
        since=_SINCE,
    )
    named = (ChangedNamespace(from_sqlite(thread), from_sqlite(ns), count) for thread, ns, count in rows)
    return ChangedThreads(*counts, tuple(named))


def operations_on(log: LogFile, record_of: RecordOf, thread_id: str, uncounted: Iterable[int]) -> set[int]:
    """The numbers of the operations that changed a thread; a part counts as the operation that it is a part of.

    The operations `uncounted` were logged by an older ckpt and have no counts: the keys of their rows are read.
    """
    statement = "SELECT DISTINCT operation FROM changed_threads WHERE thread_id = ?"
    if log.exists and log.version >= _PARTS_SINCE:
        statement = (
            "SELECT DISTINCT ifnull(part_of, number) FROM changed_threads"  # noqa: S608 - constants
            " JOIN operations ON number = operation"
            f" WHERE thread_id = ? AND (part_of IS NULL OR {WRITTEN})"
        )
    numbers = {number for (number,) in log.rows(statement, (to_sqlite(thread_id),), since=_SINCE)}
    for number in uncounted:
        for relation, key in log.rows("SELECT relation, key FROM changes WHERE operation = ?", (number,)):
            name = record_of(relation, parse_key(key))
            if name is not None and (name if isinstance(name, Ref) else name.ref).thread_id == thread_id:
                numbers.add(number)
                break
    return numbers


def logged_threads(log: LogFile, prefix: str, most: int) -> list[str]:
    """The threads that operations changed whose ids begin alike, newest operation first; at most `most`."""
    statement = (
        "SELECT thread_id FROM changed_threads WHERE substr(thread_id, 1, ?) = ?"
        " GROUP BY thread_id ORDER BY max(operation) DESC LIMIT ?"
    )
    rows = log.rows(statement, (len(prefix), to_sqlite(prefix), most), since=_SINCE)
    return [from_sqlite(thread_id) for (thread_id,) in rows]


def recount(connection: "sqlite3.Connection", numbers: Iterable[int]) -> None:
    """Count the threads again that operations still name, after some threads were forgotten."""
    connection.executemany(
        "UPDATE operations SET (threads, namespaces) = (SELECT count(DISTINCT thread_id), count(*)"
        " FROM changed_threads WHERE operation = number) WHERE number = ? AND threads IS NOT NULL",
        [(number,) for number in numbers],
    )
