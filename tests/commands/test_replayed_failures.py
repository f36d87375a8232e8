"""``replay --to`` of steps in which tasks failed, ran again and finished."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.replay import replay
from tests.commands.asking import at
from tests.golden import lines
from tests.graphs.building import Bag, Log, on


def test_a_task_that_failed_and_then_finished_is_said_to_have_failed_before(tmp_path: Path) -> None:
    """A played step has the words of ``show`` for a task that ran again, also one of a Send that asked."""
    path, failures = tmp_path / "t.sqlite", ["f", "g"]

    def flaky(name: str) -> dict[str, Any]:
        if name in failures:
            failures.remove(name)
            raise ValueError(name)
        return {"log": [name]}

    built = StateGraph(Bag).add_node("f", lambda _: flaky("f"))
    built.add_node("g", lambda argument: flaky("g") and {"log": [f"{argument}{interrupt('go on?')}"]})
    built.add_edge(START, "f").add_conditional_edges("f", lambda _: [Send("g", 1)], ["g"])
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = built.compile(checkpointer=saver)
        for given in ({"log": []}, None, None):
            with suppress(ValueError):
                graph.invoke(given, on("t"))
        graph.invoke(Command(resume="yes"), on("t"))
    view = at(path, replay, "t", to="@")
    tasks = {task.node: task for step in view.steps for task in step.tasks}
    assert [(name, tasks[name].finished, tasks[name].error) for name in "fg"] == [
        ("f", True, "ValueError('f')"),
        ("g", True, "ValueError('g')"),
    ]
    text = [one.strip() for one in lines(view, 100) if "ValueError" in one]
    assert text == [
        f"{name}  ✓ finished  failed before, or in its conditional edge:  ValueError('{name}')" for name in "fg"
    ]


def test_a_conditional_edge_that_raises_leaves_a_result_and_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The node ran once, so nothing says that it ran again; `trace` counts it, and its help says what that may be."""
    path = tmp_path / "t.sqlite"

    def route(_: Any) -> str:
        raise KeyError("no route")

    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(Log).add_node("agent", lambda _: {"log": ["agent"]}).add_edge(START, "agent")
        graph = builder.add_conditional_edges("agent", route, ["agent", END]).compile(checkpointer=saver)
        with pytest.raises(KeyError):
            graph.invoke({"log": []}, on("t"))
        [task] = graph.get_state(on("t")).tasks
    assert task.error and task.result == {"log": ["agent"]}
    assert run(["show", "t", "-d", str(path)]) == 0
    assert "agent  ✓ finished  failed before, or in its conditional edge:  KeyError" in capsys.readouterr().out


def test_nothing_is_committed_where_nothing_is_pending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A finished thread gets no empty checkpoint, unless metadata is given; of many threads it is left out."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(Log).add_node("a", lambda _: {"log": ["a"]}).add_edge(START, "a").compile(checkpointer=saver)
        graph.invoke({"log": []}, on("t"))
        before = [*saver.list(on("t"))]
        assert run(["replay", "t", "--commit", "--yes", "-d", str(path)]) == 7
        assert "there is nothing to commit" in capsys.readouterr().err
        assert run(["replay", "--match", "*", "--commit", "--skip-refused", "--yes", "-d", str(path)]) == 0
        assert [*saver.list(on("t"))] == before
        graph.invoke({"log": ["more"]}, on("t"))
        earlier = before[0].config["configurable"]["checkpoint_id"]
        assert run(["replay", "t", earlier, "--commit", "--yes", "-d", str(path)]) == 0
        assert graph.get_state(on("t")).values["log"] == ["a"]
        assert run(["replay", "t", "--commit", "--metadata", "reviewed=true", "--yes", "-d", str(path)]) == 0
        assert graph.get_state(on("t")).metadata["reviewed"] == "true"
