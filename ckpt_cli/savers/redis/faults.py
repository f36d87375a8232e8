"""Translates errors of Redis servers and their driver into ckpt's errors: one line, and what to do about it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from redis import exceptions

from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed
from ckpt_cli.savers import faults

_LOCKED_OUT = ("wrongpass", "noauth", "invalid password", "invalid username", "without any password", "auth called")
_NODE = re.compile(r"connecting to ([^\s]+:\d+)\.")
_READONLY = ("READONLY", "MISCONF", "NOREPLICAS")


@contextmanager
def translate_errors(location: str, *, writing: bool = False) -> Iterator[None]:
    """Turn the driver's errors, raised inside this block, into ckpt's own."""
    try:
        yield
    except exceptions.RedisError as error:
        raise _translated(location, error, writing) from error
    except exceptions.RedisClusterException as error:  # no subclass of RedisError
        cause = _cause(error)
        if cause is None:
            raise _no_cluster(location, str(error), writing=writing) from error
        raise _translated(location, cause, writing) from error
    except OSError as error:
        raise _no_server(location, error) from error


def is_lost(error: Exception) -> bool:
    """Whether a connection broke, so that another try may succeed."""
    refused = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.BusyLoadingError)
    return isinstance(error, exceptions.ConnectionError) and not isinstance(error, refused)


def is_moving(error: BaseException | None) -> bool:
    """Whether a cluster says that a key has moved to another node, or is moving."""
    return isinstance(error, exceptions.AskError | exceptions.TryAgainError)


def is_other_type(error: Exception) -> bool:
    """Whether a key holds another type than the command needs."""
    return "wrong" in str(error).lower() and "type" in str(error).lower()


def may_not(error: Exception) -> bool:
    """Whether the server denies this user the command."""
    return isinstance(error, exceptions.NoPermissionError) or str(error).startswith("NOPERM")


def is_unknown(error: Exception) -> bool:
    """Whether the server doesn't have the command, or denies it to this user or in scripts."""
    return may_not(error) or "unknown command" in str(error).lower()


def is_unsortable(error: Exception) -> bool:
    """Whether the index can't sort by a field that holds texts and other values (RediSearch 2.10)."""
    return "error converting string" in str(error).lower()


def _translated(location: str, error: exceptions.RedisError, writing: bool) -> CkptError:
    text = faults.one_line(str(error))
    if text.startswith("NOAUTH") or text == "Authentication required.":
        return faults.no_password(location)
    if isinstance(error, exceptions.AuthenticationError) or any(word in text.lower() for word in _LOCKED_OUT):
        return faults.not_let_in(location)
    if may_not(error):
        if writing:
            return faults.may_not_write(location, text)
        return faults.may_not_read(location, text)
    if isinstance(error, exceptions.WatchError) and "ConnectionError" not in text:
        return faults.busy(location)
    if isinstance(error, exceptions.ClusterError):
        return _no_cluster(location, text, writing=writing)
    if is_moving(error):
        return Failed(f"{location}: the cluster is moving keys to another node", hint="try again when it has")
    if isinstance(error, exceptions.TimeoutError):
        return _timed_out(location, text)
    if isinstance(error, exceptions.BusyLoadingError):
        return DatabaseUnreachable(f"{location}: the server is still loading its data", hint="try again")
    if isinstance(error, exceptions.ConnectionError | exceptions.WatchError):
        return _no_server(location, error, writing=writing)
    if "DB index is out of range" in text:
        return faults.no_database(location)
    if writing and (text.startswith(_READONLY) or isinstance(error, exceptions.ReadOnlyError)):
        return faults.read_only(location, text)
    return Failed(f"{location}: {faults.safe_text(text)}")


def _no_server(location: str, error: Exception, *, writing: bool = False) -> CkptError:
    text = str(error).lower()
    if writing:
        return faults.lost_writing(location)
    node = _NODE.search(text)
    if node is not None and node[1] not in location:
        location = f"{location}, node {node[1]}"
    causes = {"refused": faults.REFUSED, "name or service": faults.UNKNOWN_HOST, "not known": faults.UNKNOWN_HOST}
    causes |= {"ssl": faults.TLS, "certificate": faults.TLS, "timed out": faults.TIMED_OUT, "timeout": faults.TIMED_OUT}
    why = next((cause for word, cause in causes.items() if word in text), "")
    return faults.no_answer(location, why) if why else faults.lost(location)


def _cause(error: BaseException | None) -> exceptions.RedisError | None:
    """The server's own error that caused the driver's "no cluster"; None if there is none."""
    while error is not None and not isinstance(error, exceptions.RedisError):
        error = error.__cause__ or error.__context__
    return error


def _no_cluster(location: str, text: str, *, writing: bool) -> CkptError:
    """The error for a cluster that doesn't serve some of its keys, so that lists would be incomplete."""
    message = f"{location}: the cluster doesn't serve all keys ({faults.safe_text(text)})"
    if writing:
        return Failed(message, hint="`ckpt operations --settle` finds out what was written")
    return DatabaseUnreachable(message, hint="is each of its nodes running?")


def _timed_out(location: str, text: str) -> DatabaseUnreachable:
    """The error for a connection or an answer that didn't come in time; one word in the driver's text shows which."""
    if "connecting" in text.lower():
        return faults.no_answer(location, faults.TIMED_OUT)
    return faults.too_slow(location, "?timeout=SECONDS waits longer")
