"""Why a thread is stuck, where in its subgraphs it failed, and how to find it by that; what of a row is never cut."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypedDict
from uuid import UUID

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.commands.show import show
from ckpt_cli.commands.tree import tree
from ckpt_cli.output.cells import cell_len
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.printer import render
from ckpt_cli.views.base import View
from tests.commands.asking import at
from tests.commands.listing import threads
from tests.graphs import Graph
from tests.graphs.building import Log, line, on


class _Own(TypedDict):
    error: str


LONG = str(UUID(int=2**128 - 1))


def fail(state: Any) -> Any:
    """Fail."""
    raise TimeoutError("crm\nsee the runbook")


def kill(state: Any) -> Any:
    """End the run as Ctrl-C does."""
    raise KeyboardInterrupt


def ask(state: Any) -> Any:
    """Ask two questions, one after the other."""
    return {"log": [interrupt({"question": "Refund 40 EUR?", "order": 1043}), interrupt("sure?")]}


def in_subgraphs(saver: Any, *, by_send: bool = False, memory: bool = False) -> Graph:
    """`desk` calls `payments`, in which `load` fails, by an edge or by a Send; or `desk` is a graph with a memory."""
    inner, outer = StateGraph(Log), StateGraph(Log)
    inner.add_node("load", fail)
    if by_send:
        inner.add_conditional_edges(START, lambda state: [Send("load", state)], ["load"])
    else:
        inner.add_edge(START, "load")
    desk = line(None, "payments", schema=Log, nodes={"payments": inner.compile()})
    outer.add_node("desk", inner.compile(checkpointer=True) if memory else desk)
    outer.add_edge(START, "desk")
    return outer.compile(checkpointer=saver)


def drawn(view: View, width: int = 80) -> list[str]:
    """The lines on a terminal, a little after the run."""
    return [plain(part).rstrip() for part in render(view, Page(width, time.time() + 90))]


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """Threads that failed (themselves, in subgraphs), wait, were killed, and have an answer without its question."""
    file = tmp_path / "stuck.sqlite"
    with closing(sqlite3.connect(file, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        failing = {"own": line(saver, "load", schema=Log, nodes={"load": fail}), "nested": in_subgraphs(saver)}
        failing |= {"sent": in_subgraphs(saver, by_send=True), "memory": in_subgraphs(saver, memory=True)}
        for name, graph in failing.items():
            with pytest.raises(TimeoutError):
                graph.invoke({"log": ["a question about an order"]}, on(name))
        with pytest.raises(KeyboardInterrupt):
            line(saver, "agent", schema=Log, nodes={"agent": kill}).invoke({"log": []}, on("killed"))
        asking = line(saver, "a_node_with_a_long_name", schema=Log, nodes={"a_node_with_a_long_name": ask})
        asking.invoke({"log": ["an input that is long enough to be cut"]}, on(LONG))
        asking.invoke(Command(resume="yes"), on(LONG))
    yield file


@pytest.mark.parametrize(
    ("thread", "inside"),
    [("own", ()), ("nested", ("payments", "load")), ("sent", ("payments", "load")), ("memory", ("load",))],
)
def test_a_failure_in_a_subgraph_has_its_node(thread: str, inside: tuple[str, ...], path: Path) -> None:
    """Lists, `show` and `tree` give the path down to the node that failed, and JSON has it as a list."""
    name = " › ".join(["load" if thread == "own" else "desk", *inside])
    rows = {one.thread_id: one for one in at(path, threads).threads}
    assert tuple(rows[thread].errors[0].inside) == inside
    assert tuple(at(path, show, thread).tasks[0].inside) == inside
    assert any(part.startswith(f"  {name}  ✗ failed") for part in drawn(at(path, show, thread)))
    assert f"failed: {name}" in drawn(at(path, tree, thread), 120)[0]
    assert any(f"✗ {name}  TimeoutError" in part for part in drawn(at(path, tree, thread), 120))
    assert drawn(at(path, log, thread), 120)[0].endswith(f"@ ✗ {name}")
    assert at(path, log, thread).steps[0].halts[0].inside == inside
    assert any(f"failed: {name} " in part for part in drawn(at(path, threads), 160))
    assert any(part.startswith(f"    {name}  TimeoutError") for part in drawn(at(path, threads, status=["failed"])))


def test_stuck_threads_have_their_reasons(path: Path) -> None:
    """A list of what isn't done has the question, the error, or how long nothing happened, in few lines."""
    lines = drawn(at(path, threads, status=["waiting,failed,unfinished"]))
    for reason in (
        "    load  TimeoutError('crm\\nsee the runbook')",
        "    desk › payments › load  TimeoutError('crm\\nsee the runbook')",
        "    a_node_with_a_long_name  “sure?”",
        "    an answer is stored; the next step's first interrupt() without one takes it",
    ):
        assert reason in lines
    assert any(
        part.startswith("    agent  unfinished for ") and "running, stopped, killed or copied" in part for part in lines
    )
    assert all(cell_len(part) <= 80 for part in lines)


@pytest.fixture
def alike(tmp_path: Path) -> Path:
    """Threads of one tenant, in which two nodes of one middleware wait; one of them has been answered."""
    path = tmp_path / "alike.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        for number, name in enumerate(("before_model", "after_model", "after_model")):
            node = f"HumanInTheLoopMiddleware.{name}"
            graph = line(SqliteSaver(connection), node, schema=Log, nodes={node: ask})
            graph.invoke({"log": ["hello"]}, on(f"tenant-4711:customer-{LONG}:chat-{number}"))
    assert run(["resume", f"tenant-4711:customer-{LONG}:chat-2", "--value", '"yes"', "--yes", "-d", str(path)]) == 0
    return path


@pytest.mark.parametrize("width", [60, 80, 100])
def test_threads_and_nodes_that_differ_look_different(width: int, alike: Path) -> None:
    """Ids and nodes are cut where they are the same; a column without room for a title is left out."""
    table = drawn(at(alike, threads), width)
    waiting = drawn(at(alike, threads, status=["waiting,failed"]), width)
    for lines, count in ((table, 3), (waiting, 2)):
        ids = [part.split()[1] for part in lines if part.startswith(("⏸", "…"))]
        assert [name[-7:] for name in ids] == [":chat-2", ":chat-1", ":chat-0"][-count:]
        assert not any(part.endswith(" …") for part in lines)
    assert len({part.split()[0] for part in waiting if part.startswith("    Human")}) == 2
    assert len({part.split(":")[-1] for part in table if "waiting: " in part}) == 2
    assert any(part.endswith(("  unfinished (answered)", "  answered: HumanIn…")) for part in table)
    first = drawn(at(alike, log, f"tenant-4711:customer-{LONG}:chat-0"), width)[0]
    assert first.endswith("⏸ HumanInTheLoopMiddleware.before_model") is (width == 100)


def test_a_pipe_has_what_is_left_of_an_unfinished_thread(alike: Path, path: Path) -> None:
    """Its last column: what was answered, what runs next, that an answer waits for its question."""
    rows = [plain(part).split("\t") for one in (alike, path) for part in render(at(one, threads), Page(None, 0))]
    assert {row[0][-7:]: row[8] for row in rows if row[8]} == {
        ":chat-2": "answered: HumanInTheLoopMiddleware.after_model",
        "killed": "next: agent",
        LONG[-7:]: "has answer",
    }


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_what_is_never_cut(width: int, path: Path) -> None:
    """The id of a thread, to be copied, and the mark of its status; titles and nodes are cut before them."""
    (row,) = (part for part in drawn(at(path, threads), width) if LONG[:8] in part)
    assert f"{LONG} " in row
    assert ("waiting (has answer)" if width > 60 else "⏸ ") in row
    assert "has answer" in row
    assert cell_len(row) <= width


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ('"crm" in error and node == "desk"', {"nested", "sent", "memory"}),
        ('"load" in nodes', {"own", "nested", "sent", "memory"}),
        ("len(errors) == 1 and startswith(error, 'TimeoutError')", {"own", "nested", "sent", "memory"}),
        ('node == "a_node_with_a_long_name"', {LONG}),
    ],
)
def test_threads_are_found_by_what_failed(where: str, expected: set[str], path: Path) -> None:
    """`--where` has names for the error and the node; a channel of this name would come first."""
    assert {one.thread_id for one in at(path, threads, where=where).threads} == expected


def test_a_channel_comes_before_the_error(tmp_path: Path) -> None:
    """A graph's own channel `error` means what it did before."""
    path = tmp_path / "own.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = line(SqliteSaver(connection), "load", schema=_Own, nodes={"load": fail})
        with pytest.raises(TimeoutError):
            graph.invoke({"error": "mine"}, on("t"))
    assert [one.thread_id for one in at(path, threads, where='error == "mine"').threads] == ["t"]
    assert at(path, threads, where='"crm" in error').threads == []
