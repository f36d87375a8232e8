"""A copy into Redis and on from there: the same values in another form are no differences, faults or unknowns."""

import json
import operator
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from ckpt_cli.app import run
from tests.copying.official import states
from tests.cross.backend import Backend
from tests.graphs.building import on
from tests.langgraph.places import places


@dataclass
class Pair:
    x: Any


class State(TypedDict, total=False):
    messages: Annotated[list[Any], add_messages]
    log: Annotated[list[Any], operator.add]
    tags: Annotated[set[Any], operator.or_]
    last: Any


CALL = {"name": "look", "args": {"at": 1}, "id": "c1", "type": "tool_call"}
TYPED: list[Any] = [
    *(
        Decimal("1.50"),
        {"x"},
        frozenset({1}),
        (1, "b"),
        deque([1]),
        UUID(int=7),
        Path("/a/b"),
        re.compile("a+", re.ASCII),
    ),
    *(datetime(2026, 1, 2, 3, 4, 5, 6), datetime(2026, 1, 2, tzinfo=UTC), date(2026, 1, 2), time(3, 4, tzinfo=UTC)),
    *(timedelta(days=-1, seconds=2), Pair(Pair({"y"})), Document("text"), {"in": [[Decimal(1)], {"h": Path("c")}]}),
]
INPUT: dict[str, Any] = {
    "messages": [SystemMessage("be kind", id="s1"), HumanMessage("hello", id="h1")],
    "log": TYPED[:2],
    "tags": {Decimal("1.5")},
    "last": TYPED,
}


def model(state: State) -> State:
    answer = AIMessage("", id=f"a{len(state['messages'])}", tool_calls=[CALL])
    return {"messages": [answer], "log": TYPED, "tags": {UUID(int=1)}, "last": [*TYPED, b"\1\2", [b"\3"]]}


def tool(state: State) -> State:
    return {"messages": [ToolMessage("found", id=f"t{len(state['messages'])}", tool_call_id="c1")], "last": TYPED[::-1]}


@contextmanager
def agent(place: Backend) -> Iterator[Any]:
    with place.official() as saver:
        builder = StateGraph(State).add_node("model", model).add_node("tool", tool)
        yield builder.add_edge(START, "model").add_edge("model", "tool").compile(checkpointer=saver)


def said(*words: str, place: Backend, capsys: Any, code: int = 0) -> str:
    capsys.readouterr()
    assert run([*words, "-d", place.url]) == code, capsys.readouterr()
    return str(capsys.readouterr().out)


@pytest.fixture
def copies(request: pytest.FixtureRequest, capsys: Any) -> list[Backend]:
    """SQLite, its copy in Redis, and the copy of that in SQLite; the thread `chat` has messages alone."""
    found = [places(request, kind)() for kind in ("sqlite", "redis", "sqlite")]
    with agent(found[0]) as graph:
        graph.invoke(INPUT, on("t"))
        graph.invoke({"messages": [HumanMessage("again", id="h2")], "tags": {Decimal("2.5")}}, on("t"))
    with found[0].official() as saver:
        chat(saver).invoke({"messages": [HumanMessage("hello", id="h1")]}, on("chat"))
    for source, target in pairwise(found):
        assert run(["copy", source.url, target.url, "--yes"]) == 0, capsys.readouterr()
    return found


def seen(place: Backend) -> list[Any]:
    with agent(place) as graph:
        return states(graph, "t")


def chat(saver: Any) -> Any:
    builder = StateGraph(State).add_node("tool", lambda state: {"messages": tool(state)["messages"]})
    return builder.add_edge(START, "tool").compile(checkpointer=saver)


def test_all_is_the_same_there(copies: list[Backend], capsys: Any) -> None:
    """`verify --strict` finds as many agreeing steps, `diff --other` nothing, and LangGraph reads the same values."""
    first, *others = copies
    answers = [said("verify", "t", "--strict", "--json", place=place, capsys=capsys) for place in copies]
    assert answers[0] == answers[1] == answers[2] and json.loads(answers[0])["threads"][0]["verdict"] == "agrees"
    for other in others:
        view = json.loads(said("diff", "t", "@", "--other", first.url, "--json", place=other, capsys=capsys))
        assert (view["equal"], view["channels"], view["patch"]) == (True, [], [])
    own, *theirs = [seen(place) for place in copies]
    assert theirs == [own, own]


def test_what_wrote_a_value_is_known_there(copies: list[Backend], capsys: Any) -> None:
    """`blame`, the steps of `log` and `update` say and do what they do at the source."""
    for words in (("blame", "t", "last"), ("blame", "t", "messages"), ("blame", "t", "tags"), ("log", "t")):
        answers = {said(*words, place=place, capsys=capsys) for place in copies}
        assert len(answers) == 1
    update = ("update", "t", "--as-node", "tool", "--values", '{"log": ["more"], "last": 1}', "--yes")
    for place in copies:
        said(*update, place=place, capsys=capsys)
        with agent(place) as graph:
            values = graph.get_state(on("t")).values
            assert (values["log"][-1], values["last"], len(values["messages"])) == ("more", 1, 7)


def test_the_agent_goes_on_there(copies: list[Backend], capsys: Any) -> None:
    """What its next runs store there, with the defaults of messages left out, fits to what was copied."""
    for place in copies:
        with place.official() as saver:
            chat(saver).invoke({"messages": [HumanMessage("more", id="h3")]}, on("chat"))
        said("verify", "chat", "--strict", place=place, capsys=capsys)
        view = json.loads(said("diff", "chat", "@~3", "@", "--json", place=place, capsys=capsys))
        [changed] = view["channels"]
        assert [one["path"] for one in changed["parts"]] == ["messages[2]", "messages[3]"]
