"""The plan of a copy says where LangGraph reads the writes of parallel tasks to a delta channel in another order."""

import json
from itertools import pairwise
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from tests.cross.backend import Backend
from tests.graphs.building import on
from tests.langgraph.places import places


def extend(value: Any, writes: Any) -> list[str]:
    return [*(value or ()), *(item for write in writes for item in write)]


class State(TypedDict, total=False):
    log: Annotated[list[str], DeltaChannel(extend)]
    other: int


def agent(saver: Any) -> Any:
    """A step of eight tasks, four of them Sends; a task of them writes another channel first."""
    builder = StateGraph(State)
    for name in "abcd":
        builder.add_node(name, lambda _, name=name: {"other": 1, "log": [name]} if name == "b" else {"log": [name]})
    builder.add_node("sent", lambda state: {"log": [state["to"]]})
    for name in "abd":
        builder.add_edge(START, name)
    builder.add_conditional_edges(START, lambda _: ["c", *(Send("sent", {"to": str(n)}) for n in range(4))])
    return builder.compile(checkpointer=saver)


def orders(place: Backend, thread_id: str) -> dict[str, list[str]]:
    """For each checkpoint the tasks that wrote to the channel, as LangGraph's own saver gives them."""
    with place.official() as saver:
        tuples = [*saver.list(on(thread_id))]
        found = [saver.get_tuple(one.config) for one in tuples]
        return {
            one.config["configurable"]["checkpoint_id"]: [
                task for task, channel, _ in one.pending_writes if channel == "log"
            ]
            for one in found
        }


def summaries(source: Backend, target: Backend, capsys: Any, *words: str) -> dict[str, str]:
    capsys.readouterr()
    assert run(["copy", source.url, target.url, "--json", *words]) == 0, capsys.readouterr()
    return {one["thread_id"]: one["summary"] for one in json.loads(capsys.readouterr().out)["threads"]}


@pytest.mark.parametrize("kind", ["postgres", "mysql", "redis", "dynamodb", "mongodb", "valkey", "sqlite"])
def test_another_order_is_said_before_anything_is_written(
    request: pytest.FixtureRequest, kind: str, capsys: Any
) -> None:
    """Of just the threads whose writes the target's own saver gives in another order, on the way there and back."""
    chain = [places(request, "sqlite")(), places(request, kind)(), places(request, "sqlite")()]
    with chain[0].official() as saver:
        graph = agent(saver)
        for _ in range(2):
            graph.invoke({"log": ["in"]}, on("many"))
        StateGraph(State).add_node("a", lambda _: {"log": ["a"]}).add_edge(START, "a").compile(saver).invoke(
            {}, on("one")
        )
    for source, target in pairwise(chain):
        planned = summaries(source, target, capsys, "--dry-run")
        assert planned == summaries(source, target, capsys, "--yes")
        for thread_id, summary in planned.items():
            own, theirs = orders(source, thread_id), orders(target, thread_id)
            assert {key: sorted(tasks) for key, tasks in own.items()} == {key: sorted(t) for key, t in theirs.items()}
            reads = "may read" if kind == "mongodb" else "reads"
            words = f"; LangGraph {reads} what tasks of one step wrote to log in another order there"
            assert (words in summary) == (own != theirs or (kind == "mongodb" and thread_id == "many")), thread_id
