"""One connection to a server: its settings, how rows stream, and moments in which all reads are consistent.

What MariaDB 10.11 and PyMySQL 1.2 do was tried out:

- an unbuffered result must be read to its end before the next statement is sent, so a result that somebody still reads
  is taken into memory when another statement comes;
- ``START TRANSACTION WITH CONSISTENT SNAPSHOT`` is one moment only at REPEATABLE READ, which a server's own setting may
  not be;
- a password goes over the wire as Latin-1 unless it is given as bytes.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pymysql  # type: ignore[import-untyped]
from pymysql.cursors import SSCursor  # type: ignore[import-untyped]

from ckpt_cli.errors import CkptError
from ckpt_cli.savers.faults import ConnectionLost
from ckpt_cli.savers.mysql.address import Address
from ckpt_cli.savers.mysql.dial import dial, is_mariadb
from ckpt_cli.savers.mysql.faults import GONE, reading_fault, told, too_long, writing_fault
from ckpt_cli.savers.mysql.stream import Row, Stream

T = TypeVar("T")

_DELETED = 100  # rows of one statement
_SMALL = 1_000_000  # bytes that every server takes

_SNAPSHOT = ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",)
_WRITING = (
    "SET SESSION innodb_lock_wait_timeout = 10",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "START TRANSACTION READ WRITE",
)


class Connection:
    """A session that reads in moments, and changes nothing of the server's settings but its own."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.version = ""
        self._driver: Any = None
        self._stream: Stream | None = None
        self._inside = False
        self._writing = self._sent = False

    @property
    def is_mariadb(self) -> bool:
        """Whether it is MariaDB."""
        return is_mariadb(self.version)

    @property
    def has_md5(self) -> bool:
        """Whether the server has the function MD5, which MySQL 9.6 dropped."""
        numbers = [int(part) for part in self.number.split(".")[:2] if part.isdigit()]
        return self.is_mariadb or numbers < [9, 6]

    @property
    def number(self) -> str:
        """The server's version without its make: MariaDB puts 5.5.5 before its own, for replicas of old."""
        return self.version.removeprefix("5.5.5-").partition("-")[0]

    def query(self, sql: str, words: Sequence[object] = ()) -> Iterator[Row]:
        """The rows of one statement, streamed."""
        self._stream = Stream(self._execute(sql, words), self._explained)
        return iter(self._stream)

    def run_many(self, sql: str, words: Sequence[Sequence[object]]) -> int:
        """Run one writing statement for many rows and give how many it touched; rows to delete go in one statement.

        Raises:
            Refused: a row stands already, doesn't fit, or may not be written.
            Failed: the server said no.
        """
        self._sent = True
        if sql.startswith("DELETE"):
            return sum(self._run(*_together(sql, words[at : at + _DELETED])) for at in range(0, len(words), _DELETED))
        self._must_be_taken(max(map(_length, words), default=0))
        try:
            with self.driver().cursor() as cursor:
                touched: int = cursor.executemany(sql, words)
        except pymysql.err.MySQLError as error:
            raise self._explained(error) from error
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
        except ConnectionLost:
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
        self._writing, self._sent = True, False
        try:
            return self._within([*_WRITING, *probes], work)
        finally:
            self._writing = False

    def explain(self, statements: Sequence[str]) -> None:
        """Find out whether this user may run writing statements, without running them.

        EXPLAIN wants the rights of what it explains, and a server that takes no writes explains none (MySQL 8.4 manual,
        15.8.2; MariaDB 10.11 alike).

        Raises:
            Refused: this user may not, or this server takes no writes.
        """
        self._writing = True
        try:
            for statement in statements:
                self._run(f"EXPLAIN {statement}")
        finally:
            self._writing = False

    def _reconnected(self) -> None:
        """A connection that is there now: it may have been idle for long, and a write isn't tried twice."""
        try:
            self._run("DO 0")
        except ConnectionLost:
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

    def _connected(self) -> Any:
        try:
            driver = dial(self.address)
            self.version = driver.get_server_info()
        except (pymysql.err.MySQLError, OSError, RuntimeError) as error:
            raise self._explained(error) from error
        return driver

    def _explained(self, error: Exception) -> CkptError:
        writing = self._writing and (self._sent or told(error)[0] not in GONE)
        return writing_fault(self.address, error) if writing else reading_fault(self.address, error)


def _together(sql: str, rows: Sequence[Sequence[object]]) -> tuple[str, list[object]]:
    """One statement for many rows out of one for one."""
    start, _, condition = sql.partition(" WHERE ")
    return f"{start} WHERE {' OR '.join([f'({condition})'] * len(rows))}", [word for row in rows for word in row]


def _length(row: Sequence[object]) -> int:
    """What a row takes in a statement, at least: PyMySQL sends bytes in hexadecimal (1.2, ``converters.py``)."""
    texts = sum(len(value) for value in row if isinstance(value, str))
    return texts + sum(2 * len(value) for value in row if isinstance(value, bytes))
