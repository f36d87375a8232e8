"""`trace` doesn't count a pause as a node's time, after a breakpoint, the recursion limit or a run that was cut off."""

import operator
from pathlib import Path
from time import sleep
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, StateGraph

from ckpt_cli.commands.trace import trace
from tests.commands.asking import at
from tests.graphs.building import on

PAUSE = 1.2  # seconds; steps of less than one aren't looked at


class State(TypedDict, total=False):
    """What ran."""

    log: Annotated[list[str], operator.add]


def graph(saver: SqliteSaver, *, pause: float = 0.0, **options: Any) -> Any:
    """Four nodes in a row, the second in a subgraph; the third takes its time."""
    inner = StateGraph(State)
    inner.add_node("inner", lambda _: {"log": ["inner"]})
    inner.add_edge(START, "inner")
    builder = StateGraph(State)
    builder.add_node("first", lambda _: {"log": ["first"]})
    builder.add_node("second", inner.compile())
    builder.add_node("third", lambda _: [sleep(pause), {"log": ["third"]}][1])
    builder.add_node("last", lambda _: {"log": ["last"]})
    for one, other in ((START, "first"), ("first", "second"), ("second", "third"), ("third", "last")):
        builder.add_edge(one, other)
    return builder.compile(checkpointer=saver, **options)


def cut_off(app: Any) -> None:
    """A run that ends after a few steps, as that of a process which was killed."""
    stream = app.stream({"log": []}, on("t"), stream_mode="checkpoints", durability="sync")
    while next(stream)["next"] != ["third"]:
        pass
    stream.close()


@pytest.mark.parametrize("stop", ["breakpoint", "limit", "cut off", "never"])
def test_a_pause_is_between_runs(tmp_path: Path, stop: str) -> None:
    """The step that a run without input went on with has no known beginning; a slow step of one run is running."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = graph(saver, interrupt_before=["third"] if stop == "breakpoint" else [], pause=PAUSE * (stop == "never"))
        if stop == "cut off":
            cut_off(app)
        elif stop == "limit":
            with pytest.raises(GraphRecursionError):
                app.invoke({"log": []}, {**on("t"), "recursion_limit": 2})
        else:
            app.invoke({"log": []}, on("t"))
        if stop != "never":
            assert app.get_state(on("t")).next == ("third",)
            sleep(PAUSE)
            app.invoke(None, on("t"))
    view = at(tmp_path / "t.sqlite", trace, "t")
    spent = {step.tasks[0].node: step.spent for step in view.steps if step.depth == 0 and step.tasks}
    expected = "running" if stop == "never" else "between"
    assert spent == {
        "__start__": "running",
        "first": "running",
        "second": "running",
        "third": expected,
        "last": "running",
    }
    assert (view.sums.between >= PAUSE) == (stop != "never")
