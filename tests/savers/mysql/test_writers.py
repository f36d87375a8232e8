"""While ckpt writes, applications can read and must wait to write; what they wrote before is noticed."""

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


def test_rows_that_were_read_cant_change(mysql: MySQLServer, name: str, saver: MySQLSaver) -> None:
    """During a transaction, nobody can add to a thread that it has read; other threads and reads aren't blocked."""
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
    """If an application has removed a row since the plan was made, the whole change is refused."""
    (row,) = saver.newest("t", "", 1)
    changes = saver.moment(lambda: list(saver.expand(Plan("", (SAMPLE.checkpoint("u", "1"),), remove=(row.ref,)))))
    with closing(mysql.connect(name)) as connection:
        PyMySQLSaver(connection).delete_thread("t")
    with pytest.raises(Refused, match="is gone"):
        saver.transaction(lambda: saver.change(changes))
    assert [thread.thread_id for thread in saver.threads()] == ["z"]


def test_one_moment(mysql: MySQLServer, name: str, saver: MySQLSaver) -> None:
    """A moment doesn't see what an application writes during it; the next moment does."""
    with closing(mysql.connect(name)) as connection:

        def read() -> tuple[int, int]:
            before = saver.count("t")
            PyMySQLSaver(connection).delete_thread("t")
            return before, saver.count("t")

        assert saver.moment(read) == (5, 5)
    assert saver.count("t") == 0


def test_listings_at_the_same_time(saver: MySQLSaver) -> None:
    """A listing continues after others were read meanwhile, to their end or not."""

    def read() -> tuple[list[str], int, list[str]]:
        rows, unfinished = saver.rows("t"), saver.writes("z")
        ids = [next(rows).checkpoint_id]
        next(unfinished)
        count = saver.count("t")
        ids.append(next(rows).checkpoint_id)
        unfinished.close()
        threads = [thread.thread_id for thread in saver.threads()]
        return [*ids, *(row.checkpoint_id for row in rows)], count, threads

    ids, count, threads = saver.moment(read)
    assert ids == sorted(set(ids)) and len(ids) == count == 5
    assert threads == ["z", "t"]
