"""Where a database is, out of a URL: what the driver gets, and what may be shown of it."""

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
    """What a URL names.

    Attributes:
        socket: path of a Unix socket; host and port then count for nothing.
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
        """The database by whatever user and options it was opened; it may be shown."""
        host = f"[{self.host}]" if ":" in self.host else self.host.lower()
        socket = f"?unix_socket={self.socket}" if self.socket else ""
        return f"mysql://{host}:{self.port}/{quote(self.database, safe='')}{socket}"

    @property
    def location(self) -> str:
        """The same."""
        return self.identity


def parse_url(url: str) -> Address:
    """Read ``mysql://user:password@host:port/database?option=value``.

    The options are those of LangGraph's own saver (``unix_socket``; langgraph-checkpoint-mysql 3.0, ``pymysql.py:
    parse_conn_string``), PyMySQL's ``ssl_…``, ``ssl_mode`` as ``mysql`` knows it, and two times in seconds.

    Raises:
        UsageError: it names no database, or an option that isn't known.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "localhost", parts.port or _PORT
    except ValueError as error:
        hint = "in a password write @ as %40, / as %2F, # as %23, ? as %3F"
        raise UsageError(f"not a URL of a MySQL database: {_without_words(str(error))}", hint=hint) from error
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
    options.pop("charset", None)  # SQLAlchemy's; it is always utf8mb4 here
    if options:
        known = ", ".join(_OPTIONS)
        raise UsageError(f"{address.location}: {unknown_option(options, _OPTIONS)}", hint=f"known: {known}")
    if not address.database:
        raise UsageError(f"{address.location}: no database in it", hint="mysql://user:password@host:3306/database")
    return address


def _without_words(reason: str) -> str:
    """The reason without what was typed, which may be a piece of a password."""
    return "its port is no number" if reason.startswith("Port") else "its host is malformed"


def _seconds(options: dict[str, str], name: str, otherwise: int) -> int:
    text = options.pop(name, str(otherwise))
    if not text.isdecimal() or not 0 < int(text) < 1 << 24:
        raise UsageError(f"{name}: a whole number of seconds is needed")
    return int(text)
