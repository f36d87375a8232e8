"""Statements of which the server runs the next one while the rows of one are used."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.postgres.address import parse_url
from ckpt_cli.savers.postgres.connection import Connection
from tests.servers.postgres import PostgresServer

PROCESS = "SELECT pg_backend_pid()"
NUMBERS = "SELECT * FROM generate_series(%s::int, %s::int)"
PAGES = [(NUMBERS, [1, 2000]), (NUMBERS, [2001, 2001]), (NUMBERS, [1, 0]), (NUMBERS, [2002, 9000])]
SLEEP = ("SELECT pg_sleep(600)", [])


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.url(postgres.new())


@pytest.fixture
def connection(url: str) -> Iterator[Connection]:
    with closing(Connection(parse_url(url))) as opened:
        yield opened


def one(connection: Connection, sql: str) -> Any:
    ((value,),) = connection.query(sql)
    return value


def test_other_reads_of_the_moment(connection: Connection) -> None:
    """Rows come in order, also beside single statements and cursors; what isn't read to its end disturbs nothing."""

    def read() -> list[int]:
        given, streamed = [], connection.query(NUMBERS, [1, 700], stream=True)
        for page, rows in enumerate(connection.query_each(PAGES), 1):
            assert one(connection, f"SELECT {page}") == page
            assert next(streamed) == (page,)
            given += [number for (number,) in rows]
        assert [*streamed] == [(number,) for number in range(5, 701)]
        assert next(connection.query_each(PAGES))[0] == (1,)
        return given

    process = connection.moment(lambda: one(connection, PROCESS))
    assert connection.moment(read) == [*range(1, 9001)]
    assert connection.moment(lambda: next(connection.query_each(PAGES)))[-1] == (2000,)
    assert connection.moment(lambda: [*connection.query_each([])]) == []
    assert connection.moment(lambda: one(connection, PROCESS)) == process


def test_the_server_works_ahead(connection: Connection, url: str) -> None:
    """It runs the second statement before anybody asks for its rows; asking then says that it was cancelled."""
    running = f"SELECT pid FROM pg_stat_activity WHERE state = 'active' AND query = '{SLEEP[0]}'"

    def read() -> None:
        pages = connection.query_each([(NUMBERS, [1, 3]), SLEEP])
        assert next(pages) == [(1,), (2,), (3,)]
        with psycopg.connect(url, autocommit=True) as other:
            while not (found := other.execute(running).fetchall()):
                pass
            other.execute("SELECT pg_cancel_backend(%s)", found[0])
        next(pages)

    with pytest.raises(DatabaseUnreachable, match="no answer in time"):
        connection.moment(read)
    assert connection.moment(lambda: [*connection.query_each(PAGES[:1])])[0][-1] == (2000,)


def test_too_long_a_statement(url: str) -> None:
    """The server's limit holds for each statement, and the connection stays good."""
    with closing(Connection(parse_url(f"{url}?options=-cstatement_timeout%3D100"))) as connection:
        process = one(connection, PROCESS)
        with pytest.raises(DatabaseUnreachable, match="no answer in time"):
            connection.moment(lambda: [*connection.query_each([PAGES[0], SLEEP, PAGES[1]])])
        assert one(connection, PROCESS) == process


def test_a_lost_connection(connection: Connection, url: str) -> None:
    """The moment is run again, whole, on a new connection."""
    lost: list[int] = []

    def read() -> list[Any]:
        pages = connection.query_each(PAGES)
        given = [*next(pages)]
        if not lost:
            lost.append(one(connection, PROCESS))
            with psycopg.connect(url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", lost)
        return [*given, *(row for rows in pages for row in rows)]

    assert connection.moment(read) == [(number,) for number in range(1, 9001)]
    assert one(connection, PROCESS) not in lost
