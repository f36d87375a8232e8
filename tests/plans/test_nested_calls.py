"""A subgraph inside another one: what ckpt says of the next run is what the real library does."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, RetryPolicy, interrupt

from ckpt_cli.app import run
from tests.graphs import Graph
from tests.graphs.building import Log, line, on

INNER = ("i1", "i2", "i3")
CHANGES: dict[str, tuple[str, ...]] = {
    "fork": ("fork", "t", "@^"),
    "rollback": ("rollback", "t", "@^"),
    "edit": ("edit", "t", "@^", "--append", 'log="new"', "--rerun"),
    "update": ("update", "t", "@^", "--values", '{"log": ["new"]}', "--as-node", "i1", "--reducer", "log=append"),
}


class Bench(NamedTuple):
    """A new database: the real saver on it, the nodes that ran, and a function that runs ckpt and gives its JSON."""

    saver: Any
    ran: list[str]
    ckpt: Callable[..., Any]

    def node(self, name: str, act: Callable[[], Any] = list) -> Callable[[Any], Any]:
        """A node that notes each of its runs, and logs its name and what `act` gives."""

        def node(state: Any) -> Any:
            self.ran.append(name)
            return result if isinstance(result := act(), Command) else {"log": [name, *result]}

        return node

    def inner(self, kind: str, memory: bool | None) -> Graph:
        """``i1``, ``i2`` and ``i3``, which asks, fails, or leaves for the graph around it, as `kind` says."""
        acts: dict[str, Callable[[], Any]] = {
            "asks": lambda: [interrupt("sure?")],
            "fails": lambda: [{}["failed"]],
            "leaves": lambda: Command(graph=Command.PARENT, goto="z"),
        }
        last = next((act for word, act in acts.items() if word in kind), list)
        nodes = {name: self.node(name, last if name == "i3" else list) for name in INNER}
        return line(memory, *INNER, schema=Log, nodes=nodes)

    def around(self, sub: Any, name: str, saver: Any = None, *, leaves: bool = False, **options: Any) -> Graph:
        """``a``, then `sub` as the node `name`, then ``z``, to which an edge leads unless `sub` `leaves` for it."""
        builder = StateGraph(Log)
        for node, what in (("a", self.node("a")), (name, sub), ("z", self.node("z"))):
            builder.add_node(node, what)
        builder.add_edge(START, "a")
        builder.add_edge("a", name)
        if not leaves:
            builder.add_edge(name, "z")
        return builder.compile(checkpointer=saver, **options)

    def namespaces(self) -> list[str]:
        """The namespaces of the subgraphs."""
        return sorted({ns for one in self.saver.list(on("t")) if (ns := one.config["configurable"]["checkpoint_ns"])})

    def must_tell_the_truth(self, graph: Graph, ns: str, change: str, *, goes_on: bool, why: str) -> str:
        """The plan of a change of a subgraph says that the next run goes on there exactly if it does.

        The result is the reason against it that `show` gives, else the status of the first task there.
        """
        plan = self.ckpt(*CHANGES[change], "--ns", ns, "--yes")
        shown, notes = self.ckpt("show", "t", "--ns", ns), " ".join(plan["notes"])
        self.ran.clear()
        with suppress(KeyError):
            graph.invoke(None, on("t"))
        ran = [name for name in self.ran if name in INNER]
        assert (bool(ran) and ran[0] != "i1") == goes_on
        if goes_on:
            assert plan["summary"].endswith(f"next: {ran[0]}") and "the call of" not in notes
        else:
            assert "nothing runs next" in plan["summary"] and "continues from" not in notes and why in notes
        reason: str = shown["not_continued"] or shown["tasks"][0]["status"]
        return reason


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Bench]:
    """A new database."""
    path = tmp_path / "nested.sqlite"

    def ckpt(*words: str, text: bool = False) -> Any:
        capsys.readouterr()
        assert run([*words, "-d", str(path), *([] if text else ["--json"])]) == 0
        out = capsys.readouterr().out
        return out if text else json.loads(out)

    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield Bench(SqliteSaver(connection), [], ckpt)


def with_memory(bench: Bench, kind: str) -> Graph:
    """A subgraph with its own memory in a subgraph without one."""
    options = {"interrupt_before": ["inner"]} if "stops" in kind else {}
    middle = bench.around(bench.inner(kind, True), "inner", leaves="leaves" in kind, **options)
    return bench.around(middle, "sub", bench.saver)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["done", "asks", "asks updated", "leaves", "stops"])
def test_its_own_memory_inside_a_subgraph_without_one(bench: Bench, kind: str, change: str) -> None:
    """A run continues it if it begins with a call of the graph around it that is due there, also a later call."""
    graph = with_memory(bench, kind)
    graph.invoke({"log": ["in"]}, on("t"))
    if kind == "stops":
        graph.invoke(None, on("t"))
        graph.invoke({"log": ["again"]}, on("t"))
    if "updated" in kind:
        graph.update_state(on("t"), {"log": ["other"]}, as_node="a")
    why = "doesn't begin with sub › inner: its next call starts anew" if "updated" in kind else "sub › inner is over"
    shown = bench.must_tell_the_truth(graph, "sub|inner", change, goes_on=kind in ("asks", "stops"), why=why)
    assert (shown in ("due", "waiting")) == (kind == "asks") or kind == "stops"


def test_a_node_that_left_it(bench: Bench) -> None:
    """It is neither due nor running, and `graph` counts it."""
    with_memory(bench, "leaves").invoke({"log": ["in"]}, on("t"))
    shown = bench.ckpt("show", "t", "--ns", "sub|inner")
    assert (shown["next"], [(task["node"], task["status"]) for task in shown["tasks"]]) == ([], [("i3", "left")])
    assert "i3  no result here; the graph above has gone on" in bench.ckpt("tree", "t", "--full", text=True)
    graphs = {graph["path"]: graph["nodes"] for graph in bench.ckpt("graph", "t")["graphs"]}
    assert [node["left"] for node in graphs["sub|inner"] if node["name"] == "i3"] == [1]


def test_the_node_that_failed_in_it(bench: Bench) -> None:
    """It is named after the nodes that called it."""
    with pytest.raises(KeyError, match="failed"):
        with_memory(bench, "fails").invoke({"log": ["in"]}, on("t"))
    assert "failed: sub › inner › i3" in bench.ckpt("tree", "t", text=True)


def test_its_question_and_answer(bench: Bench) -> None:
    """They are also those of the graph around it that called it now, and not of an earlier call."""
    graph = with_memory(bench, "asks")
    graph.invoke({"log": ["in"]}, on("t"))
    graph.invoke({"log": ["again"]}, on("t"))
    calls = [ns for ns in bench.namespaces() if ":" in ns]
    asking = {ns: bench.ckpt("resume", "t", "--ns", ns)["questions"] for ns in calls}
    (now,) = [ns for ns in calls if asking[ns]]
    bench.ckpt("resume", "t", "--value", "yes", "--yes")
    assert [task["status"] for task in bench.ckpt("show", "t", "--ns", now)["tasks"]] == ["answered"]
    graph.invoke(None, on("t"))
    assert graph.get_state(on("t")).values["log"][-4:] == ["i3", "yes", "z", "z"]


def in_a_call(bench: Bench, kind: str) -> Graph:
    """A node that calls a subgraph in a ``@task``, and perhaps the subgraph itself before; it may ask afterwards."""
    inner, other = bench.inner(kind, None), bench.inner("", None)

    @task
    def call(given: dict[str, Any]) -> Any:
        return inner.invoke(given)

    def node(state: Any) -> Any:
        if "second" in kind:
            other.invoke({"log": ["first"]})
        called = call({"log": ["called"]}).result()
        return {"log": [*called["log"][-1:], *([interrupt("later?")] if "waits" in kind else [])]}

    return bench.around(node, "sub", bench.saver)


CALLED = ["done", "asks", "fails", "asks second", "done second", "asks updated", "done waits"]


@pytest.mark.parametrize("change", ["fork", "update"])
@pytest.mark.parametrize("kind", CALLED)
def test_a_subgraph_that_a_task_function_called(bench: Bench, kind: str, change: str) -> None:
    """A run continues it if its node runs again and the ``@task`` has not returned."""
    graph = in_a_call(bench, kind)
    with suppress(KeyError):
        graph.invoke({"log": ["in"]}, on("t"))
    if "updated" in kind:
        graph.update_state(on("t"), {"log": ["other"]}, as_node="a")
    (ns,) = [ns for ns in bench.namespaces() if "|call:" in ns]
    goes_on = kind in ("asks", "fails", "asks second")
    why = "the call of sub › call is " + ("out of date" if "updated" in kind else "over")
    shown = bench.must_tell_the_truth(graph, ns, change, goes_on=goes_on, why=why)
    assert why in shown or shown == ("due" if goes_on else "left")


@pytest.mark.parametrize("change", ["fork", "update"])
@pytest.mark.parametrize("kind", ["asks", "done waits", "asks memory", "done"])
@pytest.mark.parametrize("is_node", [True, False])
def test_a_subgraph_inside_a_graph_that_stores_nothing(bench: Bench, kind: str, change: str, is_node: bool) -> None:
    """No run continues it: the graph with ``checkpointer=False`` around it begins anew."""
    hidden = bench.around(bench.inner(kind, True if "memory" in kind else None), "inner", saver=False)

    def node(state: Any) -> Any:
        log = hidden.invoke({"log": ["in"]})["log"]
        return {"log": [*log, *([interrupt("later?")] if "waits" in kind else [])]}

    graph = bench.around(hidden if is_node else node, "sub", bench.saver)
    graph.invoke({"log": ["in"]}, on("t"))
    why = "no checkpoint of sub is stored, as with checkpointer=False: the next run begins it anew"
    why = "its next call starts anew" if "memory" in kind else why
    why = "is over" if kind == "done" or ("waits" in kind and is_node) else why
    shown = bench.must_tell_the_truth(graph, bench.namespaces()[0], change, goes_on=False, why=why)
    assert why in shown or shown == "left"


def handled(bench: Bench, memory: Any = None) -> Graph:
    """A subgraph fails, and its error handler calls another one, which asks."""
    asking = bench.inner("asks", memory)
    builder = StateGraph(Log)

    def handler(state: Any) -> Any:
        return {"log": asking.invoke({"log": ["in"]})["log"][-2:]}

    failing = bench.around(bench.inner("fails", None), "inner", memory)
    builder.add_node("sub", failing, error_handler=handler)
    builder.add_edge(START, "sub")
    return builder.compile(checkpointer=bench.saver)


@pytest.mark.parametrize("change", ["fork", "rollback"])
@pytest.mark.parametrize("is_of_handler", [True, False])
@pytest.mark.parametrize("memory", [None, True])
def test_a_subgraph_that_an_error_handler_called(
    bench: Bench, memory: bool | None, is_of_handler: bool, change: str
) -> None:
    """A run continues it, and not the one that failed."""
    graph = handled(bench, memory)
    graph.invoke({"log": ["in"]}, on("t"))
    ns = max(bench.namespaces(), key=lambda ns: ("__error_handler__" in ns) == is_of_handler)
    plan = bench.ckpt(*CHANGES[change], "--ns", ns, "--yes")
    assert plan["summary"].endswith("next: i2" if is_of_handler else "nothing runs next")
    why = "the next run doesn't begin with sub: its next call starts anew" if memory else "the call of sub is over"
    assert (why in " ".join(plan["notes"])) != is_of_handler
    bench.ran.clear()
    graph.invoke(None, on("t"))
    assert bench.ran == (["i2", "i3"] if is_of_handler else ["i3"])


@pytest.mark.parametrize("change", ["fork", "rollback"])
@pytest.mark.parametrize("memory", [None, True])
def test_a_subgraph_that_a_finished_error_handler_called(bench: Bench, memory: bool | None, change: str) -> None:
    """A sibling waits: the run that goes on with the step runs the handler again, which continues its subgraph."""
    failing = bench.inner("fails", memory)
    builder = StateGraph(Log).add_node("ask", lambda _: {"log": [interrupt("sure?")]})

    def handler(_: Any) -> Any:
        with suppress(KeyError):
            failing.invoke({"log": ["in"]})
        return {"log": ["caught"]}

    builder.add_node("sub", bench.node("sub", lambda: [{}["failed"]]), error_handler=handler)
    graph = builder.add_edge(START, "ask").add_edge(START, "sub").compile(checkpointer=bench.saver)
    graph.invoke({"log": ["in"]}, on("t"))
    [ns] = bench.namespaces()
    plan = bench.ckpt(*CHANGES[change], "--ns", ns, "--yes")
    assert plan["summary"].endswith("next: i2") and "the call of" not in " ".join(plan["notes"])
    bench.ran.clear()
    graph.invoke(None, on("t"))
    assert bench.ran == ["i2", "i3"]


def test_the_question_of_a_subgraph_that_an_error_handler_called(bench: Bench) -> None:
    """Its answer is stored where the subgraph asked, as that of a second subgraph, which a ``@task`` called."""
    for build, names in ((handled, ["sub", "__error_handler__sub", "i3"]), (asking_second, ["sub", "call", "i3"])):
        bench.saver.delete_thread("t")
        graph = build(bench)
        graph.invoke({"log": ["in"]}, on("t"))
        plan = bench.ckpt("resume", "t", "--value", "yes", "--yes")
        assert f"recorded for {' › '.join(names)} (" in plan["summary"] and "anew" not in " ".join(plan["notes"])
        assert "__interrupt__" not in graph.invoke(None, on("t"))
        assert "yes" in graph.get_state(on("t")).values["log"]


def asking_second(bench: Bench) -> Graph:
    return in_a_call(bench, "asks second")


def test_a_node_that_asked_beside_one_that_left(bench: Bench) -> None:
    """`show` says that the call is over: no run asks that again."""
    builder = StateGraph(Log)
    builder.add_node("asks", bench.node("asks", lambda: [interrupt("sure?")]))
    builder.add_node("leaves", bench.node("leaves", lambda: Command(graph=Command.PARENT, goto="z")))
    builder.add_edge(START, "asks")
    builder.add_edge(START, "leaves")
    graph = bench.around(builder.compile(), "sub", bench.saver, leaves=True)
    graph.invoke({"log": ["in"]}, on("t"))
    shown = bench.ckpt("show", "t", "--ns", bench.namespaces()[0])
    assert [task["status"] for task in shown["tasks"]] == ["waiting", "left"]
    assert "the call of sub is over" in shown["not_continued"]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("calls_again", [True, False])
def test_a_call_after_one_that_has_not_finished(bench: Bench, calls_again: bool, change: str) -> None:
    """Whether the next run comes to the call that a retry made, only the node's code shows, and the plan says so."""
    tries: list[str] = []

    def ask_or_fail() -> list[str]:
        tries.append("i3")
        return [interrupt("sure?")] if len(tries) > 1 else [{}["failed"]]

    nodes = {name: bench.node(name, ask_or_fail if name == "i3" else list) for name in INNER}
    sub = line(None, *INNER, schema=Log, nodes=nodes)

    def caller(state: Any) -> Any:
        if calls_again:
            with suppress(KeyError):
                return sub.invoke({"log": []})
        return sub.invoke({"log": []})

    policy = None if calls_again else RetryPolicy(initial_interval=0.01, retry_on=KeyError)
    graph = StateGraph(Log).add_node("n", caller, retry_policy=policy).add_edge(START, "n")
    running = graph.compile(checkpointer=bench.saver)
    running.invoke({"log": ["in"]}, on("t"))
    first, later = bench.namespaces()
    plan = bench.ckpt(*CHANGES[change], "--ns", later, "--yes")
    assert f"an earlier call of n, {first}, has not finished" in " ".join(plan["notes"])
    assert "continues from" not in " ".join(plan["notes"])
    if calls_again:
        tries.clear()
    bench.ran.clear()
    running.invoke(None, on("t"))
    assert bench.ran == (["i3", "i2", "i3"] if calls_again else ["i3"])


@pytest.mark.parametrize("change", CHANGES)
def test_a_later_call_that_failed_with_an_answer(bench: Bench, change: str) -> None:
    """The answer is left at the root, and the plan says both: the run takes it again if it comes there."""
    answers: list[str] = []

    def ask_or_fail(state: Any) -> Any:
        if "first" in state["log"]:
            raise KeyError("first")
        answers.append(interrupt("sure?"))
        return {"log": [{}["failed"] if len(answers) == 1 else answers[-1]]}

    sub = line(None, "i1", "i2", "i3", schema=Log, nodes={"i3": ask_or_fail})

    def node(_: Any) -> Any:
        with suppress(KeyError):
            sub.invoke({"log": ["first"]})
        return sub.invoke({"log": ["second"]})

    graph = StateGraph(Log).add_node("n", node).add_edge(START, "n").compile(checkpointer=bench.saver)
    graph.invoke({"log": ["in"]}, on("t"))
    with suppress(KeyError):
        graph.invoke(Command(resume="nobody"), on("t"))
    plan = bench.ckpt(*CHANGES[change], "--ns", bench.namespaces()[1], "--yes")
    notes = " ".join(plan["notes"])
    assert "an earlier call of n" in notes and 'left the answer "nobody"' in notes
    graph.invoke(None, on("t"))
    assert answers == ["nobody", "nobody"]


@pytest.mark.parametrize("change", CHANGES)
def test_its_own_memory_called_by_a_task_that_may_have_returned(bench: Bench, change: str) -> None:
    """The namespace doesn't have the id of the call, and the plan says so, of a subgraph in that memory too."""
    sub = bench.around(bench.inner("fails", None), "inner", True)

    @task
    def call() -> list[str]:
        with suppress(KeyError):
            sub.invoke({"log": []})
        return ["caught"]

    def node(state: Any) -> Any:
        return {"log": [*call().result(), interrupt("sure?")]}

    graph = StateGraph(Log).add_node("n", node).add_edge(START, "n").compile(checkpointer=bench.saver)
    graph.invoke({"log": ["in"]}, on("t"))
    inside = next(ns for ns in bench.namespaces() if "inner:" in ns)
    for ns in (inside, "n|call") if change == "fork" else (inside,):
        plan = bench.ckpt(*CHANGES[change], "--ns", ns, "--yes")
        assert "n › call is called by a @task, and one has returned in this step" in " ".join(plan["notes"])
    bench.ran.clear()
    graph.invoke(None, on("t"))
    assert not bench.ran


def test_a_call_after_many(bench: Bench) -> None:
    """So many earlier calls aren't read: the plan says that the task must make them again, as the next run does."""
    quick = line(None, "i1", schema=Log, nodes={"i1": bench.node("i1")})
    asking = bench.inner("asks", None)

    def node(_: Any) -> Any:
        for _ in range(51):
            quick.invoke({"log": []})
        return {"log": asking.invoke({"log": []})["log"]}

    graph = StateGraph(Log).add_node("n", node).add_edge(START, "n").compile(checkpointer=bench.saver)
    graph.invoke({"log": ["in"]}, on("t"))
    [ns] = [one for one in bench.namespaces() if one.endswith("|51")]
    plan = bench.ckpt(*CHANGES["fork"], "--ns", ns, "--yes")
    assert "the task made 51 calls before this one" in " ".join(plan["notes"])
    bench.ran.clear()
    graph.invoke(None, on("t"))
    assert bench.ran == ["i2", "i3"]
