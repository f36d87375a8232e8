"""Wipes deleted threads from the operation log (``--forget``): rows, tags, names in texts.

A deletion stores the threads to forget together with its images (`Heading.forget`). The images stay until the deletion
is complete, because they show after a crash how the deletion ended. Then everything is wiped in one transaction, and
the file is rewritten. If a crash interrupts the wiping, the next `settle` finishes the wiping.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from ckpt_cli.errors import CkptError, Failed
from ckpt_cli.model import Name, Ref
from ckpt_cli.operations.changed_threads import recount
from ckpt_cli.operations.log import REWRITE_NEEDED, OperationLog
from ckpt_cli.operations.operation import Phase
from ckpt_cli.operations.row_images import from_sqlite, key_text, parse_key, to_sqlite
from ckpt_cli.savers.contract import Saver

if TYPE_CHECKING:
    import sqlite3

WIPED = "forgotten"
"""The summary of an operation whose rows were all wiped."""

_LEFT_OUT = "…"
_SHORT = 4  # characters; an id that is shorter than this is wiped from texts only as a whole word
_CHANGES = '"changes"'
_BY_ROW, _BY_THREAD = {"operation", "relation", "key"}, {"thread_id"}


class Trace(NamedTuple):
    """One row of the log that names a row of the database.

    Attributes:
        table: the quoted name of the table of the log.
        name: the record that the database's row stores; None if that row is not a record of its own.
        thread_id: the thread of the database's row; None if it is unknown.
        size: the size of the logged images in bytes.
    """

    table: str
    operation: int
    relation: str
    key: str
    name: Name | None
    thread_id: str | None
    size: int


def read_traces(saver: Saver, log: OperationLog) -> Iterator[list[Trace]]:
    """Every row of the log that names a row of the database; one list for each table and operation."""
    for table in _tables(log, _BY_ROW):
        size = "ifnull(length(before), 0) + ifnull(length(after), 0)" if table == _CHANGES else "0"
        rows = log.rows(f"SELECT operation, relation, key, {size} FROM {table} ORDER BY operation")  # noqa: S608
        for _, of_operation in groupby(rows, key=itemgetter(0)):
            yield [*_with_threads(saver, table, [*of_operation])]


def traces_of_threads(saver: Saver, log: OperationLog, thread_ids: Collection[str]) -> Iterator[Trace]:
    """The rows of the log that belong to some threads, or may belong to them.

    In an operation with rows of these threads, a row may belong to them if it names no thread, or if it names a thread
    of which the operation has no record. Examples: blobs under another spelling of the thread id (MySQL), or extra rows
    of a foreign saver.
    """
    for rows in read_traces(saver, log):
        if any(row.thread_id in thread_ids for row in rows):
            other_threads = {row.thread_id for row in rows if row.name is not None}.difference(thread_ids)
            yield from (row for row in rows if row.thread_id not in other_threads)


def finish(saver: Saver, log: OperationLog) -> None:
    """Wipe the threads that complete operations have marked for forgetting.

    Raises:
        Failed: the log can't be rewritten now; the next change or ``ckpt operations --settle`` will do it.
    """
    if not is_pending(log):
        return
    try:
        with log.transaction() as connection:
            _wipe(saver, log, connection)
        log.scrub()
    except CkptError as error:
        what = f"can't wipe the forgotten threads from the operation log now: {error.reason}"
        raise Failed(what, hint="`ckpt operations --settle` wipes it") from error


def is_pending(log: OperationLog) -> bool:
    """Whether something in the log must still be wiped, or the log's file must be rewritten."""
    return bool(log.rows("SELECT 1 FROM forgetting LIMIT 1", since=2))


def leave_out(text: str, names: Collection[str]) -> str:
    """The text with some names replaced by an ellipsis; short names only as whole words."""
    for name in sorted(filter(None, names), key=len, reverse=True):
        pattern = re.escape(name) if len(name) >= _SHORT else rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        text = re.sub(pattern, _LEFT_OUT, text)
    return text


def _with_threads(saver: Saver, table: str, rows: list[tuple[int, str, str, int]]) -> Iterator[Trace]:
    """The rows of one operation with their threads."""
    keys = [parse_key(text) for _, _, text, _ in rows]
    names = [saver.record_of(row[1], key) for row, key in zip(rows, keys, strict=True)]
    refs = {_ref(name) for name in names if name is not None}
    side_rows = {(relation, key_text(key)): ref.thread_id for ref in refs for relation, key in saver.beside(ref)}
    for (operation, relation, text, size), key, name in zip(rows, keys, names, strict=True):
        if name is not None:
            thread_id: str | None = _ref(name).thread_id
        else:
            thread_id = str(key["thread_id"]) if "thread_id" in key else side_rows.get((relation, text))
        yield Trace(table, operation, relation, text, name, thread_id, size)


def _ref(name: Name) -> Ref:
    return name if isinstance(name, Ref) else name.ref


def _wipe(saver: Saver, log: OperationLog, connection: "sqlite3.Connection") -> None:
    phases = {operation.number: operation.phase for operation in log.operations_and_parts()}
    threads: dict[int, set[str]] = {}
    for number, thread_id in log.rows("SELECT operation, thread_id FROM forgetting WHERE thread_id IS NOT NULL"):
        threads.setdefault(number, set()).add(from_sqlite(thread_id))
    for number in threads:
        if phases.get(number) is Phase.PLANNED:
            continue
        wiped = Counter({number: _wipe_operation(log, connection, number)})
        if phases.get(number) is not Phase.ABANDONED:  # otherwise no thread was deleted
            planned = {operation for operation, phase in phases.items() if phase is Phase.PLANNED}
            wiped += _wipe_threads(saver, log, connection, threads[number], planned)
        _store_counts(
            connection, {operation: wiped[operation] for operation in phases if operation in {*wiped, number}}
        )
        recount(connection, wiped.keys() - {number})
        if phases.get(number) is not Phase.ABANDONED:
            _wipe_texts(log, connection, wiped.keys() - {number}, threads[number])
        connection.execute("DELETE FROM forgetting WHERE operation = ?", (number,))
        connection.execute(REWRITE_NEEDED)


def _wipe_operation(log: OperationLog, connection: "sqlite3.Connection", number: int) -> int:
    """Wipe all rows of an operation, and give the number of its row changes."""
    count = 0
    for table in _tables(log, _BY_ROW):
        removed = connection.execute(f"DELETE FROM {table} WHERE operation = ?", (number,)).rowcount  # noqa: S608
        count += removed if table == _CHANGES else 0
    return count


def _wipe_threads(
    saver: Saver, log: OperationLog, connection: "sqlite3.Connection", thread_ids: set[str], planned: Collection[int]
) -> "Counter[int]":
    """Wipe threads from all operations, and their tags; gives the number of wiped row changes of each operation.

    Planned operations keep their rows: another ckpt may be applying one of them to a new thread with the same id.
    """
    wiped: Counter[int] = Counter()
    for row in [row for row in traces_of_threads(saver, log, thread_ids) if row.operation not in planned]:
        statement = f"DELETE FROM {row.table} WHERE operation = ? AND relation = ? AND key = ?"  # noqa: S608
        removed = connection.execute(statement, (row.operation, row.relation, row.key)).rowcount
        wiped[row.operation] += removed if row.table == _CHANGES else 0
    for table in _tables(log, _BY_THREAD):
        names = [(to_sqlite(thread_id),) for thread_id in thread_ids]
        connection.executemany(f"DELETE FROM {table} WHERE thread_id = ?", names)  # noqa: S608
    return wiped


def _store_counts(connection: "sqlite3.Connection", wiped: Mapping[int, int]) -> None:
    """Store the number of wiped rows of each operation, and the size of its remaining images."""
    connection.executemany(
        "INSERT INTO forgotten VALUES (?, ?) ON CONFLICT (operation) DO UPDATE SET rows = rows + excluded.rows",
        wiped.items(),
    )
    connection.executemany(
        "UPDATE operations SET bytes = (SELECT ifnull(sum(ifnull(length(before), 0) + ifnull(length(after), 0)), 0)"
        " FROM changes WHERE operation = number) WHERE number = ?",
        [(number,) for number in wiped],
    )


def _wipe_texts(
    log: OperationLog, connection: "sqlite3.Connection", touched: Collection[int], thread_ids: Collection[str]
) -> None:
    """Wipe the texts of operations that have no rows left. Other texts only lose the names of the threads."""
    operations = log.operations_and_parts()
    touched = {*touched, *(one.part_of or 0 for one in operations if one.number in touched)}
    for operation in operations:
        if operation.number in touched and operation.is_forgotten:
            texts, details = (WIPED, ""), []
        else:
            texts = leave_out(operation.summary, thread_ids), leave_out(operation.reason, thread_ids)
            details = [leave_out(line, thread_ids) for line in operation.details]
        if texts != (operation.summary, operation.reason) or details != list(operation.details):
            statement = "UPDATE operations SET summary = ?, reason = ?, details = ? WHERE number = ?"
            stored = to_sqlite(json.dumps(details, ensure_ascii=False)) if details else None
            connection.execute(statement, (*map(to_sqlite, texts), stored, operation.number))


def _tables(log: OperationLog, columns: set[str]) -> list[str]:
    """The quoted names of the log's tables that have these columns, and so name rows or threads of the database."""
    tables: list[str] = []
    for (name,) in log.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'forgetting'"):
        existing = {column for (column,) in log.rows("SELECT name FROM pragma_table_info(?)", (name,))}
        if columns <= existing:
            tables.append('"' + name.replace('"', '""') + '"')
    return tables
