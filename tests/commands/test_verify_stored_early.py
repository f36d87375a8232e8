"""``ckpt verify`` of a Topic that was stored with the items of tasks whose run has ended, and of what came after."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.channels import Topic
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.commands.replay import replay
from ckpt_cli.session import Session
from tests.commands.planted import Tables
from tests.commands.test_verify_honest import verified

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    heard: Annotated[list[str], Topic(str, accumulate=True)]
    n: int


class Waiting(SqliteSaver):
    """Stores the checkpoint of a step when the Topic has so many items, as a busy database may do."""

    lengths: dict[int, int]

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: Any, versions: Any) -> RunnableConfig:
        heard, until = checkpoint["channel_values"].get("heard", []), time.monotonic() + 20
        while len(heard) < self.lengths.get(metadata["step"], 0) and time.monotonic() < until:
            time.sleep(0.005)
        return super().put(config, checkpoint, metadata, versions)


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[Waiting]:
    with closing(sqlite3.connect(tmp_path / "t.sqlite", check_same_thread=False)) as connection:
        yield Waiting(connection)


def _graph(saver: Waiting) -> Any:
    """Of two nodes that run together one finishes and the other asks."""

    def ask(_: State) -> State:
        return {"heard": [interrupt("sure?")]}

    builder = StateGraph(State)
    nodes = (("first", {"heard": "one"}), ("fan", {"n": 1}), ("add", {"heard": "two"}), ("last", {"heard": "three"}))
    for name, written in nodes:
        builder.add_node(name, lambda _, written=written: written)
    builder.add_node(ask)
    for edge in ((START, "first"), ("first", "fan"), ("fan", "ask"), ("fan", "add"), (("ask", "add"), "last")):
        builder.add_edge(*edge)
    return builder.compile(checkpointer=saver)


def _stored(graph: Any) -> list[tuple[int, str, list[str]]]:
    history = [*graph.get_state_history(CONFIG)][::-1]
    return [(one.metadata["step"], one.metadata["source"], one.values.get("heard", [])) for one in history]


def _found(path: Path) -> list[tuple[str, str, str]]:
    """What `verify` finds, after a look that `replay --to` says no more of the newest line."""
    found = [(one.verdict, one.kind, one.channel) for one in verified(str(path))[1][0].findings]
    with closing(Session(str(path))) as session:
        steps = replay(session, "t", "step:0", to="@").steps
    assert found or {step.verdict for step in steps} == {"agrees"}
    return found


@pytest.mark.parametrize("late", [{1: 2, 2: 2}, {1: 2, 2: 2, 3: 4, 4: 4, 5: 4, 6: 4}])
def test_an_input_goes_on_from_what_a_task_of_an_unfinished_step_wrote(
    late: dict[int, int], saver: Waiting, tmp_path: Path
) -> None:
    """The input changes nothing, and may itself be stored with the items of the run that it begins."""
    saver.lengths, graph = late, _graph(saver)
    for n in (0, 5):
        graph.invoke({"n": n}, CONFIG, durability="async")
    stored = _stored(graph)
    assert stored[3][:2] == (2, "loop") and stored[3][2] == ["one", "two"]
    assert stored[4][:2] == (3, "input") and len(stored[4][2]) == late.get(3, 2)
    assert _found(tmp_path / "t.sqlite") == []


def test_a_step_that_is_resumed_adds_what_its_finished_task_wrote_again(saver: Waiting, tmp_path: Path) -> None:
    """The list that was stored has it already, and the checkpoint before has it too."""
    saver.lengths, graph = {1: 2, 2: 2, 3: 5}, _graph(saver)
    graph.invoke({"n": 0}, CONFIG, durability="async")
    graph.invoke(Command(resume="two"), CONFIG, durability="async")
    assert [heard for *_, heard in _stored(graph)][2:] == [
        ["one", "two"], ["one", "two"], *[["one", "two", "two", "two", "three"]] * 2
    ]  # fmt: skip
    assert _found(tmp_path / "t.sqlite") == []


def test_a_fork_may_be_stored_with_the_items_of_its_run(saver: Waiting, tmp_path: Path) -> None:
    """It begins a run as an input does, and its line shows the same reducer as the other one."""
    saver.lengths, graph = {}, _graph(saver)
    for n in (0, 5):
        graph.invoke({"n": n}, CONFIG, durability="sync")
    [old] = [one for one in graph.get_state_history(CONFIG) if one.metadata["step"] == 4]
    saver.lengths = {5: 3, 6: 3, 7: 3}
    graph.invoke(None, old.config, durability="async")
    stored = _stored(graph)
    assert [heard for _, source, heard in stored if source == "fork"] == [["one", "one", "two"]]
    assert _found(tmp_path / "t.sqlite") == []


def test_an_item_that_no_task_of_the_unfinished_step_wrote(saver: Waiting, tmp_path: Path) -> None:
    """A forged item is found, though the input goes on from it."""
    saver.lengths, graph = {}, _graph(saver)
    for n in (0, 5):
        graph.invoke({"n": n}, CONFIG, durability="sync")
    tables = Tables(tmp_path / "t.sqlite")
    for one in tables.steps():
        if one.metadata["step"] in (2, 3, 4):
            one.body["channel_values"]["heard"].append("forged")
            tables.put(one)
    tables.close()
    assert ("suspect", "changed-without-version", "heard") in _found(tmp_path / "t.sqlite")


def test_a_checkpoint_that_is_stored_many_steps_late(saver: Waiting, tmp_path: Path) -> None:
    """A busy disk stores a checkpoint once the run is over: its Topic has exactly what all later steps wrote."""
    saver.lengths = {1: 24, 2: 24}
    builder = StateGraph(State)
    builder.add_node("say", lambda state: {"heard": f"item {state['n']}", "n": state["n"] + 1})
    builder.add_node("check", lambda _: {})
    builder.add_edge(START, "say")
    builder.add_edge("say", "check")
    builder.add_conditional_edges("check", lambda state: "say" if state["n"] < 24 else END, ["say", END])
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"n": 0}, {**CONFIG, "recursion_limit": 100}, durability="async")
    assert {len(heard) for step, _, heard in _stored(graph) if step in (1, 2)} == {24}
    assert _found(tmp_path / "t.sqlite") == []


def test_a_node_that_writes_no_item_between(saver: Waiting, tmp_path: Path) -> None:
    """An empty list shows nothing of what the step went on from: each step agrees, also by a reducer that is named."""
    saver.lengths = dict.fromkeys(range(2, 12), 3)
    builder = StateGraph(State)
    builder.add_node("say", lambda s: {"heard": [f"item {s['n']}"] if s["n"] % 3 == 1 else [], "n": s["n"] + 1})
    builder.add_edge(START, "say").add_conditional_edges("say", lambda s: "say" if s["n"] < 8 else END, ["say", END])
    builder.compile(checkpointer=saver).invoke({"n": 0}, CONFIG, durability="async")
    assert [len(heard) for *_, heard in _stored(builder.compile(checkpointer=saver))][3:] == [3] * 7
    assert _found(tmp_path / "t.sqlite") == []
    for named in ([], ["heard=accumulating topic"]):
        assert verified(str(tmp_path / "t.sqlite"), reducer=named)[1][0].verdicts == {"agrees": 10}


def test_a_topic_that_keeps_its_items_since_a_deployment(saver: Waiting, tmp_path: Path) -> None:
    """The steps before it show a Topic that forgets them, and what proves no reducer makes nothing suspect."""

    class Forgetful(TypedDict, total=False):
        heard: Annotated[list[str], Topic(str)]
        n: int

    saver.lengths = {3: 1, 4: 1, 5: 1}
    for schema, (first, then) in ((Forgetful, ("say", "rest")), (State, ("rest", "say"))):
        builder = StateGraph(schema)  # type: ignore[type-var]
        builder.add_node("say", lambda _: {"heard": "one"})
        builder.add_node("rest", lambda _: {"n": 1})
        builder.add_edge(START, first).add_edge(first, then)
        graph: Any = builder.compile(checkpointer=saver)
        graph.invoke({"n": 0}, CONFIG, durability="async")
    assert [len(heard) for *_, heard in _stored(graph)][2:] == [1, 0, 1, 1, 1, 1]
    assert _found(tmp_path / "t.sqlite") == [("unknown", "changed-without-version", "heard")]
