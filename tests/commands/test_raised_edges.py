"""A conditional edge that raises: the node has a result and an error, the thread has failed, the edge is not taken."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import line

ON: Any = {"configurable": {"thread_id": "t"}}

UPDATE = ["update", "t", "--values", '{"log": ["mine"]}', "--as-node", "work", "--reducer", "log=append"]


class State(TypedDict, total=False):
    """What each node says."""

    log: Annotated[list[str], operator.add]


def agent(saver: SqliteSaver, *, fails: bool = False) -> Any:
    """A graph whose edge behind its first node raises, if it is to."""

    def route(_: State) -> str:
        if fails:
            raise KeyError("kind")
        return "after"

    graph = StateGraph(State)
    for name in ("work", "after"):
        graph.add_node(name, lambda _, name=name: {"log": [name]})
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", route, ["after", END])
    return graph.compile(checkpointer=saver)


@pytest.fixture(params=["sync", "async", "exit"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A thread of two runs, whose second one ended in the edge."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        agent(saver).invoke({"log": ["go"]}, ON, durability=request.param)
        with pytest.raises(KeyError):
            agent(saver, fails=True).invoke({"log": ["again"]}, ON, durability=request.param)
        state = agent(saver).get_state(ON)
        assert state.next == () and [(task.name, task.error) for task in state.tasks] == [("work", "KeyError('kind')")]
    return tmp_path / "t.sqlite"


def test_the_thread_has_failed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As ``get_state`` has an error, `threads` has it, and counts of the fleet do."""
    assert run(["threads", "-d", str(path), "--status", "failed", "--json"]) == 0
    (thread,) = json.loads(capsys.readouterr().out)["threads"]
    assert thread["statuses"] == ["failed"] and thread["next"] == []
    assert [(one["node"], one["error"]) for one in thread["errors"]] == [("work", "KeyError('kind')")]
    for closely in ([], ["--values"]):
        assert run(["stats", "-d", str(path), "--json", *closely]) == 0
        counted = json.loads(capsys.readouterr().out)
        assert counted["failed"] == 1 and not counted["unfinished"]


def test_tree_log_and_show_say_where(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The result and the error are both there: nothing stored shows which came first."""
    assert run(["tree", "t", "-d", str(path)]) == 0
    shown = capsys.readouterr().out
    assert '✓ work  log wrote ["work"]' in shown and "failed: work" in shown
    assert "✗ work  failed before, or in its conditional edge:  KeyError('kind')" in shown
    assert run(["log", "t", "-d", str(path), "-n", "1"]) == 0
    assert "✗ work" in capsys.readouterr().out
    assert run(["show", "t", "-d", str(path)]) == 0
    assert "it doesn't take a conditional edge that raised" in capsys.readouterr().out


def test_the_next_run_takes_no_edge(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `show` says: it applies what the node wrote, and ends; then nothing has failed any more."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver)
        assert app.invoke(None, ON)["log"] == ["go", "work", "after", "again", "work"]
    assert run(["threads", "-d", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["threads"][0]["statuses"] == ["done"]
    assert run(["log", "t", "-d", str(path), "-n", "2"]) == 0
    assert "work failed then" in capsys.readouterr().out


def test_the_run_took_no_way(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing shows where it would have led: `graph` infers no end, and `update` follows runs that took a way, if any.

    A run under "exit" stores no edges, so there `update` asks for the way.
    """
    assert run(["graph", "t", "-d", str(path), "--json"]) == 0
    (graph,) = json.loads(capsys.readouterr().out)["graphs"]
    ways = {one["target"] for one in graph["edges"] if one["source"] == "work"}
    assert ways <= {"after"}
    assert run([*UPDATE, "-d", str(path), "--yes"]) == (0 if ways else 7)
    if ways:
        assert "next: after" in capsys.readouterr().out
        with SqliteSaver.from_conn_string(str(path)) as saver:
            assert agent(saver).get_state(ON).next == ("after",)


def test_a_step_that_went_on_after_its_edge_raised_may_not_show_its_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next run takes no edge and ends; a task that failed and ran again leaves the same, so `update` says both."""
    doubt = "then END, as in its only recorded run, which failed too, perhaps in a conditional edge"
    for name, fails in (("raised", True), ("clean", False)):
        path = str(tmp_path / f"{name}.sqlite")
        with SqliteSaver.from_conn_string(path) as saver:
            app = agent(saver, fails=fails) if fails else line(saver, "work", schema=State)
            if fails:
                with pytest.raises(KeyError):
                    app.invoke({"log": ["go"]}, ON)
            app.invoke(None if fails else {"log": ["go"]}, ON)
        assert run([*UPDATE, "-d", path, "--dry-run"]) == 0
        assert (doubt in capsys.readouterr().out) == fails


def test_an_edge_that_raised_beside_another_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The edge that didn't raise was taken, and the plan says that the run failed too; the library goes both ways."""
    path, fails = str(tmp_path / "t.sqlite"), [True]

    def route(_: State) -> str:
        if fails:
            raise KeyError(fails.pop())
        return "other"

    with SqliteSaver.from_conn_string(path) as saver:
        graph = StateGraph(State)
        for name in ("work", "after", "other"):
            graph.add_node(name, lambda _, name=name: {"log": [name]})
        graph.add_edge(START, "work").add_edge("work", "after").add_conditional_edges("work", route, ["other", END])
        app = graph.compile(checkpointer=saver)
        with pytest.raises(KeyError):
            app.invoke({"log": ["go"]}, ON)
        app.invoke(None, ON)
        assert run([*UPDATE, "-d", path, "--dry-run"]) == 0
        said = capsys.readouterr().out
        assert "then after, as in its only recorded run, which failed too, perhaps in a conditional edge" in said
        app.update_state(ON, {"log": ["mine"]}, as_node="work")
        assert set(app.get_state(ON).next) == {"after", "other"}


def test_a_route_whose_runs_failed_too_is_listed_with_that(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An edge that can only lead to one node raised once, and the next run ended: its end isn't a route like others."""
    path, fails = str(tmp_path / "t.sqlite"), list[bool]()

    def route(_: State) -> str:
        if fails:
            raise KeyError(fails.pop())
        return "after"

    with SqliteSaver.from_conn_string(path) as saver:
        graph = StateGraph(State).add_node("work", lambda _: {"log": ["work"]})
        graph.add_node("after", lambda _: {"log": ["after"]}).add_edge(START, "work")
        app = graph.add_conditional_edges("work", route, ["after"]).compile(checkpointer=saver)
        app.invoke({"log": ["go"]}, ON)
        fails.append(True)
        with pytest.raises(KeyError):
            app.invoke({"log": ["go"]}, ON)
        app.invoke(None, ON)
    assert run([*UPDATE, "-d", path, "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert "--next after  (as in 1 of 2 runs)" in said
    assert "--next END  (as in 1 of 2 runs; this run failed too, perhaps in a conditional edge)" in said
