"""Statements that run in a thread of their own, on the same state of a file that nobody writes.

SQLite gives up Python's lock while it works, so that two cores work at once.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread

from ckpt_cli.savers.sqlite import statements as sql
from ckpt_cli.savers.sqlite.driver import ResultRow, RowsOf, Statement, connect
from ckpt_cli.savers.sqlite.faults import reading_fault

_PAUSE = 1_000_000  # steps of SQLite's machine between two looks whether the rows are still wanted; some 20 ms


class Beside:
    """Runs statements that find few rows, one after another, as soon as it is made; leaving it stops the rest.

    Args:
        path: a file that nobody writes, as `ReadOnlyConnection.moment` makes sure.
        statements: each with its parameters.
    """

    def __init__(self, path: Path, statements: Sequence[Statement]) -> None:
        self._path = path
        self._driver = connect(path, "mode=ro&immutable=1", threads=True)
        self._is_over = False  # `interrupt` would do nothing to a statement that is just about to begin
        self._driver.set_progress_handler(lambda: self._is_over, _PAUSE)
        self._statements = statements
        self._found: list[list[ResultRow] | Exception] = [[] for _ in statements]
        self._ready = [Event() for _ in statements]
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _rows(self, number: int) -> list[ResultRow]:
        self._ready[number].wait()
        found = self._found[number]
        if isinstance(found, sqlite3.DatabaseError):
            raise reading_fault(self._path, found) from found
        if isinstance(found, Exception):
            raise found
        return found

    def __enter__(self) -> RowsOf:
        return self._rows

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._thread.join()
        self._driver.close()

    def _run(self) -> None:
        for number, statement in enumerate(self._statements):
            try:
                self._found[number] = self._read(*statement)
            except Exception as error:  # it is raised where the rows are asked for
                self._found[number] = error
            self._ready[number].set()

    def _read(self, statement: str, parameters: Sequence[object]) -> list[ResultRow]:
        self._driver.execute(sql.LARGER_CACHE)
        return self._driver.execute(statement, parameters).fetchall()
