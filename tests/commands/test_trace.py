"""``ckpt trace`` adds up what nodes did: its sums are those of plain SQL, its tokens those that the models reported."""

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from ckpt_cli.commands.graph import graph as graph_verb
from ckpt_cli.commands.trace import SortKey, TraceFormat, trace
from ckpt_cli.history.lineage.ids import unix_time
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import Page
from ckpt_cli.output.printer import render
from ckpt_cli.views.trace import TraceView
from tests import golden
from tests.commands.asking import at
from tests.databases import KEYS
from tests.graphs.building import on
from tests.graphs.traced_kinds import KINDS

Database = Callable[[str], Path]
Graph = Any


class Chat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    ok: bool
    note: str


def look(path: Path, thread: str, *words: Any, **options: Any) -> TraceView:
    """The view of a thread."""
    view: TraceView = at(path, trace, thread, *words, **options)
    return view


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "traced.sqlite"


@pytest.fixture
def saver(file: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(file)) as opened:
        yield opened


def says(text: str, read: int, wrote: int, **more: Any) -> dict[str, Any]:
    """A model's message, whose tokens it reports."""
    usage = {"input_tokens": read, "output_tokens": wrote, "total_tokens": read + wrote}
    return {"messages": [AIMessage(text, id=text, usage_metadata=usage)], **more}


def agent(saver: Any) -> Graph:
    """A model, a subgraph with a model of its own, a question, and a node that fails once."""
    inner = StateGraph(Chat)
    inner.add_node("think", lambda _: says("thought", 100, 7))
    inner.add_edge(START, "think")

    def flaky(state: Chat) -> dict[str, Any]:
        if not state.get("ok"):
            raise ValueError("no")
        return {"note": "x" * 5000}

    outer = StateGraph(Chat)
    outer.add_node("model", lambda _: says("first", 10, 3))
    outer.add_node("sub", inner.compile())
    outer.add_node("ask", lambda _: {"ok": interrupt("go on?")})
    outer.add_node("flaky", flaky)
    outer.add_node("again", lambda _: says("first", 10, 3))
    for source, target in zip(
        (START, "model", "sub", "ask", "flaky"), ("model", "sub", "ask", "flaky", "again"), strict=True
    ):
        outer.add_edge(source, target)
    return outer.compile(checkpointer=saver)


def ran(saver: Any) -> Graph:
    """The agent asked, was answered, failed, was mended and finished."""
    graph = agent(saver)
    graph.invoke({"messages": [("user", "hello")]}, on("a"))
    with contextlib.suppress(ValueError):
        graph.invoke(Command(resume=False), on("a"))
    failed = graph.get_state(on("a"))
    assert failed.next == ("flaky",)
    with contextlib.suppress(ValueError):
        graph.invoke(None, on("a"))
    return graph


def mend(saver: Any) -> Graph:
    """The same, and the failed node finished when its thread was mended by an update."""
    graph = ran(saver)
    graph.update_state(on("a"), {"ok": True}, as_node="ask")
    graph.invoke(None, on("a"))
    return graph


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a plain statement."""
    with closing(sqlite3.connect(path)) as plain:
        return plain.execute(sql).fetchall()


@pytest.mark.parametrize("run", [ran, mend, *KINDS], ids=lambda run: run.__name__)
def test_the_sums_are_those_of_the_rows(run: Callable[[Any], Any], saver: SqliteSaver, file: Path) -> None:
    """Writes and bytes in all, by channel and by node are what SQL adds up, for every thread without branches."""
    run(saver)
    for (thread_id,) in rows(file, "select distinct thread_id from checkpoints"):
        view = look(file, thread_id)
        whole = f"from writes where thread_id = '{thread_id}'"
        line = {step.checkpoint_id for step in view.steps} | {step.made for step in view.steps}
        ids = rows(file, f"select checkpoint_id from checkpoints where thread_id = '{thread_id}'")
        if {i for (i,) in ids} != line - {None}:
            assert run.__name__ == "forks"  # the line is only one of several branches
            continue
        [(writes, size)] = rows(file, f"select count(*), coalesce(sum(length(value)), 0) {whole}")
        assert (view.sums.writes, view.sums.bytes) == (writes, size)
        channels = rows(file, f"select channel, count(*), sum(length(value)) {whole} group by channel")
        assert {(one.channel, one.writes, one.bytes) for one in view.channels if one.writes} == set(channels)
        [(state,)] = rows(file, f"select sum(length(checkpoint)) from checkpoints where thread_id = '{thread_id}'")
        assert view.sums.state_bytes == state and view.sums.checkpoints == len(ids)
        by_path = rows(file, f"select task_path, checkpoint_ns, count(*), sum(length(value)) {whole} group by 1, 2")
        pulled = Counter[tuple[str, str]]()
        for path, ns, _, number in by_path:
            if path.startswith("~__pregel_pull, "):
                graph = "|".join(part.partition(":")[0] for part in ns.split("|"))
                pulled[graph, path.removeprefix("~__pregel_pull, ")] += number
        tasks = [one for one in view.nodes if one.kind != "call"]
        known = {(one.path, one.node): one.bytes for one in tasks if (one.path, one.node) in pulled}
        assert known == dict(pulled) or run.__name__ == "sends"


def test_each_message_is_counted_once(saver: SqliteSaver, file: Path) -> None:
    """A message that a subgraph returned, or that a node wrote again, has its tokens where it came first."""
    mend(saver)
    view = look(file, "a", sort=SortKey.TOKENS)
    tokens = {(one.path, one.node): (one.input_tokens, one.output_tokens) for one in view.nodes if one.input_tokens}
    assert tokens == {("sub", "think"): (100, 7), ("", "model"): (10, 3)}
    assert (view.sums.input_tokens, view.sums.output_tokens, view.sums.unplaced_tokens) == (110, 10, (0, 0))
    assert [one.node for one in view.nodes[:2]] == ["think", "model"]


def test_tokens_without_writes(saver: SqliteSaver, file: Path) -> None:
    """With durability="exit" no write is stored: the tokens are those of the state, and of no node."""
    inner = StateGraph(Chat)
    inner.add_node("think", lambda _: says("thought", 100, 7))
    inner.add_edge(START, "think")
    inner.compile(checkpointer=saver).invoke({"messages": []}, on("a"), durability="exit")
    view = look(file, "a")
    assert view.sums.unplaced_tokens == (100, 7) and not any(one.input_tokens for one in view.nodes)
    assert any("left no writes" in note for note in view.notes)


def test_tokens_that_a_later_run_trimmed(saver: SqliteSaver, file: Path) -> None:
    """With durability="exit" a message is in no write, and in the state only until a later run takes it out."""
    spent = iter((1, 10, 100, 1000))
    builder = StateGraph(Chat).add_node("model", lambda _: says(f"answer {(now := next(spent))}", now, 0))
    builder.add_node("trim", lambda state: {"messages": [RemoveMessage(one.id) for one in state["messages"][:-2]]})
    chat = builder.add_edge(START, "model").add_edge("model", "trim").compile(checkpointer=saver)
    for _ in range(4):
        chat.invoke({"messages": [("user", "?")]}, on("a"), durability="exit")
    assert look(file, "a").sums.unplaced_tokens == (1111, 0)


def inputs(saver: Any) -> None:
    """The client brings a model's message; a node returns it with all others."""
    one = StateGraph(Chat)
    one.add_node("echo", lambda state: {"messages": state["messages"]})
    one.add_edge(START, "echo")
    one.compile(checkpointer=saver).invoke(says("client's", 700, 70), on("a"))


def updates(saver: Any) -> None:
    """An update, a Command as input and an answer bring a model's message each."""

    def ask(_: Chat) -> dict[str, Any]:
        return {"messages": interrupt("what?")}

    one = StateGraph(Chat)
    one.add_node("ask", ask)
    one.add_node("echo", lambda state: {"messages": state["messages"]})
    one.add_edge(START, "ask")
    one.add_edge("ask", "echo")
    graph = one.compile(checkpointer=saver)
    graph.invoke({"messages": []}, on("a"))
    graph.invoke(Command(resume=says("answer", 300, 3)["messages"], update=says("command", 200, 2)), on("a"))
    graph.update_state(on("a"), says("update", 200, 65), as_node="ask")
    graph.invoke(None, on("a"))


def exits(saver: Any) -> None:
    """A run without stored writes, then one whose subgraph gets the same messages and returns them."""
    inner = StateGraph(Chat)
    inner.add_node("echo", lambda state: {"messages": state["messages"]})
    inner.add_edge(START, "echo")
    one = StateGraph(Chat)
    one.add_node("model", lambda state: {} if state.get("ok") else says("first", 700, 70))
    one.add_node("sub", inner.compile())
    one.add_edge(START, "model")
    one.add_conditional_edges("model", lambda state: "sub" if state.get("ok") else END, ["sub", END])
    graph = one.compile(checkpointer=saver)
    graph.invoke({"messages": []}, on("a"), durability="exit")
    graph.invoke({"ok": True}, on("a"))


def forgets(saver: Any) -> None:
    """The client brings a model's message, which the subgraph and then a node remove."""
    inner = StateGraph(Chat)
    inner.add_node("forget", lambda state: {"messages": [RemoveMessage(one.id) for one in state["messages"]]})
    inner.add_edge(START, "forget")
    one = StateGraph(Chat)
    one.add_node("sub", inner.compile())
    one.add_node("clear", lambda state: {"messages": [RemoveMessage(one.id) for one in state["messages"]]})
    one.add_edge(START, "sub")
    one.add_edge("sub", "clear")
    one.compile(checkpointer=saver).invoke(says("client's", 700, 70), on("a"))


def entrypoints(saver: Any) -> None:
    """An entrypoint's input has a model's message, and the entrypoint returns it."""

    @entrypoint(checkpointer=saver)
    def flow(messages: list[AnyMessage]) -> list[AnyMessage]:
        return messages

    flow.invoke(says("client's", 700, 70)["messages"], on("a"))


@pytest.mark.parametrize("run", [inputs, updates, exits, forgets, entrypoints], ids=lambda run: run.__name__)
def test_tokens_of_no_node(run: Callable[[Any], None], saver: SqliteSaver, file: Path) -> None:
    """Messages that no recorded task made have their tokens apart, once, whichever nodes write them again."""
    run(saver)
    view = look(file, "a", steps=True)
    assert view.sums.unplaced_tokens == (700, 70)
    assert not [one for one in view.nodes if one.input_tokens] and not view.sums.input_tokens
    assert any(note.startswith("700 input and 70 output tokens") for note in view.notes)


@pytest.mark.parametrize(("inside", "step"), [(False, 2), (True, 0)])
def test_a_checkpoint_that_is_gone(inside: bool, step: int, saver: SqliteSaver, file: Path) -> None:
    """The answer names the missing checkpoint, and sums what is behind it; tokens from before belong to no node."""
    mend(saver)
    assert not any("isn't stored" in note for note in look(file, "a").notes)
    which = f"json_extract(metadata, '$.step') = {step} and (checkpoint_ns != '') = {inside}"
    [(ns, gone)] = rows(file, f"select checkpoint_ns, checkpoint_id from checkpoints where {which}")
    saver.conn.execute("delete from checkpoints where checkpoint_id = ?", (gone,))
    saver.conn.commit()
    view = look(file, "a")
    assert view.notes[0].startswith(f"{gone} of the subgraph {ns} isn't stored" if inside else f"{gone} isn't stored")
    assert view.sums.unplaced_tokens == ((0, 0) if inside else (110, 10))


def test_what_a_node_hands_to_a_subgraph_is_its_own(saver: SqliteSaver, file: Path) -> None:
    """A message that a node made, gave to a subgraph as its input and returned has its tokens at that node."""
    inner = StateGraph(Chat)
    inner.add_node("echo", lambda state: {"messages": state["messages"]})
    inner.add_edge(START, "echo")
    called = inner.compile()
    outer = StateGraph(Chat)
    outer.add_node("research", lambda _: called.invoke(says("own", 40, 4)))
    outer.add_edge(START, "research")
    outer.compile(checkpointer=saver).invoke({"messages": []}, on("a"))
    view = look(file, "a")
    tokens = {(one.path, one.node): (one.input_tokens, one.output_tokens) for one in view.nodes if one.input_tokens}
    assert tokens == {("", "research"): (40, 4)} and view.sums.unplaced_tokens == (0, 0)


def test_writes_without_their_key(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Encrypted writes are counted without their key; the answer says that their tokens aren't."""
    path = database("encrypted")
    [(thread_id, writes)] = rows(path, "select thread_id, count(*) from writes group by 1 order by 2 desc, 1 limit 1")
    monkeypatch.delenv("LANGGRAPH_AES_KEY", raising=False)
    view = look(path, thread_id)
    assert 0 < view.sums.writes <= writes
    assert any("can't be decoded: tokens in them aren't counted" in note for note in view.notes)
    monkeypatch.setenv("LANGGRAPH_AES_KEY", KEYS["encrypted"].decode())
    assert not any("can't be decoded" in note for note in look(path, thread_id).notes)


def test_waits_are_counted_apart(saver: SqliteSaver, file: Path) -> None:
    """The times are those between the ids of checkpoints; that of a question and of a failure isn't running time."""
    mend(saver)
    view = look(file, "a")
    outer = [step for step in view.steps if step.depth == 0 and step.made]
    for step in outer:
        begin, end = unix_time(step.checkpoint_id), unix_time(step.made or "")
        assert begin is not None and end is not None and step.seconds == end - begin
    spent = {task.node: step.spent for step in outer for task in step.tasks if task.node}
    assert (spent["ask"], spent["model"], spent["again"]) == ("waiting", "running", "running")
    first, last = unix_time(outer[0].checkpoint_id), unix_time(outer[-1].made or "")
    sums = view.sums
    total = sums.running + sums.waiting + sums.stopped + sums.between
    assert first is not None and last is not None and total == pytest.approx(last - first, abs=1e-6)
    assert all(one.seconds is None for one in view.nodes if one.node == "ask")


def test_a_task_that_ran_again(saver: SqliteSaver, file: Path) -> None:
    """A task whose failure is stored and that finished later ran again; one that only failed didn't."""
    tries = iter((True, False))

    def flaky(_: Chat) -> dict[str, Any]:
        if next(tries):
            raise ValueError("no")
        return {"note": "done"}

    builder = StateGraph(Chat)
    builder.add_node("flaky", flaky)
    builder.add_edge(START, "flaky")
    graph = builder.compile(checkpointer=saver)
    with contextlib.suppress(ValueError):
        graph.invoke({"note": ""}, on("a"))
    failed = next(one for one in look(file, "a").nodes if one.node == "flaky")
    assert (failed.runs, failed.finished, failed.failed, failed.again) == (1, 0, 1, 0)
    graph.invoke(None, on("a"))
    view = look(file, "a")
    flaky_sum = next(one for one in view.nodes if one.node == "flaky")
    assert (flaky_sum.runs, flaky_sum.finished, flaky_sum.failed, flaky_sum.again) == (1, 1, 1, 1)
    assert [step.spent for step in view.steps if any(task.failed for task in step.tasks)] == ["stopped"]


def test_an_update_as_the_failed_node(saver: SqliteSaver, file: Path) -> None:
    """LangGraph stores it under the failed task's id; the failure stays the node's, and nothing ran again."""

    def fail(_: Chat) -> Chat:
        raise ValueError("down")

    graph = StateGraph(Chat).add_node("work", fail).add_edge(START, "work").compile(checkpointer=saver)
    with contextlib.suppress(ValueError):
        graph.invoke({"note": "in"}, on("t"))
    graph.update_state(on("t"), {"note": "by hand"}, as_node="work")
    nodes = {(one.node, one.kind): (one.failed, one.again) for one in look(file, "t").nodes}
    assert nodes == {("__start__", "task"): (0, 0), ("work", "task"): (1, 0), (None, "update"): (0, 0)}
    [drawn] = at(file, graph_verb, "t").graphs
    assert {one.name: one.failed for one in drawn.nodes}["work"] == 1


def test_a_branch_has_its_own_tasks(saver: SqliteSaver, file: Path) -> None:
    """A line doesn't count the tasks of another branch that began at one of its checkpoints."""
    graph = mend(saver)
    older = next(state for state in graph.get_state_history(on("a")) if state.next == ("sub",))
    graph.update_state(older.config, {"note": "other"}, as_node="ask")
    view = look(file, "a")
    assert {one.node: one.runs for one in view.nodes} == {START: 1, "model": 1}
    last = view.steps[-1]
    assert (last.spent, last.recorded, last.tasks) == (
        "between",
        False,
        (),
    )  # LangGraph stores no writes of this update


def test_the_state_by_channel(saver: SqliteSaver, file: Path) -> None:
    """With --values each channel has the bytes of its values in all checkpoints; together they fit into the rows."""
    mend(saver)
    view = look(file, "a", values=True)
    state = {one.channel: one.state_bytes for one in view.channels}
    assert state["note"] is not None and state["note"] >= 5000
    total = sum(one.state_bytes or 0 for one in view.channels)
    assert view.sums.state_bytes is not None and 0 < total < view.sums.state_bytes


def test_the_events_are_a_chrome_trace(saver: SqliteSaver, file: Path) -> None:
    """Each complete event has the fields of the Trace Event Format, and events of one track don't overlap."""
    mend(saver)
    view = look(file, "a", form=TraceFormat.PERFETTO)
    document = json.loads("\n".join(clean_line(line) for line in render(view, Page(None, golden.NOW))))
    events = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert {"model", "think", "ask", "flaky", "waiting"} <= {event["name"] for event in events}
    names = {
        event["pid"]: event["args"]["name"] for event in document["traceEvents"] if event["name"] == "process_name"
    }
    assert set(names.values()) == {"a", "sub"}
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in events:
        assert isinstance(event["ts"], int) and isinstance(event["dur"], int) and event["dur"] >= 0
        tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    for own in tracks.values():
        own.sort(key=lambda event: event["ts"])
        assert all(a["ts"] + a["dur"] <= b["ts"] + 1 for a, b in pairwise(own))
    think, sub = (next(event for event in events if event["name"] == name) for name in ("think", "sub"))
    assert sub["ts"] <= think["ts"] and think["ts"] + think["dur"] <= sub["ts"] + sub["dur"] + 1


def test_looks(database: Database) -> None:
    """Sums, steps and bars; Sends, subgraphs, a failure, an old release, the functional API."""
    real = database("real")
    for name in ("commands", "error-fixed", "subgraph-interrupted", "functional"):
        golden.check(f"trace/{name}", look(real, name))
    golden.check("trace/chat-linear-steps", look(real, "chat-linear", "@", steps=True))
    golden.check("trace/chat-linear-timeline", look(real, "chat-linear", "@", timeline=True, limit=10))
    golden.check("trace/values", look(real, "mapreduce", "@", values=True))
    golden.check("trace/py-0.0.69", look(database("legacy/py-0.0.69"), "err-retried", steps=True))
