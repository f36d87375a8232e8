"""Subgraphs that a function calls: several in one task, in a ``@task``, in an entrypoint; each has one caller."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.graphs.building import Log, line, on

Build = Callable[[SqliteSaver, list[str]], Any]


def subgraph(ran: list[str]) -> Any:
    """A node that is recorded, then one that asks."""

    def first(state: Any) -> Any:
        ran.append("first")
        return {"log": ["first"]}

    return line(None, "first", "ask", schema=Log, nodes={"first": first, "ask": lambda s: {"log": [interrupt("go?")]}})


def twice(saver: SqliteSaver, ran: list[str]) -> Any:
    """A node that calls a subgraph two times."""
    inner = subgraph(ran)
    both = {"n": lambda s: {"log": inner.invoke({"log": ["p"]})["log"] + inner.invoke({"log": ["q"]})["log"]}}
    return line(saver, "n", schema=Log, nodes=both)


def in_a_task(saver: SqliteSaver, ran: list[str]) -> Any:
    """A node whose ``@task`` calls a subgraph."""
    inner = subgraph(ran)
    called = task(lambda: inner.invoke({"log": ["p"]}), name="called")
    return line(saver, "n", schema=Log, nodes={"n": lambda s: called().result()})


def in_an_entrypoint(saver: SqliteSaver, ran: list[str]) -> Any:
    """An entrypoint whose ``@task`` calls a subgraph."""
    inner = subgraph(ran)
    called = task(lambda: inner.invoke({"log": ["p"]}), name="called")

    @entrypoint(checkpointer=saver)
    def flow(given: Any) -> Any:
        return called().result()

    return flow


BUILDS: list[Build] = [twice, in_a_task, in_an_entrypoint]


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    with closing(sqlite3.connect(tmp_path / "t.sqlite", check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


Ckpt = Callable[..., Any]


@pytest.fixture
def ckpt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ckpt:
    """Runs a command line and gives what it printed as JSON."""

    def go(*words: str) -> Any:
        assert run([*words, "-d", str(tmp_path / "t.sqlite"), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return go


def drawn(rows: list[Any]) -> Iterator[tuple[str, str, str | None]]:
    """Each checkpoint of each subgraph in a tree: namespace, id, and the checkpoint below which it is drawn."""
    for row in rows:
        at = row["step"]["checkpoint_id"] if row["step"] else None
        for inner in row["subgraphs"]:
            yield from ((inner["ns"], one["step"]["checkpoint_id"], at) for one in inner["rows"])
            yield from drawn(inner["rows"])


@pytest.mark.parametrize("build", BUILDS)
def test_each_hangs_at_its_caller(build: Build, saver: SqliteSaver, ckpt: Ckpt) -> None:
    """`tree --full` draws every checkpoint once, below the one that its metadata names; `trace` counts them all."""
    graph = build(saver, [])
    graph.invoke({"log": ["in"]}, on("t"))
    while graph.get_state(on("t")).interrupts:
        graph.invoke(Command(resume="yes"), on("t"))
    rows = saver.conn.execute("SELECT checkpoint_ns, checkpoint_id, metadata FROM checkpoints").fetchall()
    inner = {(ns, i): json.loads(metadata)["parents"][""] for ns, i, metadata in rows if ns}
    assert {(ns, i): at for ns, i, at in drawn(ckpt("tree", "t", "--full")["rows"])} == inner
    trace = ckpt("trace", "t")
    writes = saver.conn.execute("SELECT count(*) FROM writes").fetchone()[0]
    assert (trace["sums"]["checkpoints"], trace["sums"]["writes"]) == (len(rows), writes)


@pytest.mark.parametrize("build", BUILDS)
def test_a_fork_with_what_is_pending_goes_on(build: Build, saver: SqliteSaver, ckpt: Ckpt) -> None:
    """The copy takes the answer where the original takes it, and nothing that had finished runs again."""
    ran: list[str] = []
    graph = build(saver, ran)
    graph.invoke({"log": ["in"]}, on("t"))
    ckpt("fork", "t", "@", "--to", "copy", "--with-pending", "--yes")
    ends, runs = [], []
    for thread in ("t", "copy"):
        ran.clear()
        asked = graph.get_state(on(thread)).interrupts[0].id
        ends.append(graph.invoke(Command(resume={asked: "yes"}), on(thread)))
        runs.append([*ran])
    assert runs[0] == runs[1] and len(runs[0]) == (build is twice)
    assert [one.value for one in graph.get_state(on("t")).interrupts] == [
        one.value for one in graph.get_state(on("copy")).interrupts
    ]
    assert build is twice or ends[0] == ends[1]


def test_an_answer_after_the_subgraph_was_changed(saver: SqliteSaver, ckpt: Ckpt) -> None:
    """The plan says that the question will be a new one, and the run gives it the answer."""
    graph = in_a_task(saver, [])
    graph.invoke({"log": ["in"]}, on("t"))
    [(ns,)] = saver.conn.execute("SELECT DISTINCT checkpoint_ns FROM checkpoints WHERE checkpoint_ns != ''")
    ckpt("edit", "t", "@", "--ns", ns, "--set", 'log=["edited"]', "--rerun", "--yes")
    plan = ckpt("resume", "t", "--value", '"yes"', "--yes")
    assert any("the first question that it asks gets this answer" in note for note in plan["notes"])
    assert graph.invoke(None, on("t"))["log"] == ["in", "edited", "yes"]


def test_a_failure_in_one_names_its_node(saver: SqliteSaver, ckpt: Ckpt) -> None:
    """`threads` and `show` name the node inside, as for a subgraph that is a node."""

    def fails(state: Any) -> Any:
        raise ValueError("inside")

    inner = line(None, "bad", schema=Log, nodes={"bad": fails})
    called = task(lambda: inner.invoke({"log": []}), name="called")
    graph = line(saver, "n", schema=Log, nodes={"n": lambda s: called().result()})
    with pytest.raises(ValueError, match="inside"):
        graph.invoke({"log": []}, on("t"))
    [shown] = [one for one in ckpt("show", "t")["tasks"] if one["status"] == "failed"]
    assert (shown["node"], shown["inside"]) == ("n", ["bad"])
    [thread] = ckpt("threads")["threads"]
    assert [one["inside"] for one in thread["errors"]] == [["bad"]]
