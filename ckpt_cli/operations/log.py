"""The operation log: operations, their phases, an image of each row before and after, evidence; ``--prune``.

The images are on disk before the first row is touched. The log is a SQLite file (mode 600, ``synchronous=EXTRA``).
After a crash, the log has the whole operation or nothing of it. Operations of any size are written and read row by row.

Witnesses are digests of checkpoints. They prove later that the log belongs to this database.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ckpt_cli.errors import Refused
from ckpt_cli.model import Ref, Row, RowChange
from ckpt_cli.operations.changed_threads import ThreadCounts
from ckpt_cli.operations.log_file import LogFile
from ckpt_cli.operations.log_index import Index
from ckpt_cli.operations.operation import Evidence, Heading, Operation, Phase
from ckpt_cli.operations.operation_list import later_operations_on_threads, read_on_thread, read_operations
from ckpt_cli.operations.operation_rows import insert, mark_by_parts, mark_done, store_changes
from ckpt_cli.operations.proofs import (
    BEFORE_OPERATIONS,
    FIRST_PLANNED,
    LEFT_BY_OPERATIONS,
    WITNESSES,
    Witnessing,
    add_place,
    store_witnesses,
)
from ckpt_cli.operations.row_images import BUNDLED, from_sqlite, key_text, parse_key, to_sqlite, unpack
from ckpt_cli.savers.about import Place

if TYPE_CHECKING:
    from ckpt_cli.operations.bundles import Bundles

REWRITE_NEEDED = "INSERT INTO forgetting VALUES (NULL, NULL)"
"""Marks that rows were wiped, so that `LogFile.scrub` must rewrite the file."""


class OperationLog(LogFile):
    """The log of one database; the first operation makes its file. `path` is where the file is or will be.

    Attributes:
        is_trusted: a person says that the log belongs to this database, although no row proves it.
    """

    is_trusted = False
    _bundles: "Bundles | None" = None

    def begin(
        self,
        heading: Heading,
        changes: Iterable[RowChange],
        *,
        witnessing: Witnessing | None = None,
        place: Place | None = None,
        threads: ThreadCounts | None = None,
    ) -> int:
        """Write an operation with all its images, and give its number; all is on disk when this returns.

        Args:
            heading: the operation's description.
            changes: the operation's row changes, which are read one by one.
            witnessing: chooses the operation's witnesses when all its rows are known.
            place: where the database is.
            threads: counts the operation's threads.
        """
        with self.transaction() as connection:
            number = insert(connection, heading)
            names = [(number, to_sqlite(thread_id)) for thread_id in heading.forget]
            connection.executemany("INSERT INTO forgetting VALUES (?, ?)", names)
            store_changes(connection, number, changes, threads)
            if witnessing is not None:
                store_witnesses(connection, (number, number), witnessing)
            if place is not None:
                add_place(connection, place, heading.at)
        return number

    def add_to_index(self, place: Place) -> None:
        """Add a line to the index: the database at this place uses this log.

        Raises:
            Failed: the index can't be written.
        """
        with self._translated_errors("write"):
            Index(self.path.parent.parent).add(self.path.parent.name, place)

    def mark(self, number: int, phase: Phase) -> None:
        """Change the phase of an operation."""
        with self.transaction() as connection:
            connection.execute("UPDATE operations SET state = ? WHERE number = ?", (phase, number))

    def finish(self, number: int) -> None:
        """Mark an operation as done, and change the phases of the operations that it undoes."""
        with self.transaction() as connection:
            mark_done(connection, number)

    def mark_by_parts(self, number: int) -> None:
        """Give an operation with parts the phase that follows from its parts: no more parts will come."""
        with self.transaction() as connection:
            mark_by_parts(connection, [number])

    def operations(self) -> list[Operation]:
        """All operations, newest first; one on many threads counts as one, and `read_parts` gives its parts."""
        return read_operations(self)

    def operations_and_parts(self) -> list[Operation]:
        """All operations and all their parts, newest first."""
        return read_operations(self, "1")

    def planned(self) -> list[Operation]:
        """The operations and parts that were interrupted or that another ckpt is applying now, newest first."""
        return read_operations(self, "o.state = ?", (Phase.PLANNED,))

    def operation(self, number: int) -> Operation:
        """The operation or part with this `number`."""
        [operation] = read_operations(self, "o.number = ?", (number,))
        return operation

    def shown(self, number: int) -> int | None:
        """The number by which people know the operation with this `number`; None if it was pruned."""
        found = read_operations(self, "o.number = ?", (number,))
        return found[0].shown if found else None

    def name_of(self, number: int) -> str:
        """What messages call the operation or part with this `number`, which may be pruned since."""
        found = read_operations(self, "o.number = ?", (number,))
        return found[0].name if found else "a forgotten operation"

    def on_thread(self, thread_id: str) -> Iterator[Operation]:
        """The operations and parts that changed a thread, or may have done so, newest first."""
        if self.exists:
            self.connect()
            yield from read_on_thread(self, thread_id)

    def later_on_threads(self, operation: Operation) -> list[Operation]:
        """The later operations and parts that changed a thread of this one, or may have done so, newest first."""
        self.connect()
        return later_operations_on_threads(self, operation)

    def changes(self, number: int, *, backwards: bool = False) -> Iterator[RowChange]:
        """The row changes of an operation, one in memory at a time."""
        columns = "before, after, before_hash"
        for relation, key, before, after, digest in self._read_one_by_one(columns, number, backwards):
            row_key = parse_key(key)
            yield RowChange(relation, row_key, self._image(before, relation, row_key, digest), unpack(after))

    def change(self, number: int, relation: str, key: Row) -> RowChange:
        """The first change of a row in an operation."""
        where = "operation = ? AND relation = ? AND key = ? ORDER BY position LIMIT 1"
        statement = f"SELECT before, after, before_hash FROM changes WHERE {where}"  # noqa: S608 - constants
        ((before, after, digest),) = self.rows(statement, (number, relation, key_text(key)))
        return RowChange(relation, key, self._image(before, relation, key, digest), unpack(after))

    def _image(self, image: bytes | None, relation: str, key: Row, digest: bytes | None) -> Row | None:
        """The row of an image, which may be in a bundle."""
        if image is None or not image.startswith(BUNDLED):
            return unpack(image)
        from ckpt_cli.operations.bundles import Bundles

        self._bundles = self._bundles or Bundles()
        return self._bundles.row(image, relation, key, digest)

    def close(self) -> None:
        """Close the file, and the bundles that images were read from."""
        if self._bundles is not None:
            self._bundles.close()
        super().close()

    def hashes(self, number: int) -> Iterator[tuple[str, Row, bytes | None, bytes | None]]:
        """Relation, key, and the hashes of before-image and after-image of every row of an operation."""
        for relation, key, before, after in self._read_one_by_one("before_hash, after_hash", number):
            yield relation, parse_key(key), before, after

    def _read_one_by_one(self, columns: str, number: int, backwards: bool = False) -> Iterator[tuple[Any, ...]]:
        """Read each row with a statement of its own, so that no statement stays open if the caller stops early."""
        ((last,),) = self.rows("SELECT rows FROM operations WHERE number = ?", (number,))
        nearest = "position < ? ORDER BY position DESC" if backwards else "position > ? ORDER BY position"
        statement = f"SELECT position, relation, key, {columns} FROM changes WHERE operation = ? AND {nearest} LIMIT 1"  # noqa: S608
        position = last + 1 if backwards else 0
        while rows := self.rows(statement, (number, position)):
            ((position, *columns_of_row),) = rows
            yield tuple(columns_of_row)

    def witnesses(self, page: int) -> Iterator[dict[Ref, bytes]]:
        """The witnesses of this log with their digests, newest first, `page` at a time."""
        rows = self.rows(f"{WITNESSES} ORDER BY operation DESC, thread_id, ns, checkpoint_id", since=2)
        for start in range(0, len(rows), page):
            yield {Ref(*map(from_sqlite, name)): digest for *name, digest in rows[start : start + page]}

    def witnessed_at(self, number: int) -> set[Ref]:
        """The witnesses that existed when an operation was made: it chose them, or an earlier one did."""
        rows = self.rows(f"{WITNESSES} WHERE operation BETWEEN 1 AND ?", (number,), since=2)
        return {Ref(*map(from_sqlite, name)) for *name, _ in rows}

    def evidence(self) -> Iterator[Evidence]:
        """The last logged change of each row that should be in the database, newest first."""
        for statement in (LEFT_BY_OPERATIONS, FIRST_PLANNED, BEFORE_OPERATIONS):
            for number, relation, key, phase in self.rows(statement):
                with suppress(Refused):  # its bundle is gone, and other rows prove as much
                    yield Evidence(self.change(number, relation, parse_key(key)), Phase(phase))

    @property
    def last_unwitnessed(self) -> int:
        """The last operation that was logged by a version of ckpt without witnesses; 0 if there is none."""
        if not self.exists:
            return 0
        self.connect()
        if self.version > 1:
            return int(self.setting("unwitnessed") or 0)
        return max((operation.number for operation in self.operations()), default=0)

    @property
    def needs_no_witnesses(self) -> bool:
        """Whether a log without witnesses is normal: all its operations are abandoned, or older than witnesses."""
        newest = self.rows(
            "SELECT max(number) FROM operations WHERE state NOT IN (?, ?)", (Phase.ABANDONED, Phase.REFUSED)
        )
        return not newest or (newest[0][0] or 0) <= self.last_unwitnessed

    @property
    def has_tags(self) -> bool:
        """Whether the log has any tags."""
        return bool(self.rows("SELECT 1 FROM tags LIMIT 1"))

    @property
    def has_reducers(self) -> bool:
        """Whether the log has any remembered reducers."""
        return bool(self.rows("SELECT 1 FROM reducers LIMIT 1", since=3))

    @property
    def concerns_readers(self) -> bool:
        """Whether a command that changes nothing shows any of it: tags, remembered reducers, interrupted operations."""
        planned = "SELECT 1 FROM operations WHERE state = ? LIMIT 1"
        return self.has_tags or self.has_reducers or bool(self.rows(planned, (Phase.PLANNED,)))

    def leaves_rows(self, number: int) -> bool:
        """Whether an operation left rows that can be compared with the database."""
        statement = "SELECT 1 FROM changes WHERE operation = ? AND after_hash IS NOT NULL LIMIT 1"
        return bool(self.rows(statement, (number,)))

    def places(self) -> list[Place]:
        """The places where the database was when it was changed, the latest first."""
        rows = self.rows("SELECT address, engine, instance FROM places ORDER BY at DESC", since=2)
        return [Place(from_sqlite(address), *marks) for address, *marks in rows]

    def later_operations(self, number: int) -> list[Operation]:
        """Later operations that changed a row of this operation and are not undone, newest first.

        Left out are undos of this one and of later ones. An undo of an earlier one leaves other rows than this did.
        """
        rows = self.rows(
            "SELECT DISTINCT o.number FROM changes c JOIN changes l USING (relation, key)"
            " JOIN operations o ON o.number = l.operation LEFT JOIN operations u ON u.number = o.undoes"
            " WHERE c.operation = ? AND o.number > c.operation AND o.state IN (?, ?)"
            " AND coalesce(u.number, 0) < c.operation"
            " ORDER BY o.number DESC",
            (number, Phase.DONE, Phase.PLANNED),
        )
        return [self.operation(row[0]) for row in rows]

    def first_change(self, relation: str, key: Row) -> tuple[int, bool] | None:
        """The number of the first operation that changed a row, and whether it added the row; None if there is none."""
        rows = self.rows(
            "SELECT c.operation, c.before_hash IS NULL FROM changes c JOIN operations o ON o.number = c.operation"
            " WHERE c.relation = ? AND c.key = ? AND o.state IN (?, ?) ORDER BY c.operation, c.position LIMIT 1",
            (relation, key_text(key), Phase.DONE, Phase.UNDONE),
        )
        return (rows[0][0], bool(rows[0][1])) if rows else None

    def undone_by(self, number: int) -> list[Operation]:
        """The operations that undid this operation or parts of it, newest first; none that was undone too."""
        return read_operations(self, "o.undoes = ? AND o.state = ?", (number, Phase.DONE))

    def prune(self, numbers: Iterable[int]) -> None:
        """Delete operations with their images, and rewrite the file so that no byte of them is left in it."""
        with self.transaction() as connection:
            names = [(number,) for number in numbers]
            connection.executemany("DELETE FROM operations WHERE number = ?1 OR part_of = ?1", names)
            connection.execute(REWRITE_NEEDED)
        self.scrub()
