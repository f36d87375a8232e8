"""Turns errors of a server or the driver into ckpt's own: one line each, with a hint.

Error numbers are those of MySQL 8.0 (``share/messages_to_clients.txt``) and MariaDB 10.11 (``mysqld_error.h``); the
driver's own begin at 2000 (PyMySQL 1.2, ``constants/CR.py``).
"""

from socket import gaierror
from ssl import SSLError

from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed, Refused
from ckpt_cli.savers import faults
from ckpt_cli.savers.mysql.address import Address

GONE = frozenset({0, 1053, 1927, 2006, 2013, 2055, 4031})
"""The server shut down, the session was killed, or the connection was cut; PyMySQL gives 0 if it is closed."""

_WRONG_PASSWORD, _NO_DATABASE, _NO_TLS = 1045, 1049, 2026
_NO_PASSWORD = "using password: NO"  # noqa: S105 - a part of the server's message
_CONNECTING = frozenset({_WRONG_PASSWORD, _NO_DATABASE, _NO_TLS, 2002, 2003})
_TOO_LONG = frozenset({1317, 1969, 3024})
_DENIED = frozenset({1044, 1142, 1143, 1227, 1370})
_READ_ONLY = frozenset({1290, 1792, 1836, 3032})
_LOCK_WAIT = 1205
_BUSY = frozenset({1213, 3572})
_LOCKED = "another transaction has locked the rows or tables, and didn't end in time"
WHO_LOCKS = "SHOW FULL PROCESSLIST lists the connections, information_schema.innodb_trx the open transactions"
_DOES_NOT_FIT = {
    1264: "a number is out of range",
    1366: "text has characters the column can't hold",
    1406: "text is longer than its column",
    3140: "the server doesn't take it as JSON",
    3988: "text has characters the column can't hold",
    4025: "the server doesn't take it as JSON",
}

_EQUAL_IDS_HINT = "this database's collation may treat ids that differ in case, accents or trailing spaces as equal"

_HINTS = {
    1040: "the server has no connection left; try again",
    1044: "this user may not open the database",
    1129: "the server blocks this host after too many failed connections: `mysqladmin flush-hosts`",
    1130: "the server takes no connections from this host",
    1698: "this user logs in through the server's own machine only, without a password",
}


_TLS = "ssl_mode=preferred connects with or without TLS, ssl_ca=FILE names the certificates to trust"
_SYSTEM = ((ConnectionRefusedError, faults.REFUSED), (TimeoutError, faults.TIMED_OUT), (gaierror, faults.UNKNOWN_HOST))


def reading_fault(address: Address, error: Exception) -> DatabaseUnreachable:
    """The error for a database that can't be opened or read."""
    number, text = number_and_text(error)
    if number in _CONNECTING:
        return _connection_fault(address, number, error, text)
    if number in _TOO_LONG or (number in GONE and "timed out" in text):
        limits = f"{address.statement_timeout} for a statement, ?connect_timeout= than {address.connect_timeout}"
        return faults.too_slow(address.location, f"?statement_timeout=SECONDS waits longer than {limits} to connect")
    if number in GONE:
        return faults.lost(address.location)
    if number == _LOCK_WAIT:
        return DatabaseUnreachable(f"{address.location}: {_LOCKED}", hint=f"try again; {WHO_LOCKS}")
    if isinstance(error, RuntimeError):
        from ckpt_cli.installing import install

        what = f"{address.location}: {faults.safe_text(text)}"
        return DatabaseUnreachable(what, hint=f"{install('PyMySQL[rsa]')}, or use TLS")
    if number in _DENIED:
        return faults.may_not_read(address.location, text, "to read, this user needs SELECT on LangGraph's tables")
    return DatabaseUnreachable(f"{address.location}: {faults.safe_text(text)}", hint=_HINTS.get(number, ""))


def _connection_fault(address: Address, number: int, error: Exception, text: str) -> DatabaseUnreachable:
    if number == _WRONG_PASSWORD and _NO_PASSWORD in text:
        return faults.no_password(address.location)
    if number == _WRONG_PASSWORD:
        return faults.not_let_in(address.location, "or this user may not connect from this host")
    if number == _NO_DATABASE:
        return faults.no_database(address.location)
    if number == _NO_TLS:
        return faults.no_answer(address.location, f"{faults.TLS}: {faults.safe_text(text)}", hint=_TLS)
    cause = getattr(error, "original_exception", None)
    reason = next((phrase for kind, phrase in _SYSTEM if isinstance(cause, kind)), faults.safe_text(text))
    return faults.no_answer(address.location, reason)


def writing_fault(address: Address, error: Exception, relation: str = "") -> CkptError:
    """The error for a change that was not made; the caller rolls the transaction back."""
    number, text = number_and_text(error)
    place = address.location
    if number == 1062:
        return Refused(f"a row of {relation} exists already; nothing was written", hint=_EQUAL_IDS_HINT)
    if number in _DOES_NOT_FIT:
        return Refused(f"{place}: {relation}: {_DOES_NOT_FIT[number]} ({faults.safe_text(text)}); nothing was written")
    if number in _DENIED:
        return faults.may_not_write(place, text)
    if number in _READ_ONLY:
        return faults.read_only(place, text)
    if number == _LOCK_WAIT:
        return Refused(f"{place}: {_LOCKED}; nothing was written", hint=f"try again; {WHO_LOCKS}")
    if number in _BUSY:
        return faults.busy(place)
    if number == 1153:
        return too_long(address)
    if number in GONE:
        return faults.lost_writing(place)
    return Failed(f"{place}: {faults.safe_text(text)}; nothing was written")


def too_long(address: Address, length: int = 0, limit: int = 0) -> Failed:
    """The error for a row that is too long for the server; `length` and `limit` are in bytes, 0 if unknown."""
    numbers = f": {length:,} bytes of {limit:,}" if length else ""
    hint = "max_allowed_packet of the server must be more than twice the longest value"
    return Failed(f"{address.location}: a row is longer than the server takes{numbers}; nothing was written", hint=hint)


def number_and_text(error: Exception) -> tuple[int, str]:
    """The number of an error, and its text on one line. If the connection failed, the text is the system's."""
    number, text = 0, str(error)
    if error.args and isinstance(error.args[0], int):
        number, text = error.args[0], str(error.args[1] if len(error.args) > 1 else "")
    cause = getattr(error, "original_exception", None)
    if isinstance(cause, OSError):
        number = 2026 if isinstance(cause, SSLError) else number
        text = (cause.strerror or str(cause)).partition(" (_ssl")[0]
    return number, faults.one_line(text)
