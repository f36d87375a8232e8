"""The methods of `SqliteSaver` that write: rows by key, generated columns, new images.

Every command imports this module, but only a change needs the modules that write, so they are imported inside methods.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Insertion, Name, Plan, Record, Ref, Row, RowChange, Scalar, WriteKey, name_of
from ckpt_cli.savers.about import Ability, SideEffect
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.sqlite.connection import Connection
from ckpt_cli.savers.sqlite.schema import WRITTEN, Schema, must_be_tables
from ckpt_cli.savers.sqlite.thread_ids import OddIds

if TYPE_CHECKING:
    from ckpt_cli.savers.sqlite.images import Images
    from ckpt_cli.savers.sqlite.writable_connection import WritableConnection

T = TypeVar("T")


class WriteMethods(Saver):
    """Methods that change the two tables; `SqliteSaver` adds the reading methods."""

    _connection: Connection
    _schema: Schema
    _table_images: "Images | None" = None
    _writer: "WritableConnection | None" = None
    _odd_ids: OddIds | None = None
    _permitted: frozenset[str] = frozenset()

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work` in one write transaction, on a connection that is opened for it and then closed."""
        if self._writer is not None:
            return work()
        from ckpt_cli.savers.sqlite.writable_connection import open_writable

        self._must_have_ids()
        reader = self._connection
        self._connection = self._writer = open_writable(reader.path, self._permitted)
        self._odd_ids = self._table_images = None  # the tables' columns may have changed before this transaction

        def checked_work() -> T:
            must_be_tables(reader.path, self._connection.query)
            return work()

        try:
            return self._writer.transaction(checked_work)
        finally:
            self._writer.close()
            self._connection, self._writer = reader, None
            reader.renew()

    def must_be_writable(self, *, trying: bool) -> None:  # noqa: ARG002 - it only reads permissions
        """Check the generation, and this user's permissions on the file and its folder, where SQLite puts its WAL."""
        self._must_have_ids()
        from ckpt_cli.savers.sqlite.writable_connection import must_be_permitted

        must_be_permitted(self._connection.path)

    def _must_have_ids(self) -> None:
        if Ability.WRITE not in self.abilities:
            raise NotSupported(f"{self._schema.generation}: its rows have no ids, so it can't be changed")

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """Give the changes of a plan to the rows of this generation's tables."""
        from ckpt_cli.savers.sqlite.expand import expand

        return expand(plan, self._schema, self._stored, self.current)

    def insertions(self, records: Iterable[Record], *, images: bool) -> Iterator[Insertion]:  # noqa: ARG002
        """One row for each record; it is read as it was written."""
        from ckpt_cli.savers.sqlite.records import Rows

        rows = Rows(self._schema, self._stored)
        for record in records:
            yield Insertion(RowChange(*rows.key(name_of(record)), None, rows.row(record)))

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """The record of a row; every row of the two tables is a record."""
        return self._record_of(relation, key, self._schema, self._name)

    @cached_property
    def _record_of(self) -> "Callable[[str, Row, Schema, Callable[[Scalar], str]], Name | None]":
        from ckpt_cli.savers.sqlite.records import record_of

        return record_of

    def current(self, relation: str, key: Row) -> Row | None:
        """All columns of the row with this key."""
        return self._images.current(relation, key)

    def written_columns(self, relation: str) -> frozenset[str] | None:
        """LangGraph's own columns of a table; None for any other table."""
        return WRITTEN.get(relation)

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:
        """The row to write so that an image is restored, without generated columns: table_info doesn't list them."""
        from ckpt_cli.savers.application_columns import restored

        return restored(image, now, WRITTEN[relation], self._images.columns(relation, ()))

    def side_effects(self) -> Sequence[SideEffect]:
        """Triggers, and foreign keys if the connection enforces them."""
        from ckpt_cli.savers.sqlite import triggers

        return triggers.side_effects(self._connection.query, self._connection.fired_by)

    def permit(self, side_effects: Collection[SideEffect]) -> None:
        """Let these triggers, and no others, fire in later transactions."""
        self._permitted = frozenset(effect.name for effect in side_effects if effect.kind == "trigger")

    def caveats(self) -> Sequence[str]:
        """Sentences about foreign keys that aren't enforced."""
        from ckpt_cli.savers.sqlite import triggers

        return triggers.caveats(self._connection.query)

    def change(self, changes: Iterable[RowChange]) -> None:
        """Insert, update and delete by key."""
        if self._writer is None:
            raise RuntimeError("rows are changed only inside a transaction")
        self._writer.change(changes)

    def _stored(self, thread_id: str) -> Scalar:
        """A thread id as its column holds it: some programs stored a number."""
        raise NotImplementedError

    def _name(self, raw: Scalar) -> str:
        """A stored thread id as text."""
        raise NotImplementedError

    @property
    def _images(self) -> "Images":
        """The images of rows. They cache the tables' columns."""
        if self._table_images is None:
            from ckpt_cli.savers.sqlite.images import Images

            self._table_images = Images(lambda sql, parameters: self._connection.query(sql, parameters))
        return self._table_images
