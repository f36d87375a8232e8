"""What the server and the driver say when something goes wrong, in one line that a person can act on.

The codes are those of MongoDB's ``error_codes.yml``.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pymongo import errors

from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed, Refused

AUTHENTICATION = (18, 8000)
UNAUTHORIZED = 13
CURSOR_NOT_FOUND = 43
_TIMED_OUT = (50, 262)
_NOT_WRITABLE = (10107, 13435, 10058)
_CONFLICT = (112, 251, 244)
_FULL = 14031
_SNAPSHOT_OLD = (239, 246)


@contextmanager
def explained(location: str, *, writing: bool = False) -> Iterator[None]:
    """Whatever the driver raises inside becomes an error for people."""
    try:
        yield
    except errors.PyMongoError as error:
        raise _told(location, error, writing) from error


def is_lost(error: errors.PyMongoError) -> bool:
    """Whether a connection broke, or the server forgot a cursor, so that another try may do."""
    if isinstance(error, errors.AutoReconnect):
        return not isinstance(error, errors.NetworkTimeout | errors.ServerSelectionTimeoutError)
    return isinstance(error, errors.OperationFailure) and error.code == CURSOR_NOT_FOUND


def _told(location: str, error: errors.PyMongoError, writing: bool) -> CkptError:
    if isinstance(error, errors.OperationFailure):
        return _server_said(location, error, writing)
    if isinstance(error, errors.ServerSelectionTimeoutError):
        hint = "is it running, and are host and port right? ?connect_timeout=SECONDS waits longer"
        return DatabaseUnreachable(f"{location}: no server answers ({_reason(error)})", hint=hint)
    if isinstance(error, errors.NetworkTimeout):
        return DatabaseUnreachable(f"{location}: no answer in time", hint="?socketTimeoutMS= waits longer")
    if isinstance(error, errors.ConnectionFailure):
        told = "the connection was lost" + ("; `ckpt operations` tells what was written" if writing else "")
        return DatabaseUnreachable(f"{location}: {told}", hint="run the command again")
    return Failed(f"{location}: {_line(str(error))}")


def _server_said(location: str, error: errors.OperationFailure, writing: bool) -> CkptError:
    details: Mapping[str, Any] = error.details or {}
    first = next(iter(details.get("writeErrors", [])), details)  # the error itself would repeat what was written
    code = first.get("code", error.code)
    if code in AUTHENTICATION:
        hint = "check user and password; ?authSource=NAME says which database knows the user"
        return DatabaseUnreachable(f"{location}: the server refused user or password", hint=hint)
    if code == UNAUTHORIZED or code in _NOT_WRITABLE:
        why = "this user may not do that" if code == UNAUTHORIZED else "this server takes no writes"
        if writing:
            return Refused(f"{location}: {why}; nothing was written")
        return DatabaseUnreachable(f"{location}: {why}", hint="name a user who may read this database")
    if code in _CONFLICT:
        return Refused(f"{location}: somebody else wrote the same documents; nothing was written", hint="try again")
    if code in _TIMED_OUT:
        return DatabaseUnreachable(f"{location}: no answer in time", hint="try again when the server is less busy")
    if code in _SNAPSHOT_OLD:
        return Failed(f"{location}: this took longer than the server keeps the past", hint="ask for less at once")
    what = "the disk of the server is full" if code == _FULL else _line(str(first.get("errmsg", "")))
    return Failed(f"{location}: {what}")


def _reason(error: errors.ServerSelectionTimeoutError) -> str:
    text = str(error).lower()
    known = {"refused": "connection refused", "name or service": "unknown host", "nodename": "unknown host"}
    known |= {"no primary": "no primary", "ssl": "TLS failed", "timed out": "timed out", "no replica": "no such member"}
    return next((said for word, said in known.items() if word in text), "timed out")


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300]
