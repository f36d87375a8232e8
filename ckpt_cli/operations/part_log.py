"""`PartLog`: writes an operation on many threads into the log, a page of parts at a time."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ckpt_cli.operations.changed_threads import RecordOf, ThreadCounts
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Heading, Phase
from ckpt_cli.operations.operation_rows import insert, mark_done, store_changes
from ckpt_cli.operations.proofs import Witnessing, add_place, store_witnesses
from ckpt_cli.operations.row_images import Change, to_sqlite
from ckpt_cli.savers.about import Place

_WIPE = (
    "UPDATE operations SET state = 'refused', rows = 0, bytes = 0, threads = 0, namespaces = 0 WHERE number = ?",
    "DELETE FROM changes WHERE operation = ?",
    "DELETE FROM changed_threads WHERE operation = ?",
)


class PartRecord(NamedTuple):
    """A part to log: its thread and its row changes; or why it was refused, and no changes.

    Attributes:
        summary: what it does, in one line.
        undoes: the `number` of the part that it undoes.
        details: see `Plan.details`.
    """

    thread_id: str
    summary: str
    changes: Iterable[Change] = ()
    problem: str = ""
    undoes: int | None = None
    details: Sequence[str] = ()


class PartLog:
    """Writes one operation on many threads.

    Args:
        log: the operation log.
        heading: the operation's description.
        count: the number of threads that it is to change.
        place: where the database is.
        record_of: gives the record that a row stores.

    Attributes:
        number: the operation's `number`; None as long as no part is logged.
    """

    def __init__(self, log: OperationLog, heading: Heading, count: int, *, place: Place, record_of: RecordOf) -> None:
        self._log = log
        self._heading = heading
        self._count = count
        self._place = place
        self._record_of = record_of
        self.number: int | None = None

    def add(self, parts: Iterable[PartRecord], witnessing: Witnessing) -> list[int]:
        """Log parts with all their images in one transaction, and give the `number` of each.

        The operation itself is added with its first parts: a log with neither witnesses nor images proves nothing.
        """
        numbers: list[int] = []
        with self._log.transaction() as connection:
            parent = self.number or insert(connection, self._heading, parts=self._count)
            for part in parts:
                words = self._heading.verb, self._heading.reason, part.summary
                heading = Heading(self._heading.at, *words, part.undoes, details=part.details)
                number = insert(connection, heading, part_of=parent)
                row = number, to_sqlite(part.thread_id), to_sqlite(part.problem)
                connection.execute("INSERT INTO parts VALUES (?, ?, ?)", row)
                store_changes(connection, number, part.changes, ThreadCounts(self._record_of))
                if part.problem:
                    connection.execute("UPDATE operations SET state = ? WHERE number = ?", (Phase.REFUSED, number))
                numbers.append(number)
            store_witnesses(connection, (numbers[0], numbers[-1]), witnessing)
            add_place(connection, self._place, self._heading.at)
        self.number = parent
        return numbers

    def finish(self, results: Mapping[int, str]) -> None:
        """Mark parts as done or, with the reason, as refused; the images of a refused part are deleted."""
        with self._log.transaction() as connection:
            for number, problem in results.items():
                if not problem:
                    mark_done(connection, number)
                    continue
                for statement in _WIPE:
                    connection.execute(statement, (number,))
                connection.execute("UPDATE parts SET problem = ? WHERE operation = ?", (to_sqlite(problem), number))
