"""`SqlSaver`: the writing half of a saver on LangGraph's SQL tables."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Plan, Ref, Row, RowChange, WriteKey
from ckpt_cli.savers.about import Ability, SideEffect, ability_set
from ckpt_cli.savers.own_columns import restored
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.images import Images
from ckpt_cli.savers.sql.layout import WRITTEN, Layout
from ckpt_cli.savers.sql.reading import SqlReading

T = TypeVar("T")


class SqlSaver(SqlReading):
    """A database of LangGraph's three tables; subclasses open it and say what it is.

    Args:
        engine: the open database.
        layout: its tables.
        unwritable: why it can't be written, in words; "" where it can.
    """

    def __init__(self, engine: Engine, layout: Layout, unwritable: str = "") -> None:
        super().__init__(engine, layout)
        self._images = Images(engine, layout)
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
        """One snapshot; what was fetched in an earlier one is forgotten."""
        if self._inside:
            return look()

        def fresh() -> T:
            self._forget()
            return look()

        self._inside = True
        try:
            return self._engine.moment(fresh)
        finally:
            self._inside = False

    def must_be_writable(self, *, trying: bool) -> None:  # noqa: ARG002 - the server tells it without
        """Look at the layout, then ask the server for this user's rights."""
        self._must_have_places()
        self._engine.must_be_writable()

    def transaction(self, work: Callable[[], T]) -> T:
        """One transaction of the engine, alone with those that write through ckpt."""
        if self._writing:
            return work()
        self._must_have_places()
        self._forget()
        self._inside = self._writing = True
        try:
            return self._engine.transaction(work)
        finally:
            self._inside = self._writing = False
            self._forget()

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """Rows of the three tables."""
        self._must_have_places()
        from ckpt_cli.savers.sql.expand import Expansion

        yield from Expansion(self._engine, self._layout, plan).changes()

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """A blob belongs to all checkpoints that name it, and is no record."""
        from ckpt_cli.savers.sql.records import record_of

        return record_of(relation, key)

    def current(self, relation: str, key: Row) -> Row | None:
        """All columns of a row."""
        return self._images.current(relation, key)

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """All columns of rows, those of one table that follow each other in one statement."""
        found: list[Row | None] = []
        for relation, group in groupby(names, key=lambda name: name[0]):
            found += [row for _, row in self._images.all(relation, [key for _, key in group])]
        return found

    def written_columns(self, relation: str) -> frozenset[str] | None:
        """LangGraph's own."""
        return WRITTEN.get(relation)

    def restored(self, relation: str, image: Row, now: Row | None) -> Row:
        """With an application's own columns, and those that follow from others."""
        row = restored(image, now, WRITTEN[relation], self._layout.writable(relation))
        return self._engine.completed(relation, row)

    def side_effects(self) -> Sequence[SideEffect]:
        """As the engine's catalog says."""
        return self._engine.side_effects()

    def caveats(self) -> Sequence[str]:
        """As the engine's catalog says."""
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

    def _must_have_places(self) -> None:
        if self._unwritable:
            raise NotSupported(f"{self._unwritable}, so it can't be changed")
