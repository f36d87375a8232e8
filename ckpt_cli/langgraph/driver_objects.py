"""Opens an application's pool of connections; refuses a driver's other objects with a reason."""

from typing import Any

from ckpt_cli.errors import NotSupported
from ckpt_cli.savers.contract import Saver

_POOL = ("psycopg_pool", "ConnectionPool")
_URL = "CkptSaver connects again after the server was away, so it must know where: name the database, {}"
_LOOP = "it belongs to one event loop; give {}: CkptSaver's async methods work in any loop and don't block it"

_WAYS = {
    ("psycopg_pool", "AsyncConnectionPool"): _LOOP.format("a psycopg_pool.ConnectionPool, or a URL"),
    ("psycopg", "BaseConnection"): _URL.format("postgresql://…, or give a psycopg_pool.ConnectionPool"),
    ("sqlite3", "Connection"): "CkptSaver opens the file itself, so that all threads may use it: give its path",
    ("aiosqlite", "Connection"): _LOOP.format("the file's path"),
    ("pymysql", "Connection"): _URL.format("mysql://…"),
    ("aiomysql", "Connection"): _LOOP.format("a URL, mysql://…"),
    ("aiomysql", "Pool"): _LOOP.format("a URL, mysql://…"),
    ("asyncmy", "Connection"): _LOOP.format("a URL, mysql://…"),
    ("asyncmy", "Pool"): _LOOP.format("a URL, mysql://…"),
    ("redis", "AbstractRedis"): _URL.format("redis://… or valkey://…; its client has a pool of connections"),
    ("redis", "Redis"): _URL.format("redis://… or valkey://…; its client has a pool of connections"),
    ("redis", "ConnectionPool"): _URL.format("redis://… or valkey://…; its client has a pool of connections"),
    ("pymongo", "BaseMongoClient"): _URL.format("mongodb://…/database; its client has a pool of connections"),
    ("pymongo", "MongoClient"): _URL.format("mongodb://…/database; its client has a pool of connections"),
    ("botocore", "BaseClient"): "name the table, dynamodb://table?region=…",
}


def is_pool(value: object) -> bool:
    """Whether this is a pool that `open_pool` opens."""
    return _POOL in _kinds(value)


def open_pool(pool: Any) -> Saver:
    """Open the database of a pool, which lends a connection for each call.

    Raises:
        DatabaseUnreachable: the pool gives no connection, or the database holds no checkpoints.
        NotSupported: this is no such pool; the hint says what to give instead.
    """
    if not is_pool(pool):
        kind = type(pool)
        hint = next((_WAYS[one] for one in _kinds(pool) if one in _WAYS), "give a URL, a path or a saver of ckpt's own")
        raise NotSupported(f"CkptSaver doesn't take a {kind.__module__}.{kind.__qualname__}", hint=hint)
    from ckpt_cli.savers.postgres.saver import open_pool as open_postgres_pool

    return open_postgres_pool(pool)


def _kinds(value: object) -> list[tuple[str, str]]:
    """The package and name of the value's class and of each class that it inherits from; nothing is imported."""
    return [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__]
