"""What ``ckpt verify`` prints, reads and refuses."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.commands.verify import verify
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite.saver import SqliteSaver
from ckpt_cli.session import Session
from ckpt_cli.views.verify import VerifyView
from tests import golden
from tests.commands.planted import Tables, record_file
from tests.commands.plants import PLANTS

Database = Callable[[str], Path]

LOOKS: dict[str, tuple[str, list[str]]] = {
    "chat": ("real", ["chat-linear"]),
    "forks": ("real", ["forks"]),
    "delta": ("real", ["delta"]),
    "subgraphs": ("real", ["subgraphs", "subgraph-interrupted"]),
    "exit": ("real", ["durability-exit"]),
    "upgraded": ("legacy/py-upgraded", ["up-err"]),
    "no-writes": ("legacy/py-0.0.38", []),
}


def looked(path: Path, *threads: str, **options: Any) -> VerifyView:
    """The view, whose rows can be read again and again."""
    with closing(Session(str(path))) as session:
        view = verify(session, list(threads), **options)
        view.threads = list(view.threads)
        return view


@pytest.mark.parametrize("name", LOOKS)
def test_looks(name: str, database: Database) -> None:
    """What steps show, on every kind of output."""
    source, threads = LOOKS[name]
    golden.check(f"verify/{name}", looked(database(source), *threads))


def test_each_checkpoint_is_decoded_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a line without forks, however long: no checkpoint is read again for its verdict."""
    decoded: list[Any] = []
    decode = Reader.decode

    def counted(self: Reader, checkpoint: Any) -> Any:
        decoded.append(checkpoint.row.ref)
        return decode(self, checkpoint)

    monkeypatch.setattr(Reader, "decode", counted)
    view = looked(database("real"), "long-1000", "chat-linear")
    assert set(Counter(decoded).values()) == {1}
    assert view.steps == len(decoded) > 1000


def test_each_row_of_a_file_is_read_once(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metadata comes with the checkpoint behind which it is stored: only a page's relatives are read for it alone."""
    alone: list[Any] = []
    metadata = SqliteSaver.metadata

    def counted(self: SqliteSaver, refs: Any) -> Any:
        alone.extend(refs)
        return metadata(self, refs)

    monkeypatch.setattr(SqliteSaver, "metadata", counted)
    view = looked(database("real"), "long-1000")
    assert len(alone) < view.steps / 5


def test_long_work_shows_how_far_it_has_come(database: Database) -> None:
    """A long thread says how many steps were read, and the line is removed at the end."""
    said: list[str] = []
    with closing(Session(str(database("real")), progress=said.append)) as session:
        assert [one.verdict for one in verify(session, ["long-1000"]).threads] == ["agrees"]
    assert "verify: 0 threads and 500 steps" in said
    assert said[-1] == ""


def test_verifying_is_looking(tmp_path: Path) -> None:
    """Not a byte of the database changes, and no file appears beside it."""
    path = record_file(tmp_path / "t.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    before, beside = path.read_bytes(), sorted(tmp_path.iterdir())
    assert run(["verify", "-d", str(path)]) == 0
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == (before, beside)


def test_of_many_threads_only_what_is_wrong_is_listed(tmp_path: Path) -> None:
    """A terminal lists the findings of a thread that differs, and only counts what is unknown in others."""
    path = record_file(tmp_path / "t.sqlite")
    tables = Tables(path)
    PLANTS["wrong_id"](tables)
    tables.run("INSERT INTO checkpoints SELECT 'copy', '', checkpoint_id, NULL, type, checkpoint, metadata FROM"
               " checkpoints WHERE checkpoint_ns LIKE 'child%' ORDER BY checkpoint_id DESC LIMIT 1")  # fmt: skip
    tables.close()
    lines = [line.strip() for line in golden.lines(looked(path), 80)]
    assert [line for line in lines if "wrong-id" in line]
    assert not [line for line in lines if "no-parent" in line]
    assert lines[-1].startswith("2 threads, ")


def test_a_selector_chooses_the_threads(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """As in other commands."""
    path = str(database("real"))
    assert run(["verify", "-d", path, "--match", "subgraph-*", "--status", "waiting", "--jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert run(["verify", "-d", path, "nobody"]) == 4


def test_a_misspelled_channel_is_said(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """A reducer that was named for a channel that no step writes to is not used, on stderr; a used one is no news."""
    path = str(database("real"))
    assert run(["verify", "chat-linear", "-d", path, "--reducer", "mesages=messages"]) == 0
    assert "that was compared writes to mesages" in capsys.readouterr().err
    assert run(["verify", "chat-linear", "-d", path, "--reducer", "messages=messages"]) == 0
    assert "isn't used" not in capsys.readouterr().err
