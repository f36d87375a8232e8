"""What the server and the driver say when something goes wrong, in one line that a person can act on."""

from collections.abc import Iterator
from contextlib import contextmanager

from redis import exceptions

from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed, Refused

_LOCKED_OUT = ("wrongpass", "noauth", "invalid password", "invalid username", "without any password", "auth called")
_READONLY = ("READONLY", "MISCONF", "NOREPLICAS")


@contextmanager
def explained(location: str, *, writing: bool = False) -> Iterator[None]:
    """Whatever the driver raises inside becomes an error for people."""
    try:
        yield
    except exceptions.RedisError as error:
        raise _told(location, error, writing) from error
    except OSError as error:
        raise _no_server(location, error) from error


def is_lost(error: Exception) -> bool:
    """Whether a connection broke, so that another try may do."""
    refused = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.BusyLoadingError)
    return isinstance(error, exceptions.ConnectionError) and not isinstance(error, refused)


def is_other_type(error: Exception) -> bool:
    """Whether a key holds something else than was asked for."""
    return "wrong" in str(error).lower() and "type" in str(error).lower()


def may_not(error: Exception) -> bool:
    """Whether the server has the command but not for this user."""
    return isinstance(error, exceptions.NoPermissionError) or str(error).startswith("NOPERM")


def is_unknown(error: Exception) -> bool:
    """Whether the server doesn't have the command, or not for scripts and users like this."""
    return may_not(error) or "unknown command" in str(error).lower()


def _told(location: str, error: exceptions.RedisError, writing: bool) -> CkptError:
    text = _line(str(error))
    if isinstance(error, exceptions.AuthenticationError) or any(word in text.lower() for word in _LOCKED_OUT):
        hint = "redis://user:password@host:port/0, special characters %-escaped"
        return DatabaseUnreachable(f"{location}: the server refused user or password", hint=hint)
    if may_not(error):
        if writing:
            return Refused(f"{location}: this user may not write here; nothing was written")
        return DatabaseUnreachable(f"{location}: this user may not do that ({text})", hint="name a user who may read")
    if isinstance(error, exceptions.WatchError) and "ConnectionError" not in text:
        return Refused(f"{location}: somebody else wrote the same keys; nothing was written", hint="try again")
    if isinstance(error, exceptions.TimeoutError):
        return DatabaseUnreachable(f"{location}: no answer in time", hint="?connect_timeout= and ?timeout= wait longer")
    if isinstance(error, exceptions.BusyLoadingError):
        return DatabaseUnreachable(f"{location}: the server is still loading its data", hint="try again")
    if isinstance(error, exceptions.ConnectionError | exceptions.WatchError):
        return _no_server(location, error, writing=writing)
    if "DB index is out of range" in text:
        return DatabaseUnreachable(f"{location}: the server has no database of that number")
    if writing and (text.startswith(_READONLY) or isinstance(error, exceptions.ReadOnlyError)):
        return Refused(f"{location}: this server takes no writes ({text}); nothing was written")
    return Failed(f"{location}: {text}")


def _no_server(location: str, error: Exception, *, writing: bool = False) -> CkptError:
    text = str(error).lower()
    known = {"refused": "connection refused", "name or service": "unknown host", "not known": "unknown host"}
    known |= {"ssl": "TLS failed", "certificate": "TLS failed", "timed out": "timed out", "timeout": "timed out"}
    why = next((said for word, said in known.items() if word in text), "the connection was lost")
    told = f"no server answers ({why})" if why != "the connection was lost" else why
    told += "; `ckpt operations` tells what was written" if writing else ""
    return DatabaseUnreachable(f"{location}: {told}", hint="is it running, and are host and port right?")


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300]
