"""What Postgres says when it says no, in a line for the person in front of it."""

import re

from psycopg import DataError, Error, errors

from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed, Refused

_CAUSES = (
    (r"password authentication failed|no password supplied", "wrong password or user", "check user and password"),
    (r'database "?[^"]*"? does not exist', "no such database", "check the name behind the last /"),
    (r'role "?[^"]*"? does not exist', "no such user", "check the name before the :"),
    (r"Connection refused", "nobody listens there", "check host and port, and whether the server runs"),
    (r"No such file or directory", "nobody listens there", "name a host: postgresql://host/database"),
    (r"timeout expired", "no answer in time", "?connect_timeout=SECONDS waits longer"),
    (r"could not translate host name|Name or service not known|resolve", "no such host", "check the host's name"),
    (r"too many clients|remaining connection slots", "the server has no connection left", "try again later"),
    (r"no pg_hba.conf entry", "the server doesn't let this machine in", "its pg_hba.conf says who may connect"),
    (r"SSL|certificate", "TLS failed", "?sslmode= and ?sslrootcert= say what is asked of the server"),
    (r"starting up|shutting down", "the server isn't ready", "try again"),
)


class ConnectionLost(DatabaseUnreachable):
    """The server went away in the middle."""


def no_connection(location: str, error: Error) -> DatabaseUnreachable:
    """Why nobody answers, or won't."""
    said = one_line(error)
    for pattern, cause, hint in _CAUSES:
        if re.search(pattern, said):
            return DatabaseUnreachable(f"{location}: {cause}", hint=hint)
    return DatabaseUnreachable(f"{location}: {said}")


def unread(location: str, error: Error, *, lost: bool) -> DatabaseUnreachable:
    """Why a statement that reads gave nothing."""
    if lost:
        return ConnectionLost(f"{location}: the connection was lost", hint="try again")
    if isinstance(error, errors.QueryCanceled):
        hint = "?options=-cstatement_timeout%3DMILLISECONDS waits longer"
        return DatabaseUnreachable(f"{location}: no answer in time ({one_line(error)})", hint=hint)
    if isinstance(error, errors.InsufficientPrivilege):
        hint = "looking wants USAGE of the schema and SELECT on its tables"
        return DatabaseUnreachable(f"{location}: {one_line(error)}", hint=hint)
    return DatabaseUnreachable(f"{location}: {one_line(error)}")


def unwritten(location: str, error: Error, *, lost: bool) -> CkptError:
    """Why a transaction wasn't, with nothing written."""
    if lost:
        what = f"{location}: the connection was lost while writing"
        return Failed(what, hint="`ckpt operations --settle` finds out whether it was written")
    said = one_line(error)
    if isinstance(error, errors.UniqueViolation):
        return Refused("a row to add exists already; nothing was written", hint="run the command again")
    if isinstance(error, errors.SerializationFailure | errors.DeadlockDetected):
        return Refused("somebody else wrote the same rows; nothing was written", hint="run the command again")
    if isinstance(error, errors.LockNotAvailable):
        what = f"{location} is locked by another ckpt, by VACUUM or a change of its tables"
        return Refused(f"{what}; nothing was written", hint="try again")
    if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction | errors.FeatureNotSupported):
        return Refused(f"{location} can't be written: {said}; nothing was written", hint=WANTED)
    if isinstance(error, DataError):
        return Refused(f"{location} can't hold that: {said}; nothing was written")
    return Failed(f"{location} can't be written: {said}; nothing was written")


WANTED = "changing wants SELECT, INSERT, UPDATE and DELETE on LangGraph's tables, and a server that isn't a replica"


def one_line(error: Error) -> str:
    """What the server said, without where in the statement."""
    said = error.diag.message_primary or str(error)
    return re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in said)).strip()
