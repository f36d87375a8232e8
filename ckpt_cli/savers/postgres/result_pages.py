"""`ResultPages`: the rows of one moment's statements, in pages that are bounded in number and bytes."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack

import psycopg
from psycopg.pq import PipelineStatus

from ckpt_cli.model import Scalar
from ckpt_cli.savers.sql.engine import Query, ResultRow

Parameters = Sequence[Scalar | list[Scalar]]

_FIRST_PAGE, _LARGEST_PAGE = 100, 5000  # rows in a page
_PAGE_BYTES = 4_000_000


class ResultPages(ExitStack):
    """Reads in one moment, whose end closes all its cursors; it leaves the pipeline mode when it is left or closed."""

    def __init__(self, driver: psycopg.Connection[ResultRow]) -> None:
        super().__init__()
        self._driver = driver
        self._cursors = 0  # the number of cursors opened so far; a cursor's name contains its number
        self._read_cursors: list[str] = []  # cursors to close with the next round trip

    def stream(self, sql: str, parameters: Parameters) -> Iterator[ResultRow]:
        """Read through a cursor on the server. Pages grow as long as they have few bytes."""
        self._cursors += 1
        name, size = f"ckpt_{self._cursors}", _FIRST_PAGE
        rows = self._open_cursor(name, sql, parameters)
        try:
            while rows:
                yield from rows
                if len(rows) < size:
                    return
                length = sum(len(value) for row in rows for value in row if isinstance(value, str | bytes)) or 1
                size = max(1, min(_LARGEST_PAGE, 4 * size, _PAGE_BYTES * len(rows) // length))
                rows = self._driver.execute(f"FETCH FORWARD {size} FROM {name}", binary=True).fetchall()
        finally:
            self._read_cursors.append(name)

    def each(self, queries: Iterable[Query], *, prepare: bool) -> Iterator[list[ResultRow]]:
        """The rows of each of these statements; the server runs the next one while the rows of one are used.

        From here on, the moment is in libpq's pipeline mode. With `prepare`, equal statements are planned only once.
        """
        if self._driver.pgconn.pipeline_status == PipelineStatus.OFF:
            self.enter_context(self._driver.pipeline())
        rest = iter(queries)
        query = next(rest, None)
        sent = query and self._driver.execute(*query, binary=True, prepare=prepare)
        while sent:
            rows = sent.fetchall()  # this waits for all that was sent, so the next statement is sent only then
            query = next(rest, None)
            sent = query and self._driver.execute(*query, binary=True, prepare=prepare)
            yield rows

    def _open_cursor(self, name: str, sql: str, parameters: Parameters) -> list[ResultRow]:
        """The first page of a new cursor. The same round trip closes the cursors that were read before."""
        cursors, self._read_cursors = self._read_cursors, []
        with self._driver.pipeline():
            for cursor in cursors:
                self._driver.execute(f"CLOSE {cursor}")
            self._driver.execute(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}", parameters)
            page = self._driver.execute(f"FETCH FORWARD {_FIRST_PAGE} FROM {name}", binary=True)
        return page.fetchall()
