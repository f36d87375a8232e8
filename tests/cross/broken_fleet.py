"""A fleet breaks in three ways: at most three commands find and mend each, and every real graph ends right."""

import os
from collections.abc import Callable, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from tests.cross.backend import Backend, Fresh
from tests.cross.tool_calls import CancelledRunError, ModelRefusedError, model
from tests.graphs import Graph
from tests.graphs.building import on

THREADS = int(os.environ.get("CKPT_FLEET", "50"))
"""500 were once; of these 60 are poisoned, 40 have calls without results, and 30 failed at one step."""
_OF = 500
BAD, GOOD = "rate limited", "sunny"
ANSWER = "the run was cancelled"
WEATHER, THANKS = "the weather?", "thank you"


class Trip(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    currency: str
    paid: str


class World:
    """What the nodes find outside: whether the weather service works, and whether runs are cancelled."""

    weather = GOOD
    cancels = False


def travel_agent(saver: Any, world: World) -> Graph:
    """An agent whose model takes what Chat Completions takes; each turn is paid at its end."""

    def agent(state: Trip) -> Any:
        return {"messages": [model(state["messages"])]}

    def tools(state: Trip) -> Any:
        if world.cancels:
            raise CancelledRunError
        calls = state["messages"][-1].tool_calls  # type: ignore[union-attr]
        return {"messages": [ToolMessage(world.weather, name=one["name"], tool_call_id=one["id"]) for one in calls]}

    def charge(state: Trip) -> Any:
        return {"paid": {"EUR": "1 euro", "USD": "1 dollar"}[state.get("currency", "EUR")]}

    builder = StateGraph(Trip)
    for name, node in {"agent": agent, "tools": tools, "charge": charge}.items():
        builder.add_node(name, node)
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", lambda state: "tools" if state["messages"][-1].tool_calls else "charge")
    builder.add_edge("tools", "agent")
    builder.add_edge("charge", END)
    return builder.compile(checkpointer=saver)


def _ask(graph: Graph, thread_id: str, text: str, **values: Any) -> None:
    with suppress(CancelledRunError, ModelRefusedError, KeyError):
        graph.invoke({"messages": [HumanMessage(text)], **values}, on(thread_id))


def _end(graph: Graph, thread_id: str) -> Any:
    """Where the real graph is: its conversation, what was paid, what is next."""
    state = graph.get_state(on(thread_id))
    said = [(one.type, one.text) for one in state.values["messages"]]
    return said, state.values.get("paid"), state.next


class Fleet(NamedTuple):
    """A database with threads that are whole, and with some that are broken in each way."""

    backend: Backend
    world: World
    poisoned: list[str]
    unanswered: list[str]
    failed: list[str]

    def ckpt(self, *words: str, code: int = 0, capsys: pytest.CaptureFixture[str]) -> Any:
        """See `Backend.ckpt`."""
        return self.backend.ckpt(*words, code=code, capsys=capsys)

    @contextmanager
    def graph(self) -> Any:
        """The real graph on the library's own saver."""
        with self.backend.official() as official:
            yield travel_agent(official, self.world)

    def go_on(self, thread_ids: Iterable[str]) -> list[Any]:
        """Where each thread ends when the application takes it up again."""
        with self.graph() as graph:
            for thread_id in thread_ids:
                graph.invoke(None, on(thread_id))
            return [_end(graph, thread_id) for thread_id in thread_ids]


class Way(NamedTuple):
    """One way to break.

    Attributes:
        find: the command that finds the threads, and the path of their ids in its JSON.
        mend: the command that mends them.
        end: where each thread ends afterwards.
    """

    find: list[str]
    ids: Callable[[Any], Iterable[str]]
    mend: list[str]
    end: Callable[[], Any]


def whole(*turns: tuple[str, str], paid: str = "1 euro") -> Any:
    """Where a thread is that had these turns while everything worked."""
    graph = travel_agent(InMemorySaver(), World())
    for text, currency in turns:
        _ask(graph, "twin", text, currency=currency)
    end = _end(graph, "twin")
    assert end[1:] == (paid, ())
    return end


def never_told() -> Any:
    """Where a thread is whose calls were answered by an error, and then the question behind them."""
    calls, question = ("ai", ""), "hello?"
    said = [("human", WEATHER), calls, *[("tool", ANSWER)] * 2, ("human", question), ("ai", f"you hear: {question}")]
    return said, "1 euro", ()


WAYS = {
    "poisoned": Way(
        ["grep", "-F", BAD, "--first"],
        lambda found: (one["thread_id"] for one in found["hits"]),
        ["rollback", "--match", "t-*", "--at", f"before:text:{BAD}", "--skip-refused"],
        lambda: whole((THANKS, "EUR"), (WEATHER, "EUR")),
    ),
    "unanswered": Way(
        ["repair", "--only", "tool-calls"],
        lambda found: (one["thread_id"] for one in found["threads"]),
        ["repair", "--only", "tool-calls", "--answer", ANSWER],
        never_told,
    ),
    "failed": Way(
        ["threads", "--status", "failed", "--where", 'node == "charge"', "--limit", "0"],
        lambda found: (one["thread_id"] for one in found["threads"]),
        ["edit", "--status", "failed", "--where", 'node == "charge"', "--set", 'currency="USD"'],
        lambda: whole((WEATHER, "USD"), paid="1 dollar"),
    ),
}


class BrokenFleet:
    """A fleet of real threads, on a backend."""

    def stored(self, backend: Backend) -> list[str]:
        """Every row or key of the database, as the server gives it, sorted."""
        raise NotImplementedError

    @pytest.fixture
    def fleet(self, fresh: Fresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
        """Threads that the real graph made: the weather service failed, runs were cancelled, a value was bad."""
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        counts = iter([f"t-{number}" for number in range(THREADS)])
        poisoned, unanswered, failed = ([next(counts) for _ in range(many * THREADS // _OF)] for many in (60, 40, 30))
        fleet, world = Fleet(fresh(), World(), poisoned, unanswered, failed), World()
        with fleet.backend.official() as official:
            graph = travel_agent(official, world)
            for thread_id in [*poisoned, *(rest := [*counts])]:
                _ask(graph, thread_id, THANKS, currency="EUR")
            for thread_id in failed:
                _ask(graph, thread_id, WEATHER, currency="XXX")
            world.weather = BAD
            for thread_id in poisoned:
                _ask(graph, thread_id, WEATHER)
            world.weather, world.cancels = GOOD, True
            for thread_id in unanswered:
                _ask(graph, thread_id, WEATHER, currency="EUR")
            world.cancels = False
            for thread_id in [*rest, *poisoned[::2]]:
                _ask(graph, thread_id, WEATHER)
            for thread_id in unanswered:
                _ask(graph, thread_id, "hello?")
        return fleet

    def test_three_commands_find_and_mend_each_kind(self, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
        """Found, mended, undone on three and then on the rest to the byte; mended again, each graph ends right."""
        before = self.stored(fleet.backend)
        for kind, way in WAYS.items():
            broken: list[str] = getattr(fleet, kind)
            found = sorted(set(way.ids(fleet.ckpt(*way.find, capsys=capsys))))
            assert found == sorted(broken), kind
            done = fleet.ckpt(*way.mend, "--yes", capsys=capsys)
            changed = [one["thread_id"] for one in done["threads"] if one["state"] == "applied"]
            assert (sorted(changed), done["moved"]) == (sorted(broken), 0), kind
            assert self.stored(fleet.backend) != before, kind
            number = str(done["operation"])
            three = [word for one in broken[:3] for word in ("--thread", one)]
            assert fleet.ckpt("undo", number, *three, "--yes", capsys=capsys)["done"] == len(broken[:3])
            if broken[3:]:
                assert fleet.ckpt("undo", number, "--yes", capsys=capsys)["done"] == len(broken[3:])
            assert self.stored(fleet.backend) == before, kind

        for way in WAYS.values():
            fleet.ckpt(*way.mend, "--yes", capsys=capsys)
        for kind, way in WAYS.items():
            ends = fleet.go_on(getattr(fleet, kind))
            assert ends == [way.end()] * len(ends), kind
        for way in WAYS.values():
            assert fleet.ckpt(*way.mend, "--dry-run", capsys=capsys)["changes"] == 0, "nothing is left to mend"
