"""Who left what: the node of a subgraph that still fails, calls that a task made and caught, updates."""

import json
import operator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import task
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy, Send, StateUpdate, interrupt

from ckpt_cli.app import run
from tests.graphs.waiting import until_stored

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """What each node says."""

    log: Annotated[list[str], operator.add]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.sqlite"


def view(capsys: pytest.CaptureFixture[str], path: Path, *words: str) -> Any:
    """What a command gives in JSON."""
    assert run([*words, "-d", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def nested(saver: SqliteSaver, down: set[str], handler: Any = None) -> Any:
    """Two nodes side by side in a subgraph, of which those in `down` fail alike; the second one fails last."""

    def node(name: str) -> Any:
        def work(_: State) -> State:
            if name in down:
                if name == "late":
                    until_stored(saver)
                raise TimeoutError("backend")
            return {"log": [name]}

        return work

    inner = StateGraph(State).add_node("early", node("early"), error_handler=handler).add_node("late", node("late"))
    inner.add_edge(START, "early").add_edge(START, "late")
    return StateGraph(State).add_node("sub", inner.compile()).add_edge(START, "sub").compile(checkpointer=saver)


@pytest.mark.parametrize("handled", [False, True])
def test_the_node_that_still_fails_is_named(handled: bool, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not the one that failed in the same words before and finished, nor the one whose error handler took it."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        with suppress(TimeoutError):
            nested(saver, {"early", "late"}, (lambda _: {}) if handled else None).invoke({"log": []}, ON)
        if not handled:
            with suppress(TimeoutError):
                nested(saver, {"late"}).invoke(None, ON)
        app = nested(saver, set())
        (outer,) = app.get_state(ON, subgraphs=True).tasks
        assert [one.name for one in outer.state.tasks if one.error and not one.result][-1] == "late"
    [thread] = view(capsys, path, "threads")["threads"]
    assert [(one["node"], one["inside"]) for one in thread["errors"]] == [("sub", ["late"])]


@pytest.mark.parametrize("by_retry", [False, True])
def test_of_several_calls_the_one_that_ended_the_task_is_named(
    by_retry: bool, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node catches the failure of a subgraph and calls it again, or a retry calls it; another node fails alike."""
    calls = 0

    def first(_: State) -> State:
        if calls == 1:
            raise TimeoutError("backend")
        return {"log": ["first"]}

    def second(_: State) -> State:
        raise TimeoutError("backend")

    graph = StateGraph(State).add_node("first", first).add_node("second", second)
    inner = graph.add_edge(START, "first").add_edge("first", "second").compile()

    def sub(state: State) -> Any:
        nonlocal calls
        calls += 1
        with suppress(TimeoutError) if calls == 1 and not by_retry else nullcontext():
            return inner.invoke(state)
        return sub(state)

    retry = RetryPolicy(max_attempts=2, initial_interval=0.01, retry_on=TimeoutError)
    outer = StateGraph(State).add_node("sub", sub, retry_policy=retry if by_retry else None).add_edge(START, "sub")
    with SqliteSaver.from_conn_string(str(path)) as saver, pytest.raises(TimeoutError):
        outer.compile(checkpointer=saver).invoke({"log": []}, ON)
    [thread] = view(capsys, path, "threads")["threads"]
    assert [(one["node"], one["inside"]) for one in thread["errors"]] == [("sub", ["second"])]


@task
def fails(_: int) -> int:
    """A call that fails."""
    raise ValueError("no")


@task
def catches(n: int) -> int:
    """A call that catches the failure of its own call."""
    with suppress(ValueError):
        fails(n).result()
    return n


def node_of_calls(_: State) -> State:
    """A node that catches the failure of a call, and makes one that does so."""
    with suppress(ValueError):
        fails(1).result()
    catches(2).result()
    return {"log": ["done"]}


@pytest.mark.parametrize("by_send", [False, True])
def test_a_caught_call_is_no_failure(by_send: bool, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether a Send or an edge started the caller, and whether the caller is a call itself."""
    graph = StateGraph(State).add_node("node", node_of_calls)
    if by_send:
        graph.add_conditional_edges(START, lambda _: [Send("node", {"log": []})] * 2, ["node"])
    else:
        graph.add_edge(START, "node")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph.compile(checkpointer=saver).invoke({"log": []}, ON)
    assert [step["halts"] for step in view(capsys, path, "log", "t")["steps"]] == [[], [], []]
    assert run(["tree", "t", "-d", str(path)]) == 0
    assert "failed" not in capsys.readouterr().out
    runs = {one["name"]: one["failed"] for one in view(capsys, path, "graph", "t")["graphs"][0]["nodes"]}
    assert runs["node"] == 0


def test_an_update_is_no_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`before:node:NODE` finds a run; ``update_state`` as the node that was due leaves its writes with the same id."""
    graph = StateGraph(State)
    for name in ("first", "second"):
        graph.add_node(name, lambda _, name=name: {"log": [name]})
    graph.add_edge(START, "first").add_edge("first", "second")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver, interrupt_before=["second"])
        app.invoke({"log": []}, ON)
        app.update_state(ON, {"log": ["mine"]}, as_node="second")
    assert run(["show", "t", "before:node:first", "-d", str(path)]) == 0
    assert run(["show", "t", "before:node:second", "-d", str(path)]) == 4
    assert "shows that node 'second' ran" in capsys.readouterr().err


def test_all_updates_of_a_superstep_are_known_by_their_ids(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A saver that stores no task paths, as checkpoint-sqlite before 3.1.2, leaves only the ids: none is a run."""
    graph = StateGraph(State).add_node("work", lambda _: {"log": ["ran"]}).add_edge(START, "work")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver)
        app.invoke({"log": []}, ON)
        app.bulk_update_state(ON, [[StateUpdate({"log": [f"mine {n}"]}, "work") for n in range(3)]])
        saver.conn.execute("update writes set task_path = ''")
        saver.conn.commit()
    writers = [task["by"] for task in view(capsys, path, "writes", "t", "@^")["tasks"]]
    assert writers == ["update"] * 3
    (node,) = [one for one in view(capsys, path, "graph", "t")["graphs"][0]["nodes"] if one["name"] == "work"]
    assert node["runs"] == 1


def test_an_update_as_the_caller_claims_no_call(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``update_state`` as the node that called a waiting subgraph has the task's id; the call is traced once."""
    inner = StateGraph(State).add_node("page", lambda _: {"log": ["page"]})
    inner.add_node("asks", lambda _: {"log": [interrupt("who?")]}).add_edge(START, "page").add_edge("page", "asks")
    graph = StateGraph(State).add_node("desk", inner.compile()).add_node("end", lambda _: {"log": ["end"]})
    graph.add_edge(START, "desk").add_edge("desk", "end")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver)
        app.invoke({"log": []}, ON)
        app.update_state(ON, {"log": ["mine"]}, as_node="desk")
        app.invoke(None, ON)
        rows = saver.conn.execute("select count(*) from checkpoints").fetchone()[0]
    traced = view(capsys, path, "trace", "t")
    assert traced["sums"]["checkpoints"] == rows
    assert [one["runs"] for one in traced["nodes"] if one["node"] in ("page", "asks")] == [1, 1]
