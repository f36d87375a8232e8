"""What a server's or the driver's error means to a person: one line, where it happened, and what to do.

Error numbers are those of MySQL 8.0 (``share/messages_to_clients.txt``) and MariaDB 10.11 (``mysqld_error.h``); the
driver's own begin at 2000 (PyMySQL 1.2, ``constants/CR.py``).
"""

from socket import gaierror
from ssl import SSLError

from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed, Refused
from ckpt_cli.savers import faults
from ckpt_cli.savers.mysql.address import Address

GONE = frozenset({0, 1053, 1927, 2006, 2013, 2055, 4031})
"""Shut down, killed, or the wire is cut; 0 is PyMySQL's word for a closed connection."""

_WRONG_PASSWORD, _NO_DATABASE, _NO_TLS = 1045, 1049, 2026
_WITHOUT = "using password: NO"
_CONNECTING = frozenset({_WRONG_PASSWORD, _NO_DATABASE, _NO_TLS, 2002, 2003})
_TOO_LONG = frozenset({1317, 1969, 3024})
_DENIED = frozenset({1044, 1142, 1143, 1227, 1370})
_READ_ONLY = frozenset({1290, 1792, 1836, 3032})
_BUSY = frozenset({1205, 1213, 3572})
_NO_FIT = {
    1264: "a number is out of range",
    1366: "text has characters the column can't hold",
    1406: "text is longer than its column",
    3140: "the server doesn't take it as JSON",
    3988: "text has characters the column can't hold",
    4025: "the server doesn't take it as JSON",
}

_CLASH = "ids that differ in case, accents or trailing spaces may be one id to this database's collation"

_HINTS = {
    1040: "the server has no connection left; try again",
    1044: "this user may not open the database",
    1129: "the server blocks this host after too many failed connections: `mysqladmin flush-hosts`",
    1130: "the server takes no connections from this host",
    1698: "this user logs in through the server's own machine only, without a password",
}


_TLS = "ssl_mode=preferred connects with or without TLS, ssl_ca=FILE names whom to trust"
_SYSTEM = ((ConnectionRefusedError, faults.REFUSED), (TimeoutError, faults.TIMED_OUT), (gaierror, faults.UNKNOWN_HOST))


def reading_fault(address: Address, error: Exception) -> DatabaseUnreachable:
    """Why a database can't be opened or read."""
    number, words = number_and_text(error)
    if number in _CONNECTING:
        return _not_connected(address, number, error, words)
    if number in _TOO_LONG or (number in GONE and "timed out" in words):
        hint = f"?statement_timeout=SECONDS waits longer than {address.statement_timeout}, ?connect_timeout= than"
        return faults.too_slow(address.location, f"{hint} {address.connect_timeout} while connecting")
    if number in GONE:
        return faults.lost(address.location)
    if isinstance(error, RuntimeError):
        return DatabaseUnreachable(
            f"{address.location}: {faults.safe_text(words)}", hint="pip install 'PyMySQL[rsa]', or use TLS"
        )
    if number in _DENIED:
        return faults.may_not_read(address.location, words, "looking wants SELECT on LangGraph's tables")
    return DatabaseUnreachable(f"{address.location}: {faults.safe_text(words)}", hint=_HINTS.get(number, ""))


def _not_connected(address: Address, number: int, error: Exception, words: str) -> DatabaseUnreachable:
    if number == _WRONG_PASSWORD and _WITHOUT in words:
        return faults.no_password(address.location)
    if number == _WRONG_PASSWORD:
        return faults.not_let_in(address.location, "or this user may not come from this host")
    if number == _NO_DATABASE:
        return faults.no_database(address.location)
    if number == _NO_TLS:
        return faults.no_answer(address.location, f"{faults.TLS}: {faults.safe_text(words)}", hint=_TLS)
    cause = getattr(error, "original_exception", None)
    known = next((word for kind, word in _SYSTEM if isinstance(cause, kind)), faults.safe_text(words))
    return faults.no_answer(address.location, known)


def writing_fault(address: Address, error: Exception, relation: str = "") -> CkptError:
    """Why a change was not made; the transaction is rolled back by whoever asks."""
    number, words = number_and_text(error)
    place = address.location
    if number == 1062:
        return Refused(f"a row of {relation} exists already; nothing was written", hint=_CLASH)
    if number in _NO_FIT:
        return Refused(f"{place}: {relation}: {_NO_FIT[number]} ({faults.safe_text(words)}); nothing was written")
    if number in _DENIED:
        return faults.may_not_write(place, words)
    if number in _READ_ONLY:
        return faults.read_only(place, words)
    if number in _BUSY:
        return faults.busy(place)
    if number == 1153:
        return too_long(address)
    if number in GONE:
        return faults.lost_writing(place)
    return Failed(f"{place}: {faults.safe_text(words)}; nothing was written")


def too_long(address: Address, length: int = 0, most: int = 0) -> Failed:
    """A row that the server would not take; where it is known, how long its statement is and may be, in bytes."""
    how = f": {length:,} bytes of {most:,}" if length else ""
    hint = "max_allowed_packet of the server must be more than twice the longest value"
    return Failed(f"{address.location}: a row is longer than the server takes{how}; nothing was written", hint=hint)


def number_and_text(error: Exception) -> tuple[int, str]:
    """The number of an error and its words, on one line; a failure to connect says only what the system said."""
    number, words = 0, str(error)
    if error.args and isinstance(error.args[0], int):
        number, words = error.args[0], str(error.args[1] if len(error.args) > 1 else "")
    cause = getattr(error, "original_exception", None)
    if isinstance(cause, OSError):
        number = 2026 if isinstance(cause, SSLError) else number
        words = (cause.strerror or str(cause)).partition(" (_ssl")[0]
    return number, faults.one_line(words)
