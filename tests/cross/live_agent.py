"""A real agent in a process of its own, on LangGraph's own saver: ``python -m tests.cross.live_agent URL THREADS``.

If its server goes away, it connects again and carries on, as a worker of a queue does.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg
import pymysql
import redis
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.redis import RedisSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from redisvl.exceptions import RedisVLError

from tests.graphs.building import line, on

NODES = ("plan", "search", "write", "check")
_PATIENCE = 120.0  # seconds
_PAUSE = 0.05  # seconds between tries to connect
_OPENERS: dict[str, Any] = {
    "postgresql": PostgresSaver,
    "redis": RedisSaver,
}
_LOST = (psycopg.Error, pymysql.MySQLError, redis.exceptions.RedisError, RedisVLError, OSError)


@contextmanager
def official(url: str) -> Iterator[Any]:
    """LangGraph's own saver of a database."""
    scheme, is_url, _ = url.partition("://")
    if scheme == "mysql":  # whose saver takes no password with special characters from a URL
        parts = urlsplit(url)
        place = {"host": parts.hostname, "port": parts.port, "database": parts.path[1:], "autocommit": True}
        with pymysql.connect(
            user=parts.username, password=unquote(parts.password or "").encode(), **place
        ) as connection:
            yield PyMySQLSaver(connection)
        return
    with (_OPENERS[scheme] if is_url else SqliteSaver).from_conn_string(url) as saver:
        if scheme == "redis":
            saver.setup()  # without, it can't read a checkpoint with pending writes (langgraph-checkpoint-redis 0.5.2)
        yield saver


def run(url: str, thread_id: str) -> None:
    """Run one thread to its end, whatever happens to the server."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            with official(url) as saver:
                graph = line(saver, *NODES)
                begun = graph.get_state(on(thread_id)).next or saver.get_tuple(on(thread_id))
                graph.invoke(None if begun else {"log": []}, on(thread_id), durability="sync")
            return
        except _LOST:
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE)


if __name__ == "__main__":
    for number in range(int(sys.argv[2])):
        run(sys.argv[1], f"agent-{number}")
