"""Savers that store no task paths: tasks of a node that has a join to which nobody has written yet.

Their ids are computed from the join's name too, and no checkpoint of the thread has that name.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Barrier
from time import sleep
from typing import Any, NamedTuple

import pytest
from langgraph.func import task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run as ckpt
from tests.cross.backend import Backend, Fresh
from tests.graphs import Graph
from tests.graphs.building import Bag, line, on, says
from tests.graphs.waiting import until_all_stored

Node = Any
Nodes = dict[str, Node]


def asks(_: Any) -> dict[str, Any]:
    """Ask a question, and log the answer."""
    return {"log": [interrupt("sure?")]}


def asks_twice(_: Any) -> dict[str, Any]:
    """Ask two questions, and log the answers."""
    return {"log": [interrupt("sure?"), interrupt("very sure?")]}


@task
def asking_call() -> Any:
    """Ask a question in a call."""
    return interrupt("sure?")


@task
def failing_call() -> Any:
    """Fail in a call."""
    raise ValueError("down")


def calls_and_asks(_: Any) -> dict[str, Any]:
    """Call a task that asks."""
    return {"log": [asking_call().result()]}


def fails(_: Any) -> dict[str, Any]:
    """Fail."""
    raise ValueError("down")


class Killed(BaseException):
    """The end of a run that stores nothing more."""


def goes_on_after_failure(saver: Any) -> Node:
    """A node that catches the failure of a call, and is killed once the failure is stored."""

    def node(_: Any) -> dict[str, Any]:
        with suppress(ValueError):
            failing_call().result()
        while all(channel != "__error__" for _, channel, _ in saver.get_tuple(on(THREAD)).pending_writes):
            sleep(0.01)
        raise Killed

    return node


def memory() -> Graph:
    """A subgraph with its own memory that asks."""
    return line(True, "pre", "leaf", nodes={"leaf": asks})


def subgraph() -> Graph:
    """A subgraph that asks."""
    return line(None, "pre", "leaf", nodes={"leaf": asks})


def planner(saver: Any, plan: Node, handler: Node | None = None, **beside: Node) -> Graph:
    """``plan``, which two workers follow and a join of both comes back to; other nodes begin beside it."""
    builder = StateGraph(Bag)
    builder.add_node("plan", plan, **({} if handler is None else {"error_handler": handler}))
    for name, node in {"a": says("a"), "b": says("b"), **beside}.items():
        builder.add_node(name, node)
    for name in ("plan", *beside):
        builder.add_edge(START, name)
    builder.add_conditional_edges("plan", lambda s: END if "a" in s["log"] else ["a", "b"], ["a", "b", END])
    builder.add_edge(["a", "b"], "plan")
    return builder.compile(checkpointer=saver)


def side_by_side(saver: Any, c: Node, **others: Node) -> Graph:
    """``a``, ``b`` and ``c`` begin together; a join of the first two leads to ``c``."""
    builder = StateGraph(Bag)
    for name, node in {"a": says("a"), "b": says("b"), "c": c, **others}.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
    builder.add_edge(["b", "a"], "c")
    return builder.compile(checkpointer=saver)


def half_written(saver: Any, plan: Node) -> Graph:
    """``plan`` begins when ``a`` has finished; a join of ``a`` and ``b`` leads to it too."""
    builder = StateGraph(Bag)
    for name, node in {"a": says("a"), "b": says("b"), "plan": plan}.items():
        builder.add_node(name, node)
    builder.add_edge(START, "a")
    builder.add_edge("a", "plan")
    builder.add_edge(["a", "b"], "plan")
    builder.add_conditional_edges("plan", lambda s: END if "b" in s["log"] else "b", ["b", END])
    return builder.compile(checkpointer=saver)


class Asking(NamedTuple):
    """A graph that asks, and the nodes that do."""

    build: Callable[[Any], Graph]
    asking: tuple[str, ...] = ("plan",)


ASKING = {
    "one": Asking(lambda saver: planner(saver, asks)),
    "twice": Asking(lambda saver: planner(saver, asks_twice)),
    "beside a node that finishes": Asking(lambda saver: planner(saver, asks, x=says("x"))),
    "beside a node that asks": Asking(lambda saver: planner(saver, asks, x=asks), ("plan", "x")),
    "another, and this one finishes": Asking(lambda saver: planner(saver, says("plan"), x=asks), ("x",)),
    "in a subgraph": Asking(lambda saver: planner(saver, subgraph())),
    "in a subgraph with memory": Asking(lambda saver: planner(saver, memory(), x=says("x"))),
    "behind a join of nodes of this step": Asking(lambda saver: side_by_side(saver, asks), ("c",)),
    "behind a half written join": Asking(lambda saver: half_written(saver, asks)),
}
TURN = {"log": ["in"]}
THREAD = "t"


def run(graph: Graph, given: Any = TURN, thread_id: str = THREAD) -> None:
    """A run to its end, which may be a failure."""
    with suppress(ValueError, Killed):
        graph.invoke(given, on(thread_id), durability="sync")


def shown(backend: Backend, capsys: Any, thread_id: str = THREAD) -> dict[str, Any]:
    """What `show` says of a thread's head."""
    view: dict[str, Any] = backend.ckpt("show", thread_id, capsys=capsys)
    return view


def status(backend: Backend, capsys: Any, thread_id: str = THREAD) -> str:
    """What `threads` says of a thread."""
    threads = backend.ckpt("threads", capsys=capsys)["threads"]
    return str(next(one["status"] for one in threads if one["thread_id"] == thread_id))


def mine(view: dict[str, Any]) -> list[Any]:
    """Each task as ckpt shows it: node, error, ids of questions, whether it has finished."""
    return [
        (one["node"], one["error"], [i["id"] for i in one["interrupts"]], one["status"] == "finished")
        for one in view["tasks"]
    ]


def theirs(graph: Graph, thread_id: str = THREAD) -> list[Any]:
    """Each task as the library shows it."""
    state = graph.get_state(on(thread_id))
    return [(one.name, one.error, [i.id for i in one.interrupts], one.name not in state.next) for one in state.tasks]


class UnseenJoins:
    """A backend without task paths; tests with the fixture `fresh` of the backend."""

    @pytest.mark.parametrize("kind", ASKING)
    def test_a_question(self, fresh: Fresh, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Tasks and `next` are the library's, `resume` lists the questions, and their answers end the run."""
        backend, (build, asking) = fresh(), ASKING[kind]
        with backend.official() as saver:
            graph = build(saver)
            run(graph)
            while interrupts := graph.get_state(on(THREAD)).interrupts:
                view = shown(backend, capsys)
                assert (mine(view), tuple(view["next"])) == (theirs(graph), graph.get_state(on(THREAD)).next)
                assert status(backend, capsys) == "waiting"
                questions = backend.ckpt("resume", THREAD, capsys=capsys)["questions"]
                assert {one["id"] for one in questions} == {one.id for one in interrupts}
                answers = [word for one in interrupts for word in ("--interrupt", f'{one.id}="yes"')]
                backend.ckpt("resume", THREAD, *answers, "--yes", capsys=capsys)
                run(graph, None)
            run_by_library = dict(graph.get_state(on(THREAD)).values)
            run(graph, TURN, "other")
            while interrupts := graph.get_state(on("other")).interrupts:
                run(graph, Command(resume={one.id: "yes" for one in interrupts}), "other")
            assert graph.get_state(on("other")).values == run_by_library
            assert run_by_library["log"].count("yes") >= len(asking)
        assert status(backend, capsys) == "done"

    @pytest.mark.parametrize("build", [side_by_side, half_written])
    def test_a_failure(self, fresh: Fresh, build: Any, capsys: pytest.CaptureFixture[str]) -> None:
        """If the nodes of the join are known, the task's id shows that it is the one that failed."""
        backend = fresh()
        with backend.official() as saver:
            graph = build(saver, fails)
            run(graph)
            assert mine(shown(backend, capsys)) == theirs(graph)
        assert status(backend, capsys) == "failed"

    def test_several_failures(self, fresh: Fresh, capsys: pytest.CaptureFixture[str]) -> None:
        """Whichever of two failures LangGraph stores before it ends the run, the tasks are the library's."""
        backend, together = fresh(), Barrier(2)

        def fails_too(state: Any) -> Any:
            together.wait()
            return fails(state)

        with backend.official() as saver:
            graph = side_by_side(saver, fails_too, d=fails_too)
            run(graph)
            assert mine(shown(backend, capsys)) == theirs(graph)
        assert status(backend, capsys) == "failed"

    def test_a_join_that_another_thread_has_reached(self, fresh: Fresh, capsys: pytest.CaptureFixture[str]) -> None:
        """Another thread's join names a failure before the join's nodes have run; one that doesn't fit names none."""
        backend = fresh()
        with backend.official() as saver:
            run(planner(saver, fails))
            before = shown(backend, capsys)
            run(side_by_side(saver, says("plan")), TURN, "of another graph")
            assert shown(backend, capsys) == before
            run(planner(saver, says("plan")), TURN, "finished")
            assert mine(shown(backend, capsys)) == theirs(planner(saver, fails))
        assert status(backend, capsys) == "failed"

    def test_a_failure_of_an_unknown_task(self, fresh: Fresh, capsys: pytest.CaptureFixture[str]) -> None:
        """A node that failed, and one that caught the failure of a call and was killed, leave the same data.

        So `show` says the same of both: the node is due, and beside it a task failed.
        """
        for node in (lambda _: fails, goes_on_after_failure):
            backend = fresh()
            with backend.official() as saver:
                run(planner(saver, node(saver)))
            view = shown(backend, capsys)
            assert ([(one["node"], one["status"]) for one in view["tasks"]]) == [("plan", "due")]
            assert [(one["node"], one["error"]) for one in view["unplaced"]] == [(None, "ValueError('down')")]
            assert status(backend, capsys) == "unfinished"

    @pytest.mark.parametrize("handler", [says("mended"), asks, fails], ids=["finishes", "asks", "fails"])
    def test_an_error_handler(self, fresh: Fresh, handler: Node, capsys: pytest.CaptureFixture[str]) -> None:
        """The task of the error handler shows which node's failure it handles."""
        backend = fresh()

        def handle(state: Any) -> Any:
            until_all_stored(saver, on(THREAD), 2)
            return handler(state)

        with backend.official() as saver:
            run(planner(saver, fails, handler=handle, x=asks))
        view = shown(backend, capsys)
        tasks = {one["node"]: (one["error"], one["handler"]) for one in view["tasks"] if one["node"] != "x"}
        assert tasks["plan"] == ("ValueError('down')", "__error_handler__plan")
        assert tasks.keys() == {"plan", "__error_handler__plan"}
        assert not view["unplaced"]

    def test_a_call_that_asks(self, fresh: Fresh, capsys: pytest.CaptureFixture[str]) -> None:
        """The question of a call, of which nothing shows the caller, is shown, and answered by the hint's command."""
        backend = fresh()
        with backend.official() as saver:
            graph = planner(saver, calls_and_asks)
            run(graph)
            [asked] = graph.get_state(on(THREAD)).interrupts
            shown_ids = [i["id"] for one in shown(backend, capsys)["unplaced"] for i in one["interrupts"]]
            assert shown_ids == [asked.id] * 2
            capsys.readouterr()
            assert ckpt(["resume", THREAD, "--value", "1", "-d", backend.url]) == 4
            assert f'Command(resume={{"{asked.id}": …}})' in capsys.readouterr().err
            run(graph, Command(resume={asked.id: "yes"}))
            assert "yes" in graph.get_state(on(THREAD)).values["log"]
