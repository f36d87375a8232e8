"""Databases are moved, copied, replaced and altered between change, settle and undo: none gets a row of another."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import ClassVar
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ckpt_cli.app import run
from ckpt_cli.operations.log import OperationLog
from tests.operations.worlds import Databases, Files, Row, World
from tests.servers.postgres import PostgresServer

EXAMPLES = {"sqlite": 30, "postgres": 6}
STEPS = {"sqlite": 14, "postgres": 12}
"""More of both find more: 500 of 30 steps take some minutes."""
PLACES = ("a", "b", "c")
THREADS = ("first", "second", "third")

threads = st.sampled_from(THREADS)
subsets = st.sets(threads, min_size=1)


class Crash(BaseException):
    """The process ends."""


Delta = tuple[frozenset[Row], frozenset[Row]]
"""Rows that ckpt added, and rows that it removed."""


@dataclass
class Database:
    """What one database is known to have had, and what ckpt did to it.

    Attributes:
        family: databases that are copies of each other have one.
        ever: every row that was in it.
        done: what ckpt did.
    """

    family: int
    ever: set[Row] = field(default_factory=set)
    done: list[Delta] = field(default_factory=list)


class Machine(RuleBasedStateMachine):
    """Three places, each with a database or none."""

    world: World
    numbers: ClassVar[Iterator[int]] = count(1)

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.world = self.new_world(Path(self._folder.name))
        self._environment = mock.patch.dict(os.environ, XDG_STATE_HOME=f"{self._folder.name}/state")
        self._environment.start()
        self.at: dict[str, Database] = {}
        self.held: dict[str, frozenset[Row]] = {}
        self.gone: set[int] = set()

    def new_world(self, folder: Path) -> World:
        raise NotImplementedError

    def teardown(self) -> None:
        for place in self.at:
            self.world.drop(place)
        self._environment.stop()
        self._folder.cleanup()

    def _place(self, data: st.DataObject) -> str:
        """One that has a database."""
        return data.draw(st.sampled_from(sorted(self.at)), "place")

    def _free(self) -> list[str]:
        return [place for place in PLACES if place not in self.at]

    @initialize()
    def begin(self) -> None:
        self._make("a")

    # What happens to databases

    @precondition(lambda self: self._free())
    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        place, to = self._place(data), data.draw(st.sampled_from(self._free()), "to")
        self.world.move(place, to)
        self.at[to], self.held[to] = self.at.pop(place), self.held.pop(place)

    @precondition(lambda self: self._free())
    @rule(data=st.data())
    def copy(self, data: st.DataObject) -> None:
        place, to = self._place(data), data.draw(st.sampled_from(self._free()), "to")
        self._copy(place, to)

    @rule(data=st.data())
    def replace(self, data: st.DataObject) -> None:
        """Another database takes its place."""
        place = self._place(data)
        self._drop(place)
        self._make(place, data.draw(subsets, "threads"))

    @precondition(lambda self: len(self.at) > 1)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        self._drop(self._place(data))

    @rule(data=st.data())
    def scramble(self, data: st.DataObject) -> None:
        """One with the same ids and other contents takes its place."""
        self._scramble(self._place(data))

    @rule(data=st.data())
    def alter(self, data: st.DataObject) -> None:
        self.world.alter(self._place(data), next(self.numbers))

    @rule(data=st.data(), thread_id=threads)
    def talk(self, data: st.DataObject, thread_id: str) -> None:
        """An application continues a thread."""
        place = self._place(data)
        self.world.talk(place, thread_id, next(self.numbers))
        self._took_place(place)

    # What ckpt does

    @rule(data=st.data(), thread_id=threads)
    def delete(self, data: st.DataObject, thread_id: str) -> None:
        self._change(self._place(data), "delete", thread_id)

    @rule(data=st.data(), thread_id=threads)
    def fork(self, data: st.DataObject, thread_id: str) -> None:
        self._change(self._place(data), "fork", thread_id, "@", "--to", f"new {next(self.numbers)}")

    @rule(data=st.data(), thread_id=threads, late=st.booleans())
    def crash(self, data: st.DataObject, thread_id: str, late: bool) -> None:
        """Ckpt ends between its log and the database's change, or before it can say that it is done."""
        place = self._place(data)
        dies = mock.patch.object(OperationLog, "finish" if late else "changes", side_effect=Crash)
        with dies, suppress(Crash):
            run(["delete", thread_id, "--yes", "-d", self.world.url(place)])
        if late:
            self._took_place(place, by_ckpt=True)

    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        assert run(["operations", "--settle", "-d", self.world.url(self._place(data))]) == 0

    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        self._undo(self._place(data))

    @rule(data=st.data(), thread_id=threads, same_ids=st.booleans())
    def replaced_before_undo(self, data: st.DataObject, thread_id: str, same_ids: bool) -> None:
        """Another database takes the place between a change and its undo."""
        place = self._place(data)
        if self._change(place, "delete", thread_id) == 0:
            if same_ids:
                self._scramble(place)
            else:
                self._drop(place)
                self._make(place, data.draw(subsets, "threads"))
            assert self._undo(place) != 0, "it was done to the one before"

    @precondition(lambda self: self._free())
    @rule(data=st.data(), thread_id=threads)
    def copied_before_undo(self, data: st.DataObject, thread_id: str) -> None:
        """The copy is no original, as long as there is one; of those that are gone it may be one that was moved."""
        place, to = self._place(data), self._free()[0]
        if self._change(place, "delete", thread_id) == 0:
            self._copy(place, to)
            is_known = not self._checkpoints(to) or self.at[to].family in self.gone
            assert self._undo(to) != 0 or is_known, "a copy was taken for its original"

    @rule(data=st.data(), thread_id=threads)
    def there_and_back(self, data: st.DataObject, thread_id: str) -> None:
        """What is undone at once is undone, if anything else is there to know the database by."""
        place = self._place(data)
        before = self.held[place]
        if self._change(place, "delete", thread_id) == 0:
            code = self._undo(place)
            assert code == 0 or not self._checkpoints(place), "it wasn't known again"
            assert code or self.held[place] == before

    @invariant()
    def nobody_else_is_touched(self) -> None:
        for place in self.at:
            assert self.world.rows(place) == self.held[place], place

    def _change(self, place: str, *words: str) -> int:
        code = run([*words, "--yes", "-d", self.world.url(place)])
        assert code in (0, 4, 7), code
        if code:
            assert self.world.rows(place) == self.held[place]
        else:
            self._took_place(place, by_ckpt=True)
        return code

    def _undo(self, place: str) -> int:
        database, before = self.at[place], self.held[place]
        code = run(["undo", "--yes", "-d", self.world.url(place)])
        after = self.world.rows(place)
        assert code in (0, 4, 7), code
        if code:
            assert after == before
            return code
        assert (before - after, after - before) in database.done, "it took back what wasn't done here"
        assert after <= database.ever, "rows of another database"
        self._took_place(place, by_ckpt=True)
        return code

    def _checkpoints(self, place: str) -> bool:
        return any(row[0] == "c" for row in self.held[place])

    def _took_place(self, place: str, *, by_ckpt: bool = False) -> None:
        database, before, after = self.at[place], self.held[place], self.world.rows(place)
        if by_ckpt and before != after:
            database.done.append((after - before, before - after))
        database.ever |= after
        self.held[place] = after

    def _copy(self, place: str, to: str) -> None:
        self.world.copy(place, to)
        original = self.at[place]
        self.at[to] = Database(original.family, set(original.ever), list(original.done))
        self.held[to] = self.held[place]

    def _scramble(self, place: str) -> None:
        self.world.scramble(place, next(self.numbers))
        rows = self.world.rows(place)
        self._leave(place)
        self.at[place], self.held[place] = Database(next(self.numbers), set(rows)), rows

    def _make(self, place: str, thread_ids: Iterable[str] = THREADS) -> None:
        self.world.make(place)
        for thread_id in sorted(thread_ids):
            self.world.talk(place, thread_id, next(self.numbers))
        self.at[place], self.held[place] = Database(next(self.numbers)), frozenset()
        self._took_place(place)

    def _drop(self, place: str) -> None:
        if place in self.at:
            self.world.drop(place)
            self._leave(place)

    def _leave(self, place: str) -> None:
        """Once a database is gone nobody can tell a copy of it from a database that was moved: it is its heir."""
        gone = self.at.pop(place)
        self.gone.add(gone.family)
        self.held.pop(place)
        for other in self.at.values():
            if other.family == gone.family:
                other.ever |= gone.ever
                other.done += gone.done


def run_machine(kind: type[Machine], name: str) -> None:
    quick = settings(
        max_examples=EXAMPLES[name],
        stateful_step_count=STEPS[name],
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(kind, settings=quick)


@pytest.mark.slow
def test_files(capsys: pytest.CaptureFixture[str]) -> None:
    """SQLite: whatever happens to files, undo brings back what it took, in that database, or refuses."""

    class OfFiles(Machine):
        def new_world(self, folder: Path) -> World:
            return Files(folder)

    run_machine(OfFiles, "sqlite")


def test_postgres(postgres: PostgresServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Postgres: the same for databases that are renamed, cloned by TEMPLATE, dropped and created again."""

    class OfDatabases(Machine):
        def new_world(self, folder: Path) -> World:
            return Databases(postgres, f"world_{next(self.numbers)}")

    run_machine(OfDatabases, "postgres")
