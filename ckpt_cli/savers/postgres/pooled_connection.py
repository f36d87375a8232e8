"""A connection that an application's pool lends for one statement or transaction at a time.

Source: psycopg_pool 3.3, ``pool.py: getconn, putconn, check``.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import Error
from psycopg.rows import tuple_row

from ckpt_cli.savers.postgres.address import Address
from ckpt_cli.savers.postgres.connection import IF_ASKED, Connection
from ckpt_cli.savers.postgres.faults import connection_fault
from ckpt_cli.savers.sql.engine import ResultRow

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

T = TypeVar("T")


class PooledConnection(Connection):
    """Takes a connection when something is read or written, and returns it with the settings that it had.

    Args:
        pool: stays the application's: it is neither opened nor closed here.

    Raises:
        DatabaseUnreachable: the pool isn't open, or has no connection in its own time.
    """

    def __init__(self, pool: "ConnectionPool[Any]") -> None:
        super().__init__(Address({}, "", "", "", ""))
        self._pool = pool
        self._settings: tuple[Any, ...] = ()
        with self.lent():
            info = self.driver.info
            parameters: dict[str, str | int] = {**info.get_parameters()}
            self.address = Address(parameters, "", info.host, str(info.port), info.dbname)

    @property
    def driver(self) -> psycopg.Connection[ResultRow]:
        """The connection that is lent now."""
        if self._driver is None or self._driver.closed:
            self.close()
            self._driver = self._take()
        return self._driver

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Return the connection at the end of the block."""
        try:
            yield
        finally:
            self.close()

    def moment(self, read: Callable[[], T]) -> T:
        """See `Connection.moment`."""
        if self._in_moment:
            return read()
        with self.lent():
            return super().moment(read)

    def transaction(self, tables: str, work: Callable[[], T]) -> T:
        """See `Connection.transaction`."""
        with self.lent():
            return super().transaction(tables, work)

    def run_alone(self, sql: str, values: Mapping[str, object], *, writing: bool) -> list[ResultRow]:
        """See `Connection.run_alone`."""
        with self.lent():
            return super().run_alone(sql, values, writing=writing)

    def close(self) -> None:
        """Return the connection; if it is broken, the pool replaces it and all other broken ones."""
        driver, self._driver = self._driver, None
        if driver is None:
            return
        is_broken = driver.closed
        if not is_broken:
            driver.autocommit, driver.row_factory, driver.prepare_threshold = self._settings
        self._pool.putconn(driver)
        if is_broken:
            self._pool.check()

    def _take(self) -> psycopg.Connection[ResultRow]:
        try:
            driver: psycopg.Connection[ResultRow] = self._pool.getconn()
        except Error as error:
            location = self.address.location if self.address.host else f"the pool {self._pool.name}"
            raise connection_fault(location, error) from error
        self._settings = driver.autocommit, driver.row_factory, driver.prepare_threshold
        driver.autocommit, driver.row_factory = True, tuple_row
        driver.prepare_threshold = IF_ASKED if self._is_direct else None
        return driver
