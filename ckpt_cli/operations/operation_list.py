"""Reads operations and their parts from the log, whichever ckpt wrote it; sums of the parts."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ckpt_cli.operations.log_file import LogFile
from ckpt_cli.operations.operation import Operation, PartCounts, Phase
from ckpt_cli.operations.origin import Origin
from ckpt_cli.operations.row_images import from_sqlite, to_sqlite

_PAGE = 500  # parts are read so many at a time

_THREADS = re.compile(r"of ([\d,]+) threads?\b")
"""How the summary of a change of many threads begins."""

WRITTEN = "state <> 'abandoned'"
"""An SQL condition: a part that was interrupted before anything was written changed nothing."""

_COUNTED = f"""
SELECT sum(state = 'done'), sum(state = 'undone'), sum(state = 'refused'), sum(state = 'abandoned'),
  sum(state = 'planned'), sum(rows * ({WRITTEN})), sum(bytes),
  sum(ifnull(threads, 0) * ({WRITTEN})), sum(ifnull(namespaces, 0) * ({WRITTEN})),
  (SELECT sum(f.rows) FROM forgotten f JOIN operations q ON q.number = f.operation WHERE q.part_of = ?)
FROM operations WHERE part_of = ?
"""  # noqa: S608 - constants


def read_operations(
    log: LogFile, condition: str = "", words: Sequence[object] = (), *, most: int = -1
) -> list[Operation]:
    """Operations and parts, newest first; an operation with parts has their sums.

    Args:
        log: the operation log.
        condition: an SQL condition on ``o``, the table of operations; "" gives all that are no parts.
        words: the parameters of the condition.
        most: at most so many; -1 gives all.
    """
    if not log.exists:
        return []
    log.connect()
    if not condition:
        condition = "o.part_of IS NULL" if log.version >= 5 else "1"
    statement = f"{_statement(log.version)} WHERE {condition} ORDER BY o.number DESC LIMIT ?"
    return [_with_sums(log, one) for one in map(_operation, log.rows(statement, (*words, most)))]


def read_parts(
    log: LogFile, parent: int, phases: Sequence[Phase] = (), threads: Sequence[str] = ()
) -> Iterator[Operation]:
    """The parts of an operation in the order in which they were applied, a page in memory at a time.

    Args:
        log: the operation log.
        parent: the operation's `number`.
        phases: only parts in these phases.
        threads: only parts of these threads.
    """
    condition, words = "o.part_of = ? AND o.number > ?", [*phases, *map(to_sqlite, threads)]
    if phases:
        condition += f" AND o.state IN ({_marks(phases)})"
    if threads:
        condition += f" AND p.thread_id IN ({_marks(threads)})"
    if not log.exists:
        return
    log.connect()
    statement = f"{_statement(max(log.version, 5))} WHERE {condition} ORDER BY o.number LIMIT ?"
    last = parent
    while page := [_operation(row) for row in log.rows(statement, (parent, last, *words, _PAGE), since=5)]:
        yield from page
        last = page[-1].number


def later_operations_on_threads(log: LogFile, operation: Operation) -> list[Operation]:
    """The operations and parts after this one, newest first, that changed one of its threads, or may have done so.

    Those that an older ckpt logged don't say which threads they changed.
    """
    if log.version < 5 or operation.counts is None:
        return read_operations(
            log, "o.number > ? AND ifnull(o.parts, 0) = 0" if log.version >= 5 else "o.number > ?", (operation.number,)
        )
    numbers = log.rows(
        "SELECT c.operation FROM changed_threads m JOIN changed_threads c USING (thread_id)"
        " WHERE m.operation = :number AND c.operation > :number"
        " UNION SELECT number FROM operations o WHERE part_of IS NULL AND parts IS NULL AND number > :number AND"
        " (threads IS NULL OR NOT EXISTS (SELECT 1 FROM changed_threads c WHERE c.operation = o.number))"
        " ORDER BY 1 DESC",
        {"number": operation.number},
    )
    return [one for (number,) in numbers for one in read_operations(log, "o.number = ?", (number,))]


def read_on_thread(log: LogFile, thread_id: str) -> Iterator[Operation]:
    """The operations and parts that changed a thread, newest first; one that names no threads may have done so."""
    if log.version < 5:
        yield from read_operations(log)
        return
    numbers = log.rows(
        "SELECT operation FROM changed_threads WHERE thread_id = :thread"
        " UNION SELECT number FROM operations o WHERE part_of IS NULL AND parts IS NULL AND"
        " (threads IS NULL OR NOT EXISTS (SELECT 1 FROM changed_threads c WHERE c.operation = o.number))"
        " ORDER BY 1 DESC",
        {"thread": to_sqlite(thread_id)},
    )
    for (number,) in numbers:
        yield from read_operations(log, "o.number = ?", (number,))


def _statement(version: int) -> str:
    columns = ["o.number, o.at, o.verb, o.reason, o.summary, o.state, o.undoes, o.rows, o.bytes"]
    columns.append("f.rows" if version >= 2 else "NULL")
    columns.append(
        "o.user, o.host, o.version, o.threads, o.namespaces" if version >= 4 else "NULL, NULL, NULL, NULL, NULL"
    )
    joins = "LEFT JOIN forgotten f ON f.operation = o.number" if version >= 2 else ""
    if version >= 5:
        shown = "ifnull(o.shown, (SELECT w.shown FROM operations w WHERE w.number = o.part_of))"
        columns.append(f"{shown}, o.part_of, p.thread_id, p.problem, o.parts")
        joins += " LEFT JOIN parts p ON p.operation = o.number"
    else:
        columns.append("o.number, NULL, NULL, NULL, NULL")
    columns.append("o.details" if version >= 6 else "NULL")
    return f"SELECT {', '.join(columns)} FROM operations o {joins}"  # noqa: S608 - constants


def _operation(row: Sequence[Any]) -> Operation:
    number, at, verb, reason, summary, phase, undoes, rows, size, forgotten, *more = row
    user, host, version, threads, namespaces, shown, part_of, thread_id, problem, parts, details = more
    return Operation(
        number,
        at,
        verb,
        from_sqlite(reason),
        from_sqlite(summary),
        Phase(phase),
        undoes,
        rows,
        size,
        forgotten,
        None if user is None else Origin(*map(from_sqlite, (user, host, version))),
        None if threads is None else (threads, namespaces),
        shown,
        part_of,
        None if thread_id is None else from_sqlite(thread_id),
        from_sqlite(problem or ""),
        None if parts is None else PartCounts(parts),
        tuple(json.loads(from_sqlite(details))) if details else (),
    )


def _with_sums(log: LogFile, operation: Operation) -> Operation:
    """The operation with the sums of its parts, if it has parts."""
    if operation.parts is None:
        return operation
    [sums] = log.rows(_COUNTED, (operation.number, operation.number))
    *phases, rows, size, threads, namespaces, forgotten = (number or 0 for number in sums)
    parts = PartCounts(operation.parts.planned, *phases)
    return replace(
        operation,
        summary=_with_changed(operation.summary, parts),
        parts=parts,
        rows=rows,
        size=size,
        counts=(threads, namespaces),
        forgotten=forgotten or None,
    )


def _with_changed(summary: str, parts: PartCounts) -> str:
    """``of 1 of 2 threads``: the summary was logged before the change, which some of the threads refused."""
    changed, planned = parts.done + parts.undone, _THREADS.match(summary)
    if planned is None or parts.waiting or int(planned[1].replace(",", "")) == changed:
        return summary
    return f"of {changed:,} {summary}"


def _marks(words: Sequence[object]) -> str:
    return ", ".join("?" * len(words))
