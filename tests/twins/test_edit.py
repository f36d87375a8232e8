"""Edited states on the real saver: the real graph shows them, runs the same nodes next, and continues with them."""

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, StateSnapshot

from ckpt_cli.app import run
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.reducers.reducers import APPEND
from ckpt_cli.history.state.editing import Act, Edit, apply_edits
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Plan
from ckpt_cli.plans import edit
from ckpt_cli.plans.mint import Mint
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.graphs import SCENARIOS, Graph
from tests.graphs.building import Bag, line, on, says
from tests.graphs.kinds import failing
from tests.graphs.lines import asking, chat_graph, nested
from tests.graphs.recent import Deltas

Build = Callable[[Any], Graph]
THREAD = "t"


@contextmanager
def opened(path: Path, build: Build) -> Iterator[Graph]:
    """The graph on a database, which nobody has open afterwards."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield build(SqliteSaver(connection))


def counting(name: str) -> Callable[[Bag], dict[str, Any]]:
    """A node that logs what number it saw, and counts on."""
    return lambda s: {"log": [(name, s["n"])], "n": s["n"] + 1}


def counters(saver: Any, schema: type = Bag, **options: Any) -> Graph:
    """Three nodes in a row, each of which shows what it was given."""
    return line(saver, "a", "b", "c", nodes={name: counting(name) for name in "abc"}, schema=schema, **options)


def mapped(saver: Any) -> Graph:
    """A fan-out by Send that stops before it begins; the workers read their own number, the last node the state."""
    builder = StateGraph(Bag)
    builder.add_node("split", says("split"))
    builder.add_node("work", lambda s: {"log": [s["i"]]})
    builder.add_node("reduce", lambda s: {"log": [("reduce", s["n"])]})
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda s: [Send("work", {"i": i}) for i in range(11)], ["work"])
    builder.add_edge("work", "reduce")
    return builder.compile(checkpointer=saver, interrupt_before=["work"])


def routed(saver: Any) -> Graph:
    """A conditional edge behind the node that is next."""
    builder = StateGraph(Bag)
    for name in ("first", "second", "left", "right"):
        builder.add_node(name, says(name))
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_conditional_edges("second", lambda s: "left" if s["n"] else "right", ["left", "right"])
    builder.add_edge("left", END)
    return builder.compile(checkpointer=saver, interrupt_before=["second"])


@dataclass(frozen=True)
class Case:
    """A graph that was given something wrong, how that is edited, and what it should have been given."""

    build: Build
    wrong: Any
    edits: list[str]
    right: Any
    rev: str = "@"
    resume: Any = None


def said(text: str) -> Any:
    return {"messages": [HumanMessage(text, id="h")], "topic": "x"}


CASES = {
    "breakpoint": Case(
        lambda s: counters(s, interrupt_before=["b"]),
        {"log": [], "n": 1},
        ["--set", "n=7", "--set", 'log[0]=["a", 6]'],
        {"log": [], "n": 6},
    ),
    "after a node": Case(
        lambda s: counters(s, interrupt_after=["a"]), {"log": ["x"], "n": 1}, ["--unset", "log[0]"], {"log": [], "n": 1}
    ),
    "conditional edge": Case(routed, {"log": [], "n": 1}, ["--set", "n=0"], {"log": [], "n": 0}),
    "Send": Case(mapped, {"log": ["in"], "n": 1}, ["--set", "n=5", "--unset", "log[0]"], {"log": [], "n": 5}),
    "question": Case(
        asking, {"log": ["a"]}, ["--set", 'log=["b", "write"]'], {"log": ["b"]}, resume=Command(resume="yes")
    ),
    "questions": Case(
        lambda s: asking(s, many=True),
        {"log": ["a"]},
        ["--set", 'log[0]="b"', "--rerun"],
        {"log": ["b"]},
        resume="every",
    ),
    "failed sibling": Case(
        failing, {"log": [], "fail": True}, ["--set", "fail=false", "--rerun"], {"log": [], "fail": False}, rev="step:1"
    ),
    "messages, in the past": Case(
        chat_graph, said("hello"), ["--set", 'messages[0].content="the weather?"'], said("the weather?"), rev="step:0"
    ),
    "delta": Case(
        lambda s: counters(s, schema=Deltas, interrupt_before=["c"]),
        {"log": ["x", "y"], "n": 1},
        ["--set", 'log=["z", ["a", 1], ["b", 2]]'],
        {"log": ["z"], "n": 1},
    ),
    "delta, in the past": Case(
        lambda s: counters(s, schema=Deltas),
        {"log": ["x"], "n": 1},
        ["--set", "n=5", "--set", "log[1][1]=4"],
        {"log": ["x"], "n": 4},
        rev="step:1",
    ),
    "delta, appended": Case(
        lambda s: counters(s, schema=Deltas, interrupt_before=["a"]),
        {"log": ["x"], "n": 1},
        ["--set", 'log=["x", "y"]'],
        {"log": ["x", "y"], "n": 1},
    ),
}


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operation log of a test is its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def start(graph: Graph, given: Any) -> None:
    with contextlib.suppress(ValueError):
        graph.invoke(given, on(THREAD))


def finish(graph: Graph, resume: Any, config: Any) -> Any:
    """Go on until nothing is left."""
    if resume == "every":
        graph.invoke(None, config)  # an edited checkpoint asks anew
        waiting = graph.get_state(on(THREAD)).interrupts
        resume = Command(resume={one.id: "yes" for one in waiting})
    output = graph.invoke(resume, config)
    for _ in range(3):
        if graph.get_state(on(THREAD)).next:
            output = graph.invoke(None, on(THREAD))
    return output


def changed(path: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """The config that ``ckpt edit`` prints."""
    capsys.readouterr()
    assert run(["edit", THREAD, *words, "-d", str(path), "--yes"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def plain(values: Any) -> Any:
    """Values with the random ids of tool messages taken away."""
    if isinstance(values, dict) and "messages" in values:
        return {**values, "messages": [m.model_copy(update={"id": m.type}) for m in values["messages"]]}
    return values


def recorded(graph: Graph, config: Any) -> StateSnapshot:
    """A checkpoint without what its tasks have done since."""
    history = graph.get_state_history(on(THREAD))
    named = config["configurable"].get("checkpoint_id")
    return next(s for s in history if named in (None, s.config["configurable"]["checkpoint_id"]))


@pytest.mark.parametrize("name", CASES)
def test_goes_on_as_if_it_had_been_right_from_the_start(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Same values, same next, and the run ends as the one does that was given the right thing."""
    case = CASES[name]
    wrong, right = tmp_path / "wrong.sqlite", tmp_path / "right.sqlite"
    for path, given in ((wrong, case.wrong), (right, case.right)):
        with opened(path, case.build) as graph:
            start(graph, given)
    config = changed(wrong, case.rev, *case.edits, capsys=capsys)
    with opened(wrong, case.build) as mine, opened(right, case.build) as twin:
        if case.rev == "@":
            then = on(THREAD)
        else:
            step = int(case.rev.removeprefix("step:"))
            (then,) = [s.config for s in twin.get_state_history(on(THREAD)) if s.metadata["step"] == step]
        edited_state, wanted = recorded(mine, config), recorded(twin, then)
        assert plain(edited_state.values) == plain(wanted.values)
        assert Counter(t.name for t in edited_state.tasks) == Counter(t.name for t in wanted.tasks)
        assert edited_state.metadata["source"] == "update"
        assert plain(finish(mine, case.resume, config)) == plain(finish(twin, case.resume, then))
        assert plain(mine.get_state(on(THREAD)).values) == plain(twin.get_state(on(THREAD)).values)
        assert mine.get_state(on(THREAD)).next == ()


def inner(graph: Graph) -> str:
    """The deepest namespace that waits."""
    state = graph.get_state(on(THREAD), subgraphs=True)
    while state.tasks and state.tasks[0].state is not None:
        state = state.tasks[0].state
    return str(state.config["configurable"]["checkpoint_ns"])


def test_a_subgraph_goes_on_with_its_own_edit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two levels down, beneath a question: the graphs above keep what they had handed down."""
    wrong, right = tmp_path / "wrong.sqlite", tmp_path / "right.sqlite"
    build: Build = lambda saver: nested(saver, ask=True)  # noqa: E731
    for path, given in ((wrong, "x"), (right, "y")):
        with opened(path, build) as graph:
            start(graph, {"log": [given]})
    with opened(wrong, build) as graph:
        ns = inner(graph)
    changed(wrong, "--ns", ns, "--set", 'log[0]="y"', capsys=capsys)
    with opened(wrong, build) as mine, opened(right, build) as twin:
        outputs = [finish(graph, Command(resume="yes"), on(THREAD))["log"] for graph in (mine, twin)]
    assert outputs[0] == ["x" if at in (0, 2) else item for at, item in enumerate(outputs[1])]


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_checkpoint_can_be_edited(name: str, tmp_path: Path) -> None:
    """Of every kind of graph: the edited state is shown, and the same tasks are next, as many and of the same nodes."""
    path = tmp_path / "graphs.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        connection.execute("pragma synchronous=off")
        threads = list(SCENARIOS[name](SqliteSaver(connection)))
        states = [(thread_id, graph, s) for thread_id, graph in threads for s in graph.get_state_history(on(thread_id))]
        with closing(open_file(path)) as saver:
            for thread_id, graph, was in states:
                new_id = apply(Reader(saver, Codec()), thread_id, was)
                now = recorded_in(graph, thread_id, new_id)
                assert Counter(t.name for t in now.tasks) == Counter(t.name for t in was.tasks), was.config
                assert now.parent_config == was.config
                assert now.values == _expected(was.values), was.config


def apply(reader: Reader, thread_id: str, was: StateSnapshot) -> str:
    """Edit a checkpoint as `_expected` says, and give the new one's id."""

    def planned() -> Plan:
        row = reader.resolve(thread_id, was.config["configurable"]["checkpoint_id"])
        values = Inspection(reader, row.ref).values()
        deltas = Inspection(reader, row.ref).deltas().items()  # of these a person knows the reducer
        known = {channel: one.value_by(APPEND) for channel, one in deltas if is_unproven(values.get(channel))}
        known = {channel: [] if is_unproven(value) else value for channel, value in known.items()}
        after = apply_edits({**values, **known}, _edits(was.values))
        return edit.plan(reader, row, after, Mint(), rerun=True)

    plan = reader.moment(planned)
    reader.saver.apply(plan)
    return plan.add[0].row.checkpoint_id  # type: ignore[union-attr]


def recorded_in(graph: Graph, thread_id: str, checkpoint_id: str) -> StateSnapshot:
    found: StateSnapshot = next(
        s for s in graph.get_state_history(on(thread_id)) if s.config["configurable"]["checkpoint_id"] == checkpoint_id
    )
    return found


def _edits(shown: Any) -> list[Edit]:
    found = []
    if isinstance(shown, dict):
        if shown.get("log"):
            found.append(Edit(Act.APPEND, ("log",), "edited"))
        if shown.get("n") is not None:
            found.append(Edit(Act.SET, ("n",), 77))
        if shown.get("messages"):
            found.append(Edit(Act.SET, ("messages", 0, "content"), "edited"))
        if isinstance(shown.get("b"), str):  # a channel that a node of a bare Pregel listens to
            found.append(Edit(Act.SET, ("b",), "edited"))
    return found


def _expected(shown: Any) -> Any:
    if not isinstance(shown, dict):
        return shown
    new = dict(shown)
    for one in _edits(shown):
        if one.steps == ("log",):
            new["log"] = [*shown["log"], "edited"]
        elif one.steps == ("n",):
            new["n"] = 77
        elif one.steps == ("b",):
            new["b"] = "edited"
        else:
            first, *rest = shown["messages"]
            new["messages"] = [first.model_copy(update={"content": "edited"}), *rest]
    return new


def test_finished_siblings_run_again_only_if_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside a question, a finished sibling is named, and nothing is written without ``--rerun``."""
    path = tmp_path / "ckpt.sqlite"
    with opened(path, lambda saver: asking(saver, many=True)) as graph:
        start(graph, {"log": []})
        before = len(list(graph.get_state_history(on(THREAD))))
    assert run(["edit", THREAD, "-d", str(path), "--yes", "--set", "n=1", "--create"]) == 7
    error = capsys.readouterr().err
    assert "fine finished" in error and "--rerun" in error
    with opened(path, lambda saver: asking(saver, many=True)) as graph:
        assert len(list(graph.get_state_history(on(THREAD)))) == before
    assert run(["edit", THREAD, "-d", str(path), "--yes", "--set", "n=1", "--create", "--rerun"]) == 0
    assert "runs again" in capsys.readouterr().out


def test_a_subgraph_under_way_begins_again_only_if_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a subgraph did before it asked is work too, which `replay --commit` would abandon."""
    path = tmp_path / "ckpt.sqlite"
    with opened(path, lambda saver: nested(saver, ask=True)) as graph:
        start(graph, {"log": []})
    assert run(["edit", THREAD, "-d", str(path), "--yes", "--append", 'log="x"']) == 7
    error = capsys.readouterr().err
    assert "child (a subgraph) ran in part" in error and "--ns" in error and "--commit" not in error
    assert run(["edit", THREAD, "-d", str(path), "--yes", "--append", 'log="x"', "--rerun"]) == 0


def test_undo_takes_an_edit_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The thread is as it was."""
    path = tmp_path / "ckpt.sqlite"
    build: Build = lambda saver: counters(saver, interrupt_before=["b"])  # noqa: E731
    with opened(path, build) as graph:
        start(graph, {"log": [], "n": 1})
        before = list(graph.get_state_history(on(THREAD)))
    changed(path, "--set", "n=5", capsys=capsys)
    assert run(["undo", "-d", str(path), "--yes"]) == 0
    with opened(path, build) as graph:
        assert list(graph.get_state_history(on(THREAD))) == before
