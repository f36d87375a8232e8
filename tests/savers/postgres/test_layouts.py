"""Unusual databases: another collation, uuid columns, older columns, and those of LangGraph.js."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver as Official

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.conformance.samples import ODD_IDS
from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Plan, Ref
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.postgres import open_url
from tests.requiring import missing
from tests.savers.apart import ApartConformance
from tests.savers.postgres.large import fill
from tests.servers.postgres import PostgresServer

ICU = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
record = ApartConformance().checkpoint


@pytest.fixture(scope="module")
def by_language(request: pytest.FixtureRequest, postgres: PostgresServer) -> Iterator[str]:
    """A database whose collation is that of English, with threads of every kind of name."""
    try:
        url = postgres.url(postgres.new(ICU))
    except psycopg.errors.FeatureNotSupported:
        missing(request.config, "this Postgres was built without ICU")
    with Official.from_conn_string(url) as official:
        official.setup()
    fill(url, 300, 10)
    with closing(open_url(url)) as saver:
        ids = [f"1f{n:06x}-0000-6000-8000-{n:012x}" for n in range(len(ODD_IDS))]
        saver.apply(
            Plan("", tuple(record(i, own, ns=ns) for i, own in zip(ODD_IDS, ids, strict=True) for ns in ("", i)))
        )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
    yield url


def test_another_collation(by_language: str) -> None:
    """All threads are found, newest first; namespaces and rows sort by their bytes, as in every other database."""
    with closing(open_url(by_language)) as saver:
        threads = list(saver.threads())
        assert len({thread.thread_id for thread in threads}) == len(threads) == 300 + len(ODD_IDS)
        heads = [thread.head.checkpoint_id for thread in threads]
        assert heads == sorted(heads, reverse=True)
        for odd in ODD_IDS:
            assert saver.namespaces(odd) == ["", odd]
            assert saver.count(odd) == 2
        saver.apply(Plan("", tuple(record("t", "1f", ns=ns) for ns in ("B", "a", "_", "é", "Z"))))
        assert [row.ns for row in saver.rows("t")] == saver.namespaces("t") == ["B", "Z", "_", "a", "é"]
        assert saver.about().facts["collation"] != ""


def test_another_collation_uses_the_index(by_language: str) -> None:
    """With another collation too, listing threads and heads scans no table."""
    with closing(open_url(by_language)) as saver:
        for statement in (saver._sql_threads.all, saver._sql_threads.count):
            plan = [line for (line,) in saver._engine.query(f"EXPLAIN {statement}")]
            assert not [line for line in plan if "Seq Scan on checkpoint" in line], plan


@pytest.fixture
def hosted(postgres: PostgresServer) -> tuple[str, UUID, UUID]:
    """The tables of a LangGraph server: uuid columns, and columns of its own."""
    name = postgres.fresh()
    url = postgres.url(name)
    fill(url, 1, 3)
    thread = uuid4()
    postgres.run(f"UPDATE checkpoints SET thread_id = '{thread}'", on=name)
    postgres.run(f"UPDATE checkpoint_blobs SET thread_id = '{thread}'", on=name)
    postgres.run(f"UPDATE checkpoint_writes SET thread_id = '{thread}'", on=name)
    for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
        postgres.run(f"ALTER TABLE {table} ALTER thread_id TYPE uuid USING thread_id::uuid", on=name)
    for table, column in (("checkpoints", "checkpoint_id"), ("checkpoints", "parent_checkpoint_id")):
        postgres.run(f"ALTER TABLE {table} ALTER {column} TYPE uuid USING {column}::uuid", on=name)
    for column in ("checkpoint_id", "task_id"):
        postgres.run(f"ALTER TABLE checkpoint_writes ALTER {column} TYPE uuid USING {column}::uuid", on=name)
    postgres.run("ALTER TABLE checkpoints ADD run_id uuid, ADD made timestamptz DEFAULT now()", on=name)
    return url, thread, thread


def test_uuid_columns(hosted: tuple[str, UUID, UUID], capsys: pytest.CaptureFixture[str]) -> None:
    """Ids in uuid columns are read as text, ids that aren't UUIDs are not found, and undo restores every byte."""
    url, thread, _ = hosted
    with psycopg.connect(url) as connection:
        before = list(connection.execute("SELECT * FROM checkpoints ORDER BY checkpoint_id"))
    with closing(open_url(url)) as saver:
        assert [listed.thread_id for listed in saver.threads()] == [str(thread)]
        assert len(everything(saver)[1]) == 3 and len(list(saver.writes(str(thread)))) == 2
        for nobody in ("abc", str(thread).upper(), "\x00", "\ud800"):
            assert (saver.thread(nobody), saver.count(nobody), list(saver.writes(nobody))) == (None, 0, [])
            assert saver.row(Ref(str(thread), "", nobody)) is None
    for words in (["tree"], ["log"], ["show"], ["delete", "--yes"], ["undo", "--yes", "--same-database"]):
        name = [] if words[0] == "undo" else [str(thread)]
        assert run([words[0], *name, *words[1:], "-d", url]) == 0, capsys.readouterr()
    with psycopg.connect(url) as connection:
        assert list(connection.execute("SELECT * FROM checkpoints ORDER BY checkpoint_id")) == before
    capsys.readouterr()


def test_a_column_that_needs_a_value(postgres: PostgresServer) -> None:
    """A plan is refused if it adds a row to a table where an application's own column needs a value."""
    name = postgres.fresh()
    postgres.run("ALTER TABLE checkpoints ADD tenant text NOT NULL", on=name)
    with closing(open_url(postgres.url(name))) as saver, pytest.raises(NotSupported, match="'tenant'"):
        saver.apply(Plan("", (record("t", "1"),)))


OLD = {"old/pg-oldv02": 4, "old/pg-oldv03": 9, "pg-js": 4, "legacy/pg-0.2.3": 3}


@pytest.mark.parametrize("name", OLD)
def test_older_generations_are_changed(name: str, postgres: PostgresServer, capsys: pytest.CaptureFixture[str]) -> None:
    """In a database of an older generation, a thread is forked and deleted, and both are undone."""
    database = postgres.loaded(name)
    url = postgres.url(database)
    with closing(open_url(url)) as saver:
        before = everything(saver)
        has_path = Ability.TASK_PATHS in saver.abilities
        thread = before[0][0].thread_id
    ((column,),) = postgres.run(
        "SELECT count(*) FROM information_schema.columns WHERE column_name = 'task_path'", on=database
    )
    assert has_path == bool(column)
    for words in (["fork", thread, "@", "--to", "a copy"], ["delete", thread]):
        assert run([*words, "--yes", "-d", url]) == 0, capsys.readouterr()
        assert contents(url) != before
        assert run(["undo", "--yes", "-d", url]) == 0
        assert contents(url) == before
    assert run(["fork", thread, "@", "--to", "a copy", "--yes", "-d", url]) == 0
    with closing(open_url(url)) as saver:
        copied = [(row.ns, row.checkpoint_id, row.parent_id) for row in saver.rows("a copy")]
    assert set(copied) <= {(row.row.ns, row.row.checkpoint_id, row.row.parent_id) for row in before[1]}
    capsys.readouterr()


def contents(url: str) -> Any:
    with closing(open_url(url)) as saver:
        return everything(saver)
