"""A copy into a database that LangGraph's own saver has not set up yet."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.mongodb import MongoDBSaver
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.redis import RedisSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg import Connection
from pymongo import MongoClient

from ckpt_cli.app import run
from ckpt_cli.langgraph import CkptSaver
from tests.graphs.building import line, on
from tests.langgraph.test_conn_strings import empty_url


def _url(kind: str, request: pytest.FixtureRequest) -> str:
    """A database without LangGraph's tables; a file has a table of the application's."""
    url = empty_url(kind, request)
    if kind == "sqlite":
        with closing(sqlite3.connect(url)) as connection:
            connection.execute("CREATE TABLE orders (id INTEGER)")
    return url


def _made(maker: str, url: str, request: pytest.FixtureRequest) -> None:
    """Do what a hint names."""
    if maker == "SqliteSaver.setup()":
        with SqliteSaver.from_conn_string(url) as sqlite:
            sqlite.setup()
    elif maker == "PostgresSaver.setup()":
        with Connection.connect(url, autocommit=True) as connection:
            PostgresSaver(connection).setup()  # type: ignore[arg-type]
    elif maker == "PyMySQLSaver.setup()":
        server: Any = request.getfixturevalue("mysql")
        with closing(server.connect(url.rpartition("/")[2])) as connection:
            PyMySQLSaver(connection).setup()
    elif maker == "RedisSaver.setup()":
        with RedisSaver.from_conn_string(url) as redis:
            redis.setup()
    elif maker == "MongoDBSaver(client, database)":
        with MongoClient[Any](request.getfixturevalue("mongo").url) as client:
            MongoDBSaver(client, re.split(r"[/?]", url.partition("://")[2])[1])


@pytest.mark.parametrize("verb", ["copy", "import"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mysql", "redis", "mongodb"])
def test_the_hint_names_what_makes_the_tables(
    kind: str, verb: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error was only that there are none; once LangGraph's own saver has made them, the same command copies."""
    source, bundle, url = str(tmp_path / "source.sqlite"), str(tmp_path / "all.ckpt"), _url(kind, request)
    with CkptSaver.create(source) as saver:
        line(saver, "a").invoke({"log": ["x"]}, on("t"))
    assert run(["export", "t", "-d", source, "-o", bundle]) == 0
    words = ["copy", source, url] if verb == "copy" else ["import", bundle, "-d", url]
    capsys.readouterr()
    assert run([*words, "--yes"]) == 3
    said = capsys.readouterr().err
    [maker] = re.findall("hint: LangGraph's `(.*)` makes what the target needs, as ckpt doesn't; ", said)
    assert run(["threads", "-d", url]) == 3
    assert "makes what" not in capsys.readouterr().err
    _made(maker, url, request)
    assert run([*words, "--yes"]) == 0
    with CkptSaver(url) as copied:
        assert line(copied, "a").get_state(on("t")).values["log"] == ["x", "a"]
