"""What the changing verbs have in common: notes of the plan, shortened namespaces, a half-written database."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.savers.sqlite import open_file
from tests.commands.changes import THREAD, Json


@pytest.mark.parametrize(
    ("words", "is_said"),
    [
        (["fork", "{rev}"], True),
        (["rollback", "{rev}"], True),
        (["edit", "{rev}", "--set", "turn=9"], True),
        (["update", "{rev}", "--values", '{{"turn": 9}}', "--as-node", "model", "--next", "END"], True),
        (["replay", "{rev}", "--commit"], True),
        (["fork", "@"], True),
        (["edit", "@", "--set", "turn=9"], False),
        (["update", "@", "--values", '{{"turn": 9}}', "--as-node", "model", "--next", "END"], False),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else "",
)
def test_who_takes_the_heads_place_says_so(ckpt: Callable[..., Json], words: list[str], is_said: bool) -> None:
    """Where the new checkpoint doesn't follow the head, the plan says the same of it whatever the command."""
    verb, *more = [word.format(rev="step:4") for word in words]
    head = ckpt("show", THREAD)["short"]
    notes = ckpt(verb, THREAD, *more, "--dry-run")["notes"]
    assert (f"the thread continues from the new checkpoint, no longer from {head}" in notes) is is_said


def test_a_database_cut_off_in_a_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A killed write stops those who only look, with a hint; a command that changes takes it back first."""
    path = tmp_path / "half.sqlite"
    script = f"""
import os, sqlite3
connection = sqlite3.connect({str(path)!r}, isolation_level=None)
connection.executescript(open({str(path) + ".sql"!r}).read())
connection.execute("PRAGMA cache_size=1")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE checkpoints SET metadata = zeroblob(200000)")
os.kill(os.getpid(), 9)
"""
    (tmp_path / "half.sqlite.sql").write_text(
        "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT,"
        " type TEXT, checkpoint BLOB, metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));"
        "CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, idx INTEGER,"
        " channel TEXT, type TEXT, value BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));"
        "INSERT INTO checkpoints VALUES ('t', '', '1f1e5786-50cb-6000-8001-5d20aa77c1e4', NULL, 'json',"
        """ '{"v": 4, "id": "1", "ts": "2026", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}',"""
        """ '{"source": "loop", "step": 1}');"""
    )
    subprocess.run([sys.executable, "-c", script], check=False)
    assert run(["log", "t", "-d", str(path)]) == 3
    assert "left in the middle of a write" in capsys.readouterr().err
    assert run(["fork", "t", "@", "-d", str(path), "--dry-run"]) == 3
    assert run(["fork", "t", "@", "-d", str(path), "--yes"]) == 0
    assert run(["log", "t", "-d", str(path)]) == 0


CUT = [["fork", "@"], ["rollback", "@"], ["delete", "--after", "step:-1"]]


@pytest.mark.parametrize("words", CUT, ids=lambda words: words[0])
def test_a_namespace_may_be_cut_short(words: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What changes a subgraph takes its namespace as what looks at it does, and plans the same."""
    thread, outputs = "subgraph-interrupted", []
    with closing(open_file(path)) as saver:
        whole = saver.namespaces(thread)[-1]
    for ns in (whole, whole[:-3]):
        assert run([words[0], thread, *words[1:], "--ns", ns, "--dry-run", "-d", str(path)]) == 0
        outputs.append([line for line in capsys.readouterr().out.splitlines() if " row" in line])
    assert outputs[0] == outputs[1] and outputs[0]
