"""Behind a pooler in transaction mode all works as without it, and the next one gets the session as it was."""

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ckpt_cli.conformance import everything
from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.postgres.saver import PostgresSaver, open_url
from tests.savers.postgres.conftest import Say
from tests.savers.postgres.large import fill
from tests.servers.pgbouncer import Pooler
from tests.servers.postgres import PostgresServer

THREAD = "thread-000001"
READING = [
    ["threads"],
    ["log", THREAD],
    ["tree", THREAD],
    ["show", THREAD],
    ["writes", THREAD],
    ["diff", THREAD, "@~2"],
    ["grep", "word"],
    ["replay", THREAD],
    ["get", THREAD, "messages"],
]
_LEFT = """
SELECT (SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_cursors WHERE name <> ''),
    current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('transaction_read_only'),
    current_setting('transaction_isolation'), current_setting('search_path'),
    (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'ShareUpdateExclusiveLock')
"""


@pytest.fixture
def name(postgres: PostgresServer) -> str:
    """A database of 30 threads of 40 checkpoints, so that cursors have pages."""
    made = postgres.fresh()
    fill(postgres.url(made), 30, 40)
    return made


def left(url: str) -> tuple[Any, ...]:
    """What the next one finds in the one session that all share."""
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as next_one:
        found = next_one.execute(_LEFT).fetchone()
    assert found is not None
    return found


@pytest.fixture
def pooled(pooler: Pooler, name: str) -> Iterator[str]:
    """The database through the pooler; afterwards the session is as it was at first."""
    url = pooler.url(name)
    before = left(url)
    assert before[:5] == (0, 0, "0", "0", "off")
    yield url
    assert left(url) == before


@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_looking_is_the_same(words: list[str], pooled: str, postgres: PostgresServer, name: str, say: Say) -> None:
    """Every way of looking shows what it shows without the pooler."""
    straight = say(*words, "-d", postgres.url(name))
    assert straight[0] == 0
    assert _plain(say(*words, "-d", pooled)) == _plain(straight)


def _plain(told: tuple[int, str]) -> tuple[int, str]:
    return told[0], re.sub(r"127\.0\.0\.1:\d+", "", told[1])


def test_a_change_and_its_undo(pooled: str, say: Say) -> None:
    """What was deleted through a pooler comes back through it, row by row; a refused change leaves nothing either."""
    with closing(open_url(pooled)) as saver:
        before = everything(saver)
    assert say("delete", THREAD, "--yes", "-d", pooled)[0] == 0
    assert say("log", THREAD, "-d", pooled)[0] == 4
    assert say("undo", "--yes", "-d", pooled)[0] == 0
    assert say("fork", THREAD, "@~3", "--dry-run", "-d", pooled)[0] == 0
    assert say("delete", "nobody", "--yes", "-d", pooled)[0] == 4
    with closing(open_url(pooled)) as saver:
        assert everything(saver) == before


def test_a_moment_is_one_snapshot(pooled: str, postgres: PostgresServer, name: str) -> None:
    """A look keeps the session it was given until its end, and sees nothing of what others write meanwhile."""
    with closing(open_url(pooled)) as saver, psycopg.connect(postgres.url(name), autocommit=True) as other:

        def look() -> list[int]:
            before = saver.count(THREAD)
            other.execute("DELETE FROM checkpoints WHERE thread_id = %s", [THREAD])
            rows = sum(1 for thread in list(saver.threads()) for _ in saver.rows(thread.thread_id))
            return [before, saver.count(THREAD), rows]

        assert saver.moment(look) == [40, 40, 1200]
        assert saver.count(THREAD) == 0


def test_sessions_change_under_a_saver(pooled: str, postgres: PostgresServer) -> None:
    """Between two looks the pooler may take another session, or have lost it: a look that was cut runs again."""
    with closing(open_url(pooled)) as one, closing(open_url(pooled)) as two:
        assert one.count(THREAD) == 40
        first = _pid(two)
        postgres.run(f"SELECT pg_terminate_backend({first}, 5000)")
        assert one.count(THREAD) == two.count(THREAD) == 40
        assert _pid(one) == _pid(two) != first
        tries = []

        def look() -> int:
            tries.append(1)
            if len(tries) == 1:
                postgres.run(f"SELECT pg_terminate_backend({_pid(one)}, 5000)")
            return one.count(THREAD)

        assert (one.moment(look), len(tries)) == (40, 2)


def _pid(saver: PostgresSaver) -> int:
    ((pid,),) = saver._connection.query("SELECT pg_backend_pid()")
    return int(pid)


def test_options_are_told_apart(pooled: str, say: Say) -> None:
    """A pooler refuses ``?options=``, which is told with what to write instead; and that works."""
    code, said = say("threads", "-d", f"{pooled}?options=-csearch_path%3Dpublic")
    assert (code, "the pooler in front of the server doesn't take these ?options=" in said, "?schema=NAME" in said) == (
        3,
        True,
        True,
    )
    assert say("threads", "-d", f"{pooled}?schema=public")[0] == 0


def test_another_schema(pooled: str, postgres: PostgresServer, name: str, say: Say) -> None:
    """Tables of a schema that isn't searched are read and changed by ``?schema=``, and hinted at."""
    postgres.run("ALTER SCHEMA public RENAME TO agents", "CREATE SCHEMA public", on=name)
    code, said = say("threads", "-d", pooled)
    assert (code, "?schema=agents" in said) == (3, True), said
    for words in (["threads"], ["delete", THREAD, "--yes"], ["undo", "--yes"], ["show", THREAD]):
        assert say(*words, "-d", f"{pooled}?schema=agents")[0] == 0


def test_words_of_a_pooler(pooler: Pooler, name: str, say: Say) -> None:
    """A wrong password, no such database, and nothing free in time: each is told as what it is."""
    url = pooler.url(name)
    code, said = say("threads", "-d", re.sub(r":[^:/@]*@", ":s3cr3t@", url))
    assert (code, "wrong user or password" in said, "s3cr3t" in said) == (3, True, False), said
    code, said = say("threads", "-d", pooler.url("nowhere"))
    assert (code, "no such database" in said) == (3, True), said
    with psycopg.connect(url) as holding, closing(open_url(url)) as saver:
        holding.execute("SELECT 1")
        with pytest.raises(DatabaseUnreachable, match="no answer in time") as caught:
            saver.count(THREAD)
        assert "the pooler had no free connection" in caught.value.hint
