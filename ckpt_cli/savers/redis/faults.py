"""What the server and the driver say when something goes wrong, in one line that a person can act on."""

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
def explained(location: str, *, writing: bool = False) -> Iterator[None]:
    """Whatever the driver raises inside becomes an error for people."""
    try:
        yield
    except exceptions.RedisError as error:
        raise _told(location, error, writing) from error
    except exceptions.RedisClusterException as error:  # which the driver keeps apart
        why = _behind(error)
        told = _no_cluster(location, str(error), writing=writing) if why is None else _told(location, why, writing)
        raise told from error
    except OSError as error:
        raise _no_server(location, error) from error


def is_lost(error: Exception) -> bool:
    """Whether a connection broke, so that another try may do."""
    refused = (exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.BusyLoadingError)
    return isinstance(error, exceptions.ConnectionError) and not isinstance(error, refused)


def is_moving(error: BaseException | None) -> bool:
    """Whether a cluster says that a key is on another node, or on its way there."""
    return isinstance(error, exceptions.AskError | exceptions.TryAgainError)


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
    known = {"refused": faults.REFUSED, "name or service": faults.UNKNOWN_HOST, "not known": faults.UNKNOWN_HOST}
    known |= {"ssl": faults.TLS, "certificate": faults.TLS, "timed out": faults.TIMED_OUT, "timeout": faults.TIMED_OUT}
    why = next((said for word, said in known.items() if word in text), "")
    return faults.no_answer(location, why) if why else faults.lost(location)


def _behind(error: BaseException | None) -> exceptions.RedisError | None:
    """What a server said, which the driver takes for a server without a cluster."""
    while error is not None and not isinstance(error, exceptions.RedisError):
        error = error.__cause__ or error.__context__
    return error


def _no_cluster(location: str, text: str, *, writing: bool) -> CkptError:
    """Some keys are out of reach, so no list of what there is would be whole."""
    message = f"{location}: the cluster doesn't serve all keys ({faults.safe_text(text)})"
    if writing:
        return Failed(message, hint="`ckpt operations --settle` finds out what was written")
    return DatabaseUnreachable(message, hint="is each of its nodes running?")


def _timed_out(location: str, text: str) -> DatabaseUnreachable:
    """The driver says the same of both, but for one word."""
    if "connecting" in text.lower():
        return faults.no_answer(location, faults.TIMED_OUT)
    return faults.too_slow(location, "?timeout=SECONDS waits longer")
