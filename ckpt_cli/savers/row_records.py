"""`RowRecords`: the rows that a plan changes, and the records that a row holds."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence

from ckpt_cli.model import Insertion, Plan, Record, Ref, Row, RowChange, WriteKey


class RowRecords:
    """The role of a saver that knows what its rows are; a part of the contract."""

    has_flat_rows: bool = True
    """Whether the columns of a row are its values. Otherwise a row has a document, which `fields` splits."""
    makes_digests: bool = False
    """Whether the server makes digests of long values, so that they needn't be read to be compared."""
    rewrites_numbers: bool = False
    """Whether some numbers in metadata are read as others than were written, as with JSONB."""

    @abstractmethod
    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """Translate a plan into changes of physical rows with before-images, in the order in which to make the changes.

        Raises:
            NotSupported: this database can't store a record of the plan.
            Refused: a record to add exists already, or a record to replace or remove doesn't exist.
        """

    def insertions(self, records: Iterable[Record], *, images: bool) -> Iterator[Insertion]:  # noqa: ARG002
        """Like `expand` for records to add, of which the caller knows that none exists yet.

        SQL engines read the records one by one, and send nothing to the server between the first insertion and the
        last, unless `images` are asked for.

        Args:
            records: a thread's checkpoints, and then its writes.
            images: whether also to give each row as a later read will give it, where that differs.

        Raises:
            NotSupported, Refused: see `expand`.
        """
        for change in self.expand(Plan("", add=tuple(records))):
            yield Insertion(change)

    @abstractmethod
    def current(self, relation: str, key: Row) -> Row | None:
        """A physical row as it is now; None if it doesn't exist."""

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """The physical rows with these relations and keys, as they are now; None for one that doesn't exist."""
        return [self.current(relation, key) for relation, key in names]

    def proofs(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """`currents`; if the saver `makes_digests`, the server's `Digest` in place of bytes longer than `LONG`."""
        return self.currents(names)

    @abstractmethod
    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """The checkpoint or write in a physical row; None if the row is no record by itself (a blob, an index)."""

    def added(self, change: RowChange) -> Collection[Ref | WriteKey]:
        """The records that the change of a physical row adds."""
        return self.written(change) if change.before is None else ()

    def written(self, change: RowChange) -> Collection[Ref | WriteKey]:
        """The records that the change of a physical row adds or replaces."""
        name = self.record_of(change.relation, change.key)
        return () if name is None else (name,)
