"""``ckpt prune`` that counts bytes, packs what goes, takes its policies from the config file, gives space back."""

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.completion.names import complete_policy
from ckpt_cli.queries import pruning
from ckpt_cli.savers.bundle.writer import BundleWriter
from tests.bench.bounds import chain, make
from tests.commands.changes import Json
from tests.copying.test_removed import dump

Said = Callable[..., Any]


@pytest.fixture
def said(path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs a command line and gives its JSON, the answer or the error."""

    def go(*words: str, code: int = 0, db: Path = path) -> Json:
        capsys.readouterr()
        assert run([*words, "-d", str(db), "--json"]) == code, capsys.readouterr().err
        out, err = capsys.readouterr()
        answer: Json = json.loads(out or err.splitlines()[-1])
        return answer

    return go


def test_the_newest_that_fit(said: Said) -> None:
    """The oldest go until the thread fits; what must stay stays, and the plan says so; other policies add to it."""
    for thread_id in ("forks", "chat-linear", "subgraph-stateful"):
        least = _size(said, thread_id, "--keep-tips")
        sizes = [_size(said, thread_id, "--max-bytes", str(limit)) for limit in range(least, least + 30_000, 5_000)]
        assert sizes == sorted(sizes) and len(set(sizes)) > 2
        assert all(size <= least + 5_000 * place for place, size in enumerate(sizes))
        plan = said("prune", thread_id, "--max-bytes", str(least - 1), "--dry-run")
        assert f"takes {least:,} bytes, more than --max-bytes {least - 1:,}" in plan["notes"][0]
        both = _staying(said, thread_id, "--max-bytes", str(least + 5_000), "--keep-inputs")
        more = _staying(said, thread_id, "--keep-inputs")
        assert {one["checkpoint_id"] for one in both} >= {one["checkpoint_id"] for one in more}


def test_writes_without_a_checkpoint_stay(said: Said, tmp_path: Path) -> None:
    """They are counted as what is left, also in a namespace of which no checkpoint is stored."""
    make(db := tmp_path / "lost.sqlite", chain(5))
    before = said("prune", "t", "--keep-last", "2", "--dry-run", db=db)
    with closing(sqlite3.connect(db)) as connection:
        for ns in ("", "gone:1"):
            names = "thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, value"
            row = ("t", ns, "1f044c4a-0000-6000-8000-999999999999", "task", 0, "x", "msgpack", b"\x01")
            connection.execute(f"INSERT INTO writes ({names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    after = said("prune", "t", "--keep-last", "2", "--dry-run", db=db)
    assert (after["rows"], after["checkpoints"]) == (before["rows"], before["checkpoints"])
    left = [int(re.findall(r"checkpoints?, ([0-9,]+) bytes", one["summary"])[0]) for one in (before, after)]
    assert left[1] == left[0] + 2


def _staying(said: Said, *words: str) -> list[Json]:
    return [one for one in said("prune", *words, "--dry-run")["checkpoints"] if one["stays"]]


def _size(said: Said, thread_id: str, *words: str) -> int:
    """The bytes that are left of a thread, as the plan says; a new plan for what is left says the same."""
    found = re.search(
        r"checkpoints?(?: stays?)?, ([0-9,]+) bytes", said("prune", thread_id, *words, "--dry-run")["summary"]
    )
    assert found
    return int(found[1].replace(",", ""))


def test_what_goes_is_in_the_bundle(said: Said, path: Path, tmp_path: Path) -> None:
    """Nothing else is, and several prunings share it; each undo reads it, and without it exits 7 and names it."""
    before, bundle = dump(str(path)), tmp_path / "cold.ckpt"
    logged = said("prune", "forks", "--keep-last", "2", "--dry-run")["log_bytes"]
    preview = said("prune", "forks", "--keep-last", "2", "--export", str(bundle), "--dry-run")
    assert preview["packed"] == str(bundle) and not bundle.exists()
    view = said("prune", "forks", "--keep-last", "2", "--export", str(bundle), "--yes")
    assert view["log_bytes"] == preview["log_bytes"] < logged
    gone = {one["checkpoint_id"] for one in view["checkpoints"] if not one["stays"]}
    assert {one["checkpoint_id"] for one in said("log", "forks", "--all", db=bundle)["steps"]} == gone
    said("prune", "--match", "*sub*", "--keep-tips", "--export", str(bundle), "--yes")
    pruned, moved = dump(str(path)), bundle.rename(tmp_path / "moved.ckpt")
    refused = said("undo", "--yes", code=7)
    assert {one["problem"] for one in refused["threads"] if str(bundle) in one["problem"]}
    assert dump(str(path)) == pruned
    moved.rename(bundle)
    said("undo", "--yes")
    moved = bundle.rename(tmp_path / "moved.ckpt")
    assert str(bundle) in said("undo", "1", "--yes", code=7)["error"]["message"]
    moved.rename(bundle)
    said("undo", "1", "--yes")
    assert dump(str(path)) == before


def test_a_thread_that_went_on_since_it_was_packed(
    said: Said, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows changed, so nothing of it is removed."""
    finish, before = BundleWriter.finish, len(said("log", "forks", "--all")["steps"])

    def late(writer: BundleWriter) -> bytes:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE writes SET value = x'c0' WHERE thread_id = 'forks'")
            connection.commit()
        return finish(writer)

    monkeypatch.setattr(BundleWriter, "finish", late)
    bundle = str(tmp_path / "cold.ckpt")
    error = said("prune", "forks", "--keep-tips", "--export", bundle, "--yes", code=7)["error"]
    assert "the bundle has write" in error["message"] and "with other contents" in error["message"]
    assert len(said("log", "forks", "--all")["steps"]) == before


def test_what_was_not_packed_stays(said: Said, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a thread that became idle after the others were packed, and no bundle was made."""
    monkeypatch.setattr(pruning, "_pack", lambda *_: None)
    before, words = dump(str(path)), ["--keep-tips", "--export", str(tmp_path / "cold.ckpt"), "--yes"]
    assert "packed" in said("prune", "forks", *words, code=7)["error"]["message"]
    assert "packed" in said("prune", "--match", "*sub*", *words, code=7)["threads"][0]["problem"]
    assert dump(str(path)) == before


POLICIES = """
[policies.nightly]
keep-last = 3
keep-source = "update"
idle = "90d"
max-bytes = 20_000
snapshot = true

[policies.typo]
keep-lats = 3

[policies.odd]
keep-last = "three"
"""


def test_a_named_policy(said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is as if its options were typed; what is typed counts; mistakes in the file say where."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "ckpt").mkdir()
    (tmp_path / "ckpt" / "config.toml").write_text(POLICIES)
    typed = ["--keep-source", "update", "--idle", "90d", "--max-bytes", "20kB", "--snapshot"]
    for more, spelled in (([], "3"), (["--keep-last", "1"], "1"), (["--keep-last", "0"], "0")):
        named = said("prune", "delta", "--policy", "nightly", *more, "--dry-run")
        assert named == said("prune", "delta", *typed, "--keep-last", spelled, "--dry-run")
    mistakes = {
        "nigthly": "did you mean nightly?",
        "typo": "did you mean keep-last?",
        "odd": "keep-last needs a number",
    }
    for name, message in mistakes.items():
        error = said("prune", "delta", "--policy", name, "--dry-run", code=2)["error"]
        assert message in f"{error['message']} {error['hint']}"
    assert complete_policy("n") == ["nightly"]


def test_space_is_given_back(said: Said, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Once the change is applied, and only if nobody else has the file open; the plan says so."""
    words = ["long-1000", "--keep-tips", "--vacuum"]
    before = path.stat().st_size
    assert any("VACUUM makes the file smaller" in note for note in said("prune", *words, "--dry-run")["notes"])
    assert path.stat().st_size == before
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("SELECT count(*) FROM checkpoints").fetchall()
        assert run(["prune", *words, "--yes", "-d", str(path)]) == 0
        assert "another program has the file open; later: sqlite3" in capsys.readouterr().err
        assert connection.execute("PRAGMA freelist_count").fetchone() != (0,)
    said("undo", "--yes")
    whole = dump(str(path))
    assert run(["prune", *words, "--yes", "-d", str(path)]) == 0
    assert f"{path.name} takes {path.stat().st_size:,} bytes now, before" in capsys.readouterr().err
    assert path.stat().st_size < before
    said("undo", "--yes")
    assert dump(str(path)) == whole


def test_a_full_disk_refuses(said: Said, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for one thread, before anything is written."""
    before = dump(str(path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    error = said("prune", "forks", "--keep-tips", "--yes", code=7)["error"]
    assert "the operation log may grow by" in error["message"]
    assert dump(str(path)) == before
