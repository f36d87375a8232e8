"""What plans promise of a subgraph with its own memory that a ``@task`` of a node calls, against runs without input."""

import json
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.graphs.building import Graph, on

VERBS = {
    "fork": ["fork", "t", "@"],
    "fork-to": ["fork", "t", "--to", "copy"],
    "delete": ["delete", "t", "--after", "@"],
    "edit": ["edit", "t", "--set", "seen=[]", "--rerun"],
    "again": ["edit", "t", "--task", "flow", "--again", "--rerun"],
}


class State(TypedDict, total=False):
    """What a subgraph has seen."""

    seen: Annotated[list[str], add]


def build(saver: Any, kind: str) -> Graph:
    """``flow``, a node or an entrypoint, calls a ``@task``, which calls a subgraph that remembers; then it asks."""
    inner = StateGraph(State)
    inner.add_node("note", lambda s: {})
    inner.add_edge(START, "note")
    remembers = inner.compile(checkpointer=True)

    @task
    def use(text: str) -> list[str]:
        seen: list[str] = remembers.invoke({"seen": [text]})["seen"]
        return seen

    def flow(given: Any) -> Any:
        seen = use("input").result()
        interrupt("go on?")
        return {"seen": [str(len(seen))]}

    if kind == "entrypoint":
        return entrypoint(checkpointer=saver)(flow)
    builder = StateGraph(State)
    builder.add_node("flow", flow)
    builder.add_edge(START, "flow")
    return builder.compile(checkpointer=saver)


def remembered(saver: Any, thread_id: str) -> list[str]:
    """The newest memory of the subgraph."""
    where = {"configurable": {"thread_id": thread_id, "checkpoint_ns": "flow|use"}}
    [newest] = saver.list(where, limit=1)
    seen: list[str] = newest.checkpoint["channel_values"]["seen"]
    return seen


CASES = [
    (kind, verb) for kind in ("node", "entrypoint") for verb in VERBS if verb != ("edit" if kind != "node" else "again")
]


@pytest.mark.parametrize(("kind", "verb"), CASES)
def test_a_run_without_input_continues_the_memory(
    kind: str, verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the thread's id alone it adds no input, as the plan says; with the id that the plan names it does."""
    path = str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = build(saver, kind)
        graph.invoke({"seen": ["one"]}, on("t"))
        graph.invoke(Command(resume="yes"), on("t"))
        graph.invoke({"seen": ["two"]}, on("t"))
        capsys.readouterr()
        assert run([*VERBS[verb], "-d", path, "--yes", "--json"]) == 0
        plan = json.loads(capsys.readouterr().out)
        [alone] = [note for note in plan["notes"] if "thread_id alone" in note]
        [anew] = [note for note in plan["notes"] if "called anew" in note]
        assert alone.startswith("flow|use has its own memory") and "it returns its state at " in alone
        assert "no input, flow|use is called anew, and adds its input to " in anew
        thread_id = "copy" if verb == "fork-to" else "t"
        head = graph.get_state(on(thread_id)).config
        before = remembered(saver, thread_id)
        graph.invoke(None, on(thread_id))
        assert remembered(saver, thread_id) == before
        if verb in ("fork-to", "delete"):
            assert plan["config"]["configurable"]["checkpoint_id"]
            graph.invoke(None, head)
            assert remembered(saver, thread_id) == [*before, "input"]
