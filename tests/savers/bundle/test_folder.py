"""A folder of bundles opens as one database; a thread that several bundles have is joined."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.conformance.samples import everything
from ckpt_cli.savers.url import open_database
from tests.graphs.building import line, on

DEMO = "ckpt-demo.sqlite"
Captured = pytest.CaptureFixture[str]
THREADS = ("support-42", "support-41", "support-40", "support-39")


@pytest.fixture(autouse=True)
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
    """A folder with a bundle for each thread of the demo, one for two of them, and files that are no bundles."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert run(["demo"]) == 0
    folder = tmp_path / "archive"
    folder.mkdir()
    for thread_id in THREADS:
        assert run(["export", thread_id, "-o", f"archive/{thread_id}.ckpt", "-d", DEMO]) == 0
    assert run(["export", *THREADS[:2], "-o", "archive/both.ckpt", "-d", DEMO]) == 0
    (folder / "weights.ckpt").write_bytes(b"PK of another program")
    (folder / "notes.txt").write_text("none")
    capsys.readouterr()
    return folder


def said(*words: str, code: int = 0, capsys: Captured) -> Any:
    """The JSON that a command prints, its answer or its error."""
    capsys.readouterr()
    assert run([*words, "--json"]) == code, capsys.readouterr()
    out, err = capsys.readouterr()
    return json.loads(out or err.splitlines()[-1])


def contents(database: str) -> object:
    with closing(open_database(database, lambda _: None)) as saver:
        return everything(saver)


def test_it_is_what_the_database_was(capsys: Captured) -> None:
    """Every record, each once; nothing opens more than a few bundles at a time."""
    assert contents("archive") == contents(DEMO)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with closing(open_database("archive", lambda _: None)) as saver:
        everything(saver)
        assert len(list(Path("/proc/self/fd").iterdir())) <= before + 2
        assert saver.totals() == _totals()


def _totals() -> object:
    with closing(open_database(DEMO, lambda _: None)) as saver:
        return saver.totals()


@pytest.mark.parametrize(
    "words",
    [["threads"], ["log", "support-42"], ["tree", "support-42"], ["show", "support-42"], ["grep", "refund"], ["stats"]],
    ids=lambda words: words[0],
)
def test_every_look_reads_it(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """Each says of the folder what it says of one bundle with all of its threads."""
    said("export", "-o", "all.ckpt", "-d", DEMO, capsys=capsys)
    answers = [json.dumps(said(*words, "-d", one, capsys=capsys)) for one in ("archive", "all.ckpt")]
    volatile = ("archive", "all.ckpt")
    for name in volatile:
        answers = [one.replace(name, "NAME") for one in answers]
    if words != ["stats"]:  # which measures files
        assert answers[0] == answers[1]


def test_parts_of_a_thread_are_joined(capsys: Captured) -> None:
    """Each bundle has what the thread had then; the folder has all, once."""
    Path("parts").mkdir()
    with SqliteSaver.from_conn_string("one.sqlite") as saver:
        for number in range(3):
            line(saver, "a", "b").invoke({"log": [str(number)]}, on("t"))
            said("export", "t", "-o", f"parts/{number}.ckpt", "-d", "one.sqlite", capsys=capsys)
    assert contents("parts") == contents("one.sqlite")
    said("export", "-o", "joined.ckpt", "-d", "parts", capsys=capsys)
    assert contents("joined.ckpt") == contents("one.sqlite")


@pytest.mark.parametrize("table", ["checkpoints", "writes"])
def test_records_that_differ_name_both_bundles(table: str, capsys: Captured) -> None:
    """They are an error wherever they are read, never one of the two; other threads are read."""
    column, value = ("metadata", "'{}'") if table == "checkpoints" else ("value", "x'c0'")
    with closing(sqlite3.connect(DEMO)) as connection:
        connection.execute(f"UPDATE {table} SET {column} = {value} WHERE thread_id = 'support-40'")
        connection.commit()
    said("export", "support-40", "-o", "archive/other.ckpt", "-d", DEMO, capsys=capsys)
    with closing(open_database("archive", lambda _: None)) as saver:
        assert list(saver.writes("support-41"))
    error = said("copy", "archive", "new.sqlite", "support-40", "--yes", code=3, capsys=capsys)
    assert "other.ckpt" in json.dumps(error) and "support-40.ckpt" in json.dumps(error)


def test_a_thread_comes_back_from_the_folder(capsys: Captured) -> None:
    """`export --remove` into a folder, `import` out of it: every row as it was."""
    with closing(sqlite3.connect(DEMO)) as connection:
        before = sorted(connection.iterdump())
    said("export", "support-42", "-o", "archive/new.ckpt", "--remove", "--yes", "-d", DEMO, capsys=capsys)
    assert said("import", "archive", "support-42", "--yes", "-d", DEMO, capsys=capsys)["done"] == 1
    with closing(sqlite3.connect(DEMO)) as connection:
        assert sorted(connection.iterdump()) == before


def test_what_changes_is_seen(archive: Path, capsys: Captured) -> None:
    """A bundle that is added, and one that is removed, count from the next moment on."""
    with closing(open_database("archive", lambda _: None)) as saver:
        assert saver.moment(saver.count_threads) == 4
        (archive / "support-39.ckpt").unlink()
        assert saver.moment(saver.count_threads) == 3
        with SqliteSaver.from_conn_string("one.sqlite") as one:
            line(one, "a").invoke({"log": ["go"]}, on("t"))
        said("export", "t", "-o", "archive/t.ckpt", "-d", "one.sqlite", capsys=capsys)
        assert saver.moment(saver.count_threads) == 4


def test_it_is_only_read(archive: Path, capsys: Captured) -> None:
    """A change is refused; a folder without a bundle is an error that says what it is."""
    assert said("delete", "support-42", "--yes", "-d", "archive", code=6, capsys=capsys)["error"]
    (archive / "empty").mkdir()
    (archive / "empty" / "weights.ckpt").write_bytes(b"PK of another program")
    assert "is a folder" in said("threads", "-d", "archive/empty", code=3, capsys=capsys)["error"]["message"]
