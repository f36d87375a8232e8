"""`ckpt export --remove`: threads move to a bundle, and come back as they were, by `import` and by `undo`."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from ckpt_cli.model import Row, RowChange
from ckpt_cli.queries.bundle_removal import rows_of
from ckpt_cli.savers.bundle.writer import BundleWriter
from ckpt_cli.session import Session
from tests.graphs.building import Graph, line, on
from tests.langgraph.places import places

DEMO = "ckpt-demo.sqlite"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def demo(capsys: Captured) -> str:
    assert run(["demo"]) == 0
    capsys.readouterr()
    return DEMO


def said(*words: str, code: int = 0, capsys: Captured) -> Any:
    """The JSON that a command prints, its answer or its error."""
    capsys.readouterr()
    assert run([*words, "--json"]) == code, capsys.readouterr()
    out, err = capsys.readouterr()
    return json.loads(out or err.splitlines()[-1])


def dump(database: str) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return sorted(connection.iterdump())


def rows(url: str) -> dict[str, dict[str, Row | None]]:
    """Every row of every thread by its key, as the engine has it."""
    with closing(Session(url)) as session:
        ids = [one.thread_id for one in session.reader.saver.threads()]
        return session.read(lambda _: {one: _by_key(rows_of(session, one)()) for one in ids})


def _by_key(removed: Iterable[RowChange]) -> dict[str, Row | None]:
    return {f"{one.relation} {sorted(one.key.items())}": one.before for one in removed}


def _asking(saver: Any) -> Graph:
    def ask(_: Any) -> dict[str, Any]:
        return {"log": [interrupt("go on?")]}

    return line(saver, "a", "ask", "b", nodes={"ask": ask})


@pytest.mark.parametrize("back", ["import", "undo"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis"])
def test_there_and_back(request: pytest.FixtureRequest, kind: str, back: str, capsys: Captured) -> None:
    """The rows are what they were, byte for byte, the other thread is untouched, and the agent goes on to its end."""
    backend = places(request, kind)()
    with backend.official() as saver:
        for thread_id in ("t", "other", "twin"):
            _asking(saver).invoke({"log": ["go"]}, on(thread_id))
        before = rows(backend.url)
        view = said("export", "t", "twin", "-o", "cold.ckpt", "--remove", "--yes", "-d", backend.url, capsys=capsys)
        assert (view["command"], view["done"]) == ("export", 2)
        assert rows(backend.url) == {"other": before["other"]}
        assert said("log", "t", "-d", "cold.ckpt", capsys=capsys)["checkpoints"] == 3
        way = ["import", "cold.ckpt"] if back == "import" else ["undo"]
        assert said(*way, "--yes", "-d", backend.url, capsys=capsys)["done"] == 2
        assert rows(backend.url) == before
        ended = [_asking(saver).invoke(Command(resume="yes"), on(one))["log"] for one in ("t", "other")]
        assert ended == [["go", "a", "yes", "b"]] * 2


@pytest.mark.parametrize("back", ["import", "undo"])
def test_columns_of_an_application_come_back(demo: str, back: str, capsys: Captured) -> None:
    """A column that isn't LangGraph's has what it had; its default isn't taken instead."""
    with closing(sqlite3.connect(demo)) as connection:
        connection.execute("ALTER TABLE checkpoints ADD COLUMN team TEXT DEFAULT 'none'")
        connection.execute("UPDATE checkpoints SET team = 'blue' WHERE thread_id = 'support-42'")
        connection.commit()
    before = dump(demo)
    said("export", "support-42", "-o", "cold.ckpt", "--remove", "--yes", capsys=capsys)
    assert dump(demo) != before
    said(*(["import", "cold.ckpt"] if back == "import" else ["undo"]), "--yes", "-d", demo, capsys=capsys)
    assert dump(demo) == before


def test_the_log_keeps_no_row(demo: str, tmp_path: Path, capsys: Captured) -> None:
    """It names the bundle, and has none of the removed values."""
    said("export", "support-42", "-o", "cold.ckpt", "--remove", "--yes", capsys=capsys)
    [log] = (tmp_path / "state").rglob("log.sqlite")
    with closing(sqlite3.connect(log)) as connection:
        images = [one for (one,) in connection.execute("SELECT before FROM changes")]
    place = json.dumps(str(tmp_path / "cold.ckpt")).encode()
    assert len(images) == 48 and all(place in one and len(one) < 500 for one in images)
    [operation] = said("operations", capsys=capsys)["operations"]
    assert operation["summary"] == "of 1 thread moved to cold.ckpt"
    [part] = said("operations", "1", capsys=capsys)["threads"]
    assert str(tmp_path / "cold.ckpt") in json.dumps(part)


def test_undo_needs_the_bundle(demo: str, capsys: Captured) -> None:
    """Without it, or with another one at its place, undo is refused and names it; one that grew since is the same."""
    before = dump(demo)
    said("export", "support-42", "-o", "cold.ckpt", "--remove", "--yes", capsys=capsys)
    removed, kept = dump(demo), Path("cold.ckpt").read_bytes()
    said("export", "support-41", "-o", "another.ckpt", capsys=capsys)
    damaged = bytearray(kept)
    damaged[70] ^= 1
    for contents in (None, Path("another.ckpt").read_bytes(), b"x", bytes(damaged)):
        Path("cold.ckpt").unlink()
        if contents is not None:
            Path("cold.ckpt").write_bytes(contents)
        else:
            Path("cold.ckpt").symlink_to("nowhere")
        view = said("undo", "--yes", code=7, capsys=capsys)
        assert "cold.ckpt" in view["threads"][0]["problem"] and "put that bundle back" in view["threads"][0]["problem"]
        assert dump(demo) == removed
    Path("cold.ckpt").unlink()
    Path("cold.ckpt").write_bytes(kept)
    said("export", "support-41", "-o", "cold.ckpt", capsys=capsys)
    said("undo", "--yes", capsys=capsys)
    assert dump(demo) == before


def test_a_thread_that_moved_is_left_alone(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """What went on after it was packed stays whole in the database; the others are removed; then it can go too."""
    with SqliteSaver.from_conn_string("one.sqlite") as saver:
        for thread_id in ("calm", "busy"):
            line(saver, "a").invoke({"log": ["go"]}, on(thread_id))
        finish = BundleWriter.finish

        def late(writer: BundleWriter) -> bytes:
            digest = finish(writer)
            line(saver, "a").invoke({"log": ["again"]}, on("busy"))
            return digest

        monkeypatch.setattr(BundleWriter, "finish", late)
        words = ("export", "-o", "cold.ckpt", "--remove", "--yes", "-d", "one.sqlite")
        view = said(*words, code=7, capsys=capsys)
        assert {one["thread_id"]: one["problem"] for one in view["threads"]}["busy"] == "it went on since it was packed"
        monkeypatch.setattr(BundleWriter, "finish", finish)
        assert line(saver, "a").get_state(on("busy")).values["log"] == ["go", "a", "again", "a"]
        before = rows("one.sqlite")
        assert said(*words, capsys=capsys)["done"] == 2
        assert rows("one.sqlite") == {}
        assert said("import", "cold.ckpt", "--yes", "-d", "one.sqlite", capsys=capsys)["done"] == 2
        assert rows("one.sqlite") == before


def test_removed_again_into_the_same_bundle(demo: str, capsys: Captured) -> None:
    """A thread that came back and went on is packed with its new rows; each undo brings back its own state."""
    said("export", "support-42", "-o", "cold.ckpt", "--remove", "--yes", capsys=capsys)
    said("import", "cold.ckpt", "--yes", "-d", demo, capsys=capsys)
    with closing(sqlite3.connect(demo)) as connection:
        connection.execute("ALTER TABLE writes ADD COLUMN seen INTEGER")
        connection.execute("UPDATE writes SET seen = 7 WHERE thread_id = 'support-42'")
        connection.commit()
    said("fork", "support-42", "step:3", "--yes", capsys=capsys)
    before = dump(demo)
    said("export", "support-42", "-o", "cold.ckpt", "--remove", "--yes", capsys=capsys)
    said("undo", "--yes", capsys=capsys)
    assert dump(demo) == before


@pytest.mark.parametrize("words", [["--redact-pattern", "x"], ["--redact", "order"], ["--only-structure"]], ids=str)
def test_a_redacted_thread_is_never_removed(demo: str, words: list[str], capsys: Captured) -> None:
    """What isn't all of it can't replace it."""
    before = dump(demo)
    error = said("export", "-o", "cold.ckpt", "--remove", "--yes", *words, code=2, capsys=capsys)["error"]
    assert "--remove needs a bundle with all" in error["message"]
    assert dump(demo) == before and not Path("cold.ckpt").exists()


def test_only_a_plan(demo: str, capsys: Captured) -> None:
    """A dry run writes nothing; without a confirmation the bundle is there, and the database is what it was."""
    before = dump(demo)
    view = said("export", "support-42", "-o", "cold.ckpt", "--remove", "--dry-run", capsys=capsys)
    assert (view["changes"], view["applied"]) == (1, False) and not Path("cold.ckpt").exists()
    assert run(["export", "support-42", "-o", "cold.ckpt", "--remove"]) == 7
    assert "the plan was not applied" in capsys.readouterr().err
    assert dump(demo) == before
    assert said("import", "cold.ckpt", "-d", demo, capsys=capsys)["changes"] == 0


def test_a_bundle_is_only_read(demo: str, capsys: Captured) -> None:
    """Nothing is removed from a bundle; and a plain export never mends or changes a database."""
    said("export", "-o", "all.ckpt", capsys=capsys)
    said("export", "-o", "cold.ckpt", "--remove", "--yes", "-d", "all.ckpt", code=6, capsys=capsys)
    assert not Path("cold.ckpt").exists()
