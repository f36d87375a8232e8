"""Makes new connections of PyMySQL: their options, and the settings of their session."""

from ssl import SSLSocket
from typing import Any

import pymysql  # type: ignore[import-untyped]
from pymysql.constants import CLIENT, CR  # type: ignore[import-untyped]

from ckpt_cli.savers.faults import not_encrypted
from ckpt_cli.savers.mysql.address import Address

_SLACK = 5  # seconds to wait, after the time limit, for the server's message that a statement took too long

_MODE = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"
"""With this mode the server truncates nothing silently, and understands escapes in text as PyMySQL writes them."""


class _Encrypted(pymysql.Connection):  # type: ignore[misc]
    """A connection that sends no user and no password to a server without TLS.

    PyMySQL 1.1 would send them (``connections.py: _request_authentication``); 1.2 doesn't send them.
    """

    def _request_authentication(self) -> None:
        if not self.server_capabilities & CLIENT.SSL:
            raise pymysql.err.OperationalError(
                CR.CR_SSL_CONNECTION_ERROR, "SSL is required but the server doesn't support it"
            )
        super()._request_authentication()


def connect(address: Address) -> Any:
    """A new connection, with settings changed for its session only.

    The handshake may take as long as `connect_timeout`, a statement as long as `statement_timeout`.

    Raises:
        pymysql.err.MySQLError, RuntimeError: the server can't be reached, or refuses this user.
        DatabaseUnreachable: a TLS file can't be read, or the connection isn't encrypted as the URL requires.
    """
    encrypted = address.tls.is_required and not address.socket  # a socket never leaves the machine
    driver = (_Encrypted if encrypted else pymysql.Connection)(
        host=address.host,
        port=address.port,
        user=address.user or None,
        password=address.password.encode(),
        database=address.database,
        unix_socket=address.socket or None,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=address.connect_timeout,
        read_timeout=address.connect_timeout,
        client_flag=CLIENT.FOUND_ROWS,  # an UPDATE counts all rows that match, also unchanged ones
        program_name="ckpt",
        defer_connect=True,
        **({"ssl_disabled": True} if address.socket else address.tls.options()),
    )
    if not address.socket:
        address.tls.prefer(driver)
    driver.connect()
    if encrypted and not isinstance(driver._sock, SSLSocket):
        driver._force_close()
        raise not_encrypted(address.location)
    with driver.cursor() as cursor:
        cursor.execute(_settings(address.statement_timeout, driver.get_server_info()))
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    driver._read_timeout = driver._write_timeout = address.statement_timeout + _SLACK
    return driver


def _settings(seconds: int, version: str) -> str:
    limit = f"max_statement_time = {seconds}" if is_mariadb(version) else f"max_execution_time = {seconds * 1000}"
    return f"SET SESSION sql_mode = '{_MODE}', SESSION {limit}, SESSION net_write_timeout = 600"


def is_mariadb(version: str) -> bool:
    """Whether a server is MariaDB, whose settings and collations have other names."""
    return "MariaDB" in version
