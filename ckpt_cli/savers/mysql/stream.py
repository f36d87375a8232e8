"""Results that are read from the network only when their rows are needed, so that memory stays bounded."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pymysql  # type: ignore[import-untyped]
from pymysql.cursors import SSCursor  # type: ignore[import-untyped]

from ckpt_cli.errors import CkptError

ResultRow = tuple[Any, ...]

_PAGE = 200  # rows fetched at a time


class Stream:
    """The rows of a result, read a page at a time. `drain` frees the connection for another statement."""

    def __init__(self, cursor: SSCursor, fault: Callable[[Exception], CkptError]) -> None:
        self._cursor = cursor
        self._fault = fault
        self._rows: deque[ResultRow] = deque()
        self._has_reader = True
        self.done = False

    def __iter__(self) -> Iterator[ResultRow]:
        try:
            while self._rows or self._fetch(_PAGE):
                yield self._rows.popleft()
        finally:
            self._has_reader = False

    def drain(self) -> None:
        """Read the remaining rows: into memory if somebody still iterates over them, else drop them."""
        while self._fetch(_PAGE):
            if not self._has_reader:
                self._rows.clear()

    def _fetch(self, count: int) -> bool:
        if self.done:
            return False
        try:
            rows = self._cursor.fetchmany(count)
            self._rows.extend(rows)
            if not rows:
                self.done = True
                self._cursor.close()
        except pymysql.err.MySQLError as error:
            raise self._fault(error) from error
        return not self.done
