"""``ckpt replay`` shows what the real END makes of pending writes, and says in words what would run again."""

import json
import operator
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run as ckpt
from ckpt_cli.commands import replay
from ckpt_cli.history.reducers.names import NOTHING_NAMED, NamedReducers
from ckpt_cli.history.reducers.reducers import APPEND, LAST
from ckpt_cli.output.line import Page
from ckpt_cli.output.text.replay import render
from ckpt_cli.plans.replay import compute_outcome
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.graphs.building import on
from tests.graphs.lines import asking
from tests.graphs.waiting import until_stored


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A thread where one task has finished and two wait for answers."""
    path = tmp_path / "agent.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        asking(SqliteSaver(connection), many=True).invoke({"log": ["in"], "n": 1}, on("t"))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def test_the_state_told_is_the_one_that_end_leaves(waiting: Path) -> None:
    """The state and next nodes that replay shows are the library's after its own END; nothing was written."""
    with closing(open_file(waiting)) as saver:
        reader = Reader(saver, Codec())
        found = reader.moment(
            lambda: compute_outcome(reader, reader.resolve("t"), NamedReducers({"log": APPEND, "n": LAST}))
        )
        assert saver.count("t") == 3
    with closing(sqlite3.connect(waiting, check_same_thread=False)) as connection:
        graph = asking(SqliteSaver(connection), many=True)
        graph.update_state(on("t"), None, as_node=END)
        state = graph.get_state(on("t"))
    assert dict(found.after) == state.values
    assert tuple(found.next or ()) == state.next


def test_the_tasks_told(waiting: Path) -> None:
    """Finished tasks are kept with their writes, the others would run again."""
    with closing(open_file(waiting)) as saver:
        reader = Reader(saver, Codec())
        view = reader.moment(lambda: replay.run(reader, reader.resolve("t"), NOTHING_NAMED))
    assert [(task.node, task.status, task.again) for task in view.tasks] == [
        ("fine", "finished", False),
        ("legal", "waiting", True),
        ("review", "waiting", True),
    ]
    assert [(write.channel, write.value) for write in view.tasks[0].writes] == [("log", ["fine"])]


def stuck(path: Path) -> None:
    """A thread whose first fan-out failed beside a task that finished, with a reducer that nobody knows."""

    class State(TypedDict, total=False):
        n: Annotated[int, operator.add]
        trace: Annotated[list[str], lambda a, b: ["|", *(a or []), *b]]
        first: Annotated[int, lambda a, b: b]

    def fails(_: State) -> State:
        until_stored(saver)
        raise RuntimeError("crm")

    builder = StateGraph(State)
    builder.add_node("a", lambda _: {"n": 1, "trace": ["a"]})
    builder.add_node("b", lambda _: {"n": 2, "trace": ["b"], "first": 3})
    builder.add_node("fails", fails)
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge("a", "fails")
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        with pytest.raises(RuntimeError, match="crm"):
            builder.compile(checkpointer=saver).invoke({"n": 1, "trace": ["in"]}, on("t"))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_channel_that_nobody_knows_hides_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --commit, unknown channels are named with the reason; --commit needs their reducers."""
    path = tmp_path / "agent.sqlite"
    stuck(path)
    view: dict[str, Any] = json.loads(asked(capsys, "replay", "t", "--db", str(path), "--json"))
    assert [(one["path"], one["after"]) for one in view["changes"]] == [("n", 4)]
    assert view["reducers"] == ["n sum (2 of 2 steps)"]
    assert view["unknown"] == {
        "trace": "no reducer explains the 2 recorded steps of channel 'trace'",
        "first": "no step of this thread, or of one known to be of its graph, shows what channel 'first' does with "
        "writes",
    }
    with closing(open_file(path)) as saver:
        reader = Reader(saver, Codec())
        found = reader.moment(lambda: replay.run(reader, reader.resolve("t"), NOTHING_NAMED))
    text = "\n".join("".join(text for _, text in line) for line in render(found, Page(120, 0)))
    assert "  ~ n  2 → 4\n  ? trace  unknown: no reducer explains" in text
    assert "--commit --reducer trace=NAME --reducer first=NAME keeps" in text
    assert ckpt(["replay", "t", "--db", str(path), "--commit", "--yes"]) == 7
    assert ckpt(["replay", "t", "--db", str(path), "--reducer", "first=dict"]) == 2
    asked(
        capsys,
        "replay",
        "t",
        "--db",
        str(path),
        "--commit",
        "--dry-run",
        "--reducer",
        "trace=+",
        "--reducer",
        "first=last",
    )


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The piped output of a command line."""
    capsys.readouterr()
    assert ckpt(list(words)) == 0
    return capsys.readouterr().out


def test_committed_and_taken_back(
    waiting: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """--commit writes the checkpoint that END would, names what is abandoned, and undo takes it away again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    committed = ["--commit", "--deferred", "send=no"]
    printed = asked(capsys, "replay", "t", "--db", str(waiting), *committed, "--yes")
    assert "abandoned: legal (waiting), review (waiting)" in printed
    assert "kept: what fine wrote" in printed
    with closing(sqlite3.connect(waiting, check_same_thread=False)) as connection:
        graph = asking(SqliteSaver(connection), many=True)
        assert graph.get_state(on("t")).values["log"][-1] == "fine"
    again = asked(capsys, "replay", "t", "@~1", "--db", str(waiting), *committed, "--dry-run")
    assert "abandoned" not in again, "what waited there had been abandoned before"
    asked(capsys, "undo", "--db", str(waiting), "--yes")
    view: dict[str, Any] = json.loads(asked(capsys, "replay", "t", "--db", str(waiting), "--json"))
    assert view["step"] == 1


def test_updated_by_command_line(
    waiting: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Values, node and way on are given as options; a bulk update makes a checkpoint a line."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    words = [
        "--values",
        '{"log": ["me"], "n": 5}',
        "--as-node",
        "review",
        "--next",
        "END",
        "--reducer",
        "n=last",
        "--yes",
    ]
    printed = asked(capsys, "update", "t", "--db", str(waiting), *words)
    assert "as review: then END, as you say" in printed
    lines = tmp_path / "bulk.jsonl"
    lines.write_text(
        '{"values": {"log": ["x"]}, "as_node": "write", "next": ["fine"]}\n'
        '{"values": {"n": 7}, "as_node": "fine", "next": []}\n'
    )
    asked(capsys, "update", "t", "--db", str(waiting), "--bulk", str(lines), "--reducer", "n=last", "--yes")
    with closing(sqlite3.connect(waiting, check_same_thread=False)) as connection:
        states = list(asking(SqliteSaver(connection), many=True).get_state_history(on("t")))
    assert [state.metadata["step"] for state in states[:3]] == [4, 3, 2]
    assert states[0].values == {"log": ["in", "write", "me", "x"], "n": 7}
    assert states[1].next == ("fine",)
