"""Reading the tables of every generation through the contract gives the same as plain SQL."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.conformance import everything
from ckpt_cli.model import NULL, Checkpoint, CheckpointRow, Payload, Ref, Thread, Write
from ckpt_cli.savers.about import Ability, Totals
from ckpt_cli.savers.sqlite import SqliteSaver, open_file
from tests.databases import DATABASES

LAYOUTS = {
    "legacy/py-0.0.26": "A",
    "legacy/py-0.0.38": "B",
    "legacy/py-0.0.48": "C",
    "legacy/py-0.0.69": "C",
    "old/sqlite-v00": "C",
    "legacy/py-0.1.19": "C",
    "legacy/py-0.1.19-async": "C",
    "legacy/js-0.0.34": "H",
    "legacy/py-1.2.22": "E",
    "legacy/py-1.2.22-enc": "E",
    "legacy/py-1.2.22-pickle": "E",
    "legacy/py-upgraded": "E",
    "encrypted": "E",
    "hitl": "E",
    "real": "E",
}
"""The generation letters of the databases; those that are not here are D."""


@pytest.fixture(params=DATABASES)
def name(request: pytest.FixtureRequest) -> str:
    """Each database of ``tests/data``."""
    database_name: str = request.param
    return database_name


@pytest.fixture
def path(name: str, database: Callable[[str], Path]) -> Path:
    return database(name)


@pytest.fixture
def saver(path: Path) -> Iterator[SqliteSaver]:
    with closing(open_file(path)) as opened:
        yield opened


def table(path: Path, name: str) -> list[dict[str, Any]]:
    """A whole table, as SQLite gives it."""
    with closing(sqlite3.connect(path)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", [name]).fetchone():
            return []
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]


def column(row: dict[str, Any], *names: str) -> Any:
    """The first of some columns that the table has."""
    return next((row[name] for name in names if name in row), None)


def data(value: Any) -> bytes:
    """A payload, whether it was stored as a blob, as text, or as nothing."""
    if value is None:
        return b""
    return value.encode() if isinstance(value, str) else value


def checkpoint_of(row: dict[str, Any]) -> Checkpoint:
    """The record of a row of ``checkpoints``."""
    body = Payload(row.get("type") or "", data(row["checkpoint"]))
    skeleton = CheckpointRow(
        row["thread_id"],
        row.get("checkpoint_ns", ""),
        column(row, "checkpoint_id", "thread_ts") or "",
        column(row, "parent_checkpoint_id", "parent_ts", "parent_id"),
        len(body.data),
    )
    metadata = row.get("metadata")
    tag = "json" if "type" in row else ""
    return Checkpoint(skeleton, body, NULL if metadata is None else Payload(tag, data(metadata)))


def write_of(row: dict[str, Any]) -> Write:
    """The record of a row of ``writes``."""
    payload = Payload(row.get("type") or "", data(row["value"]))
    return Write(
        row["thread_id"],
        row.get("checkpoint_ns", ""),
        column(row, "checkpoint_id", "thread_ts"),
        row["task_id"],
        row["idx"],
        row["channel"],
        row.get("task_path", ""),
        payload,
        len(payload.data),
    )


def heads(checkpoints: list[Checkpoint]) -> list[Thread]:
    """The threads of some checkpoints, newest head first."""
    by_thread: dict[str, list[Ref]] = {}
    for checkpoint in checkpoints:
        by_thread.setdefault(checkpoint.row.thread_id, []).append(checkpoint.row.ref)
    threads = [
        Thread(thread_id, max((r for r in refs if not r.ns), key=lambda r: r.checkpoint_id))
        for thread_id, refs in sorted(by_thread.items())
    ]
    return sorted(threads, key=lambda thread: thread.head.checkpoint_id, reverse=True)


def test_everything_is_read(path: Path, saver: SqliteSaver) -> None:
    """The threads, checkpoints and writes of each generation equal those in the tables, with their bytes and order."""
    checkpoints = [checkpoint_of(row) for row in table(path, "checkpoints")]
    writes = [write_of(row) for row in table(path, "writes")]
    threads, read_checkpoints, read_writes = everything(saver)
    assert threads == heads(checkpoints)
    assert sorted(read_checkpoints, key=lambda c: c.row.ref) == sorted(checkpoints, key=lambda c: c.row.ref)
    for thread in threads:
        expected = [w for w in writes if w.thread_id == thread.thread_id]
        assert [w for w in read_writes if w.thread_id == thread.thread_id] == sorted(
            expected, key=lambda w: (w.ref, w.order)
        )
    ids = [c.row.checkpoint_id for c in checkpoints]
    assert saver.totals() == Totals(len(threads), len(ids), len(writes), min(ids) or None, max(ids) or None)


def test_ways_to_a_row_agree(saver: SqliteSaver) -> None:
    """A thread's rows are the same when they are read all at once, by namespace, newest first or one by one."""

    def read() -> None:
        for thread in saver.threads():
            rows = list(saver.rows(thread.thread_id))
            spaces = saver.namespaces(thread.thread_id)
            assert saver.thread(thread.thread_id) == thread
            assert saver.count(thread.thread_id) == len(rows)
            assert [row for ns in spaces for row in saver.rows(thread.thread_id, ns)] == rows
            assert [row for ns in spaces for row in saver.newest(thread.thread_id, ns, 9999)[::-1]] == rows
            assert [saver.row(row.ref) for row in rows] == rows
            metadata = {c.row.ref: c.metadata for c in saver.checkpoints(row.ref for row in rows)}
            assert dict(saver.metadata([row.ref for row in rows])) == metadata

    saver.moment(read)


def test_the_generation_is_detected(name: str, saver: SqliteSaver) -> None:
    """The columns show the generation: its letter, its description and its abilities."""
    about = saver.about()
    layout = LAYOUTS.get(name, "D")
    assert about.layout == layout
    assert about.generation
    assert (Ability.TASK_PATHS in saver.abilities) is (layout == "E")
    assert (Ability.BRANCHES in saver.abilities) is (layout != "A")
    assert (Ability.WRITE in saver.abilities) is (Ability.ATOMIC in saver.abilities) is (layout != "A")


def test_upgraded_database_has_task_paths_last(database: Callable[[str], Path]) -> None:
    """An upgraded file has the column ``task_path`` at the end, and is read correctly."""
    path = database("legacy/py-upgraded")
    assert list(table(path, "writes")[0])[-1] == "task_path"
    with closing(open_file(path)) as saver:
        paths = [w.task_path for thread in saver.threads() for w in saver.writes(thread.thread_id)]
    assert any(paths) and not all(paths)


def edited(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def test_ids_that_are_blobs(database: Callable[[str], Path]) -> None:
    """A thread id stored as a blob is listed as a Python bytes literal, and is found by that name."""
    path = edited(
        database("legacy/py-1.2.22"),
        "UPDATE checkpoints SET thread_id = x'00FF' WHERE thread_id = 'chat'",
        "UPDATE writes SET thread_id = x'00FF' WHERE thread_id = 'chat'",
    )
    with closing(open_file(path)) as saver:
        odd = str(b"\x00\xff")
        assert odd in [thread.thread_id for thread in saver.threads()]
        rows = list(saver.rows(odd))
        assert rows and saver.count(odd) == len(rows)
        assert list(saver.writes(odd))
        assert len(list(saver.checkpoints(row.ref for row in rows))) == len(rows)
        assert saver.thread("chat") is None


def test_ids_that_are_numbers(tmp_path: Path) -> None:
    """Thread ids stored as numbers, which a table of another program may allow, are found by their digits."""
    path = edited(
        tmp_path / "x.sqlite",
        "CREATE TABLE checkpoints (thread_id, thread_ts, parent_ts, checkpoint, PRIMARY KEY (thread_id, thread_ts))",
        "INSERT INTO checkpoints VALUES (7, '1', NULL, '{}'), (-1, '1', NULL, '{}'), ('8', '2', NULL, '{}')",
    )
    with closing(open_file(path)) as saver:
        assert [thread.thread_id for thread in saver.threads()] == ["8", "-1", "7"]
        assert [row.thread_id for row in saver.rows("7")] == ["7"]
        assert saver.thread("8") == Thread("8", Ref("8", "", "2"))


def test_text_that_is_not_utf8(database: Callable[[str], Path]) -> None:
    """Text with bytes that aren't UTF-8 is read with surrogates, like a file name, and is found by that name."""
    path = edited(
        database("legacy/py-1.2.22"),
        "UPDATE checkpoints SET thread_id = CAST(x'66FF' AS TEXT) WHERE thread_id = 'chat'",
    )
    with closing(open_file(path)) as saver:
        assert "f\udcff" in [thread.thread_id for thread in saver.threads()]
        assert list(saver.rows("f\udcff"))
        assert list(saver.rows("f\udcfe")) == []
        assert list(saver.rows("f\ud83d")) == []


def test_columns_that_are_null(database: Callable[[str], Path]) -> None:
    """NULL is read as an empty tag for a type, as no bytes for a value or checkpoint, and as NULL for metadata."""
    path = edited(
        database("legacy/py-1.2.22"),
        "UPDATE checkpoints SET type = NULL, checkpoint = NULL, metadata = NULL WHERE thread_id = 'chat'",
        "UPDATE writes SET type = NULL, value = NULL WHERE thread_id = 'chat'",
    )
    with closing(open_file(path)) as saver:
        rows = list(saver.rows("chat"))
        assert {row.size for row in rows} == {0}
        assert {c.body for c in saver.checkpoints(row.ref for row in rows)} == {Payload("", b"")}
        assert {payload for _, payload in saver.metadata([row.ref for row in rows])} == {NULL}
        assert {(w.payload, w.size) for w in saver.writes("chat", values=0)} == {(Payload("", b""), 0)}


def test_text_columns(database: Callable[[str], Path]) -> None:
    """A payload stored as text is read as UTF-8, and its size counts bytes."""
    path = edited(
        database("legacy/py-1.2.22"),
        "UPDATE checkpoints SET type = 'json', checkpoint = '\"äöü\"', metadata = '{\"n\": \"ä\"}'",
        "UPDATE writes SET type = 'json', value = '\"äöü\"'",
    )
    with closing(open_file(path)) as saver:
        rows = list(saver.rows("chat"))
        assert {row.size for row in rows} == {8}
        assert {c.body for c in saver.checkpoints(row.ref for row in rows)} == {Payload("json", '"äöü"'.encode())}
        assert {p for _, p in saver.metadata([rows[0].ref])} == {Payload("json", '{"n": "ä"}'.encode())}
        assert {(w.payload, w.size) for w in saver.writes("chat", values=7)} == {(None, 8)}


def test_utf16_database(tmp_path: Path) -> None:
    """A database in UTF-16 is read like any other."""
    path = edited(
        tmp_path / "x.sqlite",
        "PRAGMA encoding = 'UTF-16'",
        "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT,"
        " type TEXT, checkpoint BLOB, metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))",
        "INSERT INTO checkpoints VALUES ('ä中', '', '1', NULL, 'json', '{}', '{}')",
    )
    with closing(open_file(path)) as saver:
        ((thread,), (checkpoint,), _) = everything(saver)
        assert (thread.thread_id, checkpoint.body, saver.count("ä中")) == ("ä中", Payload("json", b"{}"), 1)
