"""MongoDB for tests: the server that ``CKPT_TEST_MONGODB_URL`` names, else the stand-in `mongod_stub`.

pip has no real ``mongod``, so unless one is named these tests prove something only about pymongo's wire protocol
over mongomock; `is_real` says which it is.
"""

import os
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

import pytest
from pymongo import MongoClient

from tests.requiring import missing
from tests.servers.processes import ServerProcess, free_port, listens


class Mongo(NamedTuple):
    """A server.

    Attributes:
        url: without a database.
        is_real: false for the stand-in.
        process: None if the tests didn't start it.
    """

    url: str
    is_real: bool = False
    process: ServerProcess | None = None

    def database(self, name: str) -> str:
        """The URL of one of its databases."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(path=f"/{name}"))


@contextmanager
def stand_in(folder: Path, *options: str, port: int | None = None) -> Iterator[Mongo]:
    """A new stand-in, with its options."""
    pytest.importorskip("mongomock")
    port = port or free_port()
    command = [sys.executable, "-W", "ignore", "-m", "tests.servers.mongod_stub", str(port), *options]
    process = ServerProcess(command, folder / "mongod.log")
    process.wait_until(lambda: listens(port))
    try:
        yield Mongo(f"mongodb://127.0.0.1:{port}", process=process)
    finally:
        process.stop()


@pytest.fixture(scope="session")
def mongo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mongo]:
    """One server for all tests; each takes a database of its own."""
    if url := os.environ.get("CKPT_TEST_MONGODB_URL"):
        yield Mongo(url, is_real=True)
        return
    try:
        import mongomock  # noqa: F401
    except ModuleNotFoundError:
        missing(request.config, "no MongoDB: set CKPT_TEST_MONGODB_URL, or install mongomock for the stand-in")
    with stand_in(tmp_path_factory.mktemp("mongo")) as started:
        yield started


@pytest.fixture(scope="module")
def mongo_database(mongo: Mongo) -> Iterator[Callable[[], str]]:
    """Names a new database each time, and drops them all in the end."""
    names: list[str] = []

    def name() -> str:
        names.append(f"ckpt_test_{uuid.uuid4().hex[:12]}")
        return names[-1]

    yield name
    with MongoClient(mongo.url) as client:
        for made in names:
            client.drop_database(made)
