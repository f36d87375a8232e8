"""``ckpt trace`` counts a message once that a node returned without an id: ``add_messages`` gives it one later."""

import operator
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, product
from pathlib import Path
from time import sleep
from typing import Annotated, Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, MessagesState
from langgraph.types import Send
from typing_extensions import TypedDict

from ckpt_cli.commands.trace import trace
from ckpt_cli.history.messages.message_states import Held, StepStates
from ckpt_cli.history.messages.placed_tokens import PlacedTokens
from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.views.trace import TraceView
from tests.commands.asking import at
from tests.graphs.building import on

Config = dict[str, Any]
_USAGE = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}


class Log(TypedDict):
    """Messages that no reducer gives an id."""

    messages: Annotated[list[AnyMessage], operator.add]


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(tmp_path / "traced.sqlite")) as opened:
        yield opened


def _replies(texts: Iterator[str]) -> Callable[[Any], Any]:
    def call(state: Any) -> Any:
        return {"messages": [AIMessage(next(texts), usage_metadata=_USAGE)]}

    return call


def _stored(saver: SqliteSaver, config: Config) -> list[Any]:
    """The model's messages in the last checkpoint's writes."""
    found = saver.get_tuple(config)
    written = [value for _, channel, value in (found and found.pending_writes) or [] if channel == "messages"]
    return [one for value in written for one in value if isinstance(one, AIMessage)]


def _witness(saver: SqliteSaver, messages: int = 1) -> Callable[[Any], Any]:
    """A node beside the model's that ends when the model's messages are stored: no id is given before that."""

    def witness(state: Any) -> Any:
        while len(stored := _stored(saver, on("t"))) < messages:
            sleep(0.01)
        assert {one.id for one in stored} == {None}
        return {}

    return witness


def _agent(saver: SqliteSaver, texts: Iterator[str], after: Callable[[Any], Any], schema: Any = MessagesState) -> Any:
    """A model, and beside it what makes sure that its message is stored without an id; then one more node."""
    graph = StateGraph(schema).add_node("call", _replies(texts)).add_node("witness", _witness(saver))
    graph.add_node("after", after).add_edge(START, "call").add_edge(START, "witness").add_edge("call", "after")
    return graph.compile(checkpointer=saver)


def _trim(state: Any) -> Any:
    return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *state["messages"][-3:]]}


def _again(state: Any) -> Any:
    return {"messages": [state["messages"][-1]]}


def _look(saver: SqliteSaver, path: Path, graph: Any, turns: int) -> tuple[dict[str, int], tuple[int, int]]:
    """The input tokens by node, and the tokens of no node."""
    config = on("t")
    for turn in range(turns):
        graph.invoke({"messages": [("user", f"hello {turn}")]}, config, durability="sync")
    view: TraceView = at(path / "traced.sqlite", trace, "t")
    return {one.node or "": one.input_tokens for one in view.nodes if one.input_tokens}, view.sums.unplaced_tokens


@pytest.mark.parametrize("after", [_trim, _again, lambda state: {}], ids=["trim", "again", "nothing"])
@pytest.mark.parametrize("text", ["reply {}", "the same"])
def test_a_message_whose_id_came_later(
    text: str, after: Callable[[Any], Any], saver: SqliteSaver, tmp_path: Path
) -> None:
    """Its tokens are at the node that returned it, once, whichever node writes it again, and if several are equal."""
    graph = _agent(saver, map(text.format, count()), after)
    assert _look(saver, tmp_path, graph, 4) == ({"call": 400}, (0, 0))


def test_a_message_that_never_has_an_id(saver: SqliteSaver, tmp_path: Path) -> None:
    """Nothing tells a message that is stored again from an equal one: it counts once."""
    graph = _agent(saver, map("reply {}".format, count()), _again, Log)
    assert _look(saver, tmp_path, graph, 3) == ({"call": 300}, (0, 0))


def test_equal_messages_of_one_step(saver: SqliteSaver, tmp_path: Path) -> None:
    """Tasks of one superstep that return equal messages without ids made as many messages as the state has ids."""
    graph = StateGraph(MessagesState).add_node("call", _replies(iter(["the same"] * 3)))
    graph.add_node("witness", _witness(saver, 3)).add_edge(START, "witness")
    graph.add_node("after", _trim).add_edge("call", "after")
    graph.add_conditional_edges(START, lambda state: [Send("call", state)] * 3, ["call"])
    assert _look(saver, tmp_path, graph.compile(checkpointer=saver), 1) == ({"call": 300}, (0, 0))


def test_a_message_that_a_function_gave_to_a_subgraph(saver: SqliteSaver, tmp_path: Path) -> None:
    """The subgraph gives it the id with which the function returns it: the tokens are the function's."""
    inner = StateGraph(MessagesState).add_node("inside", _again).add_edge(START, "inside").compile()

    def outside(state: Any) -> Any:
        return {"messages": inner.invoke({"messages": [AIMessage("made", usage_metadata=_USAGE)]})["messages"]}

    graph = StateGraph(MessagesState).add_node("outside", outside).add_edge(START, "outside")
    assert _look(saver, tmp_path, graph.compile(checkpointer=saver), 1) == ({"outside": 100}, (0, 0))


def test_a_message_that_only_the_outer_graph_gives_an_id(saver: SqliteSaver, tmp_path: Path) -> None:
    """The inner graph's state has it without an id, the outer one's with one: the tokens are the inner node's, once."""
    inner = StateGraph(Log).add_node("model", _replies(iter(["hello"]))).add_edge(START, "model")
    called = inner.compile(checkpointer=True)

    def outside(_: Any) -> Any:
        return {"messages": called.invoke({"messages": []})["messages"]}

    graph = StateGraph(MessagesState).add_node("outside", outside).add_edge(START, "outside")
    graph.add_node("again", _again).add_edge("outside", "again")
    assert _look(saver, tmp_path, graph.compile(checkpointer=saver), 1) == ({"model": 100}, (0, 0))


def test_many_messages_that_get_their_ids_at_once_cost_one_look_at_a_state() -> None:
    """Not one for each: that would be as many reads of long states as there are messages."""
    serializer, codec, looks = JsonPlusSerializer(), Codec(), list[int]()
    placed, said = PlacedTokens(), [AIMessage(f"m{number}", usage_metadata=_USAGE) for number in range(30)]

    def stored(messages: list[AIMessage]) -> Any:
        return codec.decode(Payload(*serializer.dumps_typed(messages)))

    def states(before: list[AIMessage], made: list[AIMessage]) -> StepStates:
        def look(messages: list[AIMessage]) -> Held:
            looks.append(len(messages))
            return Held([stored(messages)], is_whole=True)

        return StepStates(partial(look, before), partial(look, made))

    named = [one.model_copy(update={"id": f"id {one.content}"}) for one in said]
    for number, one in enumerate(said):
        assert placed.add_written(stored([one]), 0, states(named[:number], named[: number + 1])) == (100, 10)
    assert placed.add_written(stored(named), 0, states(named, named)) == (0, 0)
    assert looks == [30]


@pytest.mark.parametrize(
    "plan", [*product([True, False], repeat=4)], ids=lambda plan: "".join("ni"[one] for one in plan)
)
def test_equal_messages_of_which_some_have_their_id(plan: tuple[bool, ...], saver: SqliteSaver, tmp_path: Path) -> None:
    """LangGraph may store one write before its message has the id and the next after: each is its own node's."""
    given = iter(plan)

    def reply(_: Any) -> Any:
        own_id = str(uuid4()) if next(given) else None
        return {"messages": [AIMessage("the same", id=own_id, usage_metadata=_USAGE)]}

    def witness(_: Any) -> Any:
        while len(_stored(saver, on("t"))) < 2:
            sleep(0.01)
        return {}

    graph = StateGraph(MessagesState).add_node("a", reply).add_node("b", reply).add_node("witness", witness)
    graph.add_edge(START, "a").add_edge(START, "b").add_edge(START, "witness")
    assert _look(saver, tmp_path, graph.compile(checkpointer=saver), 2) == ({"a": 200, "b": 200}, (0, 0))
