"""`CkptSaver.setup` brings older tables up to date as the setup of LangGraph's own saver does, or leaves them alone."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.errors import Failed
from ckpt_cli.langgraph import CkptSaver
from tests.graphs.building import line, on
from tests.servers.postgres import PostgresServer

TABLES = ("checkpoint_migrations", "checkpoints", "checkpoint_blobs", "checkpoint_writes")

_POSTGRES = (
    "SELECT table_name, column_name, data_type, column_default, is_nullable FROM information_schema.columns"
    " WHERE table_schema = 'public' ORDER BY 1, 2",
    "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2",
)
_MYSQL = (
    "SELECT table_name, column_name, column_type, column_default, is_nullable, extra FROM information_schema.columns"
    " WHERE table_schema = DATABASE() ORDER BY 1, 2",
    "SELECT table_name, index_name, seq_in_index, column_name FROM information_schema.statistics"
    " WHERE table_schema = DATABASE() ORDER BY 1, 2, 3",
)

OLD = [
    *(("postgres", f"legacy/{name}") for name in ("pg-0.2.3", "pg-0.2.76", "pg-upgraded", "js-pg-0.2.41")),
    *(("postgres", f"old/{name}") for name in ("pg-oldv02", "pg-oldv03", "pg-oldv06")),
    ("postgres", "pg"),
    ("mysql", "old/mysql-oldv03"),
    ("mysql", "mysql"),
]
SHALLOW = [("postgres", "legacy/pg-shallow-0.2.76"), ("postgres", "pg-shallow"), ("mysql", "mysql-shallow")]


def everything(server: Any, kind: str, name: str) -> list[Any]:
    """The tables' columns and indexes, and all rows."""
    catalogue = _POSTGRES if kind == "postgres" else _MYSQL
    rows = [sorted(server.run(f"SELECT * FROM {table}", on=name), key=repr) for table in TABLES]
    return [*(server.run(statement, on=name) for statement in catalogue), *rows]


@contextmanager
def own_saver(server: Any, kind: str, name: str) -> Iterator[Any]:
    """LangGraph's own saver of a database."""
    if kind == "postgres":
        with PostgresSaver.from_conn_string(server.url(name)) as saver:
            yield saver
    else:
        with closing(server.connect(name)) as connection:
            yield PyMySQLSaver(connection)


@pytest.mark.parametrize(("kind", "data"), OLD)
def test_as_the_own_setup(request: pytest.FixtureRequest, kind: str, data: str) -> None:
    """The tables, their indexes, the numbers of the migrations and all rows are as the own setup leaves them."""
    server = request.getfixturevalue(kind)
    mine, theirs = server.loaded(data), server.loaded(data)
    with own_saver(server, kind, theirs) as saver:
        saver.setup()
    with CkptSaver(server.url(mine)) as saver:
        saver.setup()
        expected = everything(server, kind, theirs)
        assert everything(server, kind, mine) == expected
        saver.setup()
        assert everything(server, kind, mine) == expected
        line(saver, "a", "b").invoke({"log": ["x"]}, on("new"))
        with own_saver(server, kind, mine) as own:
            own.setup()
            assert line(own, "a", "b").invoke({"log": ["y"]}, on("new"))["log"] == ["x", "a", "b", "y", "a", "b"]
        assert len(list(saver.list(on("new")))) == 8
        assert all(
            path for (path,) in server.run("SELECT task_path FROM checkpoint_writes WHERE thread_id = 'new'", on=mine)
        )


@pytest.mark.parametrize("spelling", ["name", "conninfo"])
@pytest.mark.parametrize("data", ["legacy/pg-0.2.3", None])
def test_however_the_database_is_named(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str, data: str | None
) -> None:
    """A name in the config file and a string of libpq are set up as a URL is."""
    name = postgres.new() if data is None else postgres.loaded(data)
    (tmp_path / "ckpt").mkdir()
    (tmp_path / "ckpt" / "config.toml").write_text(f'[databases]\nprod = "{postgres.url(name)}"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    who = f"user={postgres.user} password={postgres.password}"
    given = "prod" if spelling == "name" else f"host={postgres.host} port={postgres.port} dbname={name} {who}"
    with CkptSaver.from_conn_string(given) as saver:
        saver.setup()
        assert line(saver, "a").invoke({"log": []}, on("new"))["log"] == ["a"]
    newest = postgres.run("SELECT max(v) FROM checkpoint_migrations", on=name)
    assert newest == [(len(PostgresSaver.MIGRATIONS) - 1,)]


@pytest.mark.parametrize(("kind", "data"), SHALLOW)
def test_shallow_tables_stay(request: pytest.FixtureRequest, kind: str, data: str) -> None:
    """A shallow saver numbers its migrations in another way, so its tables stay as they are."""
    server = request.getfixturevalue(kind)
    name = server.loaded(data)
    before = everything(server, kind, name)
    with CkptSaver(server.url(name)) as saver:
        saver.setup()
    assert everything(server, kind, name) == before


def test_in_a_schema(postgres: PostgresServer) -> None:
    """Tables are made in the Postgres schema that the URL names, and nowhere else."""
    name = postgres.new()
    postgres.run('CREATE SCHEMA "of agents"', on=name)
    with CkptSaver.from_conn_string(postgres.url(name, more="?schema=of%20agents")) as saver:
        saver.setup()
        assert line(saver, "a").invoke({"log": []}, on("t"))["log"] == ["a"]
        saver.setup()
    tables = postgres.run("SELECT schemaname, tablename FROM pg_tables WHERE tablename LIKE 'checkpoint%'", on=name)
    assert sorted(tables) == sorted(("of agents", table) for table in TABLES)


@pytest.mark.parametrize("data", ["legacy/py-0.2.3", "legacy/py-0.6.11", "legacy/py-1.2.22", "old/sqlite-v03", "real"])
def test_sqlite(database: Any, tmp_path: Path, data: str) -> None:
    """A file without the column for task paths gets it, as from the own saver; the same object stores paths there."""
    path, other = database(data), tmp_path / "other.sqlite"
    other.write_bytes(Path(path).read_bytes())
    with SqliteSaver.from_conn_string(str(other)) as own:
        own.setup()
    with CkptSaver(path) as saver:
        saver.setup()
        assert _schema(path) == _schema(other)
        saver.setup()
        line(saver, "a").invoke({"log": ["x"]}, on("new"))
        with closing(sqlite3.connect(path)) as connection:
            paths = connection.execute("SELECT task_path FROM writes WHERE thread_id = 'new'").fetchall()
    assert all(path for (path,) in paths)
    with SqliteSaver.from_conn_string(str(path)) as own:
        assert line(own, "a").invoke({"log": ["y"]}, on("new"))["log"] == ["x", "a", "y", "a"]


@pytest.mark.parametrize("data", ["legacy/py-0.0.38", "legacy/py-0.1.19", "legacy/js-0.0.34"])
def test_files_before_0_2_stay(database: Any, data: str) -> None:
    """No setup of LangGraph's makes today's tables of them, so they stay as they are."""
    path = database(data)
    before = _schema(path)
    with CkptSaver(path) as saver:
        saver.setup()
    assert _schema(path) == before


def _schema(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY 2").fetchall()


def test_a_file_that_may_not_be_written(database: Any) -> None:
    """A setup that the engine refuses is an error with its reason; the file is as it was."""
    path = Path(database("legacy/py-0.6.11"))
    before = path.read_bytes()
    with CkptSaver(path) as saver, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Failed, match="task_path"):
            saver.setup()
        other.rollback()
    assert path.read_bytes() == before
