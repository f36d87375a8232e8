"""Runs of agents whose statements and round trips are counted, on the adapter and on LangGraph's own saver."""

import operator
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, closing, contextmanager
from typing import Annotated, Any, NamedTuple, Protocol, TypedDict
from unittest.mock import patch
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4

import pymysql
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from tests.servers.proxy import CountingProxy, MongoCommands, MySQLStatements, PostgresStatements, Uncounted


class State(TypedDict):
    n: int
    log: Annotated[list[Any], operator.add]


def steps(saver: Any, size: int) -> Any:
    """A graph of one node that runs `size` times."""
    graph = StateGraph(State)
    graph.add_node("count", lambda state: {"n": state["n"] + 1, "log": [f"step {state['n']}"]})
    graph.add_edge(START, "count")
    graph.add_conditional_edges("count", lambda state: "count" if state["n"] < size else END)
    return graph.compile(checkpointer=saver)


def fan_out(saver: Any, size: int) -> Any:
    """A graph with `size` tasks in one step."""
    graph = StateGraph(State)
    graph.add_node("plan", lambda _: {"n": size})
    graph.add_node("work", lambda state: {"log": [state["n"]]})
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda _: [Send("work", {"n": n, "log": []}) for n in range(size)], ["work"])
    return graph.compile(checkpointer=saver)


GRAPHS: dict[str, Callable[[Any, int], Any]] = {"steps": steps, "fan-out": fan_out}


def arguments() -> tuple[dict[str, Any], dict[str, Any]]:
    """The input and the config of a run in a new thread."""
    return {"n": 0, "log": []}, {"configurable": {"thread_id": str(uuid4())}, "recursion_limit": 1000}


class Count(NamedTuple):
    """What was sent so far; statements are 0 where the protocol isn't parsed, trips where they aren't counted."""

    statements: int
    trips: int

    def __sub__(self, before: "Count") -> "Count":  # type: ignore[override]
        return Count(self.statements - before.statements, self.trips - before.trips)


class Counter(Protocol):
    """Something that counts."""

    @property
    def statements(self) -> int: ...

    @property
    def trips(self) -> int: ...


def count_of(counter: Counter) -> Count:
    """The counts at this moment."""
    return Count(counter.statements, counter.trips)


class _Trace:
    """The statements that connections of this process ran in SQLite."""

    def __init__(self) -> None:
        self.statements = self.trips = 0

    def connect(self, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = _connect(*arguments, **options)
        connection.set_trace_callback(self._note)
        return connection

    def _note(self, _: str) -> None:
        self.statements += 1


_connect = sqlite3.connect
_PORT = re.compile(r"127\.0\.0\.1:(\d+)")
_PARSERS = {"postgres": PostgresStatements, "mysql": MySQLStatements, "mongodb": MongoCommands}


class _Commands(NamedTuple):
    """What a proxy counts without round trips, because the driver of MongoDB opens connections when it likes."""

    proxy: CountingProxy

    @property
    def statements(self) -> int:
        return self.proxy.statements

    @property
    def trips(self) -> int:
        return 0


@contextmanager
def counted(kind: str, url: str) -> Iterator[tuple[str, Counter]]:
    """The URL under which what is sent to a database is counted, and the counter."""
    if kind == "sqlite":
        trace = _Trace()
        with patch("sqlite3.connect", trace.connect):
            yield url, trace
        return
    (port,) = _PORT.findall(unquote(url))[:1]
    proxy = CountingProxy("127.0.0.1", int(port), _PARSERS.get(kind, Uncounted))
    try:
        yield url.replace(port, str(proxy.port), 1), _Commands(proxy) if kind == "mongodb" else proxy
    finally:
        proxy.close()


def official(kind: str, url: str) -> AbstractContextManager[Any]:
    """LangGraph's own saver for a kind of database."""
    return {
        "sqlite": _sqlite,
        "postgres": _postgres,
        "mysql": _mysql,
        "redis": _redis,
        "mongodb": _mongodb,
        "valkey": _valkey,
        "dynamodb": _dynamodb,
    }[kind](url)


def _sqlite(url: str) -> AbstractContextManager[Any]:
    from langgraph.checkpoint.sqlite import SqliteSaver

    return SqliteSaver.from_conn_string(url)


def _postgres(url: str) -> AbstractContextManager[Any]:
    from langgraph.checkpoint.postgres import PostgresSaver

    return PostgresSaver.from_conn_string(url)


@contextmanager
def _mysql(url: str) -> Iterator[Any]:
    from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver

    parts = urlsplit(url)
    where: Any = {"host": parts.hostname, "port": parts.port, "database": parts.path[1:], "autocommit": True}
    password = unquote(parts.password or "").encode()
    with closing(pymysql.connect(user=unquote(parts.username or ""), password=password, **where)) as connection:
        yield PyMySQLSaver(connection)


@contextmanager
def _redis(url: str) -> Iterator[Any]:
    from langgraph.checkpoint.redis import RedisSaver

    with RedisSaver.from_conn_string(url) as saver:
        saver.setup()
        yield saver


@contextmanager
def _mongodb(url: str) -> Iterator[Any]:
    from langgraph.checkpoint.mongodb import MongoDBSaver
    from pymongo import MongoClient

    with MongoClient(url) as client:
        yield MongoDBSaver(client, urlsplit(url).path[1:])


def _valkey(url: str) -> AbstractContextManager[Any]:
    from langgraph_checkpoint_aws import ValkeySaver

    return ValkeySaver.from_conn_string(url)


@contextmanager
def _dynamodb(url: str) -> Iterator[Any]:
    from langgraph_checkpoint_aws import DynamoDBSaver

    options = parse_qs(urlsplit(url).query)
    saver = DynamoDBSaver(
        table_name=urlsplit(url).netloc, region_name="us-east-1", endpoint_url=options["endpoint_url"][0]
    )
    with closing(saver.client):
        yield saver


def official_async(kind: str, url: str) -> AbstractAsyncContextManager[Any] | None:
    """LangGraph's own async saver; None where its driver isn't among the tests' packages (MySQL)."""
    if kind == "sqlite":
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        return AsyncSqliteSaver.from_conn_string(url)
    if kind == "postgres":
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        return AsyncPostgresSaver.from_conn_string(url)
    if kind == "redis":
        from langgraph.checkpoint.redis.aio import AsyncRedisSaver

        return AsyncRedisSaver.from_conn_string(url)
    if kind == "valkey":
        from langgraph_checkpoint_aws import AsyncValkeySaver

        return AsyncValkeySaver.from_conn_string(url, pool_size=100)
    return None if kind == "mysql" else _with_async_methods(kind, url)


@asynccontextmanager
async def _with_async_methods(kind: str, url: str) -> AsyncIterator[Any]:
    """The sync saver of a kind, which has async methods too."""
    with official(kind, url) as saver:
        yield saver
