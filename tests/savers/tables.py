"""LangGraph's tables on every SQL engine, for tests that alter them as an application would."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ckpt_cli.savers.sqlite import create

ENGINES = ("sqlite", "postgres", "mysql")


class Tables(NamedTuple):
    """An empty database with LangGraph's tables.

    Attributes:
        run: runs statements as the application does, and gives the rows of the last.
        writes: the name of the table of writes.
    """

    engine: str
    url: str
    run: Callable[..., list[tuple[Any, ...]]]
    writes: str

    def of(self, **words: Any) -> Any:
        """The value that is given for this engine."""
        return words.get(self.engine, words.get("default"))


def tables(engine: str, request: pytest.FixtureRequest, folder: Path) -> Tables:
    """An empty database of an engine."""
    if engine == "sqlite":
        path = folder / "agents.sqlite"
        create(path).close()
        return Tables(engine, str(path), lambda *statements: _run(path, statements), "writes")
    server = request.getfixturevalue(engine)
    name = server.fresh()
    return Tables(engine, server.url(name), lambda *statements: server.run(*statements, on=name), "checkpoint_writes")


def _run(path: Path, statements: tuple[str, ...]) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            rows = connection.execute(statement).fetchall()
        connection.commit()
        return rows


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tables]:
    """Each engine's tables in turn."""
    yield tables(request.param, request, tmp_path)
