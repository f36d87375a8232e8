"""What reading costs on Postgres: on 100,000 checkpoints as many statements as on few, by index, without values."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ckpt_cli.app import run
from ckpt_cli.savers.postgres.saver import PostgresSaver, open_url
from ckpt_cli.savers.sql.statements import SIZES_END, BlobStatements, CheckpointStatements, WriteStatements
from ckpt_cli.savers.sql.thread_statements import ThreadStatements
from tests.savers.postgres.large import fill
from tests.servers.postgres import PostgresServer

THREAD = "thread-000007"


@pytest.fixture(scope="module")
def small(postgres: PostgresServer) -> str:
    """250 threads of 20 checkpoints."""
    url = postgres.url(postgres.fresh())
    fill(url, 250, 20)
    return url


@pytest.fixture(scope="module")
def large(postgres: PostgresServer) -> str:
    """5,000 threads of 20 checkpoints: 100,000."""
    url = postgres.url(postgres.fresh())
    fill(url, 5000, 20)
    return url


@pytest.fixture(scope="module")
def long(postgres: PostgresServer) -> str:
    """A few threads of 900 checkpoints."""
    url = postgres.url(postgres.fresh())
    fill(url, 8, 900)
    return url


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that is sent."""
    statements: list[str] = []
    execute = psycopg.Connection.execute

    def recorded(self: Any, query: str, *arguments: Any, **options: Any) -> Any:
        statements.append(query)
        return execute(self, query, *arguments, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", recorded)
    return statements


def names_in(value: object) -> int:
    """How many values a parameter has; those of an array literal are in quotes."""
    if isinstance(value, str) and value.startswith('{"'):
        return value.count('","') + 1
    return len(value) if isinstance(value, list) else 1


@pytest.fixture
def parameters(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of values that each statement takes."""
    counts: list[int] = []
    execute = psycopg.Connection.execute

    def recorded(self: Any, query: str, values: Any = (), **options: Any) -> Any:
        counts.append(sum(map(names_in, values or ())))
        return execute(self, query, values, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", recorded)
    return counts


def statements_of(words: Sequence[str], url: str, sent: list[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    sent.clear()
    assert run([*words, "-d", url]) == 0
    capsys.readouterr()
    return [re.sub(r"ckpt_\d+", "c", statement) for statement in sent]


COMMANDS = {
    "threads": ["threads"],
    "tree": ["tree", THREAD],
    "log": ["log", THREAD],
    "show": ["show", THREAD],
    "writes": ["writes", THREAD],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_other_threads_cost_nothing(
    name: str, small: str, large: str, sent: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With twenty times the threads, a command sends the same statements."""
    few = statements_of(COMMANDS[name], small, sent, capsys)
    assert statements_of(COMMANDS[name], large, sent, capsys) == few
    assert len(few) < 60


@pytest.mark.parametrize(("name", "portions"), [("tree", 0), ("log", 900 // 50), ("show", 0)])
def test_checkpoints_cost_a_statement_for_each_page(
    name: str, portions: int, small: str, long: str, sent: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With 45 times the checkpoints of a thread, a command sends more statements only for further pages.

    `log` reads the states of 50 lines together, in two pages: each is the headers, the sizes of blobs, and the blobs.
    The lines of 500 checkpoints are read in a moment of their own.
    """
    few = statements_of(COMMANDS[name], small, sent, capsys)
    many = statements_of(COMMANDS[name], long, sent, capsys)
    fetches = sum(statement.startswith("FETCH") for statement in many)
    assert fetches <= 16
    assert len(many) <= len(few) + 30 + portions * 6


def test_a_whole_list_costs_a_few_statements_for_each_page(
    small: str, large: str, sent: list[str], parameters: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    """Per 250 threads: their rows, writes and heads. Blobs come with their heads, so no name of one is sent."""
    pages = []
    for url in (small, large):
        parameters.clear()
        statements = statements_of(["threads", "--limit", "0"], url, sent, capsys)
        pages.append((len(statements), sum(parameters)))
        assert not any(re.search('SELECT [^(]*FROM "public".checkpoint_blobs', statement) for statement in statements)
    (few, few_names), (many, many_names) = pages
    assert many - few <= 30 * (5000 - 250) / 250
    assert many_names - few_names <= 20 * (5000 - 250)


@pytest.mark.parametrize("status", ["waiting", "failed"])
def test_marked_threads_cost_one_statement(
    status: str, small: str, large: str, sent: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where none waits or failed, no head is read: 5,000 threads cost as many statements as 250."""
    few = statements_of(["threads", "--status", status], small, sent, capsys)
    assert statements_of(["threads", "--status", status], large, sent, capsys) == few
    assert len(few) < 20


def listings(saver: PostgresSaver) -> dict[str, str]:
    """The statements of the listings."""
    checkpoints, blobs = (
        CheckpointStatements(saver._engine, saver._layout),
        BlobStatements(saver._engine, saver._layout),
    )
    writes = WriteStatements(saver._engine, saver._layout)
    threads = ThreadStatements(saver._engine, saver._layout)
    return {
        "threads": threads.all,
        "marked threads": threads.marked('"channel" = ANY(ARRAY[%s])'),
        "count threads": threads.count,
        "namespaces": checkpoints.namespaces,
        "count": checkpoints.count,
        "rows": checkpoints.rows + checkpoints.rows_end,
        "rows of a namespace": checkpoints.rows + checkpoints.in_ns + checkpoints.rows_end,
        "newest": checkpoints.newest,
        "row": checkpoints.parents + '"thread_id" = %s AND "checkpoint_ns" = %s AND "checkpoint_id" = %s',
        "thread sizes": checkpoints.sizes + '"thread_id" = ANY(ARRAY[%s])' + SIZES_END,
        "thread sizes by blobs": blobs.thread_sizes + '"thread_id" = ANY(ARRAY[%s])' + SIZES_END,
        "blob sizes": blobs.sizes + '"thread_id" = %s AND "checkpoint_ns" = %s',
        "writes": writes.some + writes.in_ns + writes.end,
    }


NAMES = [
    *(
        "threads",
        "marked threads",
        "count threads",
        "namespaces",
        "count",
        "rows",
        "rows of a namespace",
        "newest",
        "row",
    ),
    *("thread sizes", "thread sizes by blobs", "blob sizes", "writes"),
]


@pytest.fixture(scope="module")
def saver(large: str) -> Iterator[PostgresSaver]:
    with closing(open_url(large)) as opened:
        yield opened


@pytest.mark.parametrize("name", NAMES)
def test_listings_search_an_index(name: str, saver: PostgresSaver) -> None:
    """No listing scans a table: each finds its rows in an index."""
    statement = listings(saver)[name]
    parameters = [100 if part == "LIMIT %s" else THREAD for part in re.findall(r"LIMIT %s|%s", statement)]
    if name == "writes":
        parameters[0] = 1000
    plan = [line for (line,) in saver._engine.query(f"EXPLAIN {statement}", parameters)]
    scans = [line for line in plan if " on " in line and "Scan" in line]
    assert scans
    assert not [line for line in scans if "Seq Scan on checkpoint" in line], plan


def test_a_head_is_looked_up_once(saver: PostgresSaver) -> None:
    """A thread's head is searched only once, though it is both selected and sorted by."""
    plan = [line for (line,) in saver._engine.query(f"EXPLAIN {listings(saver)['threads']}")]
    assert len([line for line in plan if "Index Only Scan Backward" in line]) == 1, plan


@pytest.mark.parametrize("name", NAMES)
def test_listings_read_no_values(name: str, saver: PostgresSaver) -> None:
    """No listing reads a header, metadata or a blob; it may read their lengths and the value of a short write."""
    statement = listings(saver)[name].replace('"blob") <= %s THEN "blob" END', "")
    statement = statement.replace('octet_length("blob")', "").replace('pg_column_size("checkpoint")', "")
    assert not {'"checkpoint"', '"metadata"', '"blob"'} & set(re.findall(r'"\w+"', statement))


def test_long_values_are_not_sent(saver: PostgresSaver, postgres: PostgresServer) -> None:
    """For writes above the size limit, the server doesn't send the value."""
    url = postgres.url(postgres.fresh())
    fill(url, 1, 3)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE checkpoint_writes SET blob = decode(repeat('41', 2000000), 'hex')")
    with closing(open_url(url)) as opened:
        rows = opened.moment(
            lambda: list(
                opened._engine.query(WriteStatements(opened._engine, opened._layout).some, [100, "thread-000001"])
            )
        )
        assert [max(len(value) for value in row if isinstance(value, str | bytes)) < 200 for row in rows] == [
            True,
            True,
        ]
        assert [write.size for write in opened.writes("thread-000001", values=100)] == [2_000_000] * 2


def test_shared_blobs_are_fetched_once(postgres: PostgresServer, sent: list[str]) -> None:
    """A blob that a thousand checkpoints name is sent once and is one object in memory."""
    url = postgres.url(postgres.fresh())
    fill(url, 1, 1000)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("""UPDATE checkpoints SET checkpoint = jsonb_set(checkpoint, '{channel_versions}',
            jsonb_build_object('messages', lpad('1000', 32, '0') || '.0.5'))""")
    with closing(open_url(url)) as opened:
        refs = [row.ref for row in opened.rows("thread-000001")]
        sent.clear()
        all_channels = opened.moment(lambda: [checkpoint.channels for checkpoint in opened.checkpoints(refs)])
    assert len(all_channels) == 1000
    assert len({id(channels["messages"]) for channels in all_channels if channels}) == 1
    assert len([statement for statement in sent if '"blob" FROM' in statement]) == 1


def test_reading_imports_no_code_for_changes(small: str) -> None:
    """A command that reads imports neither the modules for changes nor other drivers."""
    code = (
        f"from ckpt_cli.app import run; import sys; run(['threads', '-n', '1', '-d', {small!r}]); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "psycopg" in loaded
    unwanted = {"ckpt_cli.savers.sql.expand", "ckpt_cli.savers.sql.records", "sqlite3", "pymysql", "psycopg_pool"}
    assert not unwanted & set(loaded)


@pytest.mark.parametrize("name", [*COMMANDS, "get", "diff"])
def test_the_head_is_fetched_once(name: str, small: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one moment the newest checkpoint can't change, and isn't fetched twice."""
    sent: list[tuple[str, str]] = []
    execute = psycopg.Connection.execute

    def recorded(self: Any, query: str, *arguments: Any, **options: Any) -> Any:
        sent.append((query, repr(arguments)))
        return execute(self, query, *arguments, **options)

    monkeypatch.setattr(psycopg.Connection, "execute", recorded)
    more = {"get": ["get", THREAD, "messages"], "diff": ["diff", THREAD, "@"]}
    assert run([*(COMMANDS | more)[name], "-d", small]) == 0
    newest = [statement for statement in sent if "ORDER BY checkpoint_id DESC LIMIT %s" in statement[0]]
    assert len(newest) == len(set(newest))


def test_the_head_is_fetched_again_in_the_next_moment(postgres: PostgresServer) -> None:
    """Each moment sees the head that others wrote before it, also if the head was fetched before."""
    url = postgres.url(postgres.fresh())
    fill(url, 1, 3)
    with closing(open_url(url)) as opened, psycopg.connect(url, autocommit=True) as other:

        def head() -> str:
            return opened.newest("thread-000001", "", 1)[0].checkpoint_id

        first = opened.moment(head)
        assert [head(), opened.moment(head)] == [first] * 2
        for name in ("z1", "z2"):
            other.execute(
                """INSERT INTO checkpoints SELECT thread_id, checkpoint_ns, %s, checkpoint_id, type, checkpoint
                FROM checkpoints LIMIT 1""",
                [name],
            )
            assert [head(), opened.moment(head), opened.transaction(head)] == [name] * 3
