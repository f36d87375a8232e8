"""`RowRecords`: which records a physical row holds, and which a change of the row adds or replaces."""

from abc import abstractmethod
from collections.abc import Collection

from ckpt_cli.model import Ref, Row, RowChange, WriteKey


class RowRecords:
    """The role of a saver that knows what its rows are; a part of the contract."""

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
