"""Servers that a test stops and starts again; each keeps its data. SQLite, which has no server, does nothing then."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from langgraph.checkpoint.redis import RedisSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.servers import mysql, postgres, redis, valkey
from tests.servers.processes import ServerProcess, free_port, serves_redis


class Restartable(NamedTuple):
    """A server with one empty database, which keeps its data."""

    url: str
    start: Callable[[], None]
    stop: Callable[[], None]

    def restart(self) -> None:
        """Stop it and start it again."""
        self.stop()
        self.start()


def restartable_postgres(config: pytest.Config, _: Path) -> Iterator[Restartable]:
    server = postgres.own_server(config)
    yield Restartable(server.url(server.fresh()), server.start, lambda: server.process.stop(signal.SIGINT))
    server.stop()


def restartable_mysql(config: pytest.Config, folder: Path) -> Iterator[Restartable]:
    server = mysql.own_server(config, folder)
    yield Restartable(server.url(server.fresh()), server.start, lambda: server.process.stop())
    server.stop()


def restartable_redis(config: pytest.Config, folder: Path) -> Iterator[Restartable]:
    home = redis.binaries()
    assert home is not None
    port = free_port()
    modules = [word for name in ("rejson", "redisearch") for word in ("--loadmodule", home / "lib" / f"{name}.so")]
    place = ["--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--appendonly", "yes"]
    running: list[ServerProcess] = []

    def start() -> None:
        running.append(ServerProcess([home / "bin" / "redis-server", *place, *modules], folder / "log"))
        running[-1].wait_until(lambda: serves_redis(port))

    start()
    with RedisSaver.from_conn_string(f"redis://127.0.0.1:{port}") as saver:
        saver.setup()
    yield Restartable(f"redis://127.0.0.1:{port}", start, lambda: running[-1].stop())
    running[-1].kill()


def restartable_sqlite(_: pytest.Config, folder: Path) -> Iterator[Restartable]:
    path = str(folder / "checkpoints.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        saver.setup()
    yield Restartable(path, lambda: None, lambda: None)


def restartable_valkey(_: pytest.Config, folder: Path) -> Iterator[Restartable]:
    """A Valkey server."""
    found, port, running = valkey.binary(), free_port(), list[ServerProcess]()
    assert found is not None

    def start() -> None:
        options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--appendonly", "yes"]
        running.append(ServerProcess([found, *options], folder / "log"))
        running[-1].wait_until(lambda: serves_redis(port))

    start()
    yield Restartable(f"valkey://127.0.0.1:{port}", start, lambda: running[-1].stop())
    running[-1].kill()
