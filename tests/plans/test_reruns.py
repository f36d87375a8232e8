"""Finished ``@task`` calls of a task that has not: every plan that leaves them behind says so, and real runs agree."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from operator import add as plus
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import StateGraph
from langgraph.types import Send, interrupt

from ckpt_cli.app import run
from tests.graphs import Graph
from tests.graphs.building import line, on
from tests.graphs.waiting import until_stored

Ran = list[Any]


class State(TypedDict):
    """What a fan-out gathers."""

    log: Annotated[list[int], plus]


def calls(ran: Ran) -> Any:
    """A function that says each time that it runs."""

    @task
    def double(x: int) -> int:
        ran.append(x)
        return 2 * x

    return double


def flow(saver: Any, ran: Ran) -> Graph:
    """An entrypoint that asks after two calls."""
    double = calls(ran)

    @entrypoint(checkpointer=saver)
    def flow(given: dict[str, int]) -> list[Any]:
        first = double(given["n"]).result()
        return [first, double(first).result(), interrupt("sure?")]

    return flow


def node(saver: Any, ran: Ran) -> Graph:
    """A node that does the same."""
    double = calls(ran)

    def flow(state: dict[str, Any]) -> dict[str, Any]:
        first = double(state["n"]).result()
        return {"log": [first, double(first).result(), interrupt("sure?")]}

    return line(saver, "flow", nodes={"flow": flow})


def as_many(saver: Any, ran: Ran) -> Graph:
    """An entrypoint that makes as many calls as its input says, and asks."""
    double = calls(ran)

    @entrypoint(checkpointer=saver)
    def flow(given: int) -> list[Any]:
        return [*(double(n).result() for n in range(given)), interrupt("sure?")]

    return flow


BUILDS = {"entrypoint": flow, "node": node}
LOST = {
    "edit": ["edit", "--set", "x=5", "--create", "--rerun"],
    "rollback": ["rollback", "@"],
    "fork": ["fork", "@"],
    "fork to a thread": ["fork", "@", "--to", "other"],
}


@pytest.mark.parametrize("paths", [True, False])
@pytest.mark.parametrize("verb", LOST)
@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_a_plan_says_which_calls_run_again(
    build: Callable[[Any, Ran], Graph], verb: str, paths: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the plan names is made again by the next run, also where the database has no task paths."""
    path, ran = tmp_path / "calls.sqlite", Ran()
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = build(SqliteSaver(connection), ran)
        graph.invoke({"n": 1}, on("t"))
        if not paths:
            connection.execute("update writes set task_path = ''")
            connection.commit()
        graph.invoke(None, on("t"))
        assert ran == [1, 2]
        name, *words = LOST[verb]
        assert run([name, "t", *words, "-d", str(path), "--yes", "--json"]) == 0
        view = json.loads(capsys.readouterr().out)
        assert [note for note in view["notes"] if note.startswith("2 calls of flow finished")], view["notes"]
        graph.invoke(None, on(view["config"]["configurable"]["thread_id"]))
        assert ran == [1, 2, 1, 2]


@pytest.mark.parametrize("build", BUILDS.values(), ids=BUILDS)
def test_an_edit_asks_before_calls_run_again(
    build: Callable[[Any, Ran], Graph], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --rerun nothing is written, and the next run takes the results that are there."""
    path, ran = tmp_path / "calls.sqlite", Ran()
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = build(SqliteSaver(connection), ran)
        graph.invoke({"n": 1}, on("t"))
        before = graph.get_state(on("t"))
        assert run(["edit", "t", "--set", "x=5", "--create", "-d", str(path), "--yes"]) == 7
        assert "2 calls of flow finished: with an edited state the results would be lost" in capsys.readouterr().err
        assert graph.get_state(on("t")) == before
        graph.invoke(None, on("t"))
        assert ran == [1, 2]


def test_a_plan_counts_no_calls_of_the_next_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With another input the run makes other calls; the plan counts only those whose results it drops."""
    path, ran = tmp_path / "calls.sqlite", Ran()
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = as_many(SqliteSaver(connection), ran)
        graph.invoke(3, on("t"))
        words = ["edit", "t", "--task", "flow", "--argument", "1", "-d", str(path), "--yes"]
        assert run(words) == 7
        assert "the new checkpoint would not have the results" in capsys.readouterr().err
        assert run([*words, "--rerun"]) == 0
        plan = capsys.readouterr().out
        graph.invoke(None, on("t"))
    assert ran == [0, 1, 2, 0]
    assert "dropped: the results of 3 calls; the run makes its calls anew" in plan and "again" not in plan


def test_an_update_says_which_calls_are_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An update in the name of a node that waits drops its calls' results, and says so."""
    path = tmp_path / "calls.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        node(SqliteSaver(connection), []).invoke({"n": 1}, on("t"))
    for words in (["update", "t", "--as-node", "flow", "--next", "END"], ["replay", "t", "--commit"]):
        assert run([*words, "-d", str(path), "--dry-run"]) == 0
        assert "dropped: the results of 2 calls of flow" in capsys.readouterr().out


def test_several_tasks_of_one_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A node that was called several times is named once, with a number, by a refusal and by a plan."""

    def fan(state: State) -> list[Send]:
        return [Send("work", n) for n in (1, 2)] + [Send("ask", 3)]

    path = tmp_path / "fan.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        builder = StateGraph(State)
        builder.add_node("work", lambda n: {"log": [n]})
        builder.add_node("ask", lambda n: {"log": [interrupt("sure?")]})
        builder.add_conditional_edges("__start__", fan, ["work", "ask"])
        builder.compile(checkpointer=SqliteSaver(connection)).invoke({"log": [0]}, on("t"))
    assert run(["edit", "t", "--set", "log=[]", "--yes", "-d", str(path)]) == 7
    assert "work (2 tasks) finished: with an edited state they would run again" in capsys.readouterr().err
    assert run(["edit", "t", "--set", "log=[]", "--rerun", "--dry-run", "-d", str(path)]) == 0
    plan = capsys.readouterr().out
    assert "work (2 tasks) have finished at that checkpoint; after the new one they run again" in plan
    assert "ask waits for an answer at that checkpoint; after the new one it runs again from its start" in plan


def test_what_came_into_an_entrypoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Listings show it, and `get` names what can be read where the state has no channels of the user's own."""
    path = tmp_path / "flow.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:

        @entrypoint(checkpointer=SqliteSaver(connection))
        def add(n: int, *, previous: int | None = None) -> int:
            return n + (previous or 0)

        for number in (41, 42):
            add.invoke(number, on("t"))
    for verb in ("log", "tree"):
        assert run([verb, "t", "-d", str(path)]) == 0
        shown = capsys.readouterr().out
        assert "given 41" in shown
        assert "given 42" in shown
        assert "…" not in shown
    assert run(["get", "t", "total", "-d", str(path)]) == 4
    hint = capsys.readouterr().err.partition("hint: there are ")[2]
    assert "__previous__" in hint
    assert run(["get", "t", "__previous__", "-d", str(path)]) == 0
    assert capsys.readouterr().out == "83\n"


class Job(TypedDict, total=False):
    """The argument of one of several tasks, and what all leave."""

    job: str
    out: Annotated[list[str], plus]


def broken(saver: Any, ran: Ran) -> Graph:
    """Two tasks of one node; the second fails."""

    def work(state: Job) -> Job:
        ran.append(state["job"])
        if state["job"] == "bad":
            until_stored(saver)
            raise ValueError(state["job"])
        return {"out": [state["job"]]}

    sends = [Send("w", {"job": job}) for job in ("good", "bad")]
    builder = StateGraph(Job).add_node("w", work)
    return builder.add_conditional_edges("__start__", lambda _: sends, ["w"]).compile(checkpointer=saver)


@pytest.mark.parametrize("verb", ["fork", "rollback", "edit"])
def test_a_step_that_an_edit_left_behind_names_what_runs_again(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its checkpoint has a child, but not of its tasks: one had finished there, and runs again after a new head."""
    path, ran = str(tmp_path / "t.sqlite"), Ran()
    with SqliteSaver.from_conn_string(path) as saver:
        app = broken(saver, ran)
        with pytest.raises(ValueError, match="bad"):
            app.invoke({"out": []}, on("t"))
        assert run(["edit", "t", "--task", "w[2]", "--set", 'job="fine"', "-d", path, "-y"]) == 0
        ran.clear()
        app.invoke(None, on("t"))
        assert ran == ["fine"]
        options = ["--set", 'out=["x"]', "--rerun"] * (verb == "edit")
        capsys.readouterr()
        assert run([verb, "t", "failed", *options, "-d", path, "-y"]) == 0
        assert "w [1/2] has finished at that checkpoint; after the new one it runs again" in capsys.readouterr().out
        ran.clear()
        with pytest.raises(ValueError, match="bad"):
            app.invoke(None, on("t"))
        assert sorted(ran) == ["bad", "good"]


def test_a_step_that_failed_and_ended_later_names_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All its tasks run again, which `next` says: none of them is left as one that stopped."""
    path, ran = str(tmp_path / "t.sqlite"), Ran()

    def work(state: Job) -> Job:
        ran.append(state["job"])
        if state["job"] == "bad" and ran.count("bad") == 1:
            raise ValueError(state["job"])
        return {"out": [state["job"]]}

    sends = [Send("w", {"job": job}) for job in ("good", "bad")]
    builder = StateGraph(Job).add_node("w", work).add_conditional_edges("__start__", lambda _: sends, ["w"])
    with SqliteSaver.from_conn_string(path) as saver:
        app = builder.compile(checkpointer=saver)
        with pytest.raises(ValueError, match="bad"):
            app.invoke({"out": []}, on("t"))
        app.invoke(None, on("t"))
    assert run(["fork", "t", "step:0", "-d", path, "-y"]) == 0
    printed = capsys.readouterr().out
    assert "next: w ×2" in printed and "again" not in printed
