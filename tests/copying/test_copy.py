"""`ckpt copy`: plans, conflicts, what is there already, new files, bundles, undo."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.conformance.samples import everything
from ckpt_cli.operations.log import OperationLog
from ckpt_cli.reading import Reader
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.url import open_database
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.state import State
from tests.databases import DATABASES, KEYS, unpacked
from tests.graphs.building import line, on

DEMO = "ckpt-demo.sqlite"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
    """A folder with the demo database."""
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    capsys.readouterr()
    return tmp_path


def said(*words: str, code: int = 0, capsys: Captured) -> Any:
    """The JSON that a command prints, its answer or its error."""
    capsys.readouterr()
    assert run([*words, "--json"]) == code, capsys.readouterr()
    out, err = capsys.readouterr()
    return json.loads(out or err)


def contents(database: str) -> object:
    with closing(open_database(database, lambda _: None)) as saver:
        return everything(saver)


def dump(database: str) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return list(connection.iterdump())


def test_a_copy_is_what_the_source_is(here: Path, capsys: Captured) -> None:
    """Every row is the same, byte for byte; undo leaves an empty database, and a copy again gives the same."""
    before = Path(DEMO).read_bytes()
    view = said("copy", DEMO, "new.sqlite", "--yes", capsys=capsys)
    assert (view["done"], view["operation"], view["undo"]) == (4, 1, "ckpt undo 1")
    assert contents("new.sqlite") == contents(DEMO) and Path(DEMO).read_bytes() == before
    with SqliteSaver.from_conn_string("new.sqlite") as saver:
        assert len(list(saver.list(on("support-42")))) == 18
    copied = dump("new.sqlite")
    said("undo", "-d", "new.sqlite", "--yes", capsys=capsys)
    assert said("threads", "-d", "new.sqlite", capsys=capsys)["threads"] == []
    said("copy", DEMO, "new.sqlite", "--yes", capsys=capsys)
    assert sorted(dump("new.sqlite")) == sorted(copied)


def test_only_what_is_missing_is_copied(capsys: Captured) -> None:
    """What the target has is compared; a thread that went on gets its new records; a second copy has nothing to do."""
    said("copy", DEMO, "new.sqlite", "support-42", "--yes", capsys=capsys)
    said("fork", "support-42", "step:3", "-d", DEMO, "--yes", capsys=capsys)
    view = said("copy", DEMO, "new.sqlite", "--yes", capsys=capsys)
    lines = {one["thread_id"]: one["summary"] for one in view["threads"]}
    assert lines["support-42"] == "1 checkpoint and 0 writes" and len(lines) == 4
    assert contents("new.sqlite") == contents(DEMO)
    assert run(["copy", DEMO, "new.sqlite", "--yes"]) == 0
    assert "already there, with all that was to be copied: 4 threads" in capsys.readouterr().err
    assert len(said("operations", "-d", "new.sqlite", capsys=capsys)["operations"]) == 2


def test_other_contents_are_never_overwritten(capsys: Captured) -> None:
    """A checkpoint or a write that differs refuses its thread; --skip-refused copies the others."""
    said("copy", DEMO, "new.sqlite", "support-42", "support-41", "--yes", capsys=capsys)
    with sqlite3.connect("new.sqlite") as connection:
        connection.execute("UPDATE writes SET value = x'c0' WHERE thread_id = 'support-42' AND idx = 0")
        connection.execute("UPDATE checkpoints SET metadata = '{}' WHERE thread_id = 'support-41'")
    before = dump("new.sqlite")
    view = said("copy", DEMO, "new.sqlite", "--yes", code=7, capsys=capsys)
    problems = {one["thread_id"]: one["problem"] for one in view["threads"]}
    assert "with other contents" in problems["support-42"] and "the target has write 0 of" in problems["support-42"]
    assert "the target has checkpoint" in problems["support-41"]
    assert dump("new.sqlite") == before
    view = said("copy", DEMO, "new.sqlite", "--yes", "--skip-refused", capsys=capsys)
    assert (view["done"], view["refused"]) == (2, 2)


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--dry-run"], 0), ([], 2), (["nobody", "--yes"], 4), (["--where", "x ==", "--yes"], 2)],
    ids=["dry-run", "not-confirmed", "no-thread", "wrong"],
)
def test_no_file_stays_if_nothing_is_copied(here: Path, words: list[str], code: int, capsys: Captured) -> None:
    """A target that doesn't exist is only made for a copy that happens."""
    said("copy", DEMO, "new.sqlite", *words, code=code, capsys=capsys)
    assert not list(here.glob("new*"))


def test_wrong_targets(here: Path, capsys: Captured) -> None:
    """The same database, a bundle, a folder that isn't there: each is refused with a hint or a reason."""
    assert "are the same database" in said("copy", DEMO, f"./{DEMO}", code=2, capsys=capsys)["error"]["message"]
    assert "ckpt export" in said("copy", DEMO, "x.ckpt", code=6, capsys=capsys)["error"]["hint"]
    assert "can't make" in said("copy", DEMO, "no/x.sqlite", "--yes", code=3, capsys=capsys)["error"]["message"]
    assert "no.sqlite" in said("copy", "no.sqlite", "x.sqlite", code=3, capsys=capsys)["error"]["message"]
    said("export", "-o", "all.ckpt", "-d", DEMO, capsys=capsys)
    assert "can't be written" in said("copy", DEMO, "all.ckpt", "--yes", code=6, capsys=capsys)["error"]["message"]
    assert [one.name for one in here.glob("*")] != [] and not (here / "x.sqlite").exists()


def test_a_bundle_is_copied_back(capsys: Captured) -> None:
    """What was exported becomes the database that it was; the agent's own saver reads it."""
    said("export", "-o", "all.ckpt", "-d", DEMO, capsys=capsys)
    said("copy", "all.ckpt", "new.sqlite", "--match", "support-4*", "--yes", capsys=capsys)
    said("copy", "all.ckpt", "new.sqlite", "--yes", capsys=capsys)
    assert contents("new.sqlite") == contents(DEMO)


def test_a_copied_agent_goes_on(capsys: Captured) -> None:
    """The real library continues the copy to the end at which the original arrives."""
    with SqliteSaver.from_conn_string("one.sqlite") as saver:
        graph = line(saver, "a", "b", "c", interrupt_before=["c"])
        graph.invoke({"log": ["go"]}, on("t"))
        said("copy", "one.sqlite", "two.sqlite", "--yes", capsys=capsys)
        with SqliteSaver.from_conn_string("two.sqlite") as other:
            assert line(other, "a", "b", "c").invoke(None, on("t")) == graph.invoke(None, on("t"))


@pytest.mark.parametrize("name", [one for one in DATABASES if "/" in one])
def test_older_databases(name: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """Each thread of an older generation reads in a new file as it did, or is refused with a reason."""
    Path("old.sqlite").write_bytes(unpacked(name))
    if key := KEYS.get(name):
        monkeypatch.setenv("LANGGRAPH_AES_KEY", key.decode())
    view = said("copy", "old.sqlite", "new.sqlite", "--yes", "--skip-refused", capsys=capsys)
    states = {one["thread_id"]: one["state"] for one in view["threads"]}
    assert all(one["problem"] for one in view["threads"] if one["state"] == "refused")
    if "applied" not in states.values():
        assert not Path("new.sqlite").exists()
        return
    with closing(open_database("old.sqlite", print)) as old, closing(open_database("new.sqlite", print)) as new:
        for thread_id, state in states.items():
            if state == "applied":
                assert _read(new, thread_id, key) == _read(old, thread_id, key)


def _read(saver: Saver, thread_id: str, key: bytes | None) -> list[str]:
    """All that ckpt reads of a thread's checkpoints and writes."""
    reader = Reader(saver, Codec(key))
    found = []
    for _, one, _ in reader.readable([row.ref for row in reader.rows(thread_id)]):
        is_state = isinstance(one, State)
        found.append(
            repr((one.ref, one.parent_id, one.values, one.versions, one.seen, one.metadata) if is_state else one)
        )
    return found + [repr((*one[:6], reader.value(one.payload))) for one in saver.writes(thread_id) if one.payload]


def test_a_source_that_goes_on(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """What the application wrote while its thread was copied is said, and copied by the same command."""
    with SqliteSaver.from_conn_string("one.sqlite") as saver:
        graph = line(saver, "a", "b")
        graph.invoke({"log": ["go"]}, on("t"))
        done = OperationLog.mark_by_parts

        def late(log: OperationLog, number: int) -> None:
            done(log, number)
            graph.invoke({"log": ["again"]}, on("t"))

        monkeypatch.setattr(OperationLog, "mark_by_parts", late)
        capsys.readouterr()
        assert run(["copy", "one.sqlite", "two.sqlite", "--yes"]) == 0
        assert "thread 't' went on meanwhile" in capsys.readouterr().err
        monkeypatch.setattr(OperationLog, "mark_by_parts", done)
        assert run(["copy", "one.sqlite", "two.sqlite", "--yes"]) == 0
        assert capsys.readouterr().err == ""
        assert contents("two.sqlite") == contents("one.sqlite")
