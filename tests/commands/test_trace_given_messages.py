"""``ckpt trace`` counts a call of a model once though several tasks got its message, without an id, from a Send."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from ckpt_cli.commands.trace import DOUBTFUL, trace
from ckpt_cli.views.trace import TraceView
from tests.commands.asking import at
from tests.graphs.building import on


class _State(TypedDict, total=False):
    seen: Annotated[list[Any], operator.add]
    draft: Any


@dataclass
class Review:
    """The argument of a Send."""

    draft: Any


def _message(_: Any = None) -> AIMessage:
    return AIMessage("draft", usage_metadata={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15})


def _traced(path: Path) -> tuple[int, tuple[int, int], list[str]]:
    """The input tokens at nodes, the tokens of no node, and the notes about messages without an id."""
    view: TraceView = at(path, trace, "t")
    notes = [note for note in view.notes if "without an id" in note]
    return view.sums.input_tokens, view.sums.unplaced_tokens, notes


def _note(count: int) -> str:
    return f"the tokens of {count} message{'s' if count > 1 else ''} without an id {DOUBTFUL}"


def _run(path: Path, graph: Any, *inputs: Any) -> None:
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver)
        for one in inputs:
            app.invoke(one, on("t"))


@pytest.mark.parametrize("by", ["edge", "goto"])
@pytest.mark.parametrize(
    ("wrap", "read"),
    [
        (lambda draft: {"draft": draft}, lambda got: got["draft"]),
        (Review, lambda got: got.draft),
        (lambda draft: {"a": {"b": {"c": {"d": [draft]}}}}, lambda got: got["a"]["b"]["c"]["d"][0]),
    ],
    ids=["dict", "object", "deep"],
)
def test_a_message_that_several_sends_have(by: str, wrap: Any, read: Callable[[Any], Any], tmp_path: Path) -> None:
    """A conditional edge, or a Command's goto, gives one draft to three reviewers, which write it to the state."""

    def sends(_: Any) -> list[Send]:
        draft = _message()
        return [Send("review", wrap(draft)) for _ in range(3)]

    graph = StateGraph(_State).add_node("review", lambda got: {"seen": [read(got)]})
    if by == "edge":
        graph.add_node("begin", lambda _: {}).add_conditional_edges("begin", sends, ["review"])
    else:
        graph.add_node("begin", lambda state: Command(goto=sends(state)), destinations=("review",))
    _run(tmp_path / "t.sqlite", graph.add_edge(START, "begin"), {})
    assert _traced(tmp_path / "t.sqlite") == (10, (0, 0), [_note(2)])


def test_equal_messages_of_tasks_that_got_none(tmp_path: Path) -> None:
    """Each Send's task calls the model, itself or by a ``@task``: nobody gave them the message."""

    @task
    def say() -> Any:
        return _message()

    graph = StateGraph(_State).add_node("begin", lambda _: {}).add_edge(START, "begin")
    graph.add_node("ask", lambda got: {"seen": [say().result() if got["number"] else _message()]})
    graph.add_conditional_edges("begin", lambda _: [Send("ask", {"number": number}) for number in range(3)], ["ask"])
    _run(tmp_path / "t.sqlite", graph, {})
    assert _traced(tmp_path / "t.sqlite") == (30, (0, 0), [])


def test_a_message_in_an_object_of_the_state(tmp_path: Path) -> None:
    """Nodes that take it out of there side by side got it from the state."""
    graph = StateGraph(_State).add_node("begin", lambda _: {"draft": Review(_message())}).add_edge(START, "begin")
    for name in "abc":
        graph.add_node(name, lambda state: {"seen": [state["draft"].draft]}).add_edge("begin", name)
    _run(tmp_path / "t.sqlite", graph, {})
    assert _traced(tmp_path / "t.sqlite") == (10, (0, 0), [_note(2)])


@pytest.mark.parametrize("given", ["answer", "update", "goto"])
def test_a_message_that_a_person_gave(given: str, tmp_path: Path) -> None:
    """With an answer or a Command: it is no node's, though a node writes it before a state has it."""

    def ask(state: Any) -> Any:
        answer = interrupt("?")
        return {"seen": [answer if given == "answer" else state["draft"]]}

    graph = StateGraph(_State).add_node("ask", ask).add_edge(START, "ask")
    graph.add_node("review", lambda got: {"seen": [got["draft"]]})
    draft = _message()
    command = {
        "answer": Command(resume=draft),
        "update": Command(resume="yes", update={"draft": draft}),
        "goto": Command(goto=Send("review", {"draft": draft})),
    }[given]
    _run(tmp_path / "t.sqlite", graph, {}, command)
    assert _traced(tmp_path / "t.sqlite") == (0, (10, 5), [_note(1)])


@pytest.mark.parametrize("returned", ["list", "text"])
def test_a_message_that_one_call_gets_from_another(returned: str, tmp_path: Path) -> None:
    """A ``@task`` function returns what another one made, whether or not the entrypoint returns it too."""
    write = task(_message)

    @task
    def check(draft: Any) -> Any:
        return {"ok": True, "draft": draft}

    @task
    def publish(checked: Any) -> Any:
        return [checked["draft"]]

    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:

        @entrypoint(checkpointer=saver)
        def talk(question: str) -> Any:
            published = publish(check(write(question).result()).result()).result()
            return published if returned == "list" else "done"

        talk.invoke("hello", on("t"))
    assert _traced(tmp_path / "t.sqlite") == (10, (0, 0), [_note(2)])


def test_a_message_that_a_call_gets_from_a_subgraph(tmp_path: Path) -> None:
    """An entrypoint gives a subgraph's message to a ``@task`` function, which returns it."""
    inner = StateGraph(_State).add_node("model", lambda _: {"seen": [_message()]}).add_edge(START, "model").compile()
    check = task(lambda draft: {"draft": draft})

    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:

        @entrypoint(checkpointer=saver)
        def talk(_: str) -> Any:
            return check(inner.invoke({})["seen"][0]).result()

        talk.invoke("hello", on("t"))
    assert _traced(tmp_path / "t.sqlite") == (10, (0, 0), [_note(1)])
