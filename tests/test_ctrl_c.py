"""Ctrl-C ends every command within a second, wherever it waits, with one line and exit 130."""

import os
import pty
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

from tests.commands.stored import database as stored
from tests.servers.mysql import MySQLServer
from tests.servers.postgres import PostgresServer

Database = Callable[[str], Path]
_BUSY = 20.0  # seconds; far below what each command here waits for, far above what a busy machine takes


def start(*words: str, **more: object) -> "subprocess.Popen[bytes]":
    """A ckpt that Ctrl-C reaches also where the tests run in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "ckpt_cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **more,  # type: ignore[call-overload]
    )


def until(waits: Callable[[], bool]) -> None:
    """Go on when something is so."""
    end = time.monotonic() + 60
    while not waits():
        assert time.monotonic() < end
        time.sleep(0.02)


def stopped(process: "subprocess.Popen[bytes]") -> str:
    """Press Ctrl-C, and give the line that the command prints, after one about a lock that it may have waited for."""
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=_BUSY)
    assert process.returncode == 130
    lines = [line for line in printed.decode().splitlines() if not line.startswith("waiting for ")]
    assert len(lines) == 1
    assert lines[0].startswith("ckpt: stopped")
    return lines[0]


def ended(*words: str) -> None:
    """Run a command to its end, which succeeds."""
    process = start(*words)
    _, printed = process.communicate(timeout=_BUSY)
    assert process.returncode == 0, printed


def opened(process: "subprocess.Popen[bytes]", path: Path) -> bool:
    """Whether a process has a file open."""
    names = Path(f"/proc/{process.pid}/fd").iterdir()
    return any(os.path.realpath(name) == str(path) for name in names)


@pytest.mark.parametrize("module", ["typer", "ckpt_cli.fast_start", "ckpt_cli.app", "ckpt_cli.session"])
def test_while_modules_are_imported(module: str) -> None:
    """Ctrl-C works from the command's first line on, whatever is imported by then; ``-X importtime`` says what."""
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes the connection and never answers
        words = ["threads", "-d", f"redis://127.0.0.1:{server.getsockname()[1]}/0"]
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", "-m", "ckpt_cli", *words],
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        assert process.stderr is not None
        while process.stderr.readline().decode().rpartition("|")[2].strip() != module:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, printed = process.communicate(timeout=_BUSY)
    assert process.returncode == 130
    assert [line for line in printed.decode().splitlines() if not line.startswith("import time:")] == ["ckpt: stopped"]


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells what a process waits for")


@linux
def test_while_sqlite_waits_for_a_lock(database: Database) -> None:
    """Inside a C function of SQLite's, where Python sees no signal for five seconds."""
    path = database("real")
    before = path.read_bytes()
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        process = start("delete", "subgraphs", "--yes", "-d", str(path))
        until(lambda: opened(process, path))
        time.sleep(0.5)
        assert stopped(process) == "ckpt: stopped; nothing was written"
        writer.execute("ROLLBACK")
    assert path.read_bytes() == before


def test_inside_a_regular_expression(tmp_path: Path) -> None:
    """One that would take years."""
    path = stored(tmp_path / "t.sqlite", "t", text="a" * 64 + "b")
    process = start("grep", r"(a|aa)+$", "-d", str(path))
    until(lambda: cpu(process) > 0.8)
    assert stopped(process) == "ckpt: stopped"


def cpu(process: "subprocess.Popen[bytes]") -> float:
    """Seconds that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


STUCK = """
import sys, time
from ckpt_cli.output import prompt

class Terminal:
    isatty = sys.stdin.isatty
    def readline(self):
        try:
            return sys.__stdin__.readline()
        except KeyboardInterrupt:
            time.sleep(60)

prompt.sys.stdin = Terminal()
from ckpt_cli.__main__ import main
main()
"""
"""``ckpt`` on a machine so busy that the main thread doesn't end the process in time."""


@pytest.mark.parametrize("is_stuck", [False, True], ids=["at once", "by the second thread"])
def test_at_the_question(is_stuck: bool, database: Database) -> None:
    """At a prompt: nothing was written, and the line begins on its own."""
    path = database("real")
    before = path.read_bytes()
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        how = ["-c", STUCK] if is_stuck else ["-m", "ckpt_cli"]
        os.execv(sys.executable, [sys.executable, *how, "delete", "subgraphs", "-d", str(path)])
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(process, 0)
    rest = ""
    with suppress(OSError):  # what Linux gives at the end of a terminal
        while more := os.read(terminal, 4096).decode():
            rest += more
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130
    assert rest.splitlines()[-1] == "ckpt: stopped; nothing was written", repr(rest)
    assert path.read_bytes() == before


def test_while_postgres_waits(postgres: PostgresServer) -> None:
    """In a query that a lock holds up."""
    url = postgres.url(postgres.loaded("pg"))
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE checkpoints IN ACCESS EXCLUSIVE MODE")
        process = start("threads", "-d", url)
        until(lambda: bool(postgres.run("SELECT 1 FROM pg_locks WHERE NOT granted")))
        assert stopped(process) == "ckpt: stopped"


def test_a_change_that_is_planned_and_one_that_is_applied(postgres: PostgresServer) -> None:
    """The line says how far a change had come: its statement waits, or it is done and the log can't say so yet."""
    url = postgres.url(postgres.loaded("pg"))
    words = ["delete", "subgraphs", "--yes", "--with-triggers", "-d", url]
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN PERFORM pg_advisory_xact_lock(42); RETURN OLD; END$$"
        )
        other.execute("CREATE TRIGGER waits AFTER DELETE ON checkpoints FOR EACH ROW EXECUTE FUNCTION waits()")
        other.execute("SELECT pg_advisory_lock(42)")
        rows = other.execute(_THREAD).fetchall()
        process = start(*words)
        until(lambda: bool(other.execute(_WAITING).fetchall()))
        printed = stopped(process)
        assert printed.startswith(
            "ckpt: stopped; operation 1 is planned: the next change, or `ckpt operations --settle`"
        )
        ended("operations", "--settle", "-d", url)
        assert other.execute(_THREAD).fetchall() == rows
        until(lambda: not other.execute(_WAITING).fetchall())
        process = start(*words)
        until(lambda: bool(other.execute(_WAITING).fetchall()))
        [log] = Path(os.environ["XDG_STATE_HOME"]).rglob("log.sqlite")
        with closing(sqlite3.connect(log, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            other.execute("SELECT pg_advisory_unlock(42)")
            until(lambda: not other.execute(_THREAD).fetchall())
            time.sleep(0.5)
            assert stopped(process) == "ckpt: stopped; operation 2 is applied; `ckpt undo 2` takes it back"
            writer.execute("ROLLBACK")
        ended("undo", "2", "--yes", "-d", url)
        assert other.execute(_THREAD).fetchall() == rows


_THREAD = "SELECT checkpoint_id FROM checkpoints WHERE thread_id = 'subgraphs' ORDER BY checkpoint_ns, checkpoint_id"
_WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


def test_while_mysql_waits(mysql: MySQLServer) -> None:
    """In a query that a lock holds up."""
    name = mysql.loaded("mysql")
    with closing(mysql.connect(name)) as other:
        other.cursor().execute("LOCK TABLES checkpoints WRITE")
        process = start("threads", "-d", mysql.url(name))
        until(lambda: any("metadata lock" in str(row) for row in mysql.run("SHOW PROCESSLIST")))
        assert stopped(process) == "ckpt: stopped"


@pytest.mark.parametrize("address", ["postgresql://u@{}/d", "mysql://u@{}/d", "redis://{}/0", "mongodb://{}/d"])
def test_while_a_server_says_nothing(address: str) -> None:
    """A server that takes a connection and never answers, whichever driver waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        process = start("threads", "-d", address.format(f"127.0.0.1:{server.getsockname()[1]}"))
        connection, _ = server.accept()
        with connection:
            if "mysql" not in address:  # where the server speaks first
                assert connection.recv(1)
            time.sleep(0.3)
            assert stopped(process) == "ckpt: stopped"
