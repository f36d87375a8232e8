"""If a URL asks for TLS and the server has none, no secret is sent, whichever driver is installed."""

import socket
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pymysql
import pytest
from psycopg import connect
from pymongo import MongoClient
from redis import Redis

from ckpt_cli.app import run
from ckpt_cli.errors import DatabaseUnreachable, MissingExtra
from ckpt_cli.savers.mongodb import address as mongo_address
from ckpt_cli.savers.mongodb import client as mongo_client
from ckpt_cli.savers.mysql import driver as mysql_driver
from ckpt_cli.savers.mysql.address import parse_url
from ckpt_cli.savers.postgres import connection as postgres_connection
from ckpt_cli.savers.redis import address as redis_address
from ckpt_cli.savers.redis import client as redis_client
from tests.servers.mongodb import Mongo
from tests.servers.mysql import MySQLServer
from tests.servers.postgres import PostgresServer
from tests.servers.redis import Server

Urls = Callable[[str], str]


@pytest.fixture
def asking(
    request: pytest.FixtureRequest, postgres: PostgresServer, mysql: MySQLServer, redis_server: Server, mongo: Mongo
) -> dict[str, str]:
    """A URL that asks for TLS, for each server without it."""
    return {
        "postgres": postgres.url(postgres.new(), more="?sslmode=require"),
        "postgres, verified": postgres.url(postgres.new(), more="?sslmode=verify-full&sslrootcert=system"),
        "mysql": mysql.url(mysql.new(), more="?ssl_mode=required"),
        "mysql, verified": mysql.url(mysql.new(), more="?ssl_mode=verify_identity"),
        "redis": f"{redis_server.url.replace('redis://', 'rediss://')}/0?connect_timeout=2",
        "valkey": f"{redis_server.url.replace('redis://', 'valkeys://')}/0?connect_timeout=2",
        "mongodb": f"{mongo.database('x')}?tls=true&connect_timeout=2",
    }


def test_a_server_without_tls_is_refused(asking: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Every backend exits with 3, one line and a hint."""
    for kind, url in asking.items():
        assert run(["threads", "-d", url]) == 3, kind
        output = capsys.readouterr()
        assert output.out == "" and "hint: " in output.err and "Traceback" not in output.err, kind


def test_mysql_gets_no_name_and_no_password(mysql: MySQLServer) -> None:
    """If the server's handshake offers no TLS, the client sends nothing."""
    sent: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        relay = threading.Thread(target=_relay, args=(listener, mysql, sent))
        relay.start()
        port = listener.getsockname()[1]
        address = parse_url(f"mysql://somebody:secretword@127.0.0.1:{port}/x?ssl_mode=required")
        with pytest.raises(pymysql.err.OperationalError):
            mysql_driver.connect(address)
        relay.join(20)
    assert b"".join(sent) == b""


def _relay(listener: socket.socket, server: MySQLServer, sent: list[bytes]) -> None:
    client, _ = listener.accept()
    with client, socket.create_connection((server.host, server.port)) as there:
        client.sendall(there.recv(65536))
        client.settimeout(10)
        sent.append(client.recv(65536))


def test_mysql_session_is_checked(mysql: MySQLServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection of a driver that continues without TLS, as PyMySQL 1.1 did, is closed."""
    address = parse_url(mysql.url(mysql.new(), more="?ssl_mode=required"))

    def plain(**options: Any) -> Any:
        return pymysql.Connection(**{**options, "ssl_disabled": True, "ssl": None})

    monkeypatch.setattr(mysql_driver, "_Encrypted", plain)
    with pytest.raises(DatabaseUnreachable, match="would not be encrypted"):
        mysql_driver.connect(address)


def test_postgres_session_is_checked(postgres: PostgresServer) -> None:
    """An unencrypted session of libpq is closed if ``sslmode=require`` was asked for."""
    with closing(connect(postgres.url(postgres.new()))) as connection:
        postgres_connection.must_be_encrypted(connection, "here")
        with pytest.raises(DatabaseUnreachable, match="would not be encrypted"):
            postgres_connection.must_be_encrypted(_Requiring(connection), "here")  # type: ignore[arg-type]
        assert connection.closed


class _Requiring:
    """A connection that was asked to be encrypted."""

    def __init__(self, connection: Any) -> None:
        self.pgconn, self.close, self.info = connection.pgconn, connection.close, self
        self.host = "127.0.0.1"

    def get_parameters(self) -> dict[str, str]:
        return {"sslmode": "require"}


def test_redis_client_is_checked(redis_server: Server) -> None:
    """A client with unencrypted connections is refused for ``rediss``, before its first command."""
    secured = redis_address.parse_url(redis_server.url.replace("redis://", "rediss://"))
    with Redis(port=redis_server.port) as plain, Redis(port=redis_server.port, ssl=True) as encrypted:
        redis_client.must_be_encrypted(secured, [encrypted])
        redis_client.must_be_encrypted(redis_address.parse_url(redis_server.url), [plain])
        with pytest.raises(DatabaseUnreachable, match="would not be encrypted"):
            redis_client.must_be_encrypted(secured, [encrypted, plain])


@pytest.mark.parametrize("asked", ["?tls=true", "?ssl=true", "?TLS=True"])
def test_mongodb_client_is_checked(asked: str) -> None:
    """A client without TLS is closed where the URL asks for it by any of its names."""
    address = mongo_address.parse_url(f"mongodb://127.0.0.1:1/x{asked}")
    with MongoClient[Any]("mongodb://127.0.0.1:1/x", connect=False) as client:
        with pytest.raises(DatabaseUnreachable, match="would not be encrypted"):
            mongo_client.must_be_encrypted(client, address)
        mongo_client.must_be_encrypted(client, mongo_address.parse_url("mongodb://127.0.0.1:1/x"))


@pytest.mark.parametrize(("version", "whole"), [("5.2.1", False), ("7.1.9", False), ("7.2.0", True), ("8.0", True)])
def test_clusters_need_a_driver_that_lists_them_whole(version: str, whole: bool) -> None:
    """An older driver is refused by its version, with the command that installs a newer one."""
    if whole:
        return redis_client.must_list_whole_clusters("redis://h:1/0", version)
    with pytest.raises(MissingExtra) as raised:
        redis_client.must_list_whole_clusters("redis://h:1/0", version)
    assert version in raised.value.message and "redis>=7.2" in raised.value.hint
    return None
