"""``ckpt update`` and ``graph.update_state`` do the same: each on its copy of a database, then both are compared."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import END
from langgraph.types import Command

from ckpt_cli.errors import NotSupported, Refused, UsageError
from ckpt_cli.history.reducers import APPEND, LAST
from ckpt_cli.model import Plan
from ckpt_cli.plans import update
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.update import Update
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.graphs import SCENARIOS
from tests.graphs.building import on

Config = dict[str, Any]


@dataclass
class Twin:
    """A copy of a database with the graph of one thread on it."""

    path: Path
    graph: Any
    thread_id: str

    def history(self) -> list[Any]:
        """All states, newest first."""
        return list(self.graph.get_state_history(on(self.thread_id)))

    def apply(self, make: Callable[[Reader], Plan]) -> Plan:
        """What ckpt would do, done."""
        with closing(open_file(self.path)) as saver:
            reader = Reader(saver, Codec())
            plan = reader.moment(lambda: make(reader))
            saver.apply(plan)
        return plan


class Places:
    """Databases of the scenarios, made once each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, tuple[Path, dict[str, Any]]] = {}

    def of(self, name: str) -> tuple[Path, dict[str, Any]]:
        """The database of a scenario, and the graph of each of its threads."""
        if name not in self._made:
            path = self._folder / f"{name}.sqlite"
            with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
                graphs = dict(SCENARIOS[name](SqliteSaver(connection)))
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._made[name] = (path, graphs)
        return self._made[name]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Where the scenarios' databases are."""
    return Places(tmp_path_factory.mktemp("scenarios"))


@pytest.fixture
def twins(places: Places, tmp_path: Path) -> Iterator[Callable[[str, str], tuple[Twin, Twin]]]:
    """Two equal copies of a scenario's database."""
    opened: list[sqlite3.Connection] = []

    def make(name: str, thread_id: str) -> tuple[Twin, Twin]:
        source, graphs = places.of(name)
        made = []
        for _ in range(2):
            path = tmp_path / f"{len(opened)}.sqlite"
            shutil.copy(source, path)
            connection = sqlite3.connect(path, check_same_thread=False)
            opened.append(connection)
            graph = graphs[thread_id].copy(update={"checkpointer": SqliteSaver(connection)})
            made.append(Twin(path, graph, thread_id))
        return made[0], made[1]

    yield make
    for connection in opened:
        connection.close()


def plain(value: Any) -> Any:
    """A value without what chance made: the ids of messages."""
    if isinstance(value, BaseMessage):
        return (value.type, value.content, value.name, value.additional_kwargs, getattr(value, "tool_calls", None))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def lines(twin: Twin) -> list[dict[str, Any]]:
    """A whole history without ids and times."""
    states = twin.history()
    at = {state.config["configurable"]["checkpoint_id"]: place for place, state in enumerate(states)}
    return [
        {
            "values": plain(state.values),
            "next": state.next,
            "metadata": state.metadata,
            "tasks": [(t.name, t.path, t.error, [i.value for i in t.interrupts], plain(t.result)) for t in state.tasks],
            "parent": state.parent_config and at.get(state.parent_config["configurable"]["checkpoint_id"]),
            "step in the id": state.config["configurable"]["checkpoint_id"].split("-")[3],
            "versions": order_of_versions(twin, state.config),
        }
        for state in states
    ]


def order_of_versions(twin: Twin, config: Config) -> list[tuple[int, str]]:
    """The order in which channels moved, the versions' chance left out."""
    found = twin.graph.checkpointer.get_tuple(config).checkpoint["channel_versions"]
    return sorted((int(version.partition(".")[0]), channel) for channel, version in found.items())


def seen(twin: Twin, config: Config) -> dict[str, dict[str, int]]:
    """What nodes have seen, the versions' chance left out."""
    found = twin.graph.checkpointer.get_tuple(config).checkpoint["versions_seen"]
    return {node: {c: int(v.partition(".")[0]) for c, v in at.items()} for node, at in found.items()}


def rows(twin: Twin) -> list[tuple[Any, ...]]:
    """The writes as stored, of each checkpoint in its place, without values."""
    with closing(sqlite3.connect(twin.path)) as connection:
        ids = [i for (i,) in connection.execute("SELECT checkpoint_id FROM checkpoints ORDER BY checkpoint_id")]
        found = connection.execute("SELECT checkpoint_id, task_path, idx, channel, type FROM writes").fetchall()
    return sorted((ids.index(i) if i in ids else -1, *rest) for i, *rest in found)


def carried_on(twin: Twin) -> Any:
    """How a run goes on to its end, everything answered; what it raises is an end too."""
    try:
        result = twin.graph.invoke(None, on(twin.thread_id))
        for _ in range(9):
            if "__interrupt__" not in (result or {}):
                break
            answers = {asked.id: "yes" for asked in result["__interrupt__"]}
            result = twin.graph.invoke(Command(resume=answers), on(twin.thread_id))
    except Exception as error:
        return type(error).__name__, str(error)[:40]
    return plain(result)


def compare(mine: Twin, theirs: Twin) -> None:
    """The two are equal in all that a graph tells, and go on to the same end."""
    assert lines(mine) == lines(theirs)
    assert seen(mine, on(mine.thread_id)) == seen(theirs, on(theirs.thread_id))
    assert rows(mine) == rows(theirs)
    assert carried_on(mine) == carried_on(theirs)
    # Without next and tasks: whom get_state names beside a task that finished before a deferred join varies run by run.
    kept = ("values", "metadata", "parent")
    assert [[of[key] for key in kept] for of in lines(mine)] == [[of[key] for key in kept] for of in lines(theirs)]


SAID = {"log": APPEND, "n": LAST}
"""What a person would say of the scenarios' channels where too little is recorded."""


def planned(thread_id: str, rev: str, *updates: Update) -> Callable[[Reader], Plan]:
    """The plan of one superstep; where ckpt asks which reducer it is, it is told."""

    def make(reader: Reader) -> Plan:
        row = reader.resolve(thread_id, rev)
        try:
            return update.plan(reader, row, Mint(), [updates])
        except Refused as error:
            if "--reducer" not in (error.hint or ""):
                raise
            return update.plan(reader, row, Mint(), [updates], reducers=SAID)

    return make


MOST = 8


def targets(twin: Twin) -> list[Config]:
    """The head by the thread alone, then checkpoints by their ids."""
    return [on(twin.thread_id), *(state.config for state in twin.history()[:MOST])]


@pytest.mark.parametrize("place", range(MOST + 1))
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_the_end_is_the_librarys(
    places: Places, twins: Callable[[str, str], tuple[Twin, Twin]], name: str, place: int
) -> None:
    """``update_state(config, None, as_node=END)`` and ckpt leave the same, for every kind of graph."""
    for thread_id in places.of(name)[1]:
        mine, theirs = twins(name, thread_id)
        if place >= len(configs := targets(theirs)):
            continue
        rev = configs[place]["configurable"].get("checkpoint_id", "@")
        with suppress(NotSupported):
            mine.apply(planned(thread_id, rev, Update(None, END)))
            theirs.graph.update_state(configs[place], None, as_node=END)
        compare(mine, theirs)


VALUES: dict[str, dict[str, Any]] = {
    "messages": {"messages": [{"role": "user", "content": "wait", "id": "w"}, {"role": "ai", "content": "ok"}]},
    "log": {"log": ["edited"], "n": 40},
}


@pytest.mark.parametrize("as_node", [None, "first", "last"])
@pytest.mark.parametrize("place", range(MOST + 1))
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_an_update_is_the_librarys(
    places: Places, twins: Callable[[str, str], tuple[Twin, Twin]], name: str, place: int, as_node: str | None
) -> None:
    """Values as a node, or as whom the library infers: rows, history and the run onwards are those of the real call."""
    for thread_id in places.of(name)[1]:
        mine, theirs = twins(name, thread_id)
        if place >= len(configs := targets(theirs)):
            continue
        rev = configs[place]["configurable"].get("checkpoint_id", "@")
        nodes = [node for node in theirs.graph.nodes if node != "__start__"]
        node = {None: None, "first": nodes[0], "last": nodes[-1]}[as_node]
        channels = theirs.graph.channels
        values = {k: v for given in VALUES.values() for k, v in given.items() if k in channels} or None
        before = lines(mine)
        go = () if name == "commands" else None  # where a Command went is no edge of the graph's
        if go is not None and as_node is None:
            continue
        try:
            mine.apply(planned(thread_id, rev, Update(values, node, go)))
        except (NotSupported, Refused, UsageError) as error:
            refused(theirs, configs[place], values, node, error)
            assert lines(mine) == before
            continue
        theirs.graph.update_state(configs[place], values, as_node=node)
        compare(mine, theirs)


def refused(twin: Twin, config: Config, values: Any, node: str | None, error: Exception) -> None:
    """What ckpt asks for is something that its records can't say, or that the library refuses too."""
    told = f"{error} {getattr(error, 'hint', '')}"
    if "ambiguous" in told:
        with pytest.raises(InvalidUpdateError):
            twin.graph.update_state(config, values, as_node=node)
        return
    assert any(word in told for word in ("--next", "StateGraph", "format", "is known of this thread")), told
