"""An application's pool: taken where LangGraph's own saver of the database takes one, else refused with a reason."""

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool, NullConnectionPool

from ckpt_cli.errors import DatabaseUnreachable, NoCheckpoints, NotSupported
from ckpt_cli.langgraph import CkptSaver
from tests.graphs.building import line, on
from tests.langgraph.test_lost_connections import end_sessions
from tests.servers.postgres import PostgresServer

OWN = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
"""The settings that LangGraph's own saver needs."""


def idle(pool: ConnectionPool[Any]) -> bool:
    """Whether no connection of the pool is lent."""
    stats = pool.get_stats()
    return stats.get("pool_available", 0) == stats.get("pool_size", 0)


@pytest.mark.parametrize("settings", [OWN, {}], ids=["own", "default"])
@pytest.mark.parametrize("kind", [ConnectionPool, NullConnectionPool])
def test_a_pool(postgres: PostgresServer, kind: Any, settings: Any) -> None:
    """Each call returns its connection with the settings that it had; the own saver goes on with the same pool."""
    url = postgres.url(postgres.fresh())
    most = {} if kind is NullConnectionPool else {"max_size": 2}
    with kind(url, min_size=0, kwargs=settings, **most) as pool:
        with CkptSaver(pool) as saver:
            graph = line(saver, "a", "b")
            with ThreadPoolExecutor(8) as threads:
                logs = [
                    state["log"] for state in threads.map(lambda n: graph.invoke({"log": [n]}, on(str(n))), range(8))
                ]
            assert logs == [[number, "a", "b"] for number in range(8)]
            asyncio.run(graph.ainvoke({"log": []}, on("async")))
            assert idle(pool)
            listed = saver.list(on("0"))
            next(listed)
            assert idle(pool)
            saver.copy_thread("0", "copy")
            saver.delete_thread("1")
            assert idle(pool)
        with pool.connection() as connection:
            before = {"autocommit": False, "prepare_threshold": 5, **settings}
            assert {name: getattr(connection, name) for name in before} == before
            connection.execute("SELECT 1")
        if settings:
            own = PostgresSaver(pool)
            assert line(own, "a", "b").invoke({"log": ["x"]}, on("copy"))["log"] == [0, "a", "b", "x", "a", "b"]
            assert own.get_tuple(on("1")) is None


def test_setup(postgres: PostgresServer) -> None:
    """As with the own saver, a pool's database may be empty until `setup`, which needs no setting of the pool."""
    with (
        ConnectionPool(postgres.url(postgres.new()), min_size=1, max_size=1, open=True) as pool,
        CkptSaver(pool) as saver,
    ):
        with pytest.raises(NoCheckpoints):
            saver.get_tuple(on("t"))
        saver.setup()
        assert line(saver, "a").invoke({"log": []}, on("t"))["log"] == ["a"]
        saver.setup()
        assert line(saver, "a").get_state(on("t")).values["log"] == ["a"]
        assert idle(pool)


def test_lost_connections(postgres: PostgresServer) -> None:
    """Where the server ended all of the pool's sessions, each call goes on with new ones."""
    name = postgres.fresh()
    with ConnectionPool(postgres.url(name), min_size=3, max_size=3, open=True) as pool, CkptSaver(pool) as saver:
        pool.wait()
        graph = line(saver, "a", "b")
        for turn in range(3):
            assert graph.invoke({"log": []}, on("t"))["log"] == ["a", "b"] * (turn + 1)
            pool.wait()
            end_sessions(postgres, "postgres", name)
        saver.delete_thread("no such thread")
        assert graph.get_state(on("t")).values["log"] == ["a", "b"] * 3
        assert len(list(saver.list(on("t")))) == 12


def test_no_connection(postgres: PostgresServer) -> None:
    """A pool that isn't open, or that has no connection in its own time, is an error that says so."""
    url = postgres.url(postgres.fresh())
    closed = ConnectionPool(url, open=False)
    with pytest.raises(DatabaseUnreachable, match="not open"):
        CkptSaver(closed)
    with ConnectionPool(url, min_size=1, max_size=1, timeout=0.1, open=False) as pool:
        pool.open(wait=True)
        saver = CkptSaver(pool)
        with pool.connection(timeout=10), pytest.raises(DatabaseUnreachable, match="couldn't get a connection"):
            saver.get_tuple(on("t"))
        assert saver.get_tuple(on("t")) is None


def test_what_is_refused(postgres: PostgresServer) -> None:
    """Other connections, pools and clients that own savers take are refused, with what to give instead."""
    import psycopg
    import pymongo
    import pymysql
    import redis
    import redis.asyncio

    url = postgres.url(postgres.fresh())
    connection, file = psycopg.connect(url), sqlite3.connect(":memory:")
    client, later = pymongo.MongoClient("mongodb://127.0.0.1:1", connect=False), pymysql.connect(defer_connect=True)
    given: list[tuple[object, str]] = [
        (AsyncConnectionPool(url, open=False), "ConnectionPool"),
        (connection, "ConnectionPool"),
        (file, "path"),
        (later, "mysql://"),
        (client, "mongodb://"),
        (redis.Redis(), "redis://"),
        (redis.asyncio.Redis(), "redis://"),
        (redis.ConnectionPool(), "redis://"),
        (lambda: later, "URL"),
        (None, "URL"),
    ]
    for value, way in given:
        with pytest.raises(NotSupported, match="doesn't take") as caught:
            CkptSaver(value)
        assert way in caught.value.hint
    connection.close()
    file.close()
    client.close()
