"""``ckpt graph`` draws what real runs did: a tracer inside their own functions counts the same ways."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.graph import GraphFormat, graph
from ckpt_cli.commands.trace import trace
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import Page
from ckpt_cli.output.printer import render
from ckpt_cli.session import Session
from ckpt_cli.views.graph import GraphView
from tests import golden
from tests.commands.asking import at
from tests.graphs.building import Log, line, on
from tests.graphs.traced import Traced, Way
from tests.graphs.traced_kinds import KINDS, Saver, State, says

Database = Callable[[str], Path]


def look(path: Path, *threads: str, **options: Any) -> GraphView:
    """The view of some threads of a database."""
    view: GraphView = at(path, graph, list(threads) or None, **options)
    return view


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "graphs.sqlite"


@pytest.fixture
def saver(file: Path) -> Iterator[Saver]:
    with SqliteSaver.from_conn_string(str(file)) as opened:
        yield opened


def ways(view: GraphView, proof: tuple[str, ...] = ("recorded", "inferred")) -> Counter[Way]:
    """The edges of a view as the tracer counts them."""
    counted: Counter[Way] = Counter()
    for part in view.graphs:
        for one in part.edges:
            if one.proof in proof:
                counted[part.path, one.source, one.target or "?", one.kind, one.by] += one.count
    return counted


def agree(view: GraphView, *traced: Traced) -> None:
    """Every way and every count of a view is what the graphs themselves counted, and nothing else is drawn."""
    assert ways(view, ("recorded", "inferred", "candidates")) == sum((one.ways for one in traced), Counter())
    for part, one in zip(view.graphs, traced, strict=True):
        assert part.path == one.path and part.unrecorded == 0
        nodes = [node for node in part.nodes if node.name != START]
        for name, counter in (("runs", one.runs), ("asked", one.asked), ("failed", one.failed)):
            assert {n.name: getattr(n, name) for n in nodes if getattr(n, name)} == counter, name
    assert {part.path for part in view.graphs} == {one.path for one in traced}


@pytest.mark.parametrize("run", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_the_graph_is_what_ran(run: Callable[[Saver], list[Traced]], saver: Saver, file: Path) -> None:
    """Each way has the count that the graph's own functions counted, and a way that was not taken isn't drawn."""
    traced = run(saver)
    agree(look(file), *traced)


@pytest.mark.parametrize("run", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_without_paths(run: Callable[[Saver], list[Traced]], saver: Saver, file: Path, tmp_path: Path) -> None:
    """A database without task paths (checkpoint-sqlite before 3.1.2) shows the same ways: ids name the nodes."""
    traced = run(saver)
    pathless = tmp_path / "pathless.sqlite"
    with closing(sqlite3.connect(pathless)) as copy:
        saver.conn.backup(copy)
        copy.execute("update writes set task_path = ''")
        copy.commit()
        copy.execute("pragma journal_mode = delete")
    agree(look(pathless), *traced)


def parents(saver: Saver, memory: bool | None, *, is_last_fine: bool = False) -> None:
    """Three turns, in each of which a node of a subgraph leaves to the graph above, beside a node that finishes."""
    inner, outer = Traced(State), Traced(State)

    def out(state: Any) -> Any:
        if is_last_fine and state["n"] == 3:
            return {"ok": True}
        return Command(graph=Command.PARENT, goto="after", update={"ok": True})

    inner.node("first", says("first"))
    inner.node("out", out)
    inner.edge(START, "first")
    inner.edge("first", "out")
    outer.builder.add_node("sub", inner.builder.compile(checkpointer=memory))
    outer.node("after", says("after"))
    outer.edge(START, "sub")
    made = outer.builder.compile(checkpointer=saver)
    for n in (1, 2, 3):
        made.invoke({"n": n}, on("a"))
    assert inner.runs["out"] == 3


def test_an_edge_and_a_goto_to_the_same_node_are_one_way(
    saver: Saver, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node with an edge whose subgraph leaves to the same node leads there once, as the real runs did."""
    inner, outer = StateGraph(State), Traced(State)
    inner.add_node("out", lambda _: Command(graph=Command.PARENT, goto="after", update={"ok": True}))
    inner.add_edge(START, "out")
    outer.builder.add_node("sub", inner.compile())
    outer.node("after", says("after"))
    outer.edge(START, "sub")
    outer.builder.add_edge("sub", "after")
    made = outer.builder.compile(checkpointer=saver)
    for n in (1, 2, 3):
        made.invoke({"n": n}, on("a"))
    assert outer.runs["after"] == 3
    graph, *_ = look(file).graphs
    assert [one.count for one in graph.edges if (one.source, one.target) == ("sub", "after")] == [3]
    assert run(["update", "a", "-d", str(file), "--as-node", "sub", "--values", '{"n": 4}', "--dry-run"]) == 0
    assert "as sub: then after, as in 3 of 3 runs\n" in capsys.readouterr().out


@pytest.mark.parametrize("memory", [None, True], ids=["each call", "own memory"])
@pytest.mark.parametrize(("is_last_fine", "left"), [(False, 3), (True, 2)])
def test_a_node_that_left_to_the_graph_above(
    memory: bool | None, is_last_fine: bool, left: int, saver: Saver, file: Path
) -> None:
    """A node that left by Command(graph=PARENT) left no trace in its graph; the node of the subgraph led on."""
    parents(saver, memory, is_last_fine=is_last_fine)
    view = look(file)
    outer, inner = view.graphs
    [node] = [node for node in inner.nodes if node.name == "out"]
    assert (node.runs, node.left) == (3 - left, left)
    assert {(one.source, one.target): one.count for one in inner.edges if one.target != "__end__"} == {
        (START, "first"): 3,
        ("first", "out"): 3,
    }
    assert [one.count for one in outer.edges if (one.source, one.target) == ("sub", "after")] == [left]
    text = "\n".join(clean_line(line) for line in render(view, Page(None, golden.NOW)))
    assert "no run stored" not in text
    session = Session(str(file), clock=lambda: golden.NOW)
    try:
        notes = trace(session, "a").notes
    finally:
        session.close()
    assert [note for note in notes if note.startswith(f"left no result: sub › out {left}×;")]


def test_a_call_that_goes_on(saver: Saver, file: Path) -> None:
    """A subgraph's node whose call hasn't finished may still run: nothing is said to have left."""
    inner, outer = Traced(State), Traced(State)
    inner.node("first", says("first"))
    inner.node("later", says("later"))
    inner.edge(START, "first")
    inner.edge("first", "later")
    outer.builder.add_node("sub", inner.builder.compile(interrupt_before=["later"]))
    outer.edge(START, "sub")
    outer.builder.compile(checkpointer=saver).invoke({}, on("a"))
    assert not [node for part in look(file).graphs for node in part.nodes if node.left]


def test_a_task_that_asks_twice(saver: Saver, file: Path) -> None:
    """`asked` counts tasks: the database keeps only the last of the questions that one task asks in a row."""
    one = Traced(State)
    one.node("ask", lambda _: {"log": [interrupt("first?"), interrupt("second?")]})
    one.edge(START, "ask")
    made = one.builder.compile(checkpointer=saver)
    made.invoke({}, on("a"))
    for answer in ("yes", "no"):
        made.invoke(Command(resume=answer), on("a"))
    assert one.asked["ask"] == 2
    assert saver.conn.execute("select count(*) from writes where channel = '__interrupt__'").fetchone() == (1,)
    [part] = look(file).graphs
    assert [node.asked for node in part.nodes if node.name == "ask"] == [1]


def test_an_error_handler(saver: Saver, file: Path) -> None:
    """The way from a failed node to its handler is one of its own kind; the handler is drawn, and counted as a node."""
    one = Traced(State)

    def bad(_: Any) -> Any:
        raise ValueError("no")

    one.builder.add_node("bad", bad, error_handler=lambda _: {"log": ["handled"]})
    one.edge(START, "bad")
    one.builder.compile(checkpointer=saver).invoke({}, on("a"))
    expected = {("", "bad", "__error_handler__bad", "error", "task"): 1, ("", START, "bad", "edge", "task"): 1}
    view = look(file)
    assert ways(view, ("recorded",)) == expected
    heading, *drawn = [clean_line(line) for line in render(view, Page(100, golden.NOW))]
    assert [line.split()[1] for line in drawn if line.startswith("●")] == [START, "bad", "__error_handler__bad"]
    assert heading.split("   ")[1].startswith("2 nodes ·")


def test_the_functional_api_records_no_edges(saver: Saver, file: Path) -> None:
    """An entrypoint has calls, and no edge: not even one to the end."""

    @task
    def double(number: int) -> int:
        return number * 2

    @entrypoint(checkpointer=saver)
    def flow(numbers: list[int]) -> int:
        return sum(double(n).result() for n in numbers)

    flow.invoke([1, 2, 3], on("a"))
    [part] = look(file).graphs
    assert [(node.name, node.runs, node.calls) for node in part.nodes] == [("flow", 1, 3)]
    assert not part.edges and "functional API" in part.notes[0]


def test_runs_that_are_stored_at_their_end_record_no_edges(saver: Saver, file: Path) -> None:
    """With durability="exit" the nodes are known and no edge is; the answer says so."""
    one = Traced(State)
    one.node("a", says("a"))
    one.node("b", says("b"))
    one.edge(START, "a")
    one.edge("a", "b")
    one.builder.compile(checkpointer=saver).invoke({}, on("a"), durability="exit")
    [part] = look(file).graphs
    assert {node.name for node in part.nodes} == {START, "a", "b"}
    assert not part.edges and part.notes[0] == "these runs record no edges" and part.unrecorded == part.steps


def test_a_command_as_input(saver: Saver, file: Path) -> None:
    """A Command that a run got as its input led to a node, and no task did."""
    one = Traced(State)
    one.node("a", says("a"))
    one.node("b", says("b"))
    one.edge(START, "a")
    made = one.builder.compile(checkpointer=saver)
    one.start()
    made.invoke({}, on("a"))
    made.invoke(Command(goto="b"), on("a"))
    one.ways["", None, "b", "edge", "command"] += 1
    agree(look(file), one)


def test_two_nodes_before_one_without_writes_are_candidates(database: Database) -> None:
    """Without writes, as in langgraph 0.0, none of three nodes in one step is named as the one that led on."""
    [part] = look(database("legacy/py-0.0.69"), "err-retried").graphs
    [edge] = [edge for edge in part.edges if edge.target == "post"]
    assert (edge.source, edge.proof, edge.candidates) == (None, "candidates", ("bad", "good", "good2"))
    assert {edge.proof for edge in part.edges} == {"candidates"} and part.notes[0].startswith("4 of 4 steps")


def test_names_cannot_break_out_of_the_source(saver: Saver, file: Path) -> None:
    """A node's name with quotes, brackets and control characters stays inside its label."""
    one = Traced(State)
    name = 'x"]\n  evil --> me\x1b[31m'
    one.node(name, says("x"))
    one.edge(START, name)
    one.builder.compile(checkpointer=saver).invoke({}, on("a"))
    for form in (GraphFormat.MERMAID, GraphFormat.DOT):
        lines = [clean_line(line) for line in render(look(file, form=form), Page(None, golden.NOW))]
        assert not [line for line in lines if line.strip().startswith("evil") or "\x1b" in line]
        assert sum("evil" in line for line in lines) == 1


def test_looks(database: Database) -> None:
    """Loops, Sends, subgraphs, forks, an old release; many threads at once."""
    for name in ("commands", "mapreduce", "error-fixed", "subgraph-interrupted", "functional", "durability-exit"):
        golden.check(f"graph/{name}", look(database("real"), name))
    golden.check("graph/js", look(database("js")))
    golden.check("graph/py-0.0.69", look(database("legacy/py-0.0.69"), "err-retried"))
    for form in (GraphFormat.MERMAID, GraphFormat.DOT):
        lines = [clean_line(line) for line in render(look(database("real"), "commands", form=form), Page(None, 0))]
        golden.compare(f"graph/commands.{form}.txt", lines)


def test_a_node_that_ran_after_it_is_no_end(saver: Saver, file: Path) -> None:
    """The write that led to a node is gone: the task before it didn't end there, as the node ran next."""
    line(saver, "a", "b", "c").invoke({"n": 1}, on("t"))
    saver.conn.execute("DELETE FROM writes WHERE channel = 'branch:to:b'")
    saver.conn.commit()
    edges = {(one.source, one.target, one.proof) for part in look(file, "t").graphs for one in part.edges}
    assert edges == {
        (START, "a", "recorded"),
        ("a", "b", "candidates"),
        ("b", "c", "recorded"),
        ("c", "__end__", "inferred"),
    }


def test_a_node_whose_subgraph_ran_has_run(tmp_path: Path) -> None:
    """Nothing is stored of a task that was killed, but its subgraph's steps are; no such node is one that never ran."""

    def stop(_: Log) -> Log:
        raise KeyboardInterrupt

    inner: Any = StateGraph(Log)
    inner.add_node("first", lambda _: {"log": ["first"]})
    inner.add_node("second", stop)
    inner.add_edge(START, "first")
    inner.add_edge("first", "second")
    called = inner.compile()
    outer: Any = StateGraph(Log)
    outer.add_node("before", lambda _: {"log": ["before"]})
    outer.add_node("caller", lambda state: called.invoke(state))
    outer.add_edge(START, "before")
    outer.add_edge("before", "caller")
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver, pytest.raises(KeyboardInterrupt):
        outer.compile(checkpointer=saver).invoke({"log": []}, on("t"), durability="sync")
    [root, inside] = at(path, graph, ["t"]).graphs
    assert {node.name: (node.runs, node.ran) for node in root.nodes if node.name == "caller"} == {"caller": (0, True)}
    assert [node.runs for node in inside.nodes if node.name == "first"] == [1]
