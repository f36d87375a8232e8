"""Forks, rollbacks and transplanted threads on the real saver: the real graph carries on as after the library's own."""

import operator
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from ckpt_cli.errors import Refused
from ckpt_cli.model import Plan, Ref
from ckpt_cli.plans import fork, fork_to_thread, rollback
from ckpt_cli.plans.mint import Mint
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec

Config = dict[str, Any]


def _extend(current: list[Any], writes: list[list[Any]]) -> list[Any]:
    return [*current, *(item for write in writes for item in write)]


class Agent(TypedDict, total=False):
    """Channels of every kind that a fork must carry."""

    messages: Annotated[list[AnyMessage], add_messages]
    log: Annotated[list[Any], operator.add]
    story: Annotated[list[Any], DeltaChannel(_extend, snapshot_frequency=3)]
    n: int
    ask: bool


def build(saver: Any) -> Any:
    """An agent with a plain edge, a fan-out by Send, a subgraph, a conditional edge, and a question at the end."""

    def says(name: str) -> Callable[[Agent], dict[str, Any]]:
        return lambda s: {"log": [name], "story": [name], "n": s.get("n", 0) + 1}

    def model(state: Agent) -> dict[str, Any]:
        count = len(state["messages"])
        return {"messages": [AIMessage(f"answer {count}", id=f"ai-{count}")], "log": ["model"], "story": ["model"]}

    def gate(state: Agent) -> dict[str, Any]:
        return {"log": ["gate", interrupt("sure?") if state.get("ask") else "not asked"], "story": ["gate"]}

    inner = StateGraph(Agent)
    inner.add_node("leaf", lambda s: {"log": ["leaf"]})
    inner.add_edge(START, "leaf")
    builder = StateGraph(Agent)
    for name, node in {"plan": says("plan"), "model": model, "gate": gate, "last": says("last")}.items():
        builder.add_node(name, node)
    builder.add_node("work", lambda s: {"log": [s["i"]], "story": [s["i"]]})
    builder.add_node("child", lambda s: {"log": inner.compile().invoke({"log": []})["log"]})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda s: [Send("work", {"i": i}) for i in range(3)], ["work"])
    builder.add_edge("work", "child")
    builder.add_edge("child", "model")
    builder.add_conditional_edges("model", lambda s: "gate" if s["n"] < 9 else END, ["gate", END])
    builder.add_edge("gate", "last")
    builder.add_edge("last", END)
    return builder.compile(checkpointer=saver)


def on(thread_id: str) -> Config:
    """The config of a thread."""
    return {"configurable": {"thread_id": thread_id}}


@dataclass
class Home:
    """A database with the graph that wrote it."""

    path: Path
    graph: Any
    connection: sqlite3.Connection

    def history(self, thread_id: str) -> list[Any]:
        """All states, newest first."""
        return list(self.graph.get_state_history(on(thread_id)))

    def plan(self, make: Callable[[Reader], Plan]) -> Config:
        """Apply a plan with ckpt, and give the config of its result."""
        with closing(open_file(self.path)) as saver:
            reader = Reader(saver, Codec())
            plan = reader.moment(lambda: make(reader))
            saver.apply(plan)
        assert plan.result is not None
        ref = plan.result
        named = {"checkpoint_id": ref.checkpoint_id} if ref.checkpoint_id else {}
        return {"configurable": {"thread_id": ref.thread_id, "checkpoint_ns": ref.ns, **named}}


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A thread of two runs, and one that waits for an answer."""
    path: Path = tmp_path_factory.mktemp("story") / "agent.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = build(SqliteSaver(connection))
        for turn in range(2):
            graph.invoke(
                {"messages": [HumanMessage(f"q{turn}", id=f"q{turn}")], "log": [], "story": [f"in{turn}"]}, on("t")
            )
        graph.invoke({"messages": [HumanMessage("q", id="q")], "story": ["in"], "ask": True}, on("waiting"))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def homes(story: Path, tmp_path: Path) -> Iterator[Callable[[], Home]]:
    """Copies of the story, each with a graph on it."""
    opened: list[sqlite3.Connection] = []

    def make() -> Home:
        path = tmp_path / f"{len(opened)}.sqlite"
        shutil.copy(story, path)
        connection = sqlite3.connect(path, check_same_thread=False)
        opened.append(connection)
        return Home(path, build(SqliteSaver(connection)), connection)

    yield make
    for connection in opened:
        connection.close()


def summary_of(state: Any) -> dict[str, Any]:
    """What must be equal of two states, which have other ids and times."""
    config = state.config["configurable"]
    return {
        "values": state.values,
        "next": state.next,
        "metadata": state.metadata,
        "tasks": [(task.name, task.path, task.error, [i.value for i in task.interrupts]) for task in state.tasks],
        "thread": (config["thread_id"], config["checkpoint_ns"]),
    }


def lines(home: Home, thread_id: str) -> list[dict[str, Any]]:
    """A whole history without ids: each state, and which one its parent is."""
    states = home.history(thread_id)
    places = {state.config["configurable"]["checkpoint_id"]: place for place, state in enumerate(states)}
    return [
        {**summary_of(s), "parent": s.parent_config and places[s.parent_config["configurable"]["checkpoint_id"]]}
        for s in states
    ]


def seen_versions(home: Home, config: Config) -> list[tuple[int, str]]:
    """The order in which the channels of a checkpoint moved, their versions' chance left out."""
    versions = home.graph.checkpointer.get_tuple(config).checkpoint["channel_versions"]
    return sorted((int(version.partition(".")[0]), channel) for channel, version in versions.items())


def carry_on(home: Home, config: Config) -> Any:
    """Run on to the end, answering what is asked."""
    result = home.graph.invoke(None, config)
    while "__interrupt__" in result:
        result = home.graph.invoke(Command(resume="yes"), on(config["configurable"]["thread_id"]))
    return result


LENGTHS = {"t": 16, "waiting": 6}
PLACES = [(thread_id, place) for thread_id, length in LENGTHS.items() for place in range(length)]
HEAD = ("t", 0)
"""Nothing ran there, so nothing can be rolled back to it."""


def test_every_checkpoint_is_tried(homes: Callable[[], Home]) -> None:
    """The tests below go through the whole of both threads."""
    home = homes()
    assert {thread_id: len(home.history(thread_id)) for thread_id in LENGTHS} == LENGTHS


@pytest.mark.parametrize(("thread_id", "place"), PLACES)
def test_a_fork_is_the_librarys_own_copy(homes: Callable[[], Home], thread_id: str, place: int) -> None:
    """After a fork the state, the history and a run to the end equal those after ``__copy__``, for every checkpoint."""
    mine, theirs = homes(), homes()
    target = mine.history(thread_id)[place].config
    ref = Ref(thread_id, "", target["configurable"]["checkpoint_id"])
    copied = theirs.graph.update_state(target, None, as_node="__copy__")
    forked = mine.plan(lambda reader: fork.plan(reader, reader.resolve(thread_id, ref.checkpoint_id), Mint()))
    assert summary_of(mine.graph.get_state(on(thread_id))) == summary_of(theirs.graph.get_state(on(thread_id)))
    assert summary_of(mine.graph.get_state(forked)) == summary_of(theirs.graph.get_state(copied))
    assert lines(mine, thread_id) == lines(theirs, thread_id)
    assert seen_versions(mine, forked) == seen_versions(theirs, copied)
    assert stamped(forked) == stamped(copied)
    assert carry_on(mine, forked) == carry_on(theirs, copied)
    assert lines(mine, thread_id) == lines(theirs, thread_id)


def test_a_fork_keeps_the_scalars_of_an_applications_metadata(tmp_path: Path) -> None:
    """They follow what the library's copy has, which drops them; the plan names what is no scalar."""
    path = tmp_path / "own.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        graph = build(saver)
        own = {"user_id": "u-1", "beta": True, "seats": 2.5, "note": None}
        graph.invoke({"messages": [HumanMessage("hi", id="h")]}, on("t"))
        found: Any = saver.get_tuple(on("t"))
        labels, run = {"labels": ["a"]}, {"run_id": "r-1", "langgraph_host": "x", "__y": 1}
        saver.put(found.parent_config, found.checkpoint, {**found.metadata, **own, **labels, **run}, {})
        copied = graph.get_state(graph.update_state(found.config, None, as_node="__copy__"))
        with closing(open_file(path)) as stored:
            reader = Reader(stored, Codec())
            ref = Ref("t", "", found.config["configurable"]["checkpoint_id"])
            plan = fork.plan(reader, reader.resolve("t", ref.checkpoint_id), Mint())
            [made] = plan.add
            mine = reader.value(made.metadata)
    theirs = {key: value for key, value in copied.metadata.items() if key != "thread_id"}
    assert list(mine.items()) == [*theirs.items(), *own.items()]
    assert "not copied: metadata labels (only text, numbers, true, false and null are)" in plan.notes


def stamped(config: Config) -> str:
    """The part of an id that carries the step."""
    return str(config["configurable"]["checkpoint_id"].split("-")[3])


@pytest.mark.parametrize(("thread_id", "place"), [place for place in PLACES if place != HEAD])
def test_a_rollback_has_the_state_and_runs_on_from_it(homes: Callable[[], Home], thread_id: str, place: int) -> None:
    """The head is a child of the checkpoint with its values and next, and runs to the end that a copy runs to."""
    mine, theirs = homes(), homes()
    target = mine.history(thread_id)[place]
    checkpoint_id = target.config["configurable"]["checkpoint_id"]
    done = mine.plan(lambda reader: rollback.plan(reader, reader.resolve(thread_id, checkpoint_id), Mint()))
    copied = theirs.graph.update_state(target.config, None, as_node="__copy__")
    state = mine.graph.get_state(on(thread_id))
    assert state.config["configurable"]["checkpoint_id"] == done["configurable"]["checkpoint_id"]
    assert state.parent_config == target.config
    fresh = theirs.graph.get_state(copied)
    assert (state.values, state.next) == (fresh.values, fresh.next)
    assert (state.metadata["source"], state.metadata["step"]) == ("fork", target.metadata["step"] + 1)
    assert carry_on(mine, done) == carry_on(theirs, copied)
    assert since(mine, thread_id, done) == since(theirs, thread_id, copied)


def since(home: Home, thread_id: str, config: Config) -> list[tuple[Any, Any]]:
    """Values and next of the states that came after one, read back from the database."""
    start = config["configurable"]["checkpoint_id"]
    return [(s.values, s.next) for s in home.history(thread_id) if s.config["configurable"]["checkpoint_id"] >= start]


@pytest.mark.parametrize(("thread_id", "place"), PLACES)
def test_pending_writes_come_along(homes: Callable[[], Home], thread_id: str, place: int) -> None:
    """The copy of every checkpoint has its tasks under their ids, and goes on to the end that the original came to."""
    home, original = homes(), homes()
    states = home.history(thread_id)
    checkpoint_id = states[place].config["configurable"]["checkpoint_id"]
    home.plan(lambda r: fork_to_thread.plan(r, r.resolve(thread_id, checkpoint_id), "new", pending=True))
    assert all(written_on(home, "new", state) == written_on(home, thread_id, state) for state in states[place:])
    copy = home.graph.get_state({"configurable": {"thread_id": "new", "checkpoint_id": checkpoint_id}})
    assert copy._replace(config=None, parent_config=None, metadata=None) == states[place]._replace(
        config=None, parent_config=None, metadata=None
    )
    end = next((state.values for state in states[place::-1] if not state.next), None)
    assert carry_on(home, on("new")) == (end or carry_on(original, on(thread_id)))


def written_on(home: Home, thread_id: str, state: Any) -> list[tuple[str, int, str]]:
    """Task, index and channel of the writes of a checkpoint, in any thread."""
    with closing(open_file(home.path)) as saver:
        writes = saver.writes(thread_id, "", [state.config["configurable"]["checkpoint_id"]], values=0)
        return [(write.task_id, write.idx, write.channel) for write in writes]


@pytest.mark.parametrize("shallow", [False, True])
@pytest.mark.parametrize(("thread_id", "place"), PLACES)
def test_a_thread_of_its_own_carries_on(homes: Callable[[], Home], thread_id: str, place: int, shallow: bool) -> None:
    """Under a new thread id the checkpoint has its state and next, runs to the same end, and the old thread stays."""
    mine, theirs = homes(), homes()
    states = mine.history(thread_id)
    target, before = states[place], lines(mine, thread_id)
    checkpoint_id = target.config["configurable"]["checkpoint_id"]

    def make(reader: Reader) -> Plan:
        return fork_to_thread.plan(reader, reader.resolve(thread_id, checkpoint_id), "new", shallow=shallow)

    if shallow and (thread_id, place) == ("waiting", 0):  # the delta channel is longer than all that show its reducer
        with pytest.raises(Refused, match="delta channel 'story'"):
            mine.plan(make)
        return
    moved = mine.plan(make)
    copied = theirs.graph.update_state(target.config, None, as_node="__copy__")
    fresh, state = theirs.graph.get_state(copied), mine.graph.get_state(on("new"))
    assert (state.values, state.next) == (fresh.values, fresh.next)
    assert state.config["configurable"]["checkpoint_id"] == checkpoint_id
    assert len(mine.history("new")) == (1 if shallow else len(states) - place)
    assert carry_on(mine, moved) == carry_on(theirs, copied)
    assert since(mine, "new", state.config) == since(theirs, thread_id, copied)
    assert lines(mine, thread_id) == before
