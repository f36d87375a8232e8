"""The connection: moments on one snapshot, transactions for which other ckpts wait, errors as ckpt's own.

Nothing outlives a transaction: settings are LOCAL, cursors close at its end, no statement is prepared (except on a
direct connection, see `query_each` and `run_alone`). So this module also works through a pooler that lends a connection
for one transaction at a time.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar, cast

import psycopg
from psycopg import Error
from psycopg.pq import TransactionStatus

from ckpt_cli import lock_waits
from ckpt_cli.errors import DatabaseDamaged, Refused
from ckpt_cli.model import Scalar
from ckpt_cli.savers.faults import ConnectionLost, LostWriting, not_encrypted
from ckpt_cli.savers.postgres.address import Address
from ckpt_cli.savers.postgres.faults import connection_fault, reading_fault, writing_fault
from ckpt_cli.savers.postgres.lock_holders import waiting_line
from ckpt_cli.savers.postgres.result_pages import Parameters, ResultPages
from ckpt_cli.savers.sql.engine import Query, ResultRow

T = TypeVar("T")

_STATEMENT_TIMEOUT = "5min"
_LOCK_TIMEOUT = "5s"
_ENCRYPTED = ("require", "verify-ca", "verify-full")
IF_ASKED = 1 << 30  # uses of a statement before psycopg prepares it by itself

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # else its warnings, which name hosts, go to stderr

_MOMENT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_TRANSACTION = f"BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'"


class Connection:
    """A connection that is made again if it was lost, between two moments or during a moment."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._driver: psycopg.Connection[ResultRow] | None = None
        self._in_moment = False
        self._pages: ResultPages  # of the open moment
        self._writing = False  # whether the open moment is a transaction that may write
        self._sent = False  # whether that transaction has sent a change
        self._is_direct: bool | None = None  # whether no pooler is between; None if unknown

    @property
    def driver(self) -> psycopg.Connection[ResultRow]:
        """The driver's open connection.

        Raises:
            DatabaseUnreachable: the server can't be reached.
        """
        if self._driver is None or self._driver.closed:
            try:
                parameters = cast(dict[str, Any], self.address.parameters)
                self._is_direct = None
                self._driver = psycopg.connect(autocommit=True, prepare_threshold=None, **parameters)
            except Error as error:
                raise connection_fault(self.address.location, error) from None
            must_be_encrypted(self._driver, self.address.location)
        return self._driver

    def query(self, sql: str, parameters: Parameters = (), *, stream: bool = False) -> Iterator[ResultRow]:
        """The rows of one statement; see `sql.engine.Engine.query`."""
        if not self._in_moment:
            yield from self.moment(lambda: list(self.query(sql, parameters)))
        elif stream:
            with self._translate_errors():
                yield from self._pages.stream(sql, parameters)
        else:
            yield from self._rows(sql, parameters)

    def query_each(self, queries: Iterable[Query]) -> Iterator[list[ResultRow]]:
        """The rows of each of these statements, in an open moment; see `sql.engine.Engine.query_each`.

        On a direct connection the statements are prepared: to plan them each time is a tenth of the server's work.
        """
        with self._translate_errors():
            yield from self._pages.each(queries, prepare=self._may_prepare())

    @property
    def works_ahead(self) -> bool:
        """Whether `query_each` may be called. A transaction may COPY, which doesn't work in its pipeline mode."""
        return self._in_moment and not self._writing

    def moment(self, read: Callable[[], T]) -> T:
        """Run `read` on one read-only snapshot; if the connection is lost, run `read` again on a new one."""
        if self._in_moment:
            return read()
        try:
            return self._run_within(self._begin(_MOMENT), read)
        except ConnectionLost:
            self.close()
        return self._run_within(self._begin(_MOMENT), read)

    def transaction(self, tables: str, work: Callable[[], T]) -> T:
        """Run `work`, which may write, on one snapshot, taken when no other ckpt is writing these tables.

        The lock conflicts with itself, with VACUUM and with changes of the table, never with applications that read or
        write rows. While the lock is held, nobody can make a trigger. LOCK takes no snapshot, so the snapshot taken
        after LOCK includes the changes of the other ckpt (Postgres 15, "LOCK", 13.3.1).
        """
        if self._in_moment:
            raise RuntimeError("a transaction doesn't begin inside a moment")
        self._writing, self._sent = True, False
        begin = f"{self._begin(_TRANSACTION)}; LOCK TABLE {tables} IN SHARE UPDATE EXCLUSIVE MODE"
        has_begun = False

        def run() -> T:
            nonlocal has_begun
            has_begun = True
            return work()

        try:
            return self._run_within(begin, run)
        except ConnectionLost:
            if has_begun:
                raise
            self.close()  # it was lost while it was idle
            return self._run_within(begin, run)
        finally:
            self._writing = False

    def run_many(self, sql: str, parameters: Sequence[Sequence[Scalar]]) -> int:
        """Run one writing statement for many rows, in one round trip; returns the number of rows that it changed."""
        self._sent = True
        with self._translate_errors(), self.driver.cursor() as cursor:
            cursor.executemany(sql, parameters)
            return cursor.rowcount

    def run(self, sql: str) -> None:
        """Run a statement that gives no rows, in the open transaction."""
        with self._translate_errors():
            self.driver.execute(sql)

    def copy(self, sql: str, chunks: Iterable[bytes]) -> int:
        """Run one COPY of these bytes, which are sent as they come; returns the number of rows."""
        self._sent = True
        with self._translate_errors(), self.driver.cursor() as cursor:
            with cursor.copy(sql) as stream:
                for chunk in chunks:
                    stream.write(chunk)
            return cursor.rowcount

    def run_alone(self, sql: str, values: Mapping[str, object], *, writing: bool) -> list[ResultRow]:
        """The rows of one statement in no transaction; it runs again on a new connection if the connection is lost.

        So it must have the same effect when it runs twice. A direct connection prepares it once. Through a pooler, the
        server's connection may have another client's prepared statement with the same name.

        Args:
            sql: the statement.
            values: for its named placeholders.
            writing: whether an error is one of a write.
        """
        self._writing = self._sent = writing
        try:
            try:
                return self._run_alone(sql, values)
            except (ConnectionLost, LostWriting):
                self.close()
            return self._run_alone(sql, values)
        finally:
            self._writing = False

    def _run_alone(self, sql: str, values: Mapping[str, object]) -> list[ResultRow]:
        with self._translate_errors():
            cursor = self.driver.execute(sql, values, prepare=self._may_prepare(), binary=True)
            return cursor.fetchall() if cursor.description else []

    def _may_prepare(self) -> bool:
        """Whether the connection is direct: a pooler gives its clients process numbers of its own."""
        if self._is_direct is None:
            ((process,),) = self.driver.execute("SELECT pg_backend_pid()").fetchall()
            self._is_direct = process == self.driver.info.backend_pid
            self.driver.prepare_threshold = IF_ASKED if self._is_direct else None
        return self._is_direct

    def close(self) -> None:
        """Close the connection."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _begin(self, statement: str) -> str:
        """A statement that begins a transaction, and sets a timeout unless the URL sets one."""
        has_timeout = "statement_timeout" in str(self.address.parameters.get("options", ""))
        return statement if has_timeout else f"{statement}; SET LOCAL statement_timeout = '{_STATEMENT_TIMEOUT}'"

    def _run_within(self, begin: str, work: Callable[[], T]) -> T:
        self._in_moment = True
        try:
            process = self.driver.info.backend_pid
            with lock_waits.watched(lambda: waiting_line(self.address, process)):
                with self._translate_errors():
                    self.driver.execute(begin)
                with ResultPages(self.driver) as self._pages:
                    result = work()
                    with self._translate_errors():
                        self._pages.close()
                        self.driver.execute("COMMIT")
            return result
        finally:
            self._in_moment = False
            self._end_transaction()

    def _end_transaction(self) -> None:
        """Roll back what was not committed; if the server doesn't answer, close the connection."""
        driver = self._driver
        if driver is None or _is_idle(driver):
            return
        with suppress(Error):
            driver.execute("ROLLBACK")
        if not _is_idle(driver):
            self.close()

    def _rows(self, sql: str, parameters: Parameters) -> list[ResultRow]:
        with self._translate_errors():
            return self.driver.execute(sql, parameters, binary=True).fetchall()

    def _translate_errors(self) -> "_ErrorTranslation":
        return _ErrorTranslation(self)

    def fault(self, error: Exception) -> Exception:
        """The error that ckpt raises for an error of the driver."""
        if isinstance(error, UnicodeDecodeError):
            return DatabaseDamaged(f"{self.address.location} holds text that isn't UTF-8")
        if isinstance(error, UnicodeEncodeError):
            return Refused(f"{self.address.location} can't hold text that isn't UTF-8; nothing was written")
        if not isinstance(error, Error):
            return error
        lost = self._driver is None or bool(self._driver.closed)
        writing = self._writing and (self._sent or not lost)
        return (writing_fault if writing else reading_fault)(self.address.location, error, lost=lost)


def must_be_encrypted(driver: psycopg.Connection[ResultRow], location: str) -> None:
    """Check that the connection is encrypted, if the URL, the environment or a service file requires it.

    A socket never leaves the machine, so it needs no encryption.

    Raises:
        DatabaseUnreachable: the connection isn't encrypted; it is closed.
    """
    mode = driver.info.get_parameters().get("sslmode", "")
    if mode in _ENCRYPTED and not driver.pgconn.ssl_in_use and not driver.info.host.startswith(("/", "@")):
        driver.close()
        raise not_encrypted(location)


class _ErrorTranslation:
    """A context that turns the driver's errors into ckpt's own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        pass

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Error | UnicodeError):
            raise self._connection.fault(error) from error


def _is_idle(driver: psycopg.Connection[ResultRow]) -> bool:
    return driver.info.transaction_status is TransactionStatus.IDLE
