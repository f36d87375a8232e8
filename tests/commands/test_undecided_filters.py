"""``--where`` on a delta channel whose value isn't stored at the head: left out, and never in silence."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.commands.test_exit_durability import Both
from tests.graphs.building import on

_COMMANDS = [
    ["graph"],
    ["verify"],
    ["threads"],
    ["threads", "-n", "0"],
    ["stats"],
    ["grep", "a"],
    ["get", "--each", "n"],
    ["fork", "--at", "@", "--dry-run"],
    ["delete", "--dry-run"],
    ["tag", "--at", "@", "--name", "x"],
]
_WHERE = ["len(story) > 0", "not (len(story) > 0)", 'values["story"] == []', "len(values.story) > 0"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three threads with a delta channel, and one without."""
    path = tmp_path / "t.sqlite"
    builder = StateGraph(Both)
    builder.add_node("a", lambda _: {"n": 1, "story": ["a"]})
    builder.add_edge(START, "a")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        for thread_id in ("t1", "t2", "t3"):
            graph.invoke({"n": 0}, on(thread_id))
            assert graph.get_state(on(thread_id)).values["story"] == ["a"]
    return path


@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
@pytest.mark.parametrize("where", _WHERE)
def test_undecided_threads_are_counted(
    path: Path, capsys: pytest.CaptureFixture[str], command: list[str], where: str
) -> None:
    """Each command with a selector says how many threads the filter couldn't decide, also under ``not``."""
    run([*command, "--where", where, "-d", str(path)])
    assert (
        "3 threads were left out undecided: the head stores no value of story, only what was written"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("where", ["len(story) > 0", "not (len(story) > 0)"])
def test_a_watch_says_once_what_it_leaves_out(path: Path, capsys: pytest.CaptureFixture[str], where: str) -> None:
    """Three named threads that the filter can't decide give no event, and one remark."""
    assert run(["watch", "t1", "t2", "t3", "--where", where, "--stop-when", "idle > 0s", "-d", str(path)]) == 0
    out, err = capsys.readouterr()
    remark = "--where: threads are left out undecided where the head stores no value of story, only what"
    assert not out and err.count(remark) == 1


def test_values_has_a_channel_that_is_not_stored(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether it exists is known, and what another channel holds; no record has a channel that doesn't exist."""
    for where, count in (('"story" in values', 3), ('values["n"] == 1', 3), ('"no" in values', 0)):
        assert run(["threads", "--where", where, "-d", str(path)]) == 0
        out, err = capsys.readouterr()
        assert len(out.splitlines()) == count and "undecided" not in err
    assert run(["threads", "--where", 'values["no"] == 1', "-d", str(path)]) == 2
    assert "fails on every thread: 'no'" in capsys.readouterr().err


@pytest.mark.parametrize(("words", "step"), [(["--any"], -1), ([], 1)], ids=["any checkpoint", "the head"])
def test_a_watch_counts_threads_whose_metadata_can_not_be_read(
    path: Path, capsys: pytest.CaptureFixture[str], words: list[str], step: int
) -> None:
    """They are left out, as in `threads`, and both commands say how many."""
    with closing(sqlite3.connect(path)) as database, database:
        where = f"json_extract(metadata, '$.step') = {step} AND thread_id != 't3'"
        assert database.execute(f"UPDATE checkpoints SET metadata = '{{' WHERE {where}").rowcount == 2
    for command in (["threads"], ["watch", "t1", "t2", "t3", "--stop-when", "idle > 0s"]):
        assert run([*command, *words, "--where", "step > 90", "-d", str(path)]) == 0
        out, err = capsys.readouterr()
        assert not out and err.count("the metadata of 2 threads can't be read, so --where may have missed some") == 1


def test_a_side_of_an_or_that_is_true_decides(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then nothing is left out, and nothing is said."""
    assert run(["threads", "--where", "len(story) > 0 or n == 1", "-d", str(path)]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 3 and "undecided" not in err
