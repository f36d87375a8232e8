"""Errors about a database, in the same words for each backend: unreachable, login, TLS, rights, tables.

Each is one line with the location, and a hint. A location holds neither user nor password, and a server's own words
pass through `safe_text`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ckpt_cli.errors import DatabaseUnreachable, Failed, NoCheckpoints, PayloadCorrupt, Refused
from ckpt_cli.masking import hide
from ckpt_cli.model import LOST, Name, Payload, in_words

REFUSED = "connection refused"
UNKNOWN_HOST = "unknown host"
TIMED_OUT = "timed out"
TLS = "TLS failed"

_HINTS = {
    REFUSED: "is it running, and are host and port right?",
    UNKNOWN_HOST: "is the host's name right?",
    TIMED_OUT: "is it running, and are host and port right? ?connect_timeout=SECONDS waits longer",
    TLS: "does the server speak TLS, and is its certificate one that this machine trusts?",
}

_LONGEST = 300  # characters of a server's words


class ConnectionLost(DatabaseUnreachable):
    """The connection broke during a read, which can be repeated on a new connection."""


class LostWriting(Failed):
    """The connection broke during a write, which may or may not have happened."""


def must_not_be_lost(payload: Payload, words: str) -> None:
    """Check that a payload to write holds a value, and not the reason why the value couldn't be read.

    Raises:
        PayloadCorrupt: it holds only the reason; the message names the record by `words`.
    """
    if payload.tag == LOST:
        problem = payload.data.decode("utf-8", "replace")
        raise PayloadCorrupt(f"{words} can't be carried over: {problem}; nothing was written")


def no_answer(location: str, cause: str = REFUSED, *, hint: str = "") -> DatabaseUnreachable:
    """No server answers; `cause` is one of this module's constants or the system's words."""
    return DatabaseUnreachable(f"{location}: no server answers ({cause})", hint=hint or _HINTS.get(cause, ""))


def too_slow(location: str, hint: str = "try again when the server is less busy") -> DatabaseUnreachable:
    """The server took the connection but doesn't answer in time."""
    return DatabaseUnreachable(f"{location}: no answer in time", hint=hint)


def lost(location: str) -> ConnectionLost:
    """An open connection broke during a read."""
    return ConnectionLost(f"{location}: the connection was lost", hint="try again")


def lost_writing(location: str) -> LostWriting:
    """An open connection broke during a write."""
    hint = "`ckpt operations --settle` finds out whether it was written"
    return LostWriting(f"{location}: the connection was lost while writing", hint=hint)


@contextmanager
def unless_sent(location: str, is_sent: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Report a connection that is lost inside this block as lost during a read, unless a write was sent on it.

    Raises:
        ConnectionLost: the connection broke before a write was sent.
    """
    try:
        yield
    except LostWriting as error:
        if is_sent():
            raise
        raise lost(location) from error.__cause__


def no_password(location: str, more: str = "") -> DatabaseUnreachable:
    """The server needs a password, and the URL has none."""
    hint = "the URL holds it, as in kind://user:password@host/database"
    return DatabaseUnreachable(
        f"{location}: the server asks for a password, and none was given", hint=f"{hint}{', ' if more else ''}{more}"
    )


def not_let_in(location: str, more: str = "") -> DatabaseUnreachable:
    """The user or the password is wrong; servers don't say which."""
    hint = "check both; in a URL their @ : / ? # % are written %40 %3A %2F %3F %23 %25"
    return DatabaseUnreachable(f"{location}: wrong user or password", hint=f"{hint}{'; ' if more else ''}{more}")


def no_database(location: str, what: str = "database", hint: str = "") -> DatabaseUnreachable:
    """The server has no database (or table) with that name."""
    return DatabaseUnreachable(f"{location}: no such {what}", hint=hint or "check the name behind the last /")


def no_checkpoints(location: str, hint: str, maker: str = "") -> NoCheckpoints:
    """The database exists but isn't LangGraph's; the hint lists its contents or other places to look.

    `maker` is what of LangGraph's own saver makes its tables in such a database.
    """
    return NoCheckpoints(f"{location}: no LangGraph checkpoints in it", hint=hint, maker=maker)


def no_table(location: str, name: str, what: str) -> DatabaseUnreachable:
    """A view or the like has the name of one of LangGraph's tables; reading it could run any code."""
    hint = "ckpt reads only real tables: copy its rows into one"
    return DatabaseUnreachable(f"{location}: {name} is {what}, not a table; it was not read", hint=hint)


def newer(version: object, known: object) -> str:
    """A phrase for people: why tables of an unknown version are read but not changed."""
    return f"its tables are newer (migration {version}) than ckpt knows ({known})"


def may_not_read(location: str, words: str = "", hint: str = "name a user who may read") -> DatabaseUnreachable:
    """The user may connect but not read."""
    return DatabaseUnreachable(f"{location}: this user may not read it{_why(words)}", hint=hint)


def may_not_write(location: str, words: str = "", hint: str = "name a user who may write") -> Refused:
    """The user may read but not write."""
    return Refused(f"{location}: this user may not write it{_why(words)}; nothing was written", hint=hint)


def read_only(location: str, words: str = "") -> Refused:
    """The server takes no writes from any user."""
    hint = "if it is a replica, name the primary server"
    return Refused(f"{location}: this server takes no writes{_why(words)}; nothing was written", hint=hint)


def no_tls_file(location: str, path: str, why: str) -> DatabaseUnreachable:
    """A certificate or key file named in the URL can't be used."""
    return DatabaseUnreachable(f"{location}: can't use the TLS file {path}{_why(why)}")


def not_encrypted(location: str) -> DatabaseUnreachable:
    """The URL asks for TLS, but the connection would not be encrypted."""
    hint = "does the server speak TLS? nothing is read or written over a connection that anybody can read"
    return DatabaseUnreachable(f"{location}: the connection would not be encrypted, as the URL asks", hint=hint)


def busy(location: str) -> Refused:
    """Another program has locked the rows to write, or wrote them first."""
    return Refused(f"{location}: somebody else is writing there; nothing was written", hint="try again")


def already_exists(name: Name) -> Refused:
    """A record to add exists already."""
    return Refused(f"{in_words(name)} exists already; nothing was written", hint="run the command again")


def no_longer_exists(name: Name) -> Refused:
    """A record to replace or remove no longer exists."""
    return Refused(f"{in_words(name)} is gone; nothing was written", hint="run the command again")


def one_line(words: str) -> str:
    """A server's own words on one line, without control characters; for comparisons. People see `safe_text`."""
    return " ".join("".join(c if c.isprintable() else " " for c in words).split())[:_LONGEST]


def safe_text(words: str) -> str:
    """A server's or a driver's own words on one line, without what may be a secret."""
    return one_line(hide(words))


def _why(words: str) -> str:
    return f" ({safe_text(words)})" if words else ""
