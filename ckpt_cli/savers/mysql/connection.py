"""A connection to a server: streamed rows, moments in which all reads are consistent, and transactions.

These facts were found by trying MariaDB 10.11 and PyMySQL 1.2:

- An unbuffered result must be read to its end before the next statement is sent. So if another statement comes while a
  result is still being read, the rest of the result is read into memory.
- ``START TRANSACTION WITH CONSISTENT SNAPSHOT`` gives one moment only at REPEATABLE READ, which may not be the server's
  default level.
- PyMySQL sends a password as Latin-1 unless it is given as bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pymysql  # type: ignore[import-untyped]
from pymysql.cursors import SSCursor  # type: ignore[import-untyped]

from ckpt_cli import lock_waits
from ckpt_cli.errors import CkptError
from ckpt_cli.savers.faults import ConnectionLost, LostWriting
from ckpt_cli.savers.mysql.address import Address
from ckpt_cli.savers.mysql.driver import connect, is_mariadb
from ckpt_cli.savers.mysql.faults import GONE, number_and_text, reading_fault, too_long, writing_fault
from ckpt_cli.savers.mysql.lock_holders import waiting_line
from ckpt_cli.savers.mysql.stream import ResultRow, Stream

T = TypeVar("T")
Statement = tuple[str, Sequence[object]]
"""A statement and its values."""

_DELETED_ROWS = 100  # rows that one statement deletes
_ALWAYS_TAKEN = 1_000_000  # every server takes a statement with fewer bytes than this

_BEGIN: Statement = ("BEGIN", ())
_COMMIT: Statement = ("COMMIT", ())
_SNAPSHOT = ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",)
_WRITING = (
    "SET SESSION innodb_lock_wait_timeout = 10",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "START TRANSACTION READ WRITE",
)


class Connection:
    """A connection that changes settings of its own session only, never the server's."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.version = ""
        self._driver: Any = None
        self._stream: Stream | None = None
        self._in_moment = False
        self._writing = False  # whether the open moment is a transaction that may write
        self._sent = False  # whether that transaction has sent a change

    @property
    def is_mariadb(self) -> bool:
        """Whether the server is MariaDB."""
        return is_mariadb(self.version)

    @property
    def has_md5(self) -> bool:
        """Whether the server has the function MD5, which MySQL 9.6 dropped."""
        numbers = [int(part) for part in self.number.split(".")[:2] if part.isdigit()]
        return self.is_mariadb or numbers < [9, 6]

    @property
    def has_json_table(self) -> bool:
        """Whether the server has the function JSON_TABLE (MariaDB 10.6, MySQL 8.0.4)."""
        numbers = [int(part) for part in self.number.split(".")[:3] if part.isdigit()]
        return numbers >= ([10, 6] if self.is_mariadb else [8, 0, 4])

    @property
    def number(self) -> str:
        """The number of the server's version, without the 5.5.5- that MariaDB puts before it for old replicas."""
        return self.version.removeprefix("5.5.5-").partition("-")[0]

    def query(self, sql: str, parameters: Sequence[object] = ()) -> Iterator[ResultRow]:
        """The rows of one statement, streamed."""
        self._stream = Stream(self._execute(sql, parameters), self._fault)
        return iter(self._stream)

    def run_many(self, sql: str, parameters: Sequence[Sequence[object]]) -> int:
        """Run one writing statement for many rows; returns the number of rows that it changed.

        Raises:
            Refused: a row exists already, doesn't fit, or may not be written.
            Failed: the server refused a statement.
        """
        self._sent = True
        if sql.startswith("DELETE"):
            starts = range(0, len(parameters), _DELETED_ROWS)
            return sum(self._run(*_joined(sql, parameters[at : at + _DELETED_ROWS])) for at in starts)
        self._must_be_short(max(map(_length, parameters), default=0))
        try:
            with self.driver().cursor() as cursor:
                count: int = cursor.executemany(sql, parameters)
        except pymysql.err.MySQLError as error:
            raise self._fault(error) from error
        return count

    def _must_be_short(self, length: int) -> None:
        """Check that the server takes a statement of this many bytes; it closes the connection after too many."""
        if length < _ALWAYS_TAKEN:
            return
        ((limit,),) = self.query("SELECT @@max_allowed_packet")
        if length > limit:
            raise too_long(self.address, length, limit)

    def run_alone(self, statements: Sequence[Statement], *, writing: bool) -> Sequence[ResultRow]:
        """The rows of one statement; several, which give no rows, run in one transaction.

        If the connection is lost, they run again on a new one. So they must have the same effect when they run twice.
        """
        self._writing = self._sent = writing
        try:
            try:
                return self._run_all(statements)
            except (ConnectionLost, LostWriting):
                self.abandon()
            return self._run_all(statements)
        finally:
            self._writing = False

    def _run_all(self, statements: Sequence[Statement]) -> Sequence[ResultRow]:
        self._must_be_short(max(_length(values) for _, values in statements))
        several = len(statements) > 1
        try:
            with self.driver().cursor() as cursor:
                for sql, values in [_BEGIN, *statements, _COMMIT] if several else statements:
                    cursor.execute(sql, values)
                return cursor.fetchall()  # type: ignore[no-any-return]
        except BaseException as error:
            if several:
                self.abandon()  # and with it the open transaction
            if isinstance(error, pymysql.err.MySQLError):
                raise self._fault(error) from error
            raise

    def moment(self, read: Callable[[], T]) -> T:
        """Run `read` on one read-only snapshot; if the connection is lost, run `read` again on a new one.

        Raises:
            DatabaseUnreachable: the connection is lost again.
        """
        if self._in_moment:
            return read()
        try:
            return self._run_within(_SNAPSHOT, read)
        except ConnectionLost:
            self.close()
        return self._run_within(_SNAPSHOT, read)

    def transaction(self, work: Callable[[], T], probes: Sequence[str]) -> T:
        """Run `work` in a serializable transaction: until its end, nobody else can change rows that `work` has read.

        Args:
            work: reads and writes.
            probes: statements that change nothing but need the rights to write; they are run first.

        Raises:
            Refused: this user may not write, or others are writing the same rows.
            Failed: the server refused a statement; the changes of `work` are rolled back.
        """
        self._ensure_connected()
        self._writing, self._sent = True, False
        try:
            return self._run_within([*_WRITING, *probes], work)
        finally:
            self._writing = False

    def explain(self, statements: Sequence[str]) -> None:
        """Check that this user may run writing statements, without running them.

        EXPLAIN needs the rights of the statement, and a server that takes no writes explains none (MySQL 8.4 manual,
        15.8.2; MariaDB 10.11 does the same).

        Raises:
            Refused: this user may not run them, or this server takes no writes.
        """
        self._writing = True
        try:
            for statement in statements:
                self._run(f"EXPLAIN {statement}")
        finally:
            self._writing = False

    def _ensure_connected(self) -> None:
        """Reconnect if the connection was lost while it was idle. Call this before a write: writes aren't repeated."""
        try:
            self._run("DO 0")
        except ConnectionLost:
            self.close()
            self._run("DO 0")

    def _run_within(self, start: Sequence[str], work: Callable[[], T]) -> T:
        self._in_moment = True
        try:
            process = self.driver().thread_id()
            with lock_waits.watched(lambda: waiting_line(self.address, process)):
                for statement in start:
                    self._run(statement)
                value = work()
                self._run("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._in_moment = False
        return value

    def _roll_back(self) -> None:
        """Roll back a transaction that writes. In a read-only one, drop the connection, which may have unread rows."""
        if self._writing and self._driver is not None and self._driver.open:
            try:
                self._run("ROLLBACK")
            except CkptError:
                self.abandon()
        else:
            self.abandon()

    def driver(self) -> Any:
        """The driver's open connection, after its unread rows were read; or a new connection.

        Raises:
            DatabaseUnreachable: the server can't be reached, or refuses this user.
        """
        if self._stream is not None:
            self._stream.drain()
            self._stream = None
        if self._driver is None or not self._driver.open:
            self._driver = self._connect()
        return self._driver

    def abandon(self) -> None:
        """Drop the connection and any transaction on it; that is quicker than to read an unread result to its end."""
        if self._driver is not None:
            self._driver._force_close()
        self._driver = self._stream = None

    def close(self) -> None:
        """Close the connection; the next statement makes a new one."""
        if self._driver is not None and self._driver.open:
            if self._stream is None or self._stream.done:
                self._driver.close()
            else:
                self._driver._force_close()
        self._driver = self._stream = None

    def _run(self, sql: str, parameters: Sequence[object] = ()) -> int:
        try:
            with self.driver().cursor() as cursor:
                count: int = cursor.execute(sql, parameters)
        except pymysql.err.MySQLError as error:
            raise self._fault(error) from error
        return count

    def _execute(self, sql: str, parameters: Sequence[object]) -> SSCursor:
        cursor: SSCursor = self.driver().cursor(SSCursor)
        try:
            cursor.execute(sql, parameters)
        except pymysql.err.MySQLError as error:
            raise self._fault(error) from error
        return cursor

    def _connect(self) -> Any:
        try:
            driver = connect(self.address)
            self.version = driver.get_server_info()
        except (pymysql.err.MySQLError, OSError, RuntimeError) as error:
            raise reading_fault(self.address, error) from error  # also before a write: nothing was sent
        return driver

    def _fault(self, error: Exception) -> CkptError:
        writing = self._writing and (self._sent or number_and_text(error)[0] not in GONE)
        return writing_fault(self.address, error) if writing else reading_fault(self.address, error)


def _joined(sql: str, rows: Sequence[Sequence[object]]) -> tuple[str, list[object]]:
    """A statement for many rows, made from a statement for one row, and its parameters."""
    start, _, condition = sql.partition(" WHERE ")
    return f"{start} WHERE {' OR '.join([f'({condition})'] * len(rows))}", [value for row in rows for value in row]


def _length(row: Sequence[object]) -> int:
    """A lower bound of a row's bytes in a statement: PyMySQL sends bytes in hexadecimal (1.2, ``converters.py``)."""
    texts = sum(len(value) for value in row if isinstance(value, str))
    return texts + sum(2 * len(value) for value in row if isinstance(value, bytes))
