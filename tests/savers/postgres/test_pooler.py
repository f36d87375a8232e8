"""Behind a pooler in transaction mode everything works as without it, and ckpt leaves the session as it was."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ckpt_cli.conformance import everything
from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.savers.postgres.saver import PostgresSaver, open_url
from tests.graphs.building import line, on
from tests.savers.postgres.conftest import Ckpt
from tests.savers.postgres.large import fill
from tests.servers.pgbouncer import Pooler
from tests.servers.postgres import PostgresServer

THREAD = "thread-000001"
READING = [
    ["threads"],
    ["threads", "--limit", "0"],
    ["log", THREAD],
    ["tree", THREAD],
    ["show", THREAD],
    ["writes", THREAD],
    ["diff", THREAD, "@~2"],
    ["grep", "word"],
    ["replay", THREAD],
    ["get", THREAD, "messages"],
]
_SESSION_STATE = """
SELECT (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_cursors WHERE name <> ''),
    current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('transaction_read_only'),
    current_setting('transaction_isolation'), current_setting('search_path'),
    (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'ShareUpdateExclusiveLock')
"""


@pytest.fixture
def name(postgres: PostgresServer) -> str:
    """A database of 30 threads of 40 checkpoints, so that cursors have pages."""
    name = postgres.fresh()
    fill(postgres.url(name), 30, 40)
    return name


def session_state(url: str) -> tuple[Any, ...]:
    """The state of the one session that all clients of the pooler share."""
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        state = connection.execute(_SESSION_STATE).fetchone()
    assert state is not None
    return state


@pytest.fixture
def pooled(pooler: Pooler, name: str) -> Iterator[str]:
    """The database through the pooler; after the test, the session must be in the same state as before."""
    url = pooler.url(name)
    before = session_state(url)
    assert before[:5] == (0, 0, "0", "0", "off")
    yield url
    assert session_state(url) == before


@pytest.mark.parametrize("command", READING, ids="-".join)
def test_reading_is_the_same(command: list[str], pooled: str, postgres: PostgresServer, name: str, ckpt: Ckpt) -> None:
    """Every command that reads shows the same as without the pooler."""
    direct = ckpt(*command, "-d", postgres.url(name))
    assert direct[0] == 0
    assert _without_address(ckpt(*command, "-d", pooled)) == _without_address(direct)


def _without_address(result: tuple[int, str]) -> tuple[int, str]:
    return result[0], re.sub(r"127\.0\.0\.1:\d+", "", result[1])


def test_a_change_and_its_undo(pooled: str, ckpt: Ckpt) -> None:
    """What was deleted through a pooler is restored through it; a refused change changes nothing."""
    with closing(open_url(pooled)) as saver:
        before = everything(saver)
    assert ckpt("delete", THREAD, "--yes", "-d", pooled)[0] == 0
    assert ckpt("log", THREAD, "-d", pooled)[0] == 4
    assert ckpt("undo", "--yes", "-d", pooled)[0] == 0
    assert ckpt("fork", THREAD, "@~3", "--dry-run", "-d", pooled)[0] == 0
    assert ckpt("delete", "nobody", "--yes", "-d", pooled)[0] == 4
    with closing(open_url(pooled)) as saver:
        assert everything(saver) == before


def test_a_moment_is_one_snapshot(pooled: str, postgres: PostgresServer, name: str) -> None:
    """A moment keeps one session until its end, and sees nothing of what others write meanwhile."""
    with closing(open_url(pooled)) as saver, psycopg.connect(postgres.url(name), autocommit=True) as other:

        def read() -> list[int]:
            before = saver.count(THREAD)
            other.execute("DELETE FROM checkpoints WHERE thread_id = %s", [THREAD])
            rows = sum(1 for thread in list(saver.threads()) for _ in saver.rows(thread.thread_id))
            return [before, saver.count(THREAD), rows]

        assert saver.moment(read) == [40, 40, 1200]
        assert saver.count(THREAD) == 0


def test_sessions_change_under_a_saver(pooled: str, postgres: PostgresServer) -> None:
    """Between two moments the session may change or be lost; a moment that loses its session runs again."""
    with closing(open_url(pooled)) as one, closing(open_url(pooled)) as two:
        assert one.count(THREAD) == 40
        first = _pid(two)
        postgres.run(f"SELECT pg_terminate_backend({first}, 5000)")
        assert one.count(THREAD) == two.count(THREAD) == 40
        assert _pid(one) == _pid(two) != first
        calls = []

        def read() -> int:
            calls.append(1)
            if len(calls) == 1:
                postgres.run(f"SELECT pg_terminate_backend({_pid(one)}, 5000)")
            return one.count(THREAD)

        assert (one.moment(read), len(calls)) == (40, 2)


def test_agents_prepare_nothing(pooled: str, postgres: PostgresServer) -> None:
    """Agents take turns on the one session, which may be lost between two calls, and leave no statement in it."""
    with CkptSaver(pooled) as one, CkptSaver(pooled) as two, closing(open_url(pooled)) as reader:
        for saver in (one, two, one, two):
            assert line(saver, "a", "b").invoke({"log": []}, on("shared"))["log"][-2:] == ["a", "b"]
            postgres.run(f"SELECT pg_terminate_backend({_pid(reader)}, 5000)")
        for saver in (one, two):
            assert line(saver, "a", "b").get_state(on("shared")).values["log"] == ["a", "b"] * 4


def _pid(saver: PostgresSaver) -> int:
    ((pid,),) = saver._connection.query("SELECT pg_backend_pid()")
    return int(pid)


def test_options_that_a_pooler_refuses(pooled: str, ckpt: Ckpt) -> None:
    """A pooler refuses ``?options=``; the hint says what to write instead, and that works."""
    code, output = ckpt("threads", "-d", f"{pooled}?options=-csearch_path%3Dpublic")
    assert code == 3
    assert "the pooler in front of the server doesn't take these ?options=" in output and "?schema=NAME" in output
    assert ckpt("threads", "-d", f"{pooled}?schema=public")[0] == 0


def test_another_schema(pooled: str, postgres: PostgresServer, name: str, ckpt: Ckpt) -> None:
    """Tables outside the search path are named in a hint, and are read and changed with ``?schema=``."""
    postgres.run("ALTER SCHEMA public RENAME TO agents", "CREATE SCHEMA public", on=name)
    code, output = ckpt("threads", "-d", pooled)
    assert (code, "?schema=agents" in output) == (3, True), output
    for command in (["threads"], ["delete", THREAD, "--yes"], ["undo", "--yes"], ["show", THREAD]):
        assert ckpt(*command, "-d", f"{pooled}?schema=agents")[0] == 0


def test_errors_of_a_pooler(pooler: Pooler, name: str, ckpt: Ckpt) -> None:
    """A wrong password, a missing database and no free connection in time: each has its own message."""
    url = pooler.url(name)
    code, output = ckpt("threads", "-d", re.sub(r":[^:/@]*@", ":s3cr3t@", url))
    assert (code, "wrong user or password" in output, "s3cr3t" in output) == (3, True, False), output
    code, output = ckpt("threads", "-d", pooler.url("nowhere"))
    assert (code, "no such database" in output) == (3, True), output
    with psycopg.connect(url) as holding, closing(open_url(url)) as saver:
        holding.execute("SELECT 1")
        with pytest.raises(DatabaseUnreachable, match="no answer in time") as raised:
            saver.count(THREAD)
        assert "the pooler had no free connection" in raised.value.hint
