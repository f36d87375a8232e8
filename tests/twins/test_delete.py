"""Deletions: the real graph is where it was before, nothing else is missing, and undo restores everything."""

import io
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from tests.graphs import SCENARIOS, Graph
from tests.graphs.building import line, on, says
from tests.graphs.lines import chat_graph, nested
from tests.graphs.recent import Deltas

_KEYS = {"checkpoints": 3, "writes": 5}


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The real saver on a database, which nobody has open afterwards."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


def images(path: Path) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Every row of both tables by its key, to the byte."""
    found = {}
    with closing(sqlite3.connect(path)) as connection:
        for table, length in _KEYS.items():
            keys = "thread_id, checkpoint_ns, checkpoint_id" + (", task_id, idx" if length == 5 else "")
            for row in connection.execute(f"SELECT {keys}, * FROM {table}"):
                found[table, *row[:length]] = row[length:]
    return found


def ckpt(path: Path, *words: str) -> int:
    """One command on the database."""
    return run([words[0], "-d", str(path), *words[1:]])


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with threads of every kind."""
    path: Path = tmp_path_factory.mktemp("real") / "real.sqlite"
    with opened(path) as saver:
        for scenario in SCENARIOS.values():
            for _ in scenario(saver):
                pass
    return path


@pytest.fixture
def database(everything: Path, tmp_path: Path) -> Path:
    """A copy of it to be changed."""
    return Path(shutil.copy(everything, tmp_path / "real.sqlite"))


def threads_of(path: Path) -> list[str]:
    """Every thread."""
    with closing(sqlite3.connect(path)) as connection:
        return [t for (t,) in connection.execute("SELECT DISTINCT thread_id FROM checkpoints ORDER BY 1")]


def test_threads_go_whole_and_come_back(database: Path) -> None:
    """A thread is deleted as by ``delete_thread`` of the library, nothing else changes, and undo restores it."""
    before = images(database)
    for thread in threads_of(database):
        assert ckpt(database, "delete", thread, "--yes") == 0
        assert images(database) == {key: row for key, row in before.items() if key[1] != thread}
        assert ckpt(database, "undo", "--yes") == 0
        assert images(database) == before


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        (["--match", "ask*"], lambda t: t.startswith("ask")),
        (["--match", "ASK"], lambda t: "ask" in t),
        (["--match", "err*", "--status", "failed"], lambda t: t in ("error", "error-retried")),
        (["--where", "thread_id == 'sub'"], lambda t: t == "sub"),
        (["ask", "sub", "--match", "s*"], lambda t: t == "sub"),
        (["--idle", "0s", "--match", "delta*"], lambda t: t.startswith("delta")),
    ],
    ids=["glob", "a part", "status", "where", "named and glob", "idle"],
)
def test_threads_are_chosen(words: list[str], fits: Callable[[str], bool], database: Path) -> None:
    """Options that select threads must all fit; other threads stay."""
    before = threads_of(database)
    assert ckpt(database, "delete", *words, "--yes") == 0
    assert threads_of(database) == [thread for thread in before if not fits(thread)]
    assert len(threads_of(database)) < len(before)


def test_ids_come_from_stdin(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One id a line; without any line nothing is deleted, whatever the other options."""
    before = images(database)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert ckpt(database, "delete", "-", "--match", "*", "--yes") == 4
    assert images(database) == before
    lines = "ask\n线程 weird:id/with|sep#\n".encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert ckpt(database, "delete", "-", "--yes") == 0
    assert {key[1] for key in before} - {key[1] for key in images(database)} == {"ask", "线程 weird:id/with|sep#"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 2),
        (["no-such-thread"], 4),
        (["ask", "no-such-thread"], 4),
        (["--idle", "99w"], 4),
        (["ask", "sub", "--after", "@^"], 2),
        (["--match", "*", "--after", "@^"], 2),
        (["--match", "", "--idle", "0s"], 2),
        (["forks", "--after", "@^", "--branch", "branch:1"], 2),
        (["ask", "--with-children"], 2),
        (["forks", "--run", "no-such-run"], 4),
        (["forks", "--after", "@"], 4),
        (["ask", "--branch", "@"], 7),
        (["forks", "--branch", "@^"], 2),
        (["ask"], 7),
    ],
)
def test_refusals(words: list[str], code: int, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A senseless, missing or unconfirmed selection is an error, and nothing is written."""
    before = images(database)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert ckpt(database, "delete", *words, *([] if code == 7 and words == ["ask"] else ["--yes"])) == code
    assert images(database) == before


def chatting(saver: Any) -> Graph:
    """Messages, tools, a conditional edge."""
    return chat_graph(saver)


def remembering(saver: Any) -> Graph:
    """A subgraph with a memory of its own, whose namespace lives on between turns."""
    memory = line(True, "inc", nodes={"inc": lambda s: {"n": s.get("n", 0) + 1, "log": ["inc"]}})
    return line(saver, "memory", "last", nodes={"memory": memory})


def gathering(saver: Any) -> Graph:
    """A delta channel with few snapshots."""
    return line(saver, "one", "two", schema=Deltas)


def fanning(saver: Any) -> Graph:
    """Several subgraphs called in one step."""
    child = line(None, "leaf")
    builder = StateGraph(Deltas)
    builder.add_node("split", says("split"))
    builder.add_node("child", lambda s: {"log": [*child.invoke({"log": [s["i"]]})["log"]]})
    builder.add_node("reduce", says("reduce"))
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda s: [Send("child", {"i": i}) for i in range(3)], ["child"])
    builder.add_edge("child", "reduce")
    return builder.compile(checkpointer=saver)


GRAPHS: dict[str, Callable[[Any], Graph]] = {
    "chat": chatting,
    "nested": nested,
    "memory": remembering,
    "delta": gathering,
    "fan": fanning,
}
THREAD = "t"


def turn(path: Path, name: str, number: int) -> Any:
    """One turn of a conversation, under a run id of its own."""
    with opened(path) as saver:
        graph = GRAPHS[name](saver)
        given = {"messages": [HumanMessage(f"the weather {number}?", id=f"q{number}")]} if name == "chat" else None
        return graph.invoke(given or {"log": [f"in {number}"]}, on(THREAD, run_id=f"run-{number}"))


def state(path: Path, name: str) -> Any:
    """The library's view of the head."""
    with opened(path) as saver:
        found = GRAPHS[name](saver).get_state(on(THREAD))
        return found.config["configurable"]["checkpoint_id"], found.values, found.next, found.metadata


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("way", ["after", "run", "runs"])
def test_a_turn_is_taken_back(name: str, way: str, tmp_path: Path) -> None:
    """Every row is as it was before that turn, a copy made then continues alike, and undo restores the turn."""
    path, copy = tmp_path / "now.sqlite", tmp_path / "then.sqlite"
    turn(path, name, 1)
    turn(path, name, 2)
    shutil.copy(path, copy)
    head = state(path, name)[0]
    turn(path, name, 3)
    if way == "runs":
        turn(path, name, 4)
    before = images(path)
    selection = {"after": ["--after", head], "run": ["--run", "run-3"], "runs": ["--run", "run-3", "--run", "run-4"]}[
        way
    ]
    assert ckpt(path, "delete", THREAD, *selection, "--yes") == 0
    assert images(path) == images(copy)
    assert state(path, name) == state(copy, name)
    assert ckpt(path, "undo", "--yes") == 0
    assert images(path) == before
    assert ckpt(path, "delete", THREAD, *selection, "--yes") == 0
    assert said_by(turn(path, name, 5)) == said_by(turn(copy, name, 5))


def said_by(output: Any) -> Any:
    """What a run gave; the ids of tools' messages are chance."""
    if "messages" in output:
        return [(message.type, message.text) for message in output["messages"]]
    return output


@pytest.mark.parametrize("name", GRAPHS)
def test_from_the_middle_of_a_turn_it_runs_again(name: str, tmp_path: Path) -> None:
    """At every checkpoint of two turns: what came after is deleted, and ``invoke(None)`` makes the same again."""
    whole = tmp_path / "whole.sqlite"
    ends = {f"run-{number}": said_by(turn(whole, name, number)) for number in (1, 2)}
    with opened(whole) as saver:
        history = list(GRAPHS[name](saver).get_state_history(on(THREAD)))
    ids = [state.config["configurable"]["checkpoint_id"] for state in history]
    for place, old in enumerate(history[1:], 1):
        path = Path(shutil.copy(whole, tmp_path / f"{place}.sqlite"))
        assert ckpt(path, "delete", THREAD, "--after", ids[place], "--yes") == 0
        head, values, due, _ = state(path, name)
        assert (head, values, due) == (ids[place], old.values, old.next)
        assert {key[3] for key in images(path) if key[2] == ""} == set(ids[place:])
        with opened(path) as saver:
            output = GRAPHS[name](saver).invoke(None, on(THREAD))
        if due and due != ("memory",):  # which langgraph 1.2.22 doesn't begin then, as little as after a breakpoint
            assert said_by(output) == ends[old.metadata["run_id"]]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("mend", ["", "--with-children", "--reparent"])
def test_a_run_in_the_middle(name: str, mend: str, tmp_path: Path) -> None:
    """It is refused, or its descendants are deleted too, or they get a new parent with the same state."""
    path, copy = tmp_path / "now.sqlite", tmp_path / "then.sqlite"
    turn(path, name, 1)
    shutil.copy(path, copy)
    turn(path, name, 2)
    turn(path, name, 3)
    before, history = images(path), state(path, name)
    words = ["delete", THREAD, "--run", "run-2", "--yes", *([mend] if mend else [])]
    assert ckpt(path, *words) == (0 if mend else 7)
    if not mend:
        assert images(path) == before
        return
    if mend == "--with-children":
        assert images(path) == images(copy)
        return
    assert state(path, name)[:3] == history[:3]
    assert "run-2" not in str([row for key, row in images(path).items() if key[0] == "checkpoints"])
    whole = Path(shutil.copy(path, tmp_path / "mended.sqlite"))
    assert ckpt(path, "undo", "--yes") == 0
    assert images(path) == before
    assert said_by(turn(whole, name, 4)) == said_by(turn(path, name, 4))


def test_a_branch_goes_alone(database: Path) -> None:
    """One branch of many: its own checkpoints and their descendants are deleted, and all others read as before."""
    before = images(database)
    with opened(database) as saver:
        graph = line(saver, "a", "b", "c")
        history = {s.config["configurable"]["checkpoint_id"]: s for s in graph.get_state_history(on("forks"))}
    parents = {s.parent_config["configurable"]["checkpoint_id"] for s in history.values() if s.parent_config}
    for tip in history.keys() - parents:
        own = [tip]
        while (parent := history[own[-1]].parent_config) is not None:
            above = parent["configurable"]["checkpoint_id"]
            if sum(1 for s in history.values() if s.parent_config == parent) > 1:
                break
            own.append(above)
        assert ckpt(database, "delete", "forks", "--branch", tip, "--yes") == 0
        assert before.keys() - images(database).keys() == {key for key in before if key[3] in own}
        assert images(database).items() <= before.items()
        with opened(database) as saver:
            left = list(line(saver, "a", "b", "c").get_state_history(on("forks")))
        assert {s.config["configurable"]["checkpoint_id"] for s in left} == history.keys() - set(own)
        assert all(s.values == history[s.config["configurable"]["checkpoint_id"]].values for s in left)
        assert ckpt(database, "undo", "--yes") == 0


def test_a_shared_memory_is_no_branchs_own(tmp_path: Path) -> None:
    """Checkpoints that another branch builds on are deleted only on demand, also in a subgraph's own memory."""
    path = tmp_path / "now.sqlite"
    turn(path, "memory", 1)
    fork = state(path, "memory")[0]
    turn(path, "memory", 2)
    first = state(path, "memory")[0]
    with opened(path) as saver:
        config = {"configurable": {"thread_id": THREAD, "checkpoint_id": fork}}
        GRAPHS["memory"](saver).invoke({"log": ["other"]}, config)
    before = images(path)
    assert ckpt(path, "delete", THREAD, "--branch", first, "--yes") == 7
    assert images(path) == before
    history = state(path, "memory")
    assert ckpt(path, "delete", THREAD, "--branch", first, "--reparent", "--yes") == 0
    assert state(path, "memory") == history
    assert {key[2] for key in before.keys() - images(path).keys() if key[0] == "checkpoints"} == {"", "memory"}


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A thread of 1,200 checkpoints and 150 MB."""
    path = tmp_path / "large.sqlite"
    with opened(path) as saver:
        saver.setup()
        saver.conn.execute(
            "WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < 1199)"
            " INSERT INTO checkpoints SELECT 'large', '', printf('1f1e5786-50cb-6000-8000-%012d', i),"
            " CASE i WHEN 0 THEN NULL ELSE printf('1f1e5786-50cb-6000-8000-%012d', i - 1) END,"
            " 'msgpack', randomblob(125000), CAST('{}' AS BLOB) FROM n"
        )
        saver.conn.commit()
    return path


def test_a_large_thread_goes_in_little_memory(large: Path) -> None:
    """Deleting 150 MB with its before-image, and bringing it back, takes under 120 MB of memory."""
    code = "import sys; from ckpt_cli.app import run; code = run(sys.argv[1:])\n"
    code += "peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
    code += "print(code, peak, file=sys.stderr)"
    for words in (["delete", "large"], ["undo", "--same-database"]):
        command = [sys.executable, "-c", code, *words, "-d", str(large), "--yes"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
        exit_code, kilobytes = map(int, done.stderr.split())
        assert exit_code == 0
        assert kilobytes < 120_000
        assert threads_of(large) == ([] if words[0] == "delete" else ["large"])
