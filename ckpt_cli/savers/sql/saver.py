"""`SqlSaver`: the methods that write; the subclasses in `postgres`, `mysql` add `about`, identity and place.

MySQL's subclass also lists and counts threads in its own way. The reading methods are in `reading`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import TypeVar

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Insertion, Plan, Record, Ref, Row, RowChange, WriteKey
from ckpt_cli.savers.about import Ability, SideEffect, ability_set
from ckpt_cli.savers.application_columns import restored
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.images import Images
from ckpt_cli.savers.sql.layout import BLOBS, WRITTEN, Layout
from ckpt_cli.savers.sql.measure_methods import MeasureMethods

T = TypeVar("T")


class SqlSaver(MeasureMethods):
    """The saver of a database with LangGraph's three tables; each engine has a subclass that opens it.

    Args:
        engine: the open database.
        layout: its tables.
        unwritable: a phrase for people: why the database can't be written; "" if it can.
    """

    def __init__(self, engine: Engine, layout: Layout, unwritable: str = "") -> None:
        super().__init__(engine, layout)
        self._images = Images(engine, layout)
        self.makes_digests = self._images.makes_digests
        self._unwritable = unwritable or ("a shallow saver's database keeps no history" if layout.shallow else "")
        self.abilities = ability_set(
            {
                Ability.WRITE: not self._unwritable,
                Ability.ATOMIC: True,
                Ability.MOMENT: True,
                Ability.SKIPS: True,
                Ability.BRANCHES: not layout.shallow,
                Ability.TASK_PATHS: layout.task_paths,
            }
        )

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look` on one snapshot, with empty caches."""
        if self._in_moment:
            return look()

        def fresh() -> T:
            self._forget()
            return look()

        self._in_moment = True
        try:
            return self._engine.moment(fresh)
        finally:
            self._in_moment = False

    def must_be_writable(self, *, trying: bool) -> None:  # noqa: ARG002 - the server answers without trying
        """Check the layout, then ask the server for this user's rights."""
        self._must_be_writable_layout()
        self._engine.must_be_writable()

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work` in one transaction of the engine; other ckpts wait until it ends."""
        if self._writing:
            return work()
        self._must_be_writable_layout()
        self._forget()
        self._in_moment = self._writing = True
        try:
            return self._engine.transaction(work)
        finally:
            self._in_moment = self._writing = False
            self._forget()

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """Give the changes of a plan to rows of the three tables."""
        self._must_be_writable_layout()
        from ckpt_cli.savers.sql.expand import Expansion

        yield from Expansion(self._engine, self._layout, plan).changes()

    def insertions(self, records: Iterable[Record], *, images: bool) -> Iterator[Insertion]:
        """The rows of checkpoints, writes and blobs; see `sql.insertions`."""
        from ckpt_cli.savers.sql.insertions import Insertions

        return Insertions(self._engine, self._layout, images=images).rows(records)

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """The record of a row; None for a blob, because it belongs to every checkpoint that names it."""
        return self._record_of(relation, key)

    @cached_property
    def _record_of(self) -> Callable[[str, Row], Ref | WriteKey | None]:
        from ckpt_cli.savers.sql.records import record_of  # looked up once: many rows come one after the other

        return record_of

    def current(self, relation: str, key: Row) -> Row | None:
        """All columns of the row with this key."""
        return self._images.current(relation, key)

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """All columns of the rows with these keys; one statement reads consecutive keys of a table."""
        return self._looked_up(names, hashed=False)

    def proofs(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """`currents` with digests of long blobs, which stay on the server."""
        return self._looked_up(names, hashed=self.makes_digests)

    def _looked_up(self, names: Sequence[tuple[str, Row]], *, hashed: bool) -> list[Row | None]:
        rows: list[Row | None] = []
        for relation, group in groupby(names, key=lambda name: name[0]):
            found = self._images.lookup(relation, [key for _, key in group], hashed=hashed)
            rows += [row for _, row in found]
        return rows

    def has_rows(self, thread_id: str) -> bool:
        """Also whether there are blobs, which may be left of checkpoints that are gone."""
        condition, parameters = self._engine.among(BLOBS, ("thread_id",), [(thread_id,)])
        blobs = self._engine.query(f"{self._sql_blobs.names}{condition} LIMIT 1", parameters)
        return super().has_rows(thread_id) or next(iter(blobs), None) is not None

    def written_columns(self, relation: str) -> frozenset[str] | None:
        """LangGraph's own columns of a table; None for any other table."""
        return WRITTEN.get(relation)

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:
        """The row to write so that an image is restored, with the columns that are computed from others."""
        row = restored(image, now, WRITTEN[relation], self._layout.writable(relation))
        return self._engine.with_derived_columns(relation, row)

    def side_effects(self) -> Sequence[SideEffect]:
        """Triggers and the like, as the engine's catalogue lists them."""
        return self._engine.side_effects()

    def caveats(self) -> Sequence[str]:
        """Warnings about triggers or rows that this user can't see."""
        return self._engine.caveats()

    def change(self, changes: Iterable[RowChange]) -> None:
        """Insert, update and delete by key."""
        if not self._writing:
            raise RuntimeError("rows are changed only inside a transaction")
        self._forget()
        self._images.change(changes)

    def close(self) -> None:
        """Close the connection."""
        self._engine.close()

    def _must_be_writable_layout(self) -> None:
        if self._unwritable:
            raise NotSupported(f"{self._unwritable}, so it can't be changed")
