"""Postgres and MySQL: rows that don't belong to any checkpoint, and on MySQL a namespace that its hash contradicts."""

import json
from collections.abc import Iterator

import pytest

from tests.damage.looking import ask
from tests.damage.of_tables import TABLES, OnMySQL, OnPostgres, Tables
from tests.servers.mysql import MySQLServer
from tests.servers.postgres import PostgresServer


@pytest.fixture(scope="module")
def kind(mysql: MySQLServer) -> Iterator[OnMySQL]:
    """A few threads of the official saver."""
    made = OnMySQL(mysql)
    yield made
    made.close()


@pytest.fixture(scope="module")
def on_postgres(postgres: PostgresServer) -> Iterator[OnPostgres]:
    """The same threads."""
    made = OnPostgres(postgres)
    yield made
    made.close()


def threads(kind: Tables) -> list[str]:
    """What `ckpt threads` lists."""
    answer = ask(kind.url, "threads", "--limit", "0", "--json")
    assert answer.code in (0, 5), answer.err
    return sorted(thread["thread_id"] for thread in json.loads(answer.out)["threads"])


@pytest.mark.parametrize("thread", ["chat", "sub"])
@pytest.mark.parametrize("column", ["checkpoint_ns", "checkpoint_ns_hash"])
@pytest.mark.parametrize("table", TABLES)
def test_every_listed_row_is_deleted_and_comes_back(kind: OnMySQL, table: str, column: str, thread: str) -> None:
    """Deleting the thread leaves no checkpoint and no write of it, and undo brings every byte back."""
    kind.restore()
    value = "elsewhere" if column == "checkpoint_ns" else b"\xff" * 16
    damage = f"UPDATE {table} SET {column} = %s WHERE thread_id = %s"
    kind.run(f"{damage} ORDER BY thread_id, checkpoint_ns DESC LIMIT 1", [value, thread])
    stored, listed = kind.dump(), threads(kind)
    assert ask(kind.url, "log", thread, "--all").code in (0, 5)
    assert ask(kind.url, "delete", thread, "--after", "@^", "--dry-run").code in (0, 5, 7)
    must_go(kind, thread)
    assert threads(kind) == [name for name in listed if name != thread]
    assert ask(kind.url, "undo", "--yes").code == 0
    assert kind.dump() == stored


def must_go(kind: Tables, thread: str) -> None:
    """Delete a thread, and check that no row has its id."""
    deleted = ask(kind.url, "delete", "--yes", "--", thread)
    assert deleted.code == 0, deleted.err
    assert [kind.run(f"SELECT 1 FROM {name} WHERE thread_id = %s", [thread]) for name in TABLES] == [[]] * 3


@pytest.mark.parametrize("column", ["channel", "checkpoint_ns"])
@pytest.mark.parametrize("which", ["kind", "on_postgres"])
def test_blobs_of_no_checkpoint_go_with_their_thread(which: str, column: str, request: pytest.FixtureRequest) -> None:
    """A blob that no checkpoint names, in a namespace without checkpoints too, is deleted with its thread."""
    kind: Tables = request.getfixturevalue(which)
    kind.restore()
    kind.run(f"UPDATE checkpoint_blobs SET {column} = 'nobody' WHERE thread_id = 'chat' AND channel = 'topic'")
    stored = kind.dump()
    must_go(kind, "chat")
    assert ask(kind.url, "undo", "--yes").code == 0
    assert kind.dump() == stored


def test_the_hash_names_the_row(kind: OnMySQL) -> None:
    """A checkpoint with a foreign hash is shown under that hash, with the rest of its thread as before."""
    kind.restore()
    kind.run("UPDATE checkpoints SET checkpoint_ns_hash = %s WHERE thread_id = 'chat' LIMIT 1", [b"\xab" * 16])
    shown = ask(kind.url, "show", "chat", "--ns", "%md5:" + "ab" * 16)
    assert shown.code in (0, 5), shown.err
