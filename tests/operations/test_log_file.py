"""A log that can't be used, FIFOs beside a database, no home: a look never stops or hangs, a change refuses clearly."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shlex import split

import pytest

from tests.requiring import missing

Database = Callable[[str], Path]
_HANGS = 60  # seconds; nothing here takes more than one on a quiet machine
_NOBODY = 54321  # no account has this number


def ckpt(*words: str, **more: object) -> "subprocess.CompletedProcess[str]":
    """Run a command as a process, which must end."""
    command = [sys.executable, "-m", "ckpt_cli", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=_HANGS, check=False, **more)  # type: ignore[call-overload,no-any-return]


def log_of(path: Path) -> Path:
    """The log of a database, made by giving a tag."""
    done = ckpt("tag", "subgraphs", "@", "mine", "-d", str(path))
    assert done.returncode == 0, done.stderr
    [log] = Path(os.environ["XDG_STATE_HOME"]).rglob("log.sqlite")
    return log


def garbage(log: Path) -> None:
    log.write_bytes(b"no database" * 1000)


def fifo(log: Path) -> None:
    log.unlink()
    os.mkfifo(log)


def folder(log: Path) -> None:
    log.unlink()
    log.mkdir()


def fifo_beside(log: Path) -> None:
    os.mkfifo(log.with_name(log.name + "-journal"))


def newer(log: Path) -> None:
    with closing(sqlite3.connect(log)) as connection:
        connection.execute("PRAGMA user_version = 99")


def other_tables(log: Path) -> None:
    log.unlink()
    with closing(sqlite3.connect(log)) as connection:
        connection.executescript("CREATE TABLE tags (x); PRAGMA user_version = 1")


@pytest.mark.parametrize("ruin", [garbage, fifo, folder, fifo_beside, newer, other_tables], ids=lambda f: f.__name__)
def test_a_log_that_cannot_be_used(ruin: Callable[[Path], None], database: Database) -> None:
    """A look leaves the tags out and says so in one line; a change refuses, and the database stays as it is."""
    path = database("real")
    log = log_of(path)
    whole = ckpt("log", "subgraphs", "-d", str(path))
    assert (whole.returncode, whole.stderr) == (0, "")
    assert "mine" in whole.stdout
    ruin(log)
    before = path.read_bytes()
    for words in (["log", "subgraphs"], ["show", "subgraphs"], ["tree", "subgraphs"], ["threads"]):
        done = ckpt(*words, "-d", str(path))
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("\n") <= 1
        assert "mine" not in done.stdout
    seen = ckpt("log", "subgraphs", "-d", str(path)).stderr
    assert seen.startswith("tags are left out: ") and str(log) in seen
    refused = ckpt("delete", "subgraphs", "--yes", "-d", str(path))
    assert (refused.returncode, str(log) in refused.stderr) == (8, True), refused.stderr
    assert path.read_bytes() == before
    listed = ckpt("operations", "-d", str(path))
    assert (listed.returncode, str(log) in listed.stderr) == (8, True), listed.stderr
    assert "nothing was written" not in listed.stderr
    assert "hint: " in listed.stderr


@pytest.mark.parametrize("ruin", [garbage, other_tables], ids=lambda f: f.__name__)
def test_a_damaged_log_is_moved_away(ruin: Callable[[Path], None], database: Database) -> None:
    """By the command of the hint, which says what is lost; after that changes are logged again."""
    path = database("real")
    log = log_of(path)
    ruin(log)
    hint = ckpt("operations", "-d", str(path)).stderr.partition("hint: `")[2]
    assert "its tags are lost" in hint
    subprocess.run(split(hint.partition("`")[0]), check=True)
    assert ckpt("delete", "subgraphs", "--yes", "-d", str(path)).returncode == 0
    assert ckpt("undo", "--yes", "-d", str(path)).returncode == 0


def test_a_log_that_another_process_locks(database: Database) -> None:
    """A look doesn't wait for whoever has the log for himself."""
    path = database("real")
    with closing(sqlite3.connect(log_of(path), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        done = ckpt("log", "subgraphs", "-d", str(path))
        assert (done.returncode, done.stderr.count("\n")) == (0, 1)
        assert "is locked by another process" in done.stderr
        assert ckpt("delete", "subgraphs", "--yes", "-d", str(path)).returncode in (7, 8)


@pytest.mark.parametrize("name", ["real", "js"])
@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal", ""])
def test_a_fifo_where_sqlite_would_wait(name: str, ending: str, database: Database) -> None:
    """A FIFO beside a database, or in its place, is an error at once, or not looked at."""
    path = database(name)
    if not ending:
        path.unlink()
    os.mkfifo(Path(f"{path}{ending}"))
    for words in (["threads"], ["delete", "js-chat", "--yes"]):
        done = ckpt(*words, "-d", str(path))
        assert done.returncode == 3 or (ending == "-shm" and done.returncode in (0, 4)), done.stderr
        assert "is not a regular file" in done.stderr or ending == "-shm"


def test_a_fifo_in_the_current_folder(database: Database) -> None:
    """Looking for the one database of a folder opens no FIFO."""
    path = database("js")
    os.mkfifo(path.parent / "other.db")
    done = ckpt("threads", cwd=path.parent)
    assert (done.returncode, done.stderr) == (0, f"database: {path.name}\n")


AS_NOBODY = """
import contextlib, io, os, sys
from ckpt_cli.app import run
user, path, warm, *words = sys.argv[1:]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    run([*words, "-d", warm])  # Python itself may lie where that user can't read: import what is needed before
os.environ.pop("XDG_STATE_HOME")
os.environ.pop("XDG_CONFIG_HOME")
if "THEIRS" in os.environ:
    os.environ["XDG_STATE_HOME"] = os.environ["THEIRS"]
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
sys.exit(run([*words, "-d", path]))
"""


@pytest.mark.parametrize("home", [None, "/nonexistent", "/root"])
def test_no_home(home: str | None, tmp_path: Path, packed: Callable[[str], bytes], pytestconfig: pytest.Config) -> None:
    """A user without an account or a home looks at everything; a change says which variable to set, and works then."""
    if os.geteuid() != 0:
        missing(pytestconfig, "only root can run a command as a user without an account")
    warm = tmp_path / "warm.sqlite"
    room = Path(tempfile.mkdtemp(dir="/var/tmp"))
    theirs = room / "theirs.sqlite"
    theirs.write_bytes(packed("real"))
    for place in (room, theirs):
        os.chown(place, _NOBODY, _NOBODY)
    env = {name: value for name, value in os.environ.items() if name != "HOME"} | ({"HOME": home} if home else {})

    def ask(*words: str, path: Path | str = theirs, **more: str) -> tuple[int, str]:
        warm.write_bytes(packed("real"))
        command = [sys.executable, "-c", AS_NOBODY, str(_NOBODY), str(path), str(warm), *words]
        done = subprocess.run(command, env={**env, **more}, cwd=room, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    try:
        for words in (
            ["threads", "-n", "0"],
            ["log", "subgraphs"],
            ["show", "subgraphs"],
            ["tree", "subgraphs"],
            ["info"],
        ):
            assert ask(*words) == (0, "")
        assert ask("threads", path="no-such-name")[0] == 3
        code, output = ask("fork", "subgraphs", "@", "--yes")
        assert (code in (7, 8), "hint: set XDG_STATE_HOME" in output) == (True, True), output
        assert theirs.read_bytes() == packed("real")
        code, output = ask("fork", "subgraphs", "@", "--yes", THEIRS=str(room))
        assert code == 0, output
    finally:
        shutil.rmtree(room)
