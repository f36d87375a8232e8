"""`PartLog`: writes an operation on many threads into the log, a page of parts at a time."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ckpt_cli.model import RowChange
from ckpt_cli.operations.changed_threads import RecordOf, ThreadCounts
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.operations.operation import Heading, Phase
from ckpt_cli.operations.operation_rows import insert, mark_done, store_changes
from ckpt_cli.operations.proofs import Witnessing, add_place, store_witnesses
from ckpt_cli.operations.row_images import to_sqlite
from ckpt_cli.savers.about import Place


class PartRecord(NamedTuple):
    """A part to log: its description, its thread, and its row changes; or why it was refused, and no changes."""

    heading: Heading
    thread_id: str
    changes: Iterable[RowChange] = ()
    problem: str = ""


class PartLog:
    """Writes one operation on many threads.

    Args:
        log: the operation log.
        record_of: gives the record that a row stores.
    """

    def __init__(self, log: OperationLog, record_of: RecordOf) -> None:
        self._log = log
        self._record_of = record_of

    def begin(self, heading: Heading, count: int, place: Place) -> int:
        """Add the operation, which is to change so many threads, and give its `number`."""
        with self._log.transaction() as connection:
            number = insert(connection, heading, parts=count)
            add_place(connection, place, heading.at)
        self._log.add_to_index(place)
        return number

    def add(self, parent: int, parts: Iterable[PartRecord], witnessing: Witnessing) -> list[tuple[int, int]]:
        """Log parts with all their images in one transaction; gives the `number` and size of each."""
        logged: list[tuple[int, int]] = []
        with self._log.transaction() as connection:
            for part in parts:
                number = insert(connection, part.heading, part_of=parent)
                words = number, to_sqlite(part.thread_id), to_sqlite(part.problem)
                connection.execute("INSERT INTO parts VALUES (?, ?, ?)", words)
                size = 0
                if part.problem:
                    connection.execute("UPDATE operations SET state = ? WHERE number = ?", (Phase.REFUSED, number))
                else:
                    size = store_changes(connection, number, part.changes, ThreadCounts(self._record_of))
                logged.append((number, size))
            if logged:
                store_witnesses(connection, (logged[0][0], logged[-1][0]), witnessing)
        return logged

    def finish(self, results: Mapping[int, str]) -> None:
        """Mark parts as done or, with the reason, as refused; the images of a refused part are deleted."""
        with self._log.transaction() as connection:
            for number, problem in results.items():
                if not problem:
                    mark_done(connection, number)
                    continue
                connection.execute(
                    "UPDATE operations SET state = ?, rows = 0, bytes = 0, threads = 0, namespaces = 0"
                    " WHERE number = ?",
                    (Phase.REFUSED, number),
                )
                connection.execute("UPDATE parts SET problem = ? WHERE operation = ?", (to_sqlite(problem), number))
                for table in ("changes", "changed_threads"):
                    connection.execute(f"DELETE FROM {table} WHERE operation = ?", (number,))  # noqa: S608 - constants
