"""A delta channel's value at a checkpoint is made of the writes of its own branch."""

import contextlib
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import EmptyInputError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.history.reducers.rebuilt import Rebuilt, is_unproven
from ckpt_cli.history.reducers.reducers import APPEND
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.queries.step_walk import StepWalk
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Node
from tests.databases import DELTA_FORKS

IN_MEMORY = {
    "1f1e6857-bfc5-6157-bfff-75e1a173fa0b": [],
    "1f1e6857-bfc9-6944-8000-e38d07e4f420": ["in"],
    "1f1e6857-bfcc-61b9-8001-683ec904fa97": ["in", "a"],
    "1f1e6857-bfd0-640a-8002-0a617d993e57": ["in", "a", "b"],
    "1f1e6857-bfde-6e12-8003-dc0c2ba2bcfb": ["in", "a", "b", "c"],
    "1f1e6857-c03b-6e14-8002-417c9f174e3a": ["in", "a", "late"],
    "1f1e6857-c042-60a9-8003-e81761471c0f": ["in", "a", "b", "later"],
}
"""The values that langgraph 1.2.10 had when it saved these checkpoints: a run, and updates of two of its steps."""

SECOND_UPDATE = "1f1e6857-c047-65d8-8002-e9d7f1ee9bbc"
"""Another update of a checkpoint that had one: a saver keeps the older update's row."""


def by_append(value: Any) -> Any:
    """The list that the writes of a value give; these threads hold no snapshot that proves their reducer."""
    if not is_unproven(value):
        return value
    return Rebuilt(value.fields.get("seed", []), [[], *value.fields["writes"]]).value_by(APPEND)


@pytest.fixture
def forks(database: Callable[[str], Path]) -> Iterator[Reader]:
    """A thread with forks by ``update_state``, whose rows hold no snapshots."""
    saver = open_file(database(DELTA_FORKS))
    yield Reader(saver, Codec())
    saver.close()


def test_an_update_and_a_run_from_one_checkpoint_have_their_own_writes(forks: Reader) -> None:
    """Neither branch takes the other's writes, which are stored on the same checkpoint."""
    values = {i: Inspection(forks, Ref("forked", "", i)).values().get("log", []) for i in IN_MEMORY}
    values = {i: by_append(value) for i, value in values.items()}
    assert values == IN_MEMORY


def test_a_walk_down_a_branch_gives_its_own_values(forks: Reader) -> None:
    """`replay --to` compares with the same values."""
    lineage = forks.lineage("forked")
    for branch in lineage.branches:
        refs = [Ref("forked", "", i) for i in reversed(list(lineage.line(branch.tip)))]
        steps = [step for step in StepWalk(forks, None).steps(refs) if step.ref.checkpoint_id in IN_MEMORY]
        assert [by_append((step.after or {}).get("log", [])) for step in steps] == [
            IN_MEMORY[s.ref.checkpoint_id] for s in steps
        ]


def test_writes_that_are_stored_nowhere_are_not_made_up(
    forks: Reader, database: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The value after a second update of one checkpoint is unknown and `show` says why; an edit may replace it."""
    value = Inspection(forks, Ref("forked", "", SECOND_UPDATE)).values()["log"]
    assert isinstance(value, Node)
    assert value.fields == {"writes": [["in"], ["a"]]}
    path = str(database(DELTA_FORKS))
    assert run(["show", "forked", "-d", path]) == 0
    assert "those of an update are not stored" in capsys.readouterr().out
    assert run(["edit", "forked", "--set", 'log=["x"]', "-d", path, "--yes"]) == 0  # this needs no old value
    capsys.readouterr()
    assert run(["get", "forked", "log", "-d", path]) == 0
    assert "x" in capsys.readouterr().out


def appended(old: list[str] | None, writes: list[list[str]]) -> list[str]:
    """A reducer that appends lists."""
    return [*(old or []), *(item for write in writes for item in write)]


class Logged(TypedDict, total=False):
    """A state with a delta channel."""

    log: Annotated[list[str], DeltaChannel(appended)]


class Wanderer:
    """A thread that is run, answered, updated and forked at random."""

    def __init__(self, saver: SqliteSaver, seed: int) -> None:
        self.random = random.Random(seed)
        self.graph = self._graph(saver)
        self.config: Any = {"configurable": {"thread_id": f"thread-{seed}"}}
        self.number = 0
        self.fails = self.asks = False
        self.values: dict[str, list[str]] = {}

    def _graph(self, saver: SqliteSaver) -> Any:
        builder = StateGraph(Logged)
        for name in ("a", "b1", "b2", "b3", "c"):
            builder.add_node(name, getattr(self, f"_{name}", lambda _, name=name: self._log(name)))
        builder.add_edge(START, "a")
        for name in ("b1", "b2", "b3"):
            builder.add_edge("a", name)
        builder.add_edge(["b1", "b2", "b3"], "c")
        builder.add_edge("c", END)
        return builder.compile(checkpointer=saver)

    def _log(self, word: str) -> Logged:
        self.number += 1
        return {"log": [f"{word}-{self.number}"]}

    def _b2(self, _: Logged) -> Logged:
        if self.fails:
            raise ValueError("boom")
        return self._log("b2")

    def _b3(self, _: Logged) -> Logged:
        return self._log(f"b3-{interrupt('?')}" if self.asks else "b3")

    def step(self) -> None:
        """Do one thing, at the head or at an older checkpoint."""
        history = list(self.graph.get_state_history(self.config))
        at = self.random.choice([history[0], self.random.choice(history)]) if history else None
        config = self.config if at is None else at.config
        if at is not None and self.random.random() < 0.4:
            update = self._log("update")
            made = self.graph.update_state(config, update, as_node=self.random.choice("ac"))
            self.values[_id(made)] = [*self.values.get(_id(config), []), *update["log"]]
            return
        given = self.random.choice([self._log("input"), None, Command(resume="yes")]) if history else self._log("input")
        self.fails, self.asks = self.random.random() < 0.25, self.random.random() < 0.25
        durability = self.random.choice(["sync", "exit"])
        with contextlib.suppress(ValueError, EmptyInputError):
            for _, event in self.graph.stream(given, config, stream_mode=["checkpoints"], durability=durability):
                self.values[_id(event["config"])] = event["values"].get("log", [])


def _id(config: Any) -> str:
    return str(config["configurable"].get("checkpoint_id"))


@pytest.mark.parametrize("seed", (3, 5, 11, 15, 33, 37, 41, 59))
def test_values_are_those_that_the_run_had(seed: int, tmp_path: Path) -> None:
    """Each run, input and update, at any checkpoint, leaves the value that the library had when it saved it."""
    path = tmp_path / "wandered.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.execute("pragma synchronous=off")
        wanderer = Wanderer(SqliteSaver(connection), seed)
        for _ in range(12):
            wanderer.step()
    saver = open_file(path)
    reader = Reader(saver, Codec())
    for row in reader.rows(f"thread-{seed}"):
        if row.checkpoint_id in wanderer.values:
            value = Inspection(reader, row.ref).values().get("log", [])
            assert by_append(value) == wanderer.values[row.checkpoint_id], row.ref
    saver.close()
