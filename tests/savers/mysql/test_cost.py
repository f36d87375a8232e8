"""What reading costs: the number of round trips doesn't grow with a database, and listings read no values or tables."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pymysql
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver

from ckpt_cli.app import run
from ckpt_cli.savers.mysql.saver import MySQLSaver, open_url
from tests.graphs.building import on
from tests.graphs.lines import chat_graph
from tests.servers.mysql import MySQLServer

Sent = Callable[..., list[str]]

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
LISTINGS = ["threads", "count_threads", "thread", "rows", "rows_of", "newest", "row", "namespaces", "count"]


def grown(server: MySQLServer, threads: int, turns: int) -> str:
    """A database with a number of threads, each of a number of turns: one thread that ran, and copies of it."""
    name = server.fresh()
    with closing(server.connect(name)) as connection:
        graph = chat_graph(PyMySQLSaver(connection))
        for turn in range(turns):
            graph.invoke({"messages": [HumanMessage(f"hello {turn}", id=str(turn))], "topic": "x"}, on("t0"))
        cursor = connection.cursor()
        for table in TABLES:
            cursor.execute(
                f"SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND"
                f" table_name = '{table}' AND column_name <> 'thread_id'"
            )
            rest = ", ".join(f"`{column}`" for (column,) in cursor.fetchall())
            for number in range(1, threads):
                cursor.execute(
                    f"INSERT INTO {table} (thread_id, {rest}) SELECT 't{number}', {rest} FROM {table}"
                    " WHERE thread_id = 't0'"
                )
        cursor.execute(f"ANALYZE TABLE {', '.join(TABLES)}")
    return server.url(name)


@pytest.fixture(scope="module")
def small(mysql: MySQLServer) -> str:
    """Ten threads of two turns."""
    return grown(mysql, 10, 2)


@pytest.fixture(scope="module")
def wide(mysql: MySQLServer) -> str:
    """A hundred threads of twenty turns."""
    return grown(mysql, 100, 20)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sent]:
    """Runs a command line and gives the statements that it sent, without those that ask what a slow one waits for."""
    statements: list[str] = []
    query = pymysql.Connection.query

    def recorded(connection: pymysql.Connection, sql: str | bytes, unbuffered: bool = False) -> int:
        if threading.current_thread() is threading.main_thread():  # another looks for locks (`lock_waits.py`)
            statements.append(sql.decode() if isinstance(sql, bytes) else sql)
        return query(connection, sql, unbuffered)

    monkeypatch.setattr(pymysql.Connection, "query", recorded)

    def run_command(*command: str) -> list[str]:
        statements.clear()
        assert run([*command]) == 0
        return [*statements]

    yield run_command


@pytest.mark.parametrize("command", [["threads"], ["tree", "t1"], ["log", "t1"], ["show", "t1"]], ids="_".join)
def test_round_trips_dont_grow(command: list[str], small: str, wide: str, sent: Sent) -> None:
    """To a database that is a hundred times as large, a command sends more statements only for further pages."""
    few, many = len(sent(*command, "-d", small)), len(sent(*command, "-d", wide))
    assert few <= 30
    assert many <= few + 10


def test_reading_only_selects(wide: str, sent: Sent) -> None:
    """Besides settings of its own session, a command that reads sends only reads, in read-only transactions."""
    for command in (["threads"], ["tree", "t1"], ["log", "t1"], ["show", "t1"], ["info"], ["grep", "1", "t1"]):
        statements = sent(*command, "-d", wide)
        starts = {statement.split()[0] for statement in statements}
        assert starts <= {"SELECT", "SET", "START", "COMMIT", "EXPLAIN"}  # EXPLAIN doesn't run its statement
        assert all("READ ONLY" in statement for statement in statements if statement.startswith("START"))
        assert not any("GLOBAL" in statement for statement in statements)


@pytest.mark.parametrize("listing", LISTINGS)
def test_listings_read_no_values(listing: str, wide: str, sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads and rows come without headers, metadata and values."""
    with closing(open_url(wide)) as saver:
        statements = recorded_on(saver, monkeypatch)
        read_listing(saver, listing)
        assert statements
        for statement in statements:
            assert not {"`checkpoint`", "`metadata`", "`blob`", "*"} & set(statement.replace(",", " ").split())


def read_listing(saver: MySQLSaver, listing: str) -> None:
    head = saver.newest("t1", "", 1)[0].ref
    listings: dict[str, Callable[[], object]] = {
        "threads": lambda: list(saver.threads()),
        "count_threads": saver.count_threads,
        "sizes": lambda: saver.sizes(["t1", "t2"]),
        "thread": lambda: saver.thread("t1"),
        "rows": lambda: list(saver.rows("t1")),
        "rows_of": lambda: list(saver.rows_of(["t1", "t2"])),
        "newest": lambda: saver.newest("t1", "", 3),
        "row": lambda: saver.row(head),
        "namespaces": lambda: saver.namespaces("t1"),
        "count": lambda: saver.count("t1"),
    }
    listings[listing]()


def recorded_on(saver: MySQLSaver, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that a saver sends from now on, with their values."""
    statements: list[str] = []
    query = pymysql.Connection.query

    def recorded(connection: pymysql.Connection, sql: str | bytes, unbuffered: bool = False) -> int:
        statements.append(sql.decode() if isinstance(sql, bytes) else sql)
        return query(connection, sql, unbuffered)

    monkeypatch.setattr(pymysql.Connection, "query", recorded)
    return statements


@pytest.mark.parametrize("listing", [*LISTINGS, "sizes"])
def test_listings_visit_a_part_of_the_index(
    listing: str, wide: str, mysql: MySQLServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server reads a part of an index, and all of one to find equal thread ids; it never scans the table."""
    with closing(open_url(wide)) as saver:
        with monkeypatch.context() as patched:
            statements = recorded_on(saver, patched)
            read_listing(saver, listing)
        plans = [line for statement in statements for line in plan_of(mysql, wide, statement)]
    assert plans
    assert all(line["type"] in ("range", "ref", "eq_ref", "const", "index") for line in plans)
    assert sum(line["type"] == "index" for line in plans) <= ("threads" in listing)


def plan_of(server: MySQLServer, url: str, statement: str) -> list[dict[str, str]]:
    """The lines of a plan that visit a table of the database."""
    with closing(server.connect(url.rpartition("/")[2])) as connection:
        cursor = connection.cursor(pymysql.cursors.DictCursor)
        cursor.execute(f"EXPLAIN {statement}")
        return [line for line in cursor.fetchall() if line["table"] and not line["table"].startswith("<")]


def test_long_values_are_not_sent(mysql: MySQLServer, small: str) -> None:
    """For a write above the size limit, the server sends only the size."""
    with closing(open_url(small)) as saver:
        mysql.run(
            "UPDATE checkpoint_writes SET `blob` = repeat('x', 1000000) WHERE thread_id = 't1'",
            on=small.rpartition("/")[2],
        )
        received = "SHOW SESSION STATUS LIKE 'Bytes_sent'"
        ((_, before),) = saver._engine.query(received)
        writes = list(saver.writes("t1", values=100))
        ((_, after),) = saver._engine.query(received)
        assert {(write.size, write.payload) for write in writes} == {(1_000_000, None)}
        assert int(after) - int(before) < 10_000


def multiplied(server: MySQLServer, doublings: int) -> str:
    """A database with one thread, doubled so many times; the server's statistics are those of the first."""
    url = grown(server, 1, 1)
    with closing(server.connect(url.rpartition("/")[2])) as connection, connection.cursor() as cursor:
        cursor.execute("ALTER TABLE checkpoints STATS_AUTO_RECALC = 0")
        cursor.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE()"
            " AND table_name = 'checkpoints' AND column_name <> 'thread_id'"
        )
        rest = ", ".join(f"`{column}`" for (column,) in cursor.fetchall())
        for digit in range(doublings):
            copies = f"SELECT concat(thread_id, '-{digit}'), {rest} FROM checkpoints"
            cursor.execute(f"INSERT INTO checkpoints (thread_id, {rest}) {copies}")
        connection.commit()
    return url


def reads(saver: MySQLSaver) -> int:
    """The rows and index entries that the server has read for this session."""
    return sum(int(number) for _, number in saver._engine.query("SHOW SESSION STATUS LIKE 'Handler_read%%'"))


def test_old_statistics_make_no_question_quadratic(mysql: MySQLServer) -> None:
    """For twice the threads the server reads at most three times as much, even if it believes that there are few."""

    def rows_read(doublings: int) -> int:
        with closing(open_url(multiplied(mysql, doublings))) as saver:
            before = reads(saver)
            assert len(list(saver.threads_having("source", "loop") or ())) == 2**doublings
            assert sum(count for _, count in saver.heads_by(["source"]) or ()) == 2**doublings
            return reads(saver) - before

    assert rows_read(9) <= 3 * rows_read(8)


def test_a_question_to_more_threads_than_a_recursion_has_steps(mysql: MySQLServer) -> None:
    """All threads are asked, also if there are more than a server's recursive query would give."""
    url = multiplied(mysql, 11)
    with closing(open_url(url)) as saver:
        assert saver.count_threads() == 2048
        assert len(list(saver.threads_having("source", "loop") or ())) == 2048
        assert len(list(saver.threads_having("step", 1.5, or_without=True) or ())) == 0
        assert sum(count for _, count in saver.heads_by(["source"]) or ()) == 2048
