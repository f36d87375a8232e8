"""``ckpt trace`` counts a step as running only if one run lasted from its beginning to its end, as its caller saw."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.commands.trace import TraceFormat, trace
from ckpt_cli.history.lineage.ids import unix_time
from ckpt_cli.output.line import Page
from ckpt_cli.output.printer import render
from ckpt_cli.views.trace import TraceStep, TraceView
from tests import golden
from tests.commands.asking import at
from tests.graphs.building import Log, on

Graph = Any


class Caller:
    """Runs graphs on thread ``t``, and keeps from when to when each run lasted."""

    def __init__(self, saver: Any) -> None:
        self.saver = saver
        self.runs: list[tuple[float, float]] = []

    def run(self, graph: Graph, given: Any, config: Any = None, **options: Any) -> None:
        begin = time.time()
        with contextlib.suppress(ValueError):
            graph.invoke(given, config or on("t"), **options)
        self.runs.append((begin, time.time()))

    def lasted(self, step: TraceStep) -> bool:
        """Whether one run made both checkpoints of a step, or began with the first of them."""
        begin, end = unix_time(step.checkpoint_id), unix_time(step.made or "")
        assert begin is not None and end is not None
        return any(first <= begin and end <= last for first, last in self.runs)


def says(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda _: {"log": [name]}


def row_of(*names: str, saver: Any = None, **nodes: Any) -> Graph:
    """A graph of nodes in a row; `nodes` are those that do more than log their names."""
    options = {key: nodes.pop(key) for key in ("interrupt_before",) if key in nodes}
    builder = StateGraph(Log)
    for name in names:
        builder.add_node(name, nodes.get(name, says(name)))
    for before, name in zip((START, *names), names, strict=False):
        builder.add_edge(before, name)
    return builder.compile(checkpointer=saver, **options)


def after_an_update(caller: Caller) -> None:
    graph = row_of("a", "b", saver=caller.saver)
    caller.run(graph, {"log": []})
    graph.update_state(on("t"), {"log": ["by hand"]}, as_node="a")
    caller.run(graph, None)


def after_a_copy(caller: Caller) -> None:
    graph = row_of("a", "b", saver=caller.saver)
    caller.run(graph, {"log": []})
    older = next(state for state in graph.get_state_history(on("t")) if state.next == ("b",))
    graph.update_state(older.config, None, as_node="__copy__")
    caller.run(graph, None)


def a_command_after_the_end(caller: Caller) -> None:
    graph = row_of("a", "b", saver=caller.saver)
    caller.run(graph, {"log": []})
    caller.run(graph, Command(update={"log": ["command"]}, goto="b"))
    caller.run(graph, Command(goto="b"))


def a_command_whose_writes_are_not_stored(caller: Caller) -> None:
    graph = row_of("a", "b", saver=caller.saver)
    caller.run(graph, {"log": []})
    caller.run(graph, Command(goto="b"), durability="exit")


def an_answer_that_nobody_asked_for(caller: Caller) -> None:
    graph = row_of("a", "b", saver=caller.saver, interrupt_before=["b"])
    caller.run(graph, {"log": []})
    caller.run(graph, Command(resume="yes"))


def a_question_and_a_failure(caller: Caller) -> None:
    fails = iter((True, False, False))

    def flaky(_: Log) -> dict[str, Any]:
        if next(fails):
            raise ValueError("no")
        return {"log": [interrupt("go on?")]}

    graph = row_of("a", "b", "c", saver=caller.saver, b=flaky)
    for given in ({"log": []}, None, Command(resume="yes")):
        caller.run(graph, given)


def inside_a_failed_subgraph(caller: Caller, *, own: bool | None = None) -> None:
    def fail(_: Log) -> dict[str, Any]:
        raise ValueError("no")

    graph = row_of("a", "sub", "z", saver=caller.saver, sub=row_of("x", "y", "w", saver=own, y=fail))
    caller.run(graph, {"log": []})
    _change_subgraph(graph, as_node="y")
    caller.run(graph, None)


def inside_a_failed_subgraph_with_a_memory(caller: Caller) -> None:
    inside_a_failed_subgraph(caller, own=True)


def inside_a_subgraph_that_stopped_before_a_node(caller: Caller) -> None:
    graph = row_of("a", "sub", "z", saver=caller.saver, sub=row_of("x", "y", interrupt_before=["y"]))
    caller.run(graph, {"log": []})
    _change_subgraph(graph, as_node="x")
    caller.run(graph, None)


def _change_subgraph(graph: Graph, as_node: str) -> None:
    inside = graph.get_state(on("t"), subgraphs=True).tasks[0].state
    graph.update_state(inside.config, {"log": ["by hand"]}, as_node=as_node)


SCENARIOS = [
    after_an_update,
    after_a_copy,
    a_command_after_the_end,
    a_command_whose_writes_are_not_stored,
    an_answer_that_nobody_asked_for,
    a_question_and_a_failure,
    inside_a_failed_subgraph,
    inside_a_failed_subgraph_with_a_memory,
    inside_a_subgraph_that_stopped_before_a_node,
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "timed.sqlite"


@pytest.fixture
def caller(file: Path) -> Iterator[Caller]:
    with SqliteSaver.from_conn_string(str(file)) as saver:
        yield Caller(saver)


@pytest.mark.parametrize("run", SCENARIOS, ids=lambda run: run.__name__)
def test_a_step_runs_only_during_a_run(run: Callable[[Caller], None], caller: Caller, file: Path) -> None:
    """Its time is its nodes' if, and only if, one run made both checkpoints and no task asked or failed."""
    run(caller)
    view: TraceView = at(file, trace, "t")
    steps = [step for step in view.steps if step.made]
    assert {step.spent for step in steps} - {"running"}
    for step in steps:
        assert (step.spent == "running") == caller.lasted(step), step
    running = sum(step.seconds or 0 for step in steps if step.depth == 0 and step.spent == "running")
    assert view.sums.running == pytest.approx(running)
    for node in view.nodes:
        own = [
            s for s in steps if s.path == node.path and (node.node, node.kind) in {(t.node, t.kind) for t in s.tasks}
        ]
        times = [step.seconds or 0 for step in own if step.spent == "running"]
        assert node.seconds == (pytest.approx(sum(times)) if times else None)


def test_its_time_is_shown_apart(caller: Caller, file: Path) -> None:
    """The line of such a step says what its time contains, and its nodes have an event among the waits' events."""
    after_an_update(caller)
    view: TraceView = at(file, trace, "t", timeline=True)
    texts = ["".join(text for _, text in line) for line in render(view, Page(100, golden.NOW))]
    assert any(text.startswith("b · includes the time between runs") for text in texts)
    assert any(text.startswith("(update_state) · between runs") for text in texts)
    view = at(file, trace, "t", form=TraceFormat.PERFETTO)
    events = ["".join(text for _, text in line) for line in render(view, Page(None, golden.NOW))]
    assert sum('"name":"b","cat":"between"' in event for event in events) == 1


def one_checkpoint(caller: Caller) -> None:
    caller.run(row_of("a", saver=caller.saver), {"log": []}, durability="exit")


def a_workflow_that_failed_at_once(caller: Caller) -> None:
    def fail(_: str) -> str:
        raise ValueError("no")

    caller.run(entrypoint(checkpointer=caller.saver)(fail), "in")


def an_update_after_one_checkpoint(caller: Caller) -> None:
    graph = row_of("a", saver=caller.saver)
    caller.run(graph, {"log": []}, durability="exit")
    graph.update_state(on("t"), {"log": ["by hand"]}, as_node="a")


@pytest.mark.parametrize(
    "run",
    [one_checkpoint, a_workflow_that_failed_at_once, an_update_after_one_checkpoint],
    ids=lambda run: run.__name__,
)
def test_no_known_time_is_not_zero(run: Callable[[Caller], None], caller: Caller, file: Path) -> None:
    """Where nothing shows how long a step took, the first line has no time of it; without any other, it says so."""
    run(caller)
    view: TraceView = at(file, trace, "t")
    first, *_ = ("".join(text for _, text in line) for line in render(view, Page(100, golden.NOW)))
    assert first.startswith(f"t  {view.short}") and "ran " not in first
    assert ("between runs" in first) == (run is an_update_after_one_checkpoint)
    assert first.endswith("no time is known") == (run is not an_update_after_one_checkpoint)
