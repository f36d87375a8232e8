"""ckpt keeps ids apart that the server's collation takes for equal, but reads their shared blobs as LangGraph does."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver

from ckpt_cli.app import run
from ckpt_cli.errors import Refused
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Plan, Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.mysql.saver import MySQLSaver, open_url
from ckpt_cli.serde.codec import Codec
from tests.graphs.building import on
from tests.graphs.lines import chat_graph
from tests.savers.apart import ApartConformance
from tests.servers.mysql import MySQLServer


@pytest.fixture
def url(mysql: MySQLServer) -> str:
    """A thread of two turns, the second of them with an equal id in another spelling, and another thread."""
    name = mysql.fresh()
    with closing(mysql.connect(name)) as connection:
        graph = chat_graph(PyMySQLSaver(connection))
        for turn, thread_id in enumerate(("Bob", "Bob", "other")):
            graph.invoke({"messages": [HumanMessage("hello", id=str(turn))], "topic": "x"}, on(thread_id))
            if turn == 0:
                first = graph.get_state(on("Bob")).config["configurable"]["checkpoint_id"]
    for table in ("checkpoints", "checkpoint_writes"):
        mysql.run(
            f"UPDATE {table} SET thread_id = 'bób' WHERE thread_id = 'Bob' AND checkpoint_id > '{first}'", on=name
        )
    return mysql.url(name)


@pytest.fixture
def saver(url: str) -> Iterator[MySQLSaver]:
    """The database, open."""
    with closing(open_url(url)) as saver:
        yield saver


def test_each_spelling_is_a_thread(saver: MySQLSaver) -> None:
    """Both threads are listed, counted and found, each with its own head; a third spelling finds nothing."""
    threads = list(saver.threads())
    assert [thread.thread_id for thread in threads] == ["other", "bób", "Bob"]
    assert saver.totals().threads == 3
    assert list(saver.threads_with(["__error__"])) == []
    for thread in threads:
        assert saver.thread(thread.thread_id) == thread
        rows = list(saver.rows(thread.thread_id))
        assert saver.count(thread.thread_id) == len(rows) > 0
        assert rows[-1].ref == thread.head
        assert saver.namespaces(thread.thread_id) == [""]
    assert saver.thread("bob") is None
    assert [row.thread_id for row in saver.rows_of(["Bob"])] == ["Bob"] * saver.count("Bob")


def test_each_spelling_is_asked_about(url: str, saver: MySQLSaver, capsys: pytest.CaptureFixture[str]) -> None:
    """A question to all heads misses no thread, and counts each."""
    found = saver.threads_having("source", "loop")
    assert found is None or {thread.thread_id for thread in found} == {"other", "bób", "Bob"}
    counts = saver.heads_by(["source"])
    assert counts is None or sum(count for _, count in counts) == 3
    assert run(["threads", "--where", 'metadata.source == "loop"', "-d", url]) == 0
    assert sorted(line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()) == ["Bob", "bób", "other"]


def test_values_are_those_that_langgraph_reads(mysql: MySQLServer, url: str, saver: MySQLSaver) -> None:
    """A checkpoint of one thread has values that are stored with the other's id."""
    reader = Reader(saver, Codec())
    with closing(mysql.connect(url.rpartition("/")[2])) as connection:
        official = PyMySQLSaver(connection)
        for thread in saver.threads():
            for row in saver.rows(thread.thread_id):
                config = {
                    **on(thread.thread_id)["configurable"],
                    "checkpoint_ns": "",
                    "checkpoint_id": row.checkpoint_id,
                }
                item = official.get_tuple({"configurable": config})
                assert item is not None
                assert set(reader.state(row.ref).values) == set(item.checkpoint["channel_values"])
    assert len(Inspection(reader, _head(saver, "bób")).values()["messages"]) > len(
        Inspection(reader, _head(saver, "Bob")).values()["messages"]
    )


def _head(saver: MySQLSaver, thread_id: str) -> Ref:
    thread = saver.thread(thread_id)
    assert thread is not None
    return thread.head


def test_one_of_them_cant_be_changed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Changing one thread would change the other, so it is refused; both together can be deleted and restored."""
    assert run(["delete", "Bob", "-d", url, "--yes"]) == 7
    assert "this database treats the id of thread 'bób' as equal" in capsys.readouterr().err
    assert run(["fork", "other", "@", "--to", "OTHER", "-d", url, "--yes"]) == 7
    with closing(open_url(url)) as saver:
        before = saver.totals()
        assert run(["delete", "Bob", "bób", "-d", url, "--yes"]) == 0
        assert [thread.thread_id for thread in saver.threads()] == ["other"]
        assert run(["undo", "-d", url, "--yes"]) == 0
        assert saver.totals() == before


@pytest.mark.parametrize(("collation", "ids"), [("latin1_swedish_ci", ["é", "a"]), ("utf8mb3_bin", ["é", "中文"])])
def test_older_character_sets(collation: str, ids: list[str], mysql: MySQLServer) -> None:
    """An id that the database's character set can't hold isn't found, and can't be written; others are found."""
    sample = ApartConformance()
    with closing(open_url(mysql.url(mysql.fresh(collation)))) as saver:
        saver.apply(Plan("", tuple(sample.checkpoint(thread_id, "1") for thread_id in ids)))
        assert {thread.thread_id for thread in saver.threads()} == set(ids)
        assert {row.thread_id for row in saver.rows_of([*ids, "🙂"])} == set(ids)
        assert saver.thread("🙂") is None
        with pytest.raises(Refused, match="column"):
            saver.apply(Plan("", (sample.checkpoint("🙂", "1"),)))
