"""A database is read in every state in which its writers may have left it, without a change to it or its folder."""

import os
import pkgutil
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

import ckpt_cli
from ckpt_cli.app import run
from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.savers.sqlite.driver import connect
from tests.savers.sqlite.writer import Writer, folder, read, rollback_mode
from tests.savers.unwritable import asked_nothing, refused_before_planning, waiting


def without_shm(files: dict[str, tuple[int, int, int, str]]) -> dict[str, tuple[int, int, int, str]]:
    return {name: marks for name, marks in files.items() if not name.endswith("-shm")}


def test_closed_properly(path: Path) -> None:
    """A WAL-mode file alone is read without a log or an index appearing beside it."""
    before = folder(path.parent)
    assert read(path) == ["1"]
    assert folder(path.parent) == before
    assert list(before) == ["x.sqlite"]


def test_opening_read_only_leaves_files_behind(path: Path) -> None:
    """SQLite's own read-only mode makes a log and an index appear; that is why ckpt doesn't use it here."""
    with closing(connect(path, "mode=ro")) as connection:
        connection.execute("SELECT * FROM checkpoints").fetchall()
    assert list(folder(path.parent)) == ["x.sqlite", "x.sqlite-shm", "x.sqlite-wal"]


def test_live_writer(path: Path, writer: Writer) -> None:
    """What a running process has saved is read from its log; only the bytes of its shared memory may change."""
    before = folder(path.parent)
    assert read(path) == ["1", "2"]
    after = folder(path.parent)
    assert without_shm(after) == without_shm(before)
    assert list(after) == list(before) == ["x.sqlite", "x.sqlite-shm", "x.sqlite-wal"]
    writer.add("3")
    writer.close()
    assert list(folder(path.parent)) == ["x.sqlite"]


def test_idle_writer(path: Path) -> None:
    """A process that has only read, and whose log is empty, counts as a live writer."""
    with Writer(path) as idle:
        idle.run("SELECT count(*) FROM checkpoints")
        assert (path.parent / "x.sqlite-wal").stat().st_size == 0
        before = folder(path.parent)
        assert read(path) == ["1"]
        assert without_shm(folder(path.parent)) == without_shm(before)


def test_killed_writer(path: Path, writer: Writer) -> None:
    """The log of a killed process is read; log and shared memory stay, byte for byte."""
    writer.run("BEGIN")
    writer.add("3")
    writer.kill()
    before = folder(path.parent)
    assert list(before) == ["x.sqlite", "x.sqlite-shm", "x.sqlite-wal"]
    assert read(path) == ["1", "2"]
    assert folder(path.parent) == before


def test_log_copied_without_shared_memory(path: Path, writer: Writer, tmp_path: Path) -> None:
    """A copy of a live database and its log is read with the log's contents, and doesn't change."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("x.sqlite", "x.sqlite-wal"):
        shutil.copy(path.parent / name, copy)
    before = folder(copy)
    assert read(copy / "x.sqlite") == ["1", "2"]
    assert folder(copy) == before


@pytest.mark.parametrize("length", [0, 31, 32, 500, -1])
def test_log_without_a_complete_transaction(path: Path, writer: Writer, length: int, tmp_path: Path) -> None:
    """A log that is empty, or cut off in its first transaction, is neither used nor deleted."""
    log = (path.parent / "x.sqlite-wal").read_bytes()
    writer.kill()
    (path.parent / "x.sqlite-shm").unlink()
    (path.parent / "x.sqlite-wal").write_bytes(log[:length])
    before = folder(path.parent)
    assert read(path) == ["1"]
    assert folder(path.parent) == before


def test_log_with_a_wrong_checksum(path: Path, writer: Writer) -> None:
    """A log whose first transaction has a wrong checksum is not used."""
    log = bytearray((path.parent / "x.sqlite-wal").read_bytes())
    writer.kill()
    log[100] ^= 1
    (path.parent / "x.sqlite-wal").write_bytes(log)
    before = folder(path.parent)
    assert read(path) == ["1"]
    assert folder(path.parent) == before


def test_log_of_one_long_transaction(path: Path) -> None:
    """A transaction of many megabytes, with its commit far down the log, is found."""
    with Writer(path) as writer:
        writer.run("PRAGMA cache_size=100")
        writer.run("BEGIN")
        writer.add("2")
        writer.run("INSERT INTO writes VALUES ('t', '', '2', 'a', '', 0, 'c', 'bytes', zeroblob(6000000))")
        writer.run("COMMIT")
        writer.kill()
    before = folder(path.parent)
    assert read(path) == ["1", "2"]
    assert folder(path.parent) == before


def test_log_of_an_unfinished_long_transaction(path: Path) -> None:
    """Pages in the log of a transaction that a killed writer didn't commit are not read."""
    with Writer(path) as writer:
        writer.run("PRAGMA cache_size=10")
        writer.run("BEGIN")
        writer.add("2")
        writer.run("INSERT INTO writes VALUES ('t', '', '2', 'a', '', 0, 'c', 'bytes', zeroblob(6000000))")
        writer.kill()
    assert (path.parent / "x.sqlite-wal").stat().st_size > 5_000_000
    before = folder(path.parent)
    assert read(path) == ["1"]
    assert folder(path.parent) == before


def test_shared_memory_without_a_log(path: Path, writer: Writer) -> None:
    """A leftover ``-shm`` alone is ignored and stays."""
    shared = path.parent / "x.sqlite-shm"
    content = shared.read_bytes()
    writer.close()
    shared.write_bytes(content)
    before = folder(path.parent)
    assert read(path) == ["1", "2"]
    assert folder(path.parent) == before


def test_writer_with_exclusive_locking(path: Path) -> None:
    """The database of a process with exclusive locking, which has no ``-shm``, is read without disturbing it."""
    with Writer(path) as writer:
        writer.run("PRAGMA locking_mode=exclusive")
        writer.add("2")
        before = folder(path.parent)
        assert list(before) == ["x.sqlite", "x.sqlite-wal"]
        assert read(path) == ["1", "2"]
        assert folder(path.parent) == before
        writer.add("3")


def test_rollback_journal(path: Path) -> None:
    """A file in rollback mode is read without leaving a trace, also during a transaction of its writer."""
    rollback_mode(path)
    before = folder(path.parent)
    assert read(path) == ["1"]
    assert folder(path.parent) == before
    with Writer(path) as writer:
        writer.run("BEGIN IMMEDIATE")
        writer.add("2")
        during = folder(path.parent)
        assert read(path) == ["1"]
        assert folder(path.parent) == during
        writer.run("COMMIT")
        assert read(path) == ["1", "2"]


def test_hot_journal(path: Path) -> None:
    """A file whose writer was killed in the middle of a transaction is refused, with a hint, and isn't changed."""
    rollback_mode(path)
    writer = Writer(path)
    for statement in ("PRAGMA cache_size=1", "BEGIN", "CREATE TABLE filler (x)"):
        writer.run(statement)
    for _ in range(20):
        writer.run("INSERT INTO filler VALUES (zeroblob(100000))")
    writer.kill()
    before = folder(path.parent)
    assert list(before) == ["x.sqlite", "x.sqlite-journal"]
    with pytest.raises(DatabaseUnreachable, match="left in the middle of a write") as raised:
        open_file(path)
    assert "application" in raised.value.hint
    assert folder(path.parent) == before


def test_locked(path: Path) -> None:
    """A rollback-mode file that a process has locked exclusively gives an error instead of an endless wait."""
    rollback_mode(path)
    with Writer(path) as writer:
        writer.run("BEGIN EXCLUSIVE")
        before = folder(path.parent)
        with pytest.raises(DatabaseUnreachable, match="locked by another process"):
            open_file(path)
        assert folder(path.parent) == before


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that every user may read, also the user that `ordinary_user` becomes."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    place.chmod(0o755)
    shutil.rmtree(place)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Become an ordinary user if this is root, whom no permission stops; any other user stays.

    Every module is imported before: the code may be where only root can read it.
    """
    if os.geteuid() != 0:
        yield
        return
    for module in pkgutil.walk_packages(ckpt_cli.__path__, "ckpt_cli."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_no_question_is_asked_whose_answer_cant_be_recorded(readable: Path) -> None:
    """`resume` on a file that can only be read shows the question, and why it can't be answered."""
    with SqliteSaver.from_conn_string(str(readable / "asks.sqlite")) as saver:
        waiting(saver, "asks")
    (readable / "asks.sqlite").chmod(0o444)
    readable.chmod(0o555)
    with ordinary_user():
        asked_nothing(str(readable / "asks.sqlite"), "asks", "can't be written")


@pytest.mark.parametrize(
    "files", [["x.sqlite"], ["x.sqlite", "x.sqlite-wal"], ["x.sqlite", "x.sqlite-wal", "x.sqlite-shm"]]
)
def test_read_only_file_in_a_read_only_folder(
    path: Path,
    writer: Writer,
    readable: Path,
    files: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nothing may be written, everything is read, also from the log; a change is refused before it is planned."""
    for name in files:
        shutil.copy(path.parent / name, readable)
        (readable / name).chmod(0o444)
    readable.chmod(0o555)
    before = folder(readable)
    with ordinary_user():
        assert read(readable / "x.sqlite") == (["1"] if len(files) == 1 else ["1", "2"])
        assert run(["threads", "-d", str(readable / "x.sqlite")]) == 0  # root's log is out of reach
        monkeypatch.setenv("XDG_STATE_HOME", str(readable))
        refused_before_planning(str(readable / "x.sqlite"), "t", "x.sqlite can't be written", capsys)
    assert folder(readable) == before


def test_file_of_another_user(path: Path, readable: Path) -> None:
    """A file that this user may not read is an error that says so."""
    shutil.copy(path, readable)
    (readable / "x.sqlite").chmod(0o000)
    with ordinary_user(), pytest.raises(DatabaseUnreachable, match="Permission denied"):
        open_file(readable / "x.sqlite")


def test_live_writer_of_another_user(readable: Path, path: Path) -> None:
    """A live database is read with its log by a user who may write neither it nor its shared memory."""
    shutil.copy(path, readable)
    with Writer(readable / "x.sqlite") as writer:
        writer.add("2")
        before = folder(readable)
        with ordinary_user():
            assert read(readable / "x.sqlite") == ["1", "2"]
        assert folder(readable) == before
        writer.add("3")
