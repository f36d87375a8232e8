"""A missing password and a wrong one get different errors, and so do connections lost before and during a write."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pymongo.errors import OperationFailure

from ckpt_cli.app import run
from ckpt_cli.errors import CkptError, DatabaseUnreachable
from ckpt_cli.savers import faults
from ckpt_cli.savers import redis as redis_saver
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.mongodb import faults as mongo_faults
from ckpt_cli.savers.mysql import open_url as open_mysql
from ckpt_cli.savers.postgres import open_url as open_postgres
from tests.servers import redis
from tests.servers.mysql import MySQLServer
from tests.servers.postgres import PostgresServer

NONE, WRONG = "asks for a password, and none was given", "wrong user or password"


def open_error(url: str, capsys: pytest.CaptureFixture[str]) -> str:
    """The error for a database that can't be opened."""
    assert run(["threads", "-d", url]) == 3
    stderr = capsys.readouterr().err
    assert "hint: " in stderr
    return stderr


def test_postgres_distinguishes_no_password(
    postgres: PostgresServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libpq finds no password in its own places either."""
    monkeypatch.delenv("PGPASSWORD", raising=False)
    at = f"{postgres.host}:{postgres.port}/postgres"
    assert NONE in open_error(f"postgresql://{postgres.user}@{at}", capsys)
    assert WRONG in open_error(f"postgresql://{postgres.user}:wrong@{at}", capsys)


def test_mysql_distinguishes_no_password(mysql: MySQLServer, capsys: pytest.CaptureFixture[str]) -> None:
    """The server says whether a password was used."""
    name = mysql.new()
    user = mysql.new_user("right", f"ALL ON {name}.*")
    at = f"{mysql.host}:{mysql.port}/{name}"
    assert NONE in open_error(f"mysql://{user}@{at}", capsys)
    assert WRONG in open_error(f"mysql://{user}:wrong@{at}", capsys)


@pytest.mark.parametrize("scheme", ["redis", "valkey"])
def test_redis_distinguishes_no_password(scheme: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The server refuses a missing password with another error than a wrong one."""
    with redis.started(tmp_path, "--requirepass", "right") as server:
        at = f"127.0.0.1:{server.port}/0"
        assert NONE in open_error(f"{scheme}://{at}", capsys)
        assert WRONG in open_error(f"{scheme}://:wrong@{at}", capsys)


def test_mongodb_distinguishes_no_password() -> None:
    """A server with users refuses a command without login like one that the user may not run."""
    words = {"command find requires authentication": NONE, "not authorized on db": "may not read"}
    for text, said in words.items():
        with pytest.raises(DatabaseUnreachable, match=said), mongo_faults.translate_errors("here"):
            raise OperationFailure(text, 13, {"code": 13, "errmsg": text})


def lost(saver: Saver, cut: Callable[[], object]) -> CkptError:
    """The error when a connection breaks inside a transaction that has only read so far."""

    def work() -> None:
        saver.count("t")
        cut()
        saver.count("t")

    with pytest.raises(CkptError) as raised:
        saver.transaction(work)
    return raised.value


def test_postgres_is_lost_while_reading(postgres: PostgresServer) -> None:
    """Nothing was written, and the error doesn't say that something may be."""
    name = postgres.fresh()
    kill = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    with closing(open_postgres(postgres.url(name))) as saver:
        error = lost(saver, lambda: postgres.run(kill))
    assert isinstance(error, DatabaseUnreachable) and "connection was lost" in error.message
    assert "writing" not in error.message


def test_mysql_is_lost_while_reading(mysql: MySQLServer) -> None:
    """The same for MySQL."""
    name = mysql.fresh()

    def kill() -> None:
        for (number,) in mysql.run(f"SELECT id FROM information_schema.processlist WHERE db = '{name}'"):
            mysql.run(f"KILL {number}")

    with closing(open_mysql(mysql.url(name))) as saver:
        error = lost(saver, kill)
    assert isinstance(error, DatabaseUnreachable) and "connection was lost" in error.message
    assert "writing" not in error.message


def test_redis_is_lost_before_it_is_written(tmp_path: Path) -> None:
    """Checking whether this user may write writes nothing."""
    with redis.started(tmp_path) as server:
        with server.client() as client:
            redis.load(client, "redis")
        with closing(redis_saver.open_url(f"redis://127.0.0.1:{server.port}/0")) as saver:
            assert server.process is not None
            server.process.kill()
            with pytest.raises(DatabaseUnreachable) as raised:
                saver.must_be_writable(trying=True)
    assert "writing" not in raised.value.message


@pytest.mark.parametrize("sent", [False, True])
def test_what_was_sent_makes_the_difference(sent: bool) -> None:
    """Once a write was sent it may have happened."""
    with pytest.raises(faults.LostWriting if sent else faults.ConnectionLost), faults.unless_sent("h", lambda: sent):
        raise faults.lost_writing("h")
