"""A command that waits for a lock says on stderr what it waits for, and goes on when it can."""

import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from ckpt_cli import lock_waits
from ckpt_cli.app import run
from ckpt_cli.savers.mysql import connection
from tests.servers.mysql import MySQLServer
from tests.servers.postgres import PostgresServer
from tests.test_ctrl_c import start


def waits(process: "subprocess.Popen[bytes]") -> str:
    """The line that the command prints while it waits; the test hangs if there is none."""
    assert process.stderr is not None
    return process.stderr.readline().decode()


def goes_on(process: "subprocess.Popen[bytes]") -> None:
    """The command ends well, and says nothing else."""
    out, printed = process.communicate(timeout=60)
    assert (process.returncode, printed, bool(out)) == (0, b"", True)


def test_postgres_names_who_holds_the_lock(postgres: PostgresServer) -> None:
    """The process, its program, its state and the first word of its statement; never the rest of the statement."""
    url = postgres.url(postgres.loaded("pg"))
    with psycopg.connect(url, application_name="billing") as other:
        other.execute("LOCK TABLE checkpoints IN ACCESS EXCLUSIVE MODE; SELECT 's3cr3t'")
        holder = f"process {other.info.backend_pid} (billing, idle in transaction, last statement LOCK)"
        process = start("tree", "chat-linear", "-d", url)
        line = waits(process)
        other.rollback()
        goes_on(process)
    assert line == f"waiting for a lock that is held by {holder}; Ctrl-C stops waiting\n"


def test_mysql_says_that_a_lock_is_held(mysql: MySQLServer) -> None:
    """With the statements that show by whom."""
    name = mysql.loaded("mysql")
    with closing(mysql.connect(name)) as other:
        other.cursor().execute("LOCK TABLES checkpoints WRITE")
        process = start("tree", "chat-linear", "-d", mysql.url(name))
        line = waits(process)
        other.cursor().execute("UNLOCK TABLES")
        goes_on(process)
    assert line.startswith("waiting for a lock that another connection holds: SHOW FULL PROCESSLIST lists")


def test_mysql_rows_that_stay_locked(
    mysql: MySQLServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that gave up says so in ckpt's words, with what to do; nothing was written."""
    monkeypatch.setattr(connection, "_WRITING", ("SET SESSION innodb_lock_wait_timeout = 1", *connection._WRITING[1:]))
    name = mysql.loaded("mysql")
    with closing(mysql.connect(name)) as other, other.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT count(*) FROM checkpoints FOR UPDATE")
        code = run(["fork", "chat-linear", "step:1", "--yes", "-d", mysql.url(name)])
        other.rollback()
    said = capsys.readouterr().err
    assert code == 7
    assert "another transaction has locked the rows or tables, and didn't end in time; nothing was written" in said
    assert "hint: try again; SHOW FULL PROCESSLIST lists the connections" in said.replace("\n", " ")


def test_sqlite_says_that_it_waits_to_write(database: Callable[[str], Path]) -> None:
    """While another process writes the file."""
    path = database("real")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        process = start("fork", "chat-linear", "step:1", "--yes", "-d", str(path))
        line = waits(process)
        other.execute("ROLLBACK")
        process.communicate(timeout=60)
    assert line == f"waiting for another process that writes {path}, up to 5 s; Ctrl-C stops waiting\n"


def test_an_agents_saver_says_nothing() -> None:
    """Outside a command nobody watches, and no thread is started."""
    before = threading.active_count()
    with lock_waits.watched(lambda: pytest.fail("asked")):
        assert threading.active_count() == before
