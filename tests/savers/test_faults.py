"""Errors of servers have the same words, exit code and hint on every backend."""

from collections.abc import Callable
from urllib.parse import quote

import pytest

from ckpt_cli.app import run
from tests.servers.dynamodb import REGION, Dynamo
from tests.servers.mongodb import Mongo
from tests.servers.mysql import MySQLServer
from tests.servers.postgres import PostgresServer
from tests.servers.processes import free_port
from tests.servers.redis import Server

SECRET = "s3cret"
Report = Callable[[str], tuple[int, list[str]]]


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str], aws_surroundings: None) -> Report:
    """List a database's threads: the exit code, the error without its location, and the hint."""

    def give(url: str) -> tuple[int, list[str]]:
        capsys.readouterr()
        code = run(["threads", "-d", url])
        seen = capsys.readouterr()
        first, hint = seen.err.splitlines()
        assert seen.out == ""
        assert SECRET not in seen.err
        place, _, what = first.partition(": ")[2].partition(": ")
        assert place.startswith(f"{url.partition(':')[0]}://")
        assert "@" not in place
        return code, [what, hint]

    return give


@pytest.mark.parametrize("kind", ["postgresql", "mysql", "redis", "valkey", "mongodb"])
def test_nobody_listens(kind: str, report: Report) -> None:
    """A port without a server."""
    more = "x?connect_timeout=1" if kind == "mongodb" else "0" if kind in ("redis", "valkey") else "x"
    hint = "hint: is it running, and are host and port right?"
    want = (3, ["no server answers (connection refused)", hint])
    assert report(f"{kind}://me:{SECRET}@127.0.0.1:{free_port()}/{more}") == want


def test_nobody_listens_where_a_service_was(report: Report) -> None:
    """An endpoint without a service, which has no port of its own in its URL."""
    endpoint = quote(f"http://127.0.0.1:{free_port()}", safe="")
    hint = "hint: is it running, and are host and port right?"
    want = (3, ["no server answers (connection refused)", hint])
    assert report(f"dynamodb://t?region={REGION}&endpoint_url={endpoint}&connect_timeout=1") == want


@pytest.fixture(params=["postgres", "mysql", "redis_server", "valkey_server", "mongo"])
def stranger(request: pytest.FixtureRequest) -> str:
    """The URL of a running server, with a wrong password."""
    server: object = request.getfixturevalue(request.param)
    if isinstance(server, PostgresServer | MySQLServer):
        return server.url(server.new(), user="nobody", password=SECRET)
    if isinstance(server, Mongo):
        return server.database("x").replace("://", f"://nobody:{SECRET}@")
    assert isinstance(server, Server)
    return server.url.replace("://", f"://nobody:{SECRET}@")


def test_a_wrong_password(stranger: str, report: Report) -> None:
    """A user and password that the server doesn't know; the backend may add to the hint."""
    code, (what, hint) = report(stranger)
    assert (code, what) == (3, "wrong user or password")
    assert hint.startswith("hint: check both; in a URL their @ : / ? # % are written %40")


@pytest.fixture(params=["postgres", "mysql", "redis_server", "valkey_server", "mongo", "dynamo"])
def foreign(request: pytest.FixtureRequest) -> str:
    """The URL of an existing database without LangGraph's records."""
    server: object = request.getfixturevalue(request.param)
    if isinstance(server, PostgresServer | MySQLServer):
        return server.url(server.new())
    if isinstance(server, Mongo):
        return server.database("nothing_here")
    if isinstance(server, Dynamo):
        server.create("foreign", hashed="name", ranged="at")
        request.addfinalizer(lambda: server.client().delete_table(TableName="foreign"))
        return server.url("foreign")
    assert isinstance(server, Server)
    url = server.empty()
    with server.client() as client:
        client.set("something", "else")
    return url


def test_a_database_of_something_else(foreign: str, report: Report) -> None:
    """The hint says as much about the contents as the backend can."""
    code, (what, hint) = report(foreign)
    assert (code, what) == (3, "no LangGraph checkpoints in it")
    assert hint.startswith("hint: ")


@pytest.mark.parametrize("server", ["postgres", "mysql"])
def test_no_such_database(server: str, request: pytest.FixtureRequest, report: Report) -> None:
    """A name that the server doesn't have."""
    url = request.getfixturevalue(server).url("nowhere_at_all")
    assert report(url) == (3, ["no such database", "hint: check the name behind the last /"])
