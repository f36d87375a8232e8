"""What `stats --advise` prints for Postgres: the server takes each statement, in tables of every layout."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from ckpt_cli.savers.measures import Figures, Space
from ckpt_cli.savers.url import open_database
from tests.servers.postgres import PostgresServer

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
GIB = 1 << 30
LARGE = Figures(threads=10**6, checkpoints=10**7, writes=10**7, bytes=100 * GIB, repeated=None)
SMALL = Figures(threads=1, checkpoints=1, writes=1, bytes=1000, repeated=None)


def _bloated(space: Space) -> Space:
    """The same tables and indexes, but large, and full of dead rows."""
    settings = {f"{table} {kind}": "1000000" for table in TABLES for kind in ("dead", "live")}
    return space._replace(tables=dict.fromkeys(space.tables, 100 * GIB), settings={**space.settings, **settings})


def _statements(url: str) -> Iterator[str]:
    """All that may be said of the database."""
    with closing(open_database(url, print)) as saver:

        def read() -> list[str]:
            assert list(saver.advice(saver.space(), SMALL)) == []
            return [line for one in saver.advice(_bloated(saver.space()), LARGE) for line in one.commands]

        yield from saver.moment(read)


@pytest.mark.parametrize("data", ["pg", "pg-shallow", "legacy/pg-shallow-0.2.76", "legacy/js-pg-0.2.41"])
def test_the_server_takes_each_statement(postgres: PostgresServer, data: str) -> None:
    """One after the other, outside of a transaction, as a person runs them; then the indexes aren't advised again."""
    name = postgres.loaded(data)
    statements = list(_statements(postgres.url(name)))
    assert {words.split()[0] for words in statements} >= {"VACUUM", "ALTER", "CREATE"}
    postgres.run(*statements, on=name)
    again = list(_statements(postgres.url(name)))
    assert not [statement for statement in again if "INDEX" in statement]
    with postgres.connect(name) as connection:
        plan = connection.execute("SELECT count(*) FROM pg_index WHERE NOT indisvalid").fetchone()
    assert plan == (0,)


def test_tables_in_another_schema(postgres: PostgresServer) -> None:
    """The statements name the schema, so that they mean these tables whatever the search path is."""
    name = postgres.fresh()
    moved = [f'ALTER TABLE {table} SET SCHEMA "an agent"' for table in TABLES]
    postgres.run('CREATE SCHEMA "an agent"', *moved, on=name)
    statements = list(_statements(postgres.url(name, more="?options=-csearch_path%3D%22an%5C%20agent%22")))
    assert all('"an agent".' in words for words in statements if not words.startswith("--"))
    postgres.run(*statements, on=name)
