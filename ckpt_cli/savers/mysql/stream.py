"""A result that is read from the wire as its rows are wanted, so that memory stays flat."""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pymysql  # type: ignore[import-untyped]
from pymysql.cursors import SSCursor  # type: ignore[import-untyped]

from ckpt_cli.errors import CkptError

ResultRow = tuple[Any, ...]

_PAGE = 200  # rows fetched at a time


class Stream:
    """The rows of a result, read from the wire as they are wanted, or all at once when the wire is needed."""

    def __init__(self, cursor: SSCursor, explained: Callable[[Exception], CkptError]) -> None:
        self._cursor = cursor
        self._explained = explained
        self._read: deque[ResultRow] = deque()
        self._wanted = True
        self.done = False

    def __iter__(self) -> Iterator[ResultRow]:
        try:
            while self._read or self._fetch(_PAGE):
                yield self._read.popleft()
        finally:
            self._wanted = False

    def drain(self) -> None:
        """Take the rest into memory if somebody still reads it, else read over it."""
        while self._fetch(_PAGE):
            if not self._wanted:
                self._read.clear()

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
