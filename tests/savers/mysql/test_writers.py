"""While ckpt writes, applications read on and wait to write; what they wrote meanwhile is noticed."""

from collections.abc import Iterator
from contextlib import closing

import pymysql
import pytest
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver

from ckpt_cli.errors import Refused
from ckpt_cli.model import Plan
from ckpt_cli.savers.mysql.saver import MySQLSaver, open_url
from tests.cross.travel import counters
from tests.graphs.building import on
from tests.savers.apart import ApartConformance
from tests.servers.mysql import MySQLServer

SAMPLE = ApartConformance()


@pytest.fixture
def name(mysql: MySQLServer) -> str:
    """A database with two threads of a real graph."""
    name = mysql.fresh()
    with closing(mysql.connect(name)) as connection:
        for thread_id in ("t", "z"):
            counters(PyMySQLSaver(connection)).invoke({"log": ["x"], "n": 1}, on(thread_id))
    return name


@pytest.fixture
def saver(mysql: MySQLServer, name: str) -> Iterator[MySQLSaver]:
    """The database, open."""
    with closing(open_url(mysql.url(name))) as saver:
        yield saver


def test_what_was_read_stays_until_the_end(mysql: MySQLServer, name: str, saver: MySQLSaver) -> None:
    """In a transaction nobody else adds to a thread that was read; another thread and all reading go on."""
    with closing(mysql.connect(name)) as connection:
        cursor = connection.cursor()
        cursor.execute("SET SESSION innodb_lock_wait_timeout = 1")
        official = PyMySQLSaver(connection)
        graph = counters(official)

        def work() -> int:
            count = saver.count("t")
            assert official.get_tuple(on("t")) is not None
            graph.invoke({"log": ["x"], "n": 1}, on("z"))
            with pytest.raises(pymysql.err.OperationalError, match="Lock wait timeout"):
                graph.invoke({"log": ["x"], "n": 1}, on("t"))
            assert saver.count("t") == count
            return count

        before = saver.transaction(work)
        graph.invoke({"log": ["x"], "n": 1}, on("t"))
        assert saver.count("t") > before


def test_a_row_that_changed_meanwhile(mysql: MySQLServer, name: str, saver: MySQLSaver) -> None:
    """A change of what an application has removed since is refused whole."""
    (row,) = saver.newest("t", "", 1)
    changes = saver.moment(lambda: list(saver.expand(Plan("", (SAMPLE.checkpoint("u", "1"),), remove=(row.ref,)))))
    with closing(mysql.connect(name)) as connection:
        PyMySQLSaver(connection).delete_thread("t")
    with pytest.raises(Refused, match="is gone"):
        saver.transaction(lambda: saver.change(changes))
    assert [thread.thread_id for thread in saver.threads()] == ["z"]


def test_one_moment(mysql: MySQLServer, name: str, saver: MySQLSaver) -> None:
    """What an application writes during a look isn't seen by it, and is by the next."""
    with closing(mysql.connect(name)) as connection:

        def look() -> tuple[int, int]:
            before = saver.count("t")
            PyMySQLSaver(connection).delete_thread("t")
            return before, saver.count("t")

        assert saver.moment(look) == (5, 5)
    assert saver.count("t") == 0


def test_reads_between_reads(saver: MySQLSaver) -> None:
    """A listing goes on where it was though others were asked meanwhile, finished or given up half-way."""

    def look() -> tuple[list[str], int, list[str]]:
        rows, given_up = saver.rows("t"), saver.writes("z")
        seen = [next(rows).checkpoint_id]
        next(given_up)
        count = saver.count("t")
        seen.append(next(rows).checkpoint_id)
        given_up.close()
        threads = [thread.thread_id for thread in saver.threads()]
        return [*seen, *(row.checkpoint_id for row in rows)], count, threads

    seen, count, threads = saver.moment(look)
    assert seen == sorted(set(seen)) and len(seen) == count == 5
    assert threads == ["z", "t"]
