"""What a step does that no write shows is decided by stored evidence, held against ``update_state``."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import AnyValue, DeltaChannel, EphemeralValue, Topic
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.errors import Refused, UsageError
from tests.graphs.building import line, on, says


class One(TypedDict, total=False):
    """The state of one graph."""

    n: int
    log: Annotated[list[Any], operator.add]


class Other(TypedDict, total=False):
    """The state of another graph, with nodes of the same names."""

    n: int
    other: str


class Passing(TypedDict, total=False):
    """Channels that a step empties, and one that it keeps."""

    eph: Annotated[str, EphemeralValue(str)]
    top: Annotated[list[str], Topic(str)]
    anyv: Annotated[str, AnyValue]
    kept: str
    log: Annotated[list[Any], operator.add]
    fail: bool


@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_a_route_of_another_graph_is_no_evidence(tmp_path: Path, durability: str) -> None:
    """Another graph's thread with the same nodes doesn't show what runs next; one of the same graph does."""
    path = tmp_path / "t.sqlite"
    words = ["update", "t", "--as-node", "b", "--values", '{"log": ["u"]}', "--reducer", "log=append", "--yes"]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        foreign = dict.fromkeys("abx", lambda _: {"other": "o"})
        line(saver, "a", "b", "x", schema=Other, nodes=foreign).invoke({"n": 0}, on("foreign"))
        graph = line(saver, "a", "b", "c", schema=One)
        for thread in ("t", "theirs"):
            graph.invoke({"n": 0}, on(thread), interrupt_before=["b"], durability=durability)
        assert run([*words, "-d", str(path)]) == Refused("").exit_code
        graph.invoke({"n": 0}, on("kin"))
        assert run([*words, "-d", str(path)]) == 0
        graph.update_state(on("theirs"), {"log": ["u"]}, as_node="b")
        mine, theirs = graph.get_state(on("t")), graph.get_state(on("theirs"))
        assert (mine.values, mine.next) == (theirs.values, theirs.next) == ({"n": 0, "log": ["a", "u"]}, ("c",))


@pytest.mark.parametrize("verb", ["update", "replay"])
def test_a_step_empties_what_it_empties_in_other_threads(
    tmp_path: Path, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Other threads of the graph show it; if there are none, the plan says that nothing does, if a node runs next."""
    path = tmp_path / "t.sqlite"
    passing = {"eph": "E", "top": ["T"], "anyv": "A", "kept": "K", "log": ["a"]}

    def b(state: Passing) -> dict[str, Any]:
        return {"log": [1 // (not state.get("fail"))]}

    words = {
        "update": ["update", "t", "--as-node", "a", "--values", '{"log": ["u"]}'],
        "replay": ["replay", "t", "--commit"],
    }[verb]
    words += ["--reducer", "log=append", "-d", str(path)]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a", "b", "c", schema=Passing, nodes={"a": lambda _: passing, "b": b})
        for thread in ("t", "theirs"):
            with pytest.raises(ZeroDivisionError):
                graph.invoke({"fail": True}, on(thread))
        assert run([*words, "--dry-run"]) == 0
        unclear = "anyv, eph, kept, top kept (nothing shows if a step empties them)"
        assert (unclear in " ".join(capsys.readouterr().out.split())) == (verb == "update")
        graph.invoke({"log": []}, on("kin"))
        assert run([*words, "--yes"]) == 0
        values, node = ({"log": ["u"]}, "a") if verb == "update" else (None, "__end__")
        graph.update_state(on("theirs"), values, as_node=node)
        assert graph.get_state(on("t")).values == graph.get_state(on("theirs")).values


def test_no_node_of_the_next_run_reads_what_an_end_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An ephemeral value that is kept at an END, since nothing shows that it is one, is empty for the next run."""
    path, read = tmp_path / "t.sqlite", list[Any]()

    def a(state: Passing) -> dict[str, Any]:
        read.append(state.get("eph"))
        return {"eph": "E"}

    nodes = {"a": a, "b": lambda state: {"log": [1 // (not state.get("fail"))]}}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a", "b", schema=Passing, nodes=nodes)
        with pytest.raises(ZeroDivisionError):
            graph.invoke({"fail": True}, on("t"))
        assert run(["replay", "t", "--commit", "--yes", "-d", str(path)]) == 0
        assert "empties" not in capsys.readouterr().out
        assert graph.get_state(on("t")).values["eph"] == "E"
        graph.invoke({"fail": False}, on("t"))
    assert read == [None, None]


@pytest.mark.parametrize("node", [None, "__start__", "a", "b"])
def test_a_thread_begun_by_an_update_is_a_state_graphs(tmp_path: Path, node: str | None) -> None:
    """``update_state`` on a new thread writes no input; the triggers of nodes, or other threads, show the graph."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a", "b", schema=One, nodes={"a": says("a")})
        graph.invoke({"n": 0}, on("kin"))
        for thread in ("t", "theirs"):
            graph.update_state(on(thread), {"n": 1, "log": ["s"]}, as_node=node)
        route = [] if node in ("a", "b") else ["--next", "a"]  # both threads must share a node that has run
        words = ["update", "t", "--as-node", node or "__start__", "--values", '{"log": ["u"]}', *route]
        assert run([*words, "--reducer", "log=append", "-d", str(path), "--yes"]) == 0
        graph.update_state(on("theirs"), {"log": ["u"]}, as_node=node or "__start__")
        mine, theirs = graph.get_state(on("t")), graph.get_state(on("theirs"))
        assert (mine.values, mine.next) == (theirs.values, theirs.next)
        assert graph.invoke(None, on("t")) == graph.invoke(None, on("theirs"))


def test_a_refusal_in_a_subgraph_names_its_namespace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other threads have finished runs of the node, but only the steps of this namespace count."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        inner = line(None, "i1", "i2", schema=One, interrupt_before=["i2"])
        graph = line(saver, "sub", schema=One, nodes={"sub": inner})
        graph.invoke({"n": 0}, on("kin"))
        graph.invoke(None, on("kin"))
        graph.invoke({"n": 0}, on("t"))
        ns = graph.get_state(on("t"), subgraphs=True).tasks[0].state.config["configurable"]["checkpoint_ns"]
    words = ["update", "t", "--ns", ns, "--as-node", "i2", "--values", '{"n": 1}', "--reducer", "n=last"]
    assert run([*words, "-d", str(path), "--yes"]) == Refused("").exit_code
    assert "no run of i2 that finished is recorded in this thread's namespace" in capsys.readouterr().err


class Scored(TypedDict, total=False):
    """A reducer that does what a sum does, until a later write is lower."""

    n: int
    best: Annotated[float, lambda old, new: (old or 0) + (0 if new == 0.25 else new)]


def test_another_way_through_the_graph_refutes_a_reducer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Few own steps fit a sum; a thread that took another way through the graph shows that it is none."""
    path = tmp_path / "t.sqlite"
    words = ["update", "t", "--as-node", "low", "--values", '{"best": 0.25}', "--dry-run", "-d", str(path)]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(Scored)
        builder.add_node("first", lambda _: {"best": 0.75})
        builder.add_node("low", lambda _: {"best": -0.5})
        builder.add_node("high", lambda _: {"best": 0.25})
        builder.add_edge(START, "first")
        builder.add_conditional_edges("first", lambda state: "high" if state["n"] else "low", ["low", "high"])
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"n": 0}, on("t"))
        assert run(words) == 0
        shown = capsys.readouterr()
        assert "reducers: best sum (2 of 2 steps)" in shown.out
        assert "only a few steps show what best makes of writes" in shown.out
        graph.invoke({"n": 1}, on("other way"))
        assert run(words) == Refused("").exit_code
        assert "no reducer explains the 4 recorded steps of channel 'best' in 2 threads" in capsys.readouterr().err
        graph.update_state(on("t"), {"best": 0.25}, as_node="low")
        assert graph.get_state(on("t")).values["best"] == 0.25


class Noted(TypedDict, total=False):
    """Two channels, each with a reducer that a thread's few steps show."""

    log: Annotated[list[str], operator.add]
    seen: Annotated[list[str], operator.add]


def test_several_channels_of_few_steps_have_the_plural(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence about what few steps show has one verb form for one channel and the other for two."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(Noted)
        builder.add_node("first", lambda _: {"log": ["a"], "seen": ["b"]})
        builder.add_edge(START, "first")
        builder.compile(checkpointer=saver).invoke({"log": ["i"], "seen": ["j"]}, on("t"))
    for values, said in (
        ('{"log": ["x"]}', "what log makes of writes: if your reducer does more, name it"),
        (
            '{"log": ["x"], "seen": ["y"]}',
            "what log, seen make of writes: if a reducer of yours does more, name that one",
        ),
    ):
        assert run(["update", "t", "--as-node", "first", "--values", values, "--dry-run", "-d", str(path)]) == 0
        assert f"only a few steps show {said} with --reducer" in capsys.readouterr().out


class Paid(TypedDict, total=False):
    """A node that asks, and goes on by the answer."""

    amount: int
    ok: str


def test_runs_that_asked_first_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that asked or failed before it finished took a route too, so a node of two routes needs ``--next``."""
    path, failing = tmp_path / "t.sqlite", [True]

    def decide(state: Paid) -> Any:
        return {"ok": "yes" if state["amount"] < 100 else interrupt("pay?")}

    def reject(_: Paid) -> Any:
        if failing and failing.pop():
            raise ValueError("not now")
        return {"ok": "rejected"}

    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(Paid)
        builder.add_node("decide", decide)
        builder.add_node("pay", lambda _: {"ok": "paid"})
        builder.add_node("reject", reject)
        builder.add_edge(START, "decide")
        builder.add_conditional_edges("decide", lambda s: "pay" if s["ok"] == "yes" else "reject", ["pay", "reject"])
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"amount": 5}, on("t"))
        graph.invoke({"amount": 500}, on("t"))
        with pytest.raises(ValueError, match="not now"):
            graph.invoke(Command(resume="no"), on("t"))
        graph.invoke(None, on("t"))
    words = ["update", "t", "--as-node", "decide", "--values", '{"ok": "no"}', "--dry-run", "-d", str(path)]
    assert run([*words, "--reducer", "ok=last"]) == UsageError("").exit_code
    assert "decide has several recorded routes" in capsys.readouterr().err
    words[3] = "reject"
    assert run([*words, "--reducer", "ok=last"]) == 0
    assert "as reject: then END, as in its only recorded run" in capsys.readouterr().out


class Delta(TypedDict, total=False):
    """A delta channel, whose writes are all that ``durability="exit"`` stores of a task."""

    log: Annotated[list[str], DeltaChannel(lambda old, new: [*old, *(item for write in new for item in write)])]
    n: int


@pytest.mark.parametrize("thread", ["t", "other"])
def test_what_an_exit_run_stores_of_a_task_shows_no_route(
    thread: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The edge of the node isn't stored, so it is no end; the library goes on to the next node."""
    path = tmp_path / "t.sqlite"
    asking = {name: lambda _, name=name: {"log": [interrupt(name)]} for name in "ab"}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a", "b", schema=Delta, nodes=asking)
        graph.invoke({"log": ["in"], "n": 1}, on("t"), durability="exit")
        graph.invoke(Command(resume="A"), on("t"), durability="exit")
        graph.invoke({"log": ["in"], "n": 1}, on("other"))
        words = ["update", thread, "--as-node", "a", "--values", '{"n": 2}', "--reducer", "n=last", "-d", str(path)]
        assert run([*words, "--yes"]) == Refused("").exit_code
        assert "no run of a that finished is recorded" in capsys.readouterr().err
        graph.update_state(on(thread), {"n": 2}, as_node="a")
        assert graph.get_state(on(thread)).next == ("b",)


@pytest.mark.parametrize("channel", [EphemeralValue(str), AnyValue(str)], ids=["ephemeral", "any"])
@pytest.mark.parametrize("emptied_by", ["update", "input"])
def test_what_an_update_or_an_input_emptied_is_emptied_again(channel: Any, emptied_by: str, tmp_path: Path) -> None:
    """A channel that every run writes is seen empty only there; an update leaves what `update_state` leaves."""

    class State(TypedDict, total=False):
        log: Annotated[list[str], operator.add]
        e: Annotated[str, channel]

    asking = {"a": lambda _: {"log": ["a"], "e": "a"}, "b": lambda _: {"log": [interrupt("?")], "e": "b"}}
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a", "b", schema=State, nodes=asking)
        for thread in ("t", "theirs"):
            graph.invoke({"log": ["in"], "e": "in"}, on(thread))
            if emptied_by == "update":
                graph.update_state(on(thread), {"log": ["u"]}, as_node="a")
                assert "e" not in graph.get_state(on(thread)).values
                graph.invoke(None, on(thread))
            graph.invoke({"log": ["in"], "e": "in"}, on(thread))
        values = ["--values", '{"log": ["u"]}', "--as-node", "a", "--reducer", "log=append"]
        assert run(["update", "t", *values, "--yes", "-d", str(path)]) == 0
        graph.update_state(on("theirs"), {"log": ["u"]}, as_node="a")
        mine, theirs = graph.get_state(on("t")), graph.get_state(on("theirs"))
        assert (mine.values, mine.next) == (theirs.values, theirs.next) and "e" not in mine.values


def test_a_hint_for_bulk_is_one_for_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines have keys where the command has options; what the hint names is taken, and LangGraph runs it."""
    path, lines = tmp_path / "t.sqlite", tmp_path / "lines.jsonl"
    words = ["update", "t", "--bulk", str(lines), "--reducer", "n=last", "-d", str(path)]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a", "b", schema=One)
        graph.invoke({"n": 0}, on("t"), interrupt_before=["b"])
        lines.write_text('{"values": {"n": 1}, "as_node": "b"}')
        assert run([*words, "--dry-run"]) == Refused("").exit_code
        hint = capsys.readouterr().err.splitlines()[-1]
        assert '"next": ["NODE"]' in hint and "--next" not in hint
        lines.write_text('{"values": {"n": 1}, "as_node": "b", "next": ["a"]}')
        assert run([*words, "--yes"]) == 0
        assert graph.get_state(on("t")).next == ("a",)
