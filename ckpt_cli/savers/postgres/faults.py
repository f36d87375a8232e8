"""Turns errors of Postgres and libpq into ckpt's own: one line each, with a hint."""

import re
from collections.abc import Callable

from psycopg import DataError, Error, errors

from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed, Refused
from ckpt_cli.savers import faults

_SOCKET = "name a host: postgresql://host/database"
_TLS = "?sslmode= and ?sslrootcert= say how the server must prove itself"
_KINDS: tuple[tuple[str, Callable[[str], DatabaseUnreachable]], ...] = (
    (r"no password supplied", lambda place: faults.no_password(place, "or $PGPASSWORD, or ~/.pgpass")),
    (r"(password|SASL) authentication failed|role \"?[^\"]*\"? does not exist", faults.not_let_in),
    (r'database "?[^"]*"? does not exist', faults.no_database),
    (r"Connection refused", faults.no_answer),
    (r"No such file or directory", lambda place: faults.no_answer(place, "no such socket", hint=_SOCKET)),
    (r"timeout expired", lambda place: faults.no_answer(place, faults.TIMED_OUT)),
    (
        r"could not translate host name|Name or service not known|resolve",
        lambda place: faults.no_answer(place, faults.UNKNOWN_HOST),
    ),
    (r"SSL|certificate", lambda place: faults.no_answer(place, faults.TLS, hint=_TLS)),
)
_POOL_IS_EMPTY = "query_wait_timeout"  # PgBouncer had no free connection to the server, and closes this one
_REASONS = (
    (
        r"too many clients|remaining connection slots|no more connections allowed",
        "the server has no connection left",
        "try again later",
    ),
    (
        r"definition of service|service file",
        "libpq has no such service",
        "services are in ~/.pg_service.conf, or in the file that $PGSERVICEFILE names",
    ),
    (r"no pg_hba.conf entry", "the server doesn't let this machine in", "its pg_hba.conf says who may connect"),
    (
        r"unsupported startup parameter",
        "the pooler in front of the server doesn't take these ?options=",
        "for search_path use ?schema=NAME; for other settings connect to the server itself",
    ),
    (r"starting up|shutting down", "the server isn't ready", "try again"),
    (r"server closed the connection", "the server closed the connection, so it isn't ready", "try again"),
)


_TLS_FILE = re.compile(r"(?:certificate|private key) file \"([^\"]+)\"")
"""A message of libpq's about a file that the URL names (Postgres 17, ``fe-secure-openssl.c: initialize_SSL``)."""


def connection_fault(location: str, error: Error) -> DatabaseUnreachable:
    """The error for a connection that can't be made."""
    text = one_line(error)
    if file := _TLS_FILE.search(text):
        return faults.no_tls_file(location, file[1], text[file.end() :].partition(" Either")[0].strip(" :,"))
    if "no pg_hba.conf entry" not in text:  # messages about pg_hba.conf mention SSL too
        for pattern, fault in _KINDS:
            if re.search(pattern, text):
                return fault(location)
    for pattern, cause, hint in _REASONS:
        if re.search(pattern, text):
            return DatabaseUnreachable(f"{location}: {cause}", hint=hint)
    return DatabaseUnreachable(f"{location}: {faults.safe_text(text)}")


def reading_fault(location: str, error: Error, *, lost: bool) -> DatabaseUnreachable:
    """The error for a statement that failed in a read."""
    if _POOL_IS_EMPTY in str(error):
        return _pool_is_empty(location)
    if lost:
        return faults.lost(location)
    if isinstance(error, errors.QueryCanceled):
        return faults.too_slow(location, "?options=-cstatement_timeout%3DMILLISECONDS waits longer")
    if isinstance(error, errors.InsufficientPrivilege):
        hint = "to read, this user needs USAGE of the schema and SELECT on its tables"
        return faults.may_not_read(location, one_line(error), hint)
    return DatabaseUnreachable(f"{location}: {faults.safe_text(one_line(error))}")


def writing_fault(location: str, error: Error, *, lost: bool) -> CkptError:
    """The error for a transaction that failed; nothing was written."""
    if _POOL_IS_EMPTY in str(error):  # only at the beginning: later the transaction has a connection
        return _pool_is_empty(location)
    if lost:
        return faults.lost_writing(location)
    text = one_line(error)
    if isinstance(error, errors.UniqueViolation):
        return Refused("a row to add exists already; nothing was written", hint="run the command again")
    if isinstance(error, errors.SerializationFailure | errors.DeadlockDetected):
        return faults.busy(location)
    if isinstance(error, errors.LockNotAvailable):
        what = f"{location} is locked by another transaction (an application's, another ckpt's, VACUUM)"
        return Refused(f"{what}; nothing was written", hint=_WHO_LOCKS)
    if isinstance(error, errors.InsufficientPrivilege):
        return faults.may_not_write(location, text, NEEDED_RIGHTS)
    if isinstance(error, errors.ReadOnlySqlTransaction | errors.FeatureNotSupported):
        return faults.read_only(location, text)
    if isinstance(error, DataError):
        return Refused(f"{location} can't hold that: {faults.safe_text(text)}; nothing was written")
    return Failed(f"{location} can't be written: {faults.safe_text(text)}; nothing was written")


_WHO_LOCKS = (
    "try again; SELECT pid, application_name, state FROM pg_stat_activity WHERE pid IN"
    " (SELECT pid FROM pg_locks WHERE granted AND relation IS NOT NULL) names who holds locks"
)


def _pool_is_empty(location: str) -> DatabaseUnreachable:
    return faults.too_slow(location, "the pooler had no free connection; try again")


NEEDED_RIGHTS = (
    "for any change, ckpt asks for SELECT, INSERT, UPDATE and DELETE on each of LangGraph's tables, also those that "
    "the change leaves alone: its undo may need them"
)


def one_line(error: Error) -> str:
    """The server's message on one line, without the position in the statement."""
    return faults.one_line(error.diag.message_primary or str(error))
