"""Parses a URL of MySQL or MariaDB into options for the driver and the location that may be shown to people."""

from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ckpt_cli.errors import UsageError
from ckpt_cli.savers.mysql.tls import OPTIONS, Tls, parse_tls
from ckpt_cli.savers.url_options import unknown_option

_PORT = 3306
_CONNECT_TIMEOUT = 5  # seconds
_STATEMENT_TIMEOUT = 120  # seconds

_OPTIONS = ("connect_timeout", *OPTIONS, "statement_timeout", "unix_socket")


class Address(NamedTuple):
    """The parts of a URL.

    Attributes:
        socket: path of a Unix socket; with one, host and port aren't used.
        connect_timeout: seconds.
        statement_timeout: seconds that one statement may take.
    """

    host: str
    port: int
    user: str
    password: str
    database: str
    socket: str
    tls: Tls
    connect_timeout: int
    statement_timeout: int

    @property
    def identity(self) -> str:
        """An address without user, password and options: the same for all users; it may be shown to people."""
        host = f"[{self.host}]" if ":" in self.host else self.host.lower()
        socket = f"?unix_socket={self.socket}" if self.socket else ""
        return f"mysql://{host}:{self.port}/{quote(self.database, safe='')}{socket}"

    @property
    def location(self) -> str:
        """The URL without user, password and options; the same text as `identity`."""
        return self.identity


def parse_url(url: str) -> Address:
    """The address that ``mysql://user:password@host:port/database?option=value`` names.

    The options are ``unix_socket``, as in LangGraph's own saver (langgraph-checkpoint-mysql 3.0, ``pymysql.py:
    parse_conn_string``), PyMySQL's ``ssl_…``, the ``ssl_mode`` of the program ``mysql``, and two timeouts in seconds.

    Raises:
        UsageError: the URL names no database, or has an unknown option.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port or _PORT
    except ValueError as error:
        hint = "in a password write @ as %40, / as %2F, # as %23, ? as %3F"
        raise UsageError(f"not a URL of a MySQL database: {_reason(str(error))}", hint=hint) from error
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    address = Address(
        host=host,
        port=port,
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        database=unquote(parts.path[1:]),
        socket=options.pop("unix_socket", ""),
        connect_timeout=_seconds(options, "connect_timeout", _CONNECT_TIMEOUT),
        statement_timeout=_seconds(options, "statement_timeout", _STATEMENT_TIMEOUT),
        tls=parse_tls(options),
    )
    options.pop("charset", None)  # an option of SQLAlchemy's; ckpt always uses utf8mb4
    if options:
        known = ", ".join(_OPTIONS)
        raise UsageError(f"{address.location}: {unknown_option(options, _OPTIONS)}", hint=f"known: {known}")
    if not address.database:
        raise UsageError(f"{address.location}: no database in it", hint="mysql://user:password@host:3306/database")
    return address


def _reason(message: str) -> str:
    """The meaning of an error message of `urlsplit`; the message itself quotes the URL, maybe with a password."""
    return "its port is not a number" if message.startswith("Port") else "its host is malformed"


def _seconds(options: dict[str, str], name: str, default: int) -> int:
    """Take an option in whole seconds. `parse_seconds` allows fractions, but the server's variables don't."""
    text = options.pop(name, str(default))
    if not text.isdecimal() or not 0 < int(text) < 1 << 24:
        raise UsageError(f"{name}: a whole number of seconds is needed")
    return int(text)
