"""Translates errors of MongoDB servers and their driver into ckpt's errors: one line, and what to do about it.

The codes are those of MongoDB's ``error_codes.yml``.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pymongo import errors

from ckpt_cli.errors import CkptError, Failed
from ckpt_cli.savers import faults

AUTHENTICATION = (18, 8000)
UNAUTHORIZED = 13
CURSOR_NOT_FOUND = 43
_TIMED_OUT = (50, 262)
_NOT_WRITABLE = (10107, 13435, 10058)
_CONFLICT = (112, 251, 244)
_FULL = 14031
_SNAPSHOT_OLD = (239, 246)


@contextmanager
def translate_errors(location: str, *, writing: bool = False) -> Iterator[None]:
    """Turn the driver's errors, raised inside this block, into ckpt's own."""
    try:
        yield
    except errors.PyMongoError as error:
        raise _translated(location, error, writing) from error


def is_lost(error: errors.PyMongoError) -> bool:
    """Whether a connection broke, or the server forgot a cursor, so that another try may succeed."""
    if isinstance(error, errors.AutoReconnect):
        return not isinstance(error, errors.NetworkTimeout | errors.ServerSelectionTimeoutError)
    return isinstance(error, errors.OperationFailure) and error.code == CURSOR_NOT_FOUND


def _translated(location: str, error: errors.PyMongoError, writing: bool) -> CkptError:
    if isinstance(error, errors.OperationFailure):
        return _server_error(location, error, writing)
    if isinstance(error, errors.ServerSelectionTimeoutError):
        return faults.lost_writing(location) if writing else faults.no_answer(location, _reason(error))
    if isinstance(error, errors.NetworkTimeout):
        return faults.too_slow(location, "?socketTimeoutMS=MILLISECONDS waits longer")
    if isinstance(error, errors.ConnectionFailure):
        return faults.lost_writing(location) if writing else faults.lost(location)
    return Failed(f"{location}: {faults.safe_text(str(error))}")


def _server_error(location: str, error: errors.OperationFailure, writing: bool) -> CkptError:
    details: Mapping[str, Any] = error.details or {}
    first = next(iter(details.get("writeErrors", [])), details)  # the error's own text would repeat the written values
    code = first.get("code", error.code)
    if code in AUTHENTICATION:
        return faults.not_let_in(location, "?authSource=NAME says which database knows the user")
    if code == UNAUTHORIZED and "requires authentication" in str(first.get("errmsg", "")):
        return faults.no_password(location)
    if code == UNAUTHORIZED:
        return faults.may_not_write(location) if writing else faults.may_not_read(location)
    if code in _NOT_WRITABLE:
        return faults.read_only(location) if writing else faults.no_answer(location, "no primary")
    if code in _CONFLICT:
        return faults.busy(location)
    if code in _TIMED_OUT:
        return faults.too_slow(location)
    if code in _SNAPSHOT_OLD:
        return Failed(f"{location}: this took longer than the server keeps a snapshot", hint="ask for less at once")
    what = "the disk of the server is full" if code == _FULL else faults.safe_text(str(first.get("errmsg", "")))
    return Failed(f"{location}: {what}")


def _reason(error: errors.ServerSelectionTimeoutError) -> str:
    text = str(error).lower()
    causes = {"refused": faults.REFUSED, "name or service": faults.UNKNOWN_HOST, "nodename": faults.UNKNOWN_HOST}
    causes |= {"no primary": "no primary", "ssl": faults.TLS, "timed out": faults.TIMED_OUT, "no replica": "no member"}
    return next((cause for word, cause in causes.items() if word in text), faults.TIMED_OUT)
