"""One connection to a server: what it is told at the start, how rows stream, and moments in which they belong together.

What MariaDB 10.11 and PyMySQL 1.2 do was tried out:

- an unbuffered result must be read to its end before the next statement is sent, so a result that somebody still reads
  is taken into memory when another statement comes;
- ``START TRANSACTION WITH CONSISTENT SNAPSHOT`` is one moment only at REPEATABLE READ, which a server's own setting may
  not be;
- a password goes over the wire as Latin-1 unless it is given as bytes.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pymysql  # type: ignore[import-untyped]
from pymysql.constants import CLIENT  # type: ignore[import-untyped]
from pymysql.cursors import SSCursor  # type: ignore[import-untyped]

from ckpt_cli.errors import CkptError
from ckpt_cli.savers.mysql.address import Address
from ckpt_cli.savers.mysql.faults import Lost, reading_fault, too_long, writing_fault

T = TypeVar("T")
Row = tuple[Any, ...]

_SLACK = 5  # seconds that the server has to say that a statement took too long
_PAGE = 200  # rows fetched at a time from a stream

_DELETED = 100  # rows of one statement
_SMALL = 1_000_000  # bytes that every server takes

_SNAPSHOT = ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",)
_WRITING = (
    "SET SESSION innodb_lock_wait_timeout = 10",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "START TRANSACTION READ WRITE",
)

_MODE = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION"
"""Nothing is cut short silently, and text in statements is escaped as PyMySQL does it."""


class Connection:
    """A session that reads in moments, and changes nothing of the server's settings but its own."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.version = ""
        self._driver: Any = None
        self._stream: _Stream | None = None
        self._inside = False
        self._writing = False

    @property
    def is_mariadb(self) -> bool:
        """Whether it is MariaDB, whose settings have other names."""
        return "MariaDB" in self.version

    @property
    def number(self) -> str:
        """The server's version without its make: MariaDB puts 5.5.5 before its own, for replicas of old."""
        return self.version.removeprefix("5.5.5-").partition("-")[0]

    def query(self, sql: str, words: Sequence[object] = ()) -> Iterator[Row]:
        """The rows of one statement, streamed."""
        self._stream = _Stream(self._execute(sql, words), self._explained)
        return iter(self._stream)

    def run_many(self, sql: str, words: Sequence[Sequence[object]]) -> int:
        """Run one writing statement for many rows and give how many it touched; rows to delete go in one statement.

        Raises:
            Refused: a row stands already, doesn't fit, or may not be written.
            Failed: the server said no.
        """
        if sql.startswith("DELETE"):
            return sum(self._run(*_together(sql, words[at : at + _DELETED])) for at in range(0, len(words), _DELETED))
        self._must_be_taken(max(map(_length, words), default=0))
        try:
            with self.driver().cursor() as cursor:
                touched: int = cursor.executemany(sql, words)
        except pymysql.err.MySQLError as error:
            raise writing_fault(self.address, error) from error
        return touched

    def _must_be_taken(self, length: int) -> None:
        """A server cuts the connection to who sends it too much, so it is asked beforehand."""
        if length < _SMALL:
            return
        ((most,),) = self.query("SELECT @@max_allowed_packet")
        if length > most:
            raise too_long(self.address, length, most)

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look` in one read-only snapshot; once more where the connection is lost meanwhile.

        Raises:
            DatabaseUnreachable: it is lost again.
        """
        if self._inside:
            return look()
        try:
            return self._within(_SNAPSHOT, look)
        except Lost:
            self.close()
        return self._within(_SNAPSHOT, look)

    def transaction(self, work: Callable[[], T], probes: Sequence[str]) -> T:
        """Run `work` in a serializable transaction: rows that it read can't be changed by others until its end.

        Args:
            work: what reads and writes.
            probes: statements that write nothing, to find out beforehand whether this user may.

        Raises:
            Refused: it may not be written, or others are writing the same rows.
            Failed: the server said no; what `work` did is undone.
        """
        self._reconnected()
        self._writing = True
        try:
            return self._within([*_WRITING, *probes], work)
        finally:
            self._writing = False

    def _reconnected(self) -> None:
        """A connection that is there now: it may have been idle for long, and a write isn't tried twice."""
        try:
            self._run("DO 0")
        except Lost:
            self.close()
            self._run("DO 0")

    def _within(self, start: Sequence[str], work: Callable[[], T]) -> T:
        self._inside = True
        try:
            for statement in start:
                self._run(statement)
            value = work()
            self._run("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._inside = False
        return value

    def _roll_back(self) -> None:
        """Leave nothing of a transaction; a reader hangs up, which is quicker than reading what it didn't want."""
        if self._writing and self._driver is not None and self._driver.open:
            try:
                self._run("ROLLBACK")
            except CkptError:
                self.abandon()
        else:
            self.abandon()

    def driver(self) -> Any:
        """The driver's connection with nothing left to read on it; connects where there is none.

        Raises:
            DatabaseUnreachable: the server can't be reached, or won't have us.
        """
        if self._stream is not None:
            self._stream.drain()
            self._stream = None
        if self._driver is None or not self._driver.open:
            self._driver = self._connected()
        return self._driver

    def abandon(self) -> None:
        """End whatever transaction there is by hanging up, which is quicker than reading an unread result."""
        if self._driver is not None:
            self._driver._force_close()
        self._driver = self._stream = None

    def close(self) -> None:
        """Hang up; the next statement connects anew."""
        if self._driver is not None and self._driver.open:
            if self._stream is None or self._stream.done:
                self._driver.close()
            else:
                self._driver._force_close()
        self._driver = self._stream = None

    def _run(self, sql: str, words: Sequence[object] = ()) -> int:
        try:
            with self.driver().cursor() as cursor:
                touched: int = cursor.execute(sql, words)
        except pymysql.err.MySQLError as error:
            raise self._explained(error) from error
        return touched

    def _execute(self, sql: str, words: Sequence[object]) -> SSCursor:
        cursor: SSCursor = self.driver().cursor(SSCursor)
        try:
            cursor.execute(sql, words)
        except pymysql.err.MySQLError as error:
            raise self._explained(error) from error
        return cursor

    def _explained(self, error: Exception) -> CkptError:
        return writing_fault(self.address, error) if self._writing else reading_fault(self.address, error)

    def _connected(self) -> Any:
        address = self.address
        driver = pymysql.Connection(
            host=address.host,
            port=address.port,
            user=address.user or None,
            password=address.password.encode(),
            database=address.database,
            unix_socket=address.socket or None,
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=address.connect_timeout,
            read_timeout=address.connect_timeout,
            client_flag=CLIENT.FOUND_ROWS,  # a row that stays as it is counts as changed
            program_name="ckpt",
            defer_connect=True,
            **({"ssl_disabled": True} if address.socket else address.tls.options()),
        )
        if not address.socket:
            address.tls.prefer(driver)
        try:
            driver.connect()
            self.version = driver.get_server_info()
            with driver.cursor() as cursor:
                cursor.execute(self._settings())
                cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        except (pymysql.err.MySQLError, OSError, RuntimeError) as error:
            raise self._explained(error) from error
        driver._read_timeout = driver._write_timeout = address.statement_timeout + _SLACK
        return driver

    def _settings(self) -> str:
        seconds = self.address.statement_timeout
        limit = f"max_statement_time = {seconds}" if self.is_mariadb else f"max_execution_time = {seconds * 1000}"
        return f"SET SESSION sql_mode = '{_MODE}', SESSION {limit}, SESSION net_write_timeout = 600"


def _together(sql: str, rows: Sequence[Sequence[object]]) -> tuple[str, list[object]]:
    """One statement for many rows out of one for one."""
    start, _, condition = sql.partition(" WHERE ")
    return f"{start} WHERE {' OR '.join([f'({condition})'] * len(rows))}", [word for row in rows for word in row]


def _length(row: Sequence[object]) -> int:
    """What a row takes in a statement, at least: PyMySQL sends bytes in hexadecimal (1.2, ``converters.py``)."""
    texts = sum(len(value) for value in row if isinstance(value, str))
    return texts + sum(2 * len(value) for value in row if isinstance(value, bytes))


class _Stream:
    """The rows of a result, read from the wire as they are wanted, or all at once when the wire is needed."""

    def __init__(self, cursor: SSCursor, explained: Callable[[Exception], CkptError]) -> None:
        self._cursor = cursor
        self._explained = explained
        self._read: deque[Row] = deque()
        self.done = False

    def __iter__(self) -> Iterator[Row]:
        while self._read or self._fetch(_PAGE):
            yield self._read.popleft()

    def drain(self) -> None:
        """Take the rest into memory."""
        while self._fetch(_PAGE):
            pass

    def _fetch(self, count: int) -> bool:
        if self.done:
            return False
        try:
            rows = self._cursor.fetchmany(count)
            self._read.extend(rows)
            if not rows:
                self.done = True
                self._cursor.close()
        except pymysql.err.MySQLError as error:
            raise self._explained(error) from error
        return not self.done
