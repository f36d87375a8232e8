"""An empty database of each kind that can be written, with LangGraph's tables in it."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ckpt_cli.langgraph import CkptSaver
from tests.cross.backend import Backend

Where = Callable[[], Backend]
"""Another empty database each time."""


def _sqlite(request: pytest.FixtureRequest) -> Backend:
    from langgraph.checkpoint.sqlite import SqliteSaver

    folder: Path = request.getfixturevalue("tmp_path")
    path = folder / f"{uuid4()}.sqlite"
    CkptSaver.create(path).close()
    return Backend(str(path), lambda: SqliteSaver.from_conn_string(str(path)))


def _postgres(request: pytest.FixtureRequest) -> Backend:
    from langgraph.checkpoint.postgres import PostgresSaver

    server: Any = request.getfixturevalue("postgres")
    url = server.url(server.fresh())
    return Backend(url, lambda: PostgresSaver.from_conn_string(url))


def _mysql(request: pytest.FixtureRequest) -> Backend:
    from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver

    server: Any = request.getfixturevalue("mysql")
    name = server.fresh()

    @contextmanager
    def official() -> Iterator[Any]:
        with closing(server.connect(name)) as connection:
            yield PyMySQLSaver(connection)

    return Backend(server.url(name), official)


def _mongodb(request: pytest.FixtureRequest) -> Backend:
    from langgraph.checkpoint.mongodb import MongoDBSaver
    from pymongo import MongoClient

    server: Any = request.getfixturevalue("mongo")
    name = request.getfixturevalue("mongo_database")()

    @contextmanager
    def official() -> Iterator[Any]:
        with MongoClient(server.url) as client:
            yield MongoDBSaver(client, name)

    return _made(server.database(name), official)


def _made(url: str, official: Callable[[], AbstractContextManager[Any]]) -> Backend:
    """A database whose official saver creates what it needs when it is opened."""
    with official():
        return Backend(url, official)


def _redis(request: pytest.FixtureRequest) -> Backend:
    from langgraph.checkpoint.redis import RedisSaver

    class Ordered(RedisSaver):
        """Writes wait for their checkpoint: one that comes late says again that it has none."""

        def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            named = config["configurable"]
            names = (named["thread_id"], named.get("checkpoint_ns", ""), named["checkpoint_id"])
            for _ in range(200):
                if self._redis.exists(self._make_redis_checkpoint_key(*names)):
                    break
                time.sleep(0.001)
            super().put_writes(config, writes, task_id, task_path)

    url = request.getfixturevalue("redis_server").empty()

    @contextmanager
    def official() -> Iterator[Any]:
        with Ordered.from_conn_string(url) as saver:
            saver.setup()
            yield saver

    return _made(url, official)


_numbers = cycle(range(16))


def _valkey(request: pytest.FixtureRequest) -> Backend:
    from langgraph_checkpoint_aws import ValkeySaver
    from redis import Redis

    url = f"{request.getfixturevalue('valkey_server').url}/{next(_numbers)}"
    with Redis.from_url(url.replace("valkey://", "redis://")) as client:
        client.flushdb()

    @contextmanager
    def official() -> Iterator[Any]:
        with ValkeySaver.from_conn_string(url, pool_size=64) as saver:
            yield saver

    return Backend(url, official)


def _dynamodb(request: pytest.FixtureRequest) -> Backend:
    from langgraph_checkpoint_aws import DynamoDBSaver

    request.getfixturevalue("aws_surroundings")
    server: Any = request.getfixturevalue("dynamo")
    table = request.getfixturevalue("table")()

    @contextmanager
    def official() -> Iterator[Any]:
        saver = DynamoDBSaver(table_name=table, region_name="us-east-1", endpoint_url=server.endpoint)
        with closing(saver.client):
            yield saver

    return Backend(server.url(table), official)


PLACES: dict[str, Callable[[pytest.FixtureRequest], Backend]] = {
    "sqlite": _sqlite,
    "postgres": _postgres,
    "mysql": _mysql,
    "mongodb": _mongodb,
    "redis": _redis,
    "dynamodb": _dynamodb,
    "valkey": _valkey,
}


def places(request: pytest.FixtureRequest, kind: str) -> Where:
    """What gives empty databases of a kind."""
    return partial(PLACES[kind], request)
