"""Error handlers of nodes (langgraph 1.2): one name everywhere, that of the library's stream; questions and errors."""

import sqlite3
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.show import show
from ckpt_cli.commands.tree import tree
from ckpt_cli.commands.writes import writes
from tests.commands.asking import at
from tests.golden import lines
from tests.graphs.building import Bag, on, says

NODES = {
    "own": {"handler": says("mended")},
    "leads on": {"handler": lambda _: Command(goto="last", update={"log": ["mended"]})},
    "of Sends": {"handler": says("mended"), "sends": True},
    "default": {"handler": None},
    "in a subgraph": {"handler": says("mended"), "inside": True},
}


def fails(state: Bag) -> dict[str, Any]:
    """Fail, but not for an even number that a Send brings."""
    if state.get("n", 1) % 2:
        raise ValueError("broken")
    return {"log": ["even"]}


def asks(_: Bag) -> dict[str, Any]:
    """Ask a question."""
    return {"log": [interrupt("mend?")]}


def broken(_: Bag) -> dict[str, Any]:
    """Fail, in the handler."""
    raise KeyError("too")


def graph(
    saver: SqliteSaver, handler: Any = None, *, sends: bool = False, inside: bool = False, beside: Any = None
) -> Any:
    """``first``, then a node with an error handler (None: that of the whole graph), `beside` in the same step."""
    builder = StateGraph(Bag)
    if handler is None:
        builder.set_node_defaults(error_handler=says("mended"))
    builder.add_node("first", says("first"))
    builder.add_node("bad", fails, error_handler=handler)
    builder.add_node("last", says("last"))
    builder.add_edge(START, "first")
    if sends:
        builder.add_conditional_edges("first", lambda _: [Send("bad", {"n": n}) for n in range(4)], ["bad"])
    else:
        builder.add_edge("first", "bad")
    builder.add_edge("bad", "last")
    if beside is not None:
        builder.add_node("beside", beside)
        builder.add_edge("first", "beside")
    if not inside:
        return builder.compile(checkpointer=saver)
    outer = StateGraph(Bag)
    outer.add_node("inner", builder.compile(checkpointer=True))
    outer.add_edge(START, "inner")
    return outer.compile(checkpointer=saver)


def forget_paths(path: Path) -> None:
    """Make the table that of an older saver, which stores no task paths."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE writes DROP COLUMN task_path")


@pytest.mark.parametrize("paths", [True, False], ids=["with task paths", "without"])
@pytest.mark.parametrize("kind", NODES)
def test_a_handler_has_the_name_of_the_stream_in_every_command(tmp_path: Path, kind: str, *, paths: bool) -> None:
    """log, tree, show and writes name the handler's tasks as the library's own stream does."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        chunks = list(graph(saver, **NODES[kind]).stream({"log": []}, on("t"), stream_mode="updates", subgraphs=True))
    ran = Counter(node for ns, chunk in chunks if bool(ns) == (kind == "in a subgraph") for node in chunk)
    ns = "inner" if kind == "in a subgraph" else ""
    if not paths:
        forget_paths(path)
    handler = next(node for node in ran if node.startswith("__"))
    start = next(line for line in at(path, log, "t", ns=ns).steps if "bad" in {t.node for t in shown(path, line, ns)})
    drawn = [row.step for row in at(path, tree, "t", ns=ns, full=True).rows if row.step is not None]
    for listed in (at(path, log, "t", ns=ns).steps, drawn):
        made = sum((Counter(line.nodes) for line in listed), Counter[str]())
        assert {node: made[node] for node in ran} == dict(ran)
    assert [t.node for t in shown(path, start, ns)].count(handler) == ran[handler]
    tasks = at(path, writes, "t", start.checkpoint_id, ns=ns).tasks
    assert [(t.node, t.status) for t in tasks].count((handler, "finished")) == ran[handler]
    assert all(t.node for t in tasks)


def shown(path: Path, line: Any, ns: str) -> list[Any]:
    """The tasks that ``show`` lists at a checkpoint."""
    tasks: list[Any] = at(path, show, "t", line.checkpoint_id, ns=ns).tasks
    return tasks


@pytest.mark.parametrize("inside", [False, True], ids=["of the root graph", "of a subgraph"])
def test_a_handlers_question_waits_and_is_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, inside: bool
) -> None:
    """A thread whose error handler asks is waiting, not failed, and the library takes the recorded answer."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        asked = graph(saver, asks, inside=inside).invoke({"log": []}, on("t"))["__interrupt__"][0]
        assert run(["threads", "-d", str(path)]) == 0
        assert "\twaiting\t" in (listed := capsys.readouterr().out) and asked.id in listed
        assert run(["resume", "t", "-d", str(path), "--value", '"yes"', "--yes"]) == 0
        assert graph(saver, asks, inside=inside).invoke(None, on("t"))["log"][-1] == "yes"
    capsys.readouterr()


def test_a_failure_with_a_handler_is_no_failure_of_the_thread(tmp_path: Path) -> None:
    """Beside a question, the failed task doesn't run again and its handler does, as ``replay`` says."""
    path, ran = tmp_path / "t.sqlite", list[str]()

    def mends(_: Bag) -> dict[str, Any]:
        ran.append("handler")
        return {"log": ["mended"]}

    with SqliteSaver.from_conn_string(str(path)) as saver:
        built = graph(saver, mends, beside=asks)
        built.invoke({"log": []}, on("t"))
        view = at(path, log, "t").steps[0]
        assert (view.status, [t.node for t in view.tasks if t.status == "failed"]) == ("waiting", ["bad"])
        again = {task.node: task.again for task in at(path, replay, "t").tasks}
        assert again == {"bad": False, "beside": True, "__error_handler__bad": True}
        built.invoke(Command(resume="yes"), on("t"))
    assert ran == ["handler", "handler"]


def test_a_handler_that_fails_has_its_error_and_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The thread failed by the handler's error, which ``threads`` shows beside the handler's name."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver, pytest.raises(KeyError):
        graph(saver, broken).invoke({"log": []}, on("t"))
    assert run(["threads", "-d", str(path)]) == 0
    assert "__error_handler__bad: KeyError('too')" in capsys.readouterr().out
    assert run(["writes", "t", "-d", str(path)]) == 0
    rows = [row.split("\t")[:4] for row in capsys.readouterr().out.splitlines()]
    assert rows[1] == ["bad", "failed", "__error_source_node__", "“bad”"]  # the failed node's name is no error
    kinds = {one.channel: one.kind for task in at(path, writes, "t").tasks for one in task.writes}
    assert kinds == {"__error__": "error", "__error_source_node__": "trigger"}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph(saver, says("mended")).update_state(on("t"), {"log": ["by hand"]}, as_node="last")
    assert run(["log", "t", "-d", str(path)]) == 0
    assert "bad, __error_handler__bad failed then" in capsys.readouterr().out


@pytest.mark.parametrize("handler", ["asks", "broken", "mends"])
def test_one_failure_is_told_alike_by_all_verbs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], handler: str
) -> None:
    """`threads`, the heading of `tree` and the marks of `log` name the handler's failure or question, not both."""
    path, handlers = tmp_path / "t.sqlite", {"asks": asks, "broken": broken, "mends": says("mended")}
    with SqliteSaver.from_conn_string(str(path)) as saver, suppress(KeyError):
        graph(saver, handlers[handler], beside=None if handler == "broken" else asks).invoke({"log": []}, on("t"))
    said = []
    for words in (["tree", "t"], ["log", "t"], ["threads", "--status", "failed"]):
        assert run([*words, "-d", str(path)]) == 0
        said.append(capsys.readouterr().out)
    failed = handler == "broken"
    assert ("· failed: __error_handler__bad ·" in said[0]) is failed and "failed: bad" not in said[0]
    assert ("✗ __error_handler__bad" in said[1]) is failed and "✗ bad" not in said[1]
    assert said[2].startswith("t\t") is failed
    assert "✗ bad  ValueError('broken')  its error handler: __error_handler__bad" in said[0]
    assert {task.node: task.handler for task in at(path, show, "t").tasks}["bad"] == "__error_handler__bad"


def test_a_played_step_says_that_a_node_failed(tmp_path: Path) -> None:
    """`replay --to` has the stored error of a node whose handler ran, and never says that writes of it are missing."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph(saver, says("mended")).invoke({"log": []}, on("t"))
    view = at(path, replay, "t", to="@")
    tasks = {task.node: task for step in view.steps for task in step.tasks}
    bad, handler = tasks["bad"], tasks["__error_handler__bad"]
    assert (bad.writes, bad.stored, bad.finished, bad.error) == ([], True, False, "ValueError('broken')")
    assert (handler.error, [write.channel for write in handler.writes]) == (None, ["log"])
    text = "\n".join(lines(view, 100))
    assert "✗ failed  ValueError('broken')" in text and "not stored" not in text


def test_a_plan_says_that_a_finished_handler_runs_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that goes on with the step starts a finished handler anew, not the failed node; fork and resume say so."""
    path, ran = tmp_path / "t.sqlite", list[str]()

    def fixes(_: Bag) -> dict[str, Any]:
        ran.append("fixes")
        return {"log": ["mended"]}

    with SqliteSaver.from_conn_string(str(path)) as saver:
        made = graph(saver, fixes, beside=asks)
        made.invoke({"log": []}, on("t"))
        assert run(["fork", "t", "@", "--to", "copy", "--with-pending", "-d", str(path), "--yes"]) == 0
        taken = capsys.readouterr().out
        assert run(["edit", "t", "--task", "__error_handler__bad", "--again", "-d", str(path)]) == 4
        named = "__error_handler__bad is the error handler of bad: --task takes the node that failed"
        assert named in capsys.readouterr().err
        assert run(["resume", "t", "--value", '"go"', "-d", str(path), "--yes"]) == 0
        answered = capsys.readouterr().out
        ran.clear()
        made.invoke(Command(resume="go"), on("copy"))
        made.invoke(None, on("t"))
    assert ran == ["fixes", "fixes"]
    for said in (taken, answered):
        assert "runs again in place of the task that failed: __error_handler__bad\n" in said
    assert "taken along: bad (failed), beside (waiting)\n" in taken


@pytest.mark.parametrize("handler", [asks, says("mended")])
def test_a_handler_of_a_sibling_starts_again_beside_an_edited_task(
    handler: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The failed node is kept and doesn't run; its handler runs in its place, also one that had asked or finished."""
    path, ran = tmp_path / "t.sqlite", list[str]()

    def mends(state: Bag) -> Any:
        ran.append("mends")
        return handler(state)

    with SqliteSaver.from_conn_string(str(path)) as saver:
        made = graph(saver, mends, beside=asks)
        made.invoke({"log": []}, on("t"))
        ran.clear()
        assert run(["edit", "t", "--task", "beside", "--again", "-d", str(path), "--yes"]) == 0
        said = capsys.readouterr().out
        asked = [one.value for one in made.invoke(None, on("t")).get("__interrupt__", ())]
    assert ran == ["mends"]
    again = ", and asks again" if handler is asks else ""
    assert f"bad does not run: its error handler __error_handler__bad starts again{again}\n" in said
    assert asked == ["mend?"] * (2 if handler is asks else 1)
