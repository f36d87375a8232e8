"""`ckpt export`: a bundle answers as the database does; additions, refusals, dry runs."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.conformance.samples import everything
from ckpt_cli.output.line import Page
from ckpt_cli.output.text.export import render
from ckpt_cli.savers.url import open_database
from ckpt_cli.views.export import ExportLine, ExportView

DATABASE = "ckpt-demo.sqlite"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with the demo database, where it is found without `--db`."""
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    capsys.readouterr()
    return tmp_path


def said(*words: str, code: int = 0, capsys: pytest.CaptureFixture[str]) -> Any:
    """The JSON that a command prints, or the text on stderr if it fails."""
    capsys.readouterr()
    assert run([*words, "--json"]) == code, capsys.readouterr().err
    out, err = capsys.readouterr()
    return json.loads(out) if code == 0 else err


def contents(database: str) -> object:
    with closing(open_database(database, lambda _: None)) as saver:
        threads, checkpoints, writes = everything(saver)
        return threads, [one._replace(row=one.row._replace(size=None)) for one in checkpoints], writes


def test_a_bundle_is_what_the_database_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Every record is the same, and every command answers the same; the database has no byte changed."""
    before = Path(DATABASE).read_bytes()
    view = said("export", "-o", "all.ckpt", capsys=capsys)
    assert Path(DATABASE).read_bytes() == before
    assert contents("all.ckpt") == contents(DATABASE)
    assert len(view["threads"]) == 4 and view["size"] == Path("all.ckpt").stat().st_size and len(view["checksum"]) == 64
    for words in (
        ["threads"],
        ["grep", "refund"],
        ["verify"],
        ["tree", "support-42"],
        ["log", "support-42"],
        ["show", "support-42"],
        ["diff", "support-42", "step:3", "@"],
        ["writes", "support-42"],
        ["blame", "support-42", "messages"],
    ):
        assert said(*words, "-d", "all.ckpt", capsys=capsys) == said(*words, "-d", DATABASE, capsys=capsys), words


def test_a_bundle_gets_what_it_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    """A second export adds only new records, and keeps what the database no longer has."""
    assert [
        one["checkpoints"] for one in said("export", "support-40", "-o", "some.ckpt", capsys=capsys)["threads"]
    ] == [6]
    again = said("export", "support-40", "-o", "some.ckpt", capsys=capsys)["threads"]
    assert [(one["checkpoints"], one["writes"], one["bytes"]) for one in again] == [(0, 0, 0)]
    shown = "".join(text for _, text in next(render(ExportView("f", [ExportLine("t")]), Page(80, 0.0))))
    assert shown == "t  the bundle has all of it"
    assert run(["fork", "support-40", "@^", "--yes"]) == 0
    assert [
        one["checkpoints"] for one in said("export", "support-40", "-o", "some.ckpt", capsys=capsys)["threads"]
    ] == [1]
    assert run(["delete", "support-40", "--yes"]) == 0
    said("export", "support-39", "-o", "some.ckpt", capsys=capsys)
    counts = {
        one["thread_id"]: one["checkpoints"] for one in said("threads", "-d", "some.ckpt", capsys=capsys)["threads"]
    }
    assert counts == {"support-40": 7, "support-39": 13}


def test_other_contents_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A record that differs from the bundle's is refused, and the bundle stays; --skip-refused exports the rest."""
    said("export", "support-40", "-o", "some.ckpt", capsys=capsys)
    with closing(sqlite3.connect(DATABASE)) as connection, connection:
        connection.execute("UPDATE checkpoints SET metadata = '{}' WHERE thread_id = 'support-40'")
    before = Path("some.ckpt").read_bytes()
    assert "with other contents; nothing was written" in said("export", "-o", "some.ckpt", code=7, capsys=capsys)
    assert Path("some.ckpt").read_bytes() == before
    view = said("export", "-o", "some.ckpt", "--skip-refused", capsys=capsys)
    assert [one["thread_id"] for one in view["threads"] if one["refused"]] == ["support-40"]
    assert len(said("threads", "-d", "some.ckpt", capsys=capsys)["threads"]) == 4


def test_a_bundle_of_a_bundle(capsys: pytest.CaptureFixture[str]) -> None:
    """Threads of a bundle are exported to another one, with the origin that they had."""
    said("export", "-o", "all.ckpt", capsys=capsys)
    said("export", "support-42", "-d", "all.ckpt", "-o", "one.ckpt", capsys=capsys)
    assert [said("info", "-d", name, capsys=capsys)["facts"]["threads from"] for name in ("one.ckpt", "all.ckpt")] == [
        "SQLite, checkpoint-sqlite 3.1.2 or newer (task_path)"
    ] * 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["export"], 2, "to which file?"),
        (["export", "nobody", "-o", "some.ckpt"], 4, "nobody"),
        (["export", "--match", "nobody*", "-o", "some.ckpt"], 4, "no thread is selected"),
        (["export", "-o", DATABASE], 3, "isn't a bundle"),
        (["export", "-o", "no/such/folder.ckpt"], 3, "No such file or directory"),
    ],
)
def test_errors_write_nothing(
    words: list[str], code: int, message: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each has its exit code, and leaves the folder as it was."""
    before = {one.name: one.read_bytes() for one in here.iterdir() if one.is_file()}
    assert message in said(*words, code=code, capsys=capsys)
    assert {one.name: one.read_bytes() for one in here.iterdir() if one.is_file()} == before


def test_a_dry_run_only_counts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what an export would add, and makes no file."""
    dry = said("export", "-o", "all.ckpt", "--dry-run", capsys=capsys)
    assert not Path("all.ckpt").exists() and dry["size"] is None
    assert dry["threads"] == said("export", "-o", "all.ckpt", capsys=capsys)["threads"]
