"""``replay --to`` of steps in which tasks failed, ran again and finished."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.commands.replay import replay
from tests.commands.asking import at
from tests.golden import lines
from tests.graphs.building import Bag, on


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
    assert text == [f"{name}  ✓ finished  failed before:  ValueError('{name}')" for name in "fg"]
