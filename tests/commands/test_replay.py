"""``ckpt replay``: pending writes, and recorded steps played forward with ``--to``."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.replay import replay
from ckpt_cli.model import Checkpoint, Ref
from ckpt_cli.output.json import document
from ckpt_cli.plans import mint
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.savers.sqlite.saver import SqliteSaver as Ours
from ckpt_cli.serde.codec import Codec
from ckpt_cli.session import ChangeOptions, Session
from ckpt_cli.values.state import State
from ckpt_cli.views.replay import PlayedView
from tests import golden
from tests.commands.asking import at
from tests.graphs.building import line, on

Database = Callable[[str], Path]

LOOKS: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    "waiting": ("real", ("interrupt-multi",), {}),
    "failed": ("legacy/py-1.2.22", ("err",), {}),
    "due": ("real", ("breakpoint-before",), {}),
    "passed": ("real", ("chat-linear", "step:1"), {}),
    "to-commands": ("real", ("commands",), {"to": "@"}),
    "to-chat": ("real", ("chat-linear", "step:2"), {"to": "step:5"}),
    "to-forks": ("real", ("forks",), {"to": "branch:2"}),
    "to-delta": ("real", ("delta", "@~4"), {"to": "@"}),
    "to-subgraph": ("real", ("subgraph-interrupted",), {"to": "@", "ns": "child"}),
    "to-same": ("real", ("forks", "@"), {"to": "@"}),
    "to-lost": ("legacy/py-0.3.34", ("exit-mode",), {"to": "@"}),
    "to-old": ("legacy/py-0.1.19", ("send",), {"to": "@"}),
    "to-js": ("js", ("js-chat",), {"to": "step:2"}),
}


@pytest.mark.parametrize("name", LOOKS)
def test_looks(name: str, database: Database) -> None:
    """What is pending and what was recorded, on every kind of output."""
    source, words, options = LOOKS[name]
    golden.check(f"replay/{name}", at(database(source), replay, *words, **options))


def test_what_a_command_wrote_beside_an_answer_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``Command(resume=…, update=…)`` writes before the tasks do; --commit keeps it, so it is listed."""
    path = tmp_path / "t.sqlite"

    def asks(_: Any) -> dict[str, Any]:
        return {"log": [interrupt("first?"), interrupt("second?")]}

    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "ask", nodes={"ask": asks})
        graph.invoke({"log": []}, on("t"))
        graph.invoke(Command(resume="one", update={"log": ["by the command"]}), on("t"))
    view = at(path, replay, "t")
    assert [(one.channel, one.value) for one in view.command] == [("log", ["by the command"])]
    assert run(["replay", "t", "-d", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == 'input\t\tkept\tlog ["by the command"]'


def test_the_plan_looks(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """--commit --dry-run names what is kept, what is abandoned, and the row."""
    monkeypatch.setattr(mint, "SystemRandom", lambda: Random(7))
    session = Session(
        str(database("real")), clock=lambda: golden.NOW, options=ChangeOptions(dry_run=True), may_change=True
    )
    try:
        golden.check("replay/commit", replay(session, "interrupt-multi", commit=True, deferred=["send=no"]))
    finally:
        session.close()


def lines(reader: Reader) -> Iterator[tuple[str, str, str]]:
    """Every line of a database: thread, namespace, tip; of the many alike ones a few."""
    for thread in reader.saver.threads():
        if thread.thread_id.startswith("small-") and len(thread.thread_id) > len("small-1"):
            continue
        for ns in reader.saver.namespaces(thread.thread_id):
            for tip in reader.lineage(thread.thread_id, ns).tips:
                yield thread.thread_id, ns, tip


PATHED = ["real", "js", "old/sqlite-v03", "old/sqlite-v06"]
PATHED += [f"legacy/{name}" for name in ("js-1.4.17", "py-0.3.21", "py-0.5.4", "py-0.6.11", "py-1.0.10", "py-1.2.22")]


@pytest.mark.parametrize("name", PATHED)
def test_what_libraries_recorded_is_what_the_writes_make(name: str, database: Database) -> None:
    """No step of a real thread differs from its record, and nearly all are proven to agree with it."""
    found: dict[str, int] = {}
    with closing(open_file(database(name))) as saver:
        session = Session(str(database(name)))
        for thread, ns, tip in lines(Reader(saver, Codec())):
            view = replay(session, thread, to=tip, ns=ns)
            assert isinstance(view, PlayedView)
            for step in view.steps:
                assert step.verdict != "differs", (thread, ns, step)
                found[step.verdict] = found.get(step.verdict, 0) + 1
        session.close()
    assert found["agrees"] > 20 * found.get("unknown", 0)


OLD: dict[str, tuple[str, str]] = {
    "legacy/py-0.1.19": ("err-retried", "the order in which the tasks' writes were applied isn't recorded"),
    "legacy/py-0.2.3": ("err-retried", "the order in which the tasks' writes were applied isn't recorded"),
    "legacy/py-upgraded": ("up-send", "work ran there, and its results aren't all stored"),
}


@pytest.mark.parametrize("name", OLD)
def test_what_old_libraries_left_unrecorded_is_said_and_not_held_against_a_step(name: str, database: Database) -> None:
    """Tasks were once applied in the graph's own order, and not every task's writes were kept: then nobody can know."""
    thread, why = OLD[name]
    verdicts = [(step.verdict, step.why) for step in at(database(name), replay, thread, to="@").steps]
    assert ("unknown", why) in verdicts
    assert "differs" not in {verdict for verdict, _ in verdicts}


def test_no_order_of_writes_excuses_an_altered_state(database: Database) -> None:
    """If the order of writes isn't recorded, a value that no order makes still differs, by a named reducer."""
    path = database("legacy/py-0.2.3")
    with closing(sqlite3.connect(path)) as connection:
        [(step, body)] = connection.execute(
            "SELECT checkpoint_id, checkpoint FROM checkpoints"
            " WHERE thread_id = 'err-retried' ORDER BY checkpoint_id DESC LIMIT 1 OFFSET 1"
        )
        assert b'"fixed"' in body
        connection.execute(
            "UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?",
            (body.replace(b'"fixed"', b'"mixed"'), step),
        )
        connection.commit()
    for named, verdict in (None, "unknown"), (["x=append"], "differs"):
        view = at(path, replay, "err-retried", to="@", reducer=named)
        assert {s.checkpoint_id: s.verdict for s in view.steps}[step] == verdict


@pytest.mark.parametrize(("turns", "learned"), [(2, "unknown"), (4, "suspect")])
def test_an_altered_state_differs_by_a_named_reducer_and_is_suspect_by_a_learned_one(
    turns: int, learned: str, tmp_path: Path
) -> None:
    """A value that no write made is found at its step and nowhere else; a learned reducer needs eight other steps."""
    path, thread = tmp_path / "forged.sqlite", "t"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph = line(SqliteSaver(connection), "a", "b", "c")
        for turn in range(turns):
            graph.invoke({"log": [f"in {turn}"]}, on(thread))
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        tip = saver.get_tuple(on(thread))  # type: ignore[arg-type]
        assert tip is not None and tip.parent_config is not None
        state = {**tip.checkpoint, "channel_values": {**tip.checkpoint["channel_values"], "log": ["forged"]}}
        saver.put(tip.parent_config, state, tip.metadata, {})  # type: ignore[arg-type]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for named, verdict in (None, learned), (["log=append"], "differs"):
        view = at(path, replay, thread, to="@", reducer=named)
        assert [step.verdict for step in view.steps][-1] == verdict
        assert view.steps[-1].otherwise == ["log"]
        if verdict != "unknown":
            assert {step.verdict for step in view.steps[:-1]} == {"agrees"}
            assert view.steps[-1].why.startswith("log: not what append makes of the writes")


def test_a_channel_that_changed_without_a_version_differs(tmp_path: Path) -> None:
    """No graph can do this: each update of a channel gives it a new version."""
    path, thread = tmp_path / "forged.sqlite", "t"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        largest(saver).invoke({"best": 0.5}, on(thread))  # type: ignore[call-overload]
        tip = saver.get_tuple(on(thread))  # type: ignore[arg-type]
        assert tip is not None and tip.parent_config is not None
        values = {**tip.checkpoint["channel_values"], "name": "forged"}
        saver.put(tip.parent_config, {**tip.checkpoint, "channel_values": values}, tip.metadata, {})  # type: ignore[arg-type, typeddict-item]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    last = at(path, replay, thread, to="@").steps[-1]
    assert (last.verdict, last.otherwise) == ("differs", ["best", "name"])


def test_a_list_that_code_changed_in_place_never_differs(tmp_path: Path) -> None:
    """A node that appends to the list it was given changes the stored value without a write, and nobody forged it."""
    path = tmp_path / "in-place.sqlite"

    def careless(state: Any) -> dict[str, Any]:
        state["log"].append("in place")
        return {"n": 1}

    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a", "careless", "b", nodes={"careless": careless, "b": lambda _: {"n": 2}})
        assert graph.invoke({"log": []}, on("t"), durability="sync")["log"] == ["a", "in place"]
    verdicts = {step.verdict for step in at(path, replay, "t", to="@").steps}
    assert "suspect" in verdicts and "differs" not in verdicts


def test_an_honest_reducer_that_is_not_known_is_never_held_against_a_step(tmp_path: Path) -> None:
    """A bounded maximum looks like a known one in most steps: its steps are neither as recorded nor otherwise."""
    path, thread = tmp_path / "max.sqlite", "t"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        largest(SqliteSaver(connection)).invoke({"best": 0.1}, on(thread))  # type: ignore[call-overload]
    view = at(path, replay, thread, to="@")
    written = [step for step in view.steps if step.tasks]
    assert {step.verdict for step in written if step.source == "loop"} == {"unknown"}
    assert view.reducers[0] == "best no known reducer (5 steps)"


class Best(TypedDict, total=False):
    """A channel with a reducer that ckpt doesn't know, and one that nothing writes."""

    best: Annotated[float, lambda old, new: min(max(old, new), 0.92)]
    name: str


def largest(saver: SqliteSaver) -> Any:
    """Four nodes in a row that write .3, .9, .2 and .95."""
    graph = StateGraph(Best)
    for value in (0.3, 0.9, 0.2, 0.95):
        graph.add_node(f"n{value}", lambda _, value=value: {"best": value})
    graph.add_edge(START, "n0.3")
    for one, other in pairwise(["n0.3", "n0.9", "n0.2", "n0.95"]):
        graph.add_edge(one, other)
    return graph.compile(checkpointer=saver)


def test_each_checkpoint_is_read_twice_at_most(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once to learn and once to play, however long the line is; no step is kept once it was taken."""
    decoded: list[Any] = []
    decode = Reader.decode

    def counted(reader: Reader, one: Checkpoint) -> State:
        decoded.append(one.row)
        return decode(reader, one)

    monkeypatch.setattr(Reader, "decode", counted)
    session = Session(str(database("real")))
    view = replay(session, "long-1000", to="@")
    learned = len(decoded)
    assert isinstance(view, PlayedView) and learned <= view.count
    assert iter(view.steps) is view.steps
    next(iter(view.steps))
    assert len(decoded) - learned < 100
    assert sum(1 for _ in view.steps) == view.count - 1
    assert len(decoded) <= 2 * view.count
    assert view.verdicts == {"agrees": view.count}
    session.close()


def test_a_line_read_a_page_at_a_time_is_the_same(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a read is a round trip, checkpoints are prefetched, and every step has the same verdict as without."""
    path = database("real")
    singly = document(at(path, replay, "chat-linear", to="@"), None, reveal=False)
    asked: list[int] = []
    checkpoints = Ours.checkpoints

    def counted(saver: Ours, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        asked.append(1)
        return checkpoints(saver, refs)

    monkeypatch.setattr(Ours, "page", 7)
    monkeypatch.setattr(Ours, "checkpoints", counted)
    assert document(at(path, replay, "chat-linear", to="@"), None, reveal=False) == singly
    assert len(asked) < 20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["forks", "branch:1", "--to", "branch:2"], "is no ancestor of"),
        (["forks", "@", "--to", "@^"], "hint: the other way round: `ckpt replay forks 0d60aa --to c65df1`"),
        (["forks", "--to", "@", "--commit"], "--to only shows recorded steps"),
    ],
)
def test_what_can_not_be_played(
    words: list[str], message: str, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps lead down a line only, and --commit has no place there: exit 2, with what to do."""
    assert run(["replay", *words, "-d", str(database("real"))]) == 2
    said = capsys.readouterr().err
    assert message in said and "hint: " in said


def test_playing_is_looking(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, neither into the database nor beside it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = database("real")
    before, files = path.read_bytes(), sorted(path.parent.iterdir())
    assert run(["replay", "forks", "--to", "@", "-d", str(path), "--json"]) == 0
    assert (path.read_bytes(), sorted(path.parent.iterdir())) == (before, files)
    assert not (tmp_path / "state").exists()


def test_rows_are_streamed_as_json(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """--jsonl gives the steps of --json, one a line, and without --to the tasks."""
    for words, rows in ((["forks", "--to", "@"], "steps"), (["interrupt-multi"], "tasks")):
        line = ["replay", *words, "-d", str(database("real"))]
        assert run([*line, "--json"]) == 0
        whole = json.loads(capsys.readouterr().out)
        assert run([*line, "--jsonl"]) == 0
        assert [json.loads(one) for one in capsys.readouterr().out.splitlines()] == whole[rows]


def test_a_reducer_can_be_said(database: Database) -> None:
    """What a person says of a channel is what its writes are folded by."""
    view = at(database("real"), replay, "commands", to="@", reducer=["seen=last"])
    assert view.reducers[0] == "seen last value (as you say)"
    assert {step.verdict for step in view.steps} == {"agrees", "differs"}


def test_the_tree_is_read_once_however_long_the_line(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of several pages reads the rows of its thread once, not once a page."""
    reads, rows = [], Ours.rows

    def counted(saver: Ours, thread_id: str) -> Any:
        reads.append(thread_id)
        return rows(saver, thread_id)

    monkeypatch.setattr(Ours, "rows", counted)
    played = at(database("real"), replay, "long-1000", "step:800", to="@")
    assert len(played.steps) > 150
    assert len(reads) == 1
