"""`ckpt import`: threads come back from a bundle, under their own ids or new ones; conflicts are refused."""

import json
import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.conformance.samples import everything
from ckpt_cli.savers.url import open_database
from tests.databases import unpacked
from tests.graphs.building import line, on
from tests.langgraph.places import places

DEMO = "ckpt-demo.sqlite"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
    """A folder with the demo database, all of it in a bundle too."""
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    assert run(["export", "-o", "all.ckpt", "-d", DEMO]) == 0
    capsys.readouterr()
    return tmp_path


def said(*words: str, code: int = 0, capsys: Captured) -> Any:
    """The JSON that a command prints, its answer or its error."""
    capsys.readouterr()
    assert run([*words, "--json"]) == code, capsys.readouterr()
    out, err = capsys.readouterr()
    return json.loads(out or err.splitlines()[-1])


def contents(database: str) -> object:
    with closing(open_database(database, lambda _: None)) as saver:
        return everything(saver)


def new_database(name: str) -> str:
    with SqliteSaver.from_conn_string(name) as saver:
        saver.setup()
    return name


def test_a_bundle_comes_back_whole(capsys: Captured) -> None:
    """What was exported is what was imported, all threads or some; a second time adds nothing; undo removes it."""
    new = new_database("new.sqlite")
    view = said("import", "all.ckpt", "support-42", "-d", new, "--yes", capsys=capsys)
    assert (view["command"], view["done"], view["undo"]) == ("import", 1, "ckpt undo 1")
    assert said("import", "all.ckpt", "-d", new, "--yes", capsys=capsys)["done"] == 3
    assert contents(new) == contents(DEMO)
    assert said("import", "all.ckpt", "-d", new, capsys=capsys)["changes"] == 0
    [late, early] = said("operations", "-d", new, capsys=capsys)["operations"]
    assert (early["command"], late["command"]) == ("import", "import")
    said("undo", "2", "-d", new, "--yes", capsys=capsys)
    assert [one["thread_id"] for one in said("threads", "-d", new, capsys=capsys)["threads"]] == ["support-42"]


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis"])
def test_a_renamed_thread_goes_on(request: pytest.FixtureRequest, kind: str, capsys: Captured) -> None:
    """Beside the thread of the same id, in any database, and to the end at which the original arrives."""
    backend = places(request, kind)()
    with backend.official() as saver:
        graph = line(saver, "a", "b", "c", interrupt_before=["c"])
        graph.invoke({"log": ["go"]}, on("t"))
        said("export", "t", "-o", "t.ckpt", "-d", backend.url, capsys=capsys)
        view = said("import", "t.ckpt", "--rename", "t=a=b", "-d", backend.url, "--yes", capsys=capsys)
        assert [one["thread_id"] for one in view["threads"]] == ["a=b"]
        again = line(saver, "a", "b", "c").invoke(None, on("a=b"))
        assert again == line(saver, "a", "b", "c").invoke(None, on("t"))


def test_metadata_gets_the_new_id(capsys: Captured) -> None:
    """Older releases store the thread's id in the metadata, too: there it becomes the new one, nothing else changes."""
    Path("old.sqlite").write_bytes(unpacked("legacy/py-0.2.60"))
    said("export", "chat", "-o", "old.ckpt", "-d", "old.sqlite", capsys=capsys)
    new = new_database("new.sqlite")
    said("import", "old.ckpt", "--rename", "chat=other", "-d", new, "--yes", capsys=capsys)
    with closing(sqlite3.connect("old.sqlite")) as old, closing(sqlite3.connect(new)) as made:
        question = "SELECT checkpoint_id, metadata FROM checkpoints WHERE thread_id = ? ORDER BY 1"
        before, after = old.execute(question, ("chat",)).fetchall(), made.execute(question, ("other",)).fetchall()
    changed = [(one, {**json.loads(text), "thread_id": "other"}) for one, text in before]
    assert [(one, json.loads(text)) for one, text in after] == changed
    assert {json.loads(text)["thread_id"] for _, text in before} == {"chat"}


def test_conflicts_are_refused(capsys: Captured) -> None:
    """Another history of the same id, or other contents, refuse a thread; the others can be imported."""
    new = new_database("new.sqlite")
    said("import", "all.ckpt", "support-42", "-d", new, "--yes", capsys=capsys)
    with sqlite3.connect(new) as connection:
        connection.execute("UPDATE checkpoints SET metadata = '{}' WHERE thread_id = 'support-42'")
    with SqliteSaver.from_conn_string(new) as saver:
        line(saver, "a").invoke({"log": ["go"]}, on("support-41"))
    before = contents(new)
    view = said("import", "all.ckpt", "-d", new, "--yes", code=7, capsys=capsys)
    problems = {one["thread_id"]: one["problem"] for one in view["threads"] if one["problem"]}
    assert problems.keys() == {"support-41", "support-42"}
    assert "with another history (--rename OLD=NEW" in problems["support-41"]
    assert "with other contents" in problems["support-42"]
    assert contents(new) == before
    renames = ("--rename", "support-41=then-41", "--rename", "support-42=then-42")
    assert said("import", "all.ckpt", *renames, "-d", new, "--yes", capsys=capsys)["done"] == 4
    view = said("import", "all.ckpt", "-d", new, "--yes", "--skip-refused", capsys=capsys)
    assert (view["done"], view["refused"]) == (0, 2)


def test_a_thread_that_went_on_is_the_same_history(capsys: Captured) -> None:
    """The bundle's older part is there already; a database that is behind gets what it lacks."""
    new = new_database("new.sqlite")
    said("import", "all.ckpt", "-d", new, "--yes", capsys=capsys)
    said("fork", "support-42", "step:3", "-d", new, "--yes", capsys=capsys)
    said("export", "support-42", "-o", "late.ckpt", "-d", new, capsys=capsys)
    assert said("import", "all.ckpt", "-d", new, capsys=capsys)["changes"] == 0
    view = said("import", "late.ckpt", "-d", DEMO, "--yes", capsys=capsys)
    assert [one["summary"] for one in view["threads"]] == ["1 checkpoint and 0 writes"]
    assert contents(DEMO) == contents(new)


def test_a_redacted_bundle_is_called_so(capsys: Captured) -> None:
    """The plan says that such a thread isn't what it was; its agent's own saver reads it."""
    said("export", "support-42", "-o", "shape.ckpt", "--redact-pattern", "order", "-d", DEMO, capsys=capsys)
    new = new_database("new.sqlite")
    assert "redacted" in said("import", "shape.ckpt", "-d", new, "--yes", capsys=capsys)["summary"]
    assert "redacted" in said("operations", "-d", new, capsys=capsys)["operations"][0]["summary"]
    assert "redacted" not in said("import", "all.ckpt", "--dry-run", "-d", DEMO, capsys=capsys)["summary"]
    with SqliteSaver.from_conn_string(new) as saver:
        assert len(list(saver.list(None))) == 18


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([DEMO], 2, "no bundle"),
        (["no.ckpt"], 3, "no.ckpt"),
        (["all.ckpt", "nobody"], 4, "nobody"),
        (["all.ckpt", "--match", "nobody"], 4, "no thread is selected"),
        (["all.ckpt", "--rename", "nobody=x"], 4, "no thread 'nobody' is selected"),
        (["all.ckpt", "--rename", "support-42"], 2, "not OLD=NEW"),
        (["all.ckpt", "--rename", "support-42="], 2, "empty"),
        (["all.ckpt", "--rename", "support-42=support-41"], 2, "the same id"),
        (["all.ckpt", "--rename", "support-42=x", "--rename", "support-42=y"], 2, "twice"),
        (["all.ckpt", "-d", "all.ckpt"], 6, "can't be written"),
    ],
    ids=str,
)
def test_what_cant_be(words: list[str], code: int, message: str, capsys: Captured) -> None:
    """Each is an error with its reason, and nothing is written."""
    database = [] if "-d" in words else ["-d", new_database("new.sqlite")]
    error = said("import", *words, *database, "--yes", code=code, capsys=capsys)["error"]
    assert message in error["message"]
    assert not database or contents("new.sqlite") == contents(new_database("empty.sqlite"))


def test_a_database_that_does_not_exist_is_made_by_a_copy(capsys: Captured) -> None:
    """An import makes no file; its hint does, with the same contents."""
    error = said("import", "all.ckpt", "-d", "new.sqlite", "--yes", code=3, capsys=capsys)["error"]
    assert not Path("new.sqlite").exists()
    for name in ("new.ckpt", "nowhere/new.sqlite", "new"):
        assert "copy" not in said("import", "all.ckpt", "-d", name, code=3, capsys=capsys)["error"]["hint"]
    assert said("import", DEMO, "-d", "new.sqlite", code=2, capsys=capsys)["error"]["message"].startswith(DEMO)
    named = re.search("`ckpt (copy [^`]+)`", error["hint"])
    assert named is not None
    assert run([*shlex.split(named[1]), "--yes"]) == 0
    assert contents("new.sqlite") == contents(DEMO)


def test_a_name_that_no_file_can_have_is_no_database(capsys: Captured) -> None:
    """The error is that of any other name."""
    error = said("import", "all.ckpt", "-d", "a" * 300 + ".db", "--yes", code=3, capsys=capsys)["error"]
    assert "no such file or database name" in error["message"] and "ckpt copy" not in error["hint"]
