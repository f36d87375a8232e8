"""The number of MongoDB queries, and that listings never fetch values."""

from collections.abc import Callable
from typing import Any

import pytest
from pymongo import MongoClient

from ckpt_cli.model import Payload, Ref
from tests.savers import paged
from tests.savers.mongodb.conftest import SAMPLES, SentCommands, filled
from tests.savers.small import opened
from tests.servers.mongodb import Mongo


@pytest.fixture(scope="module")
def sizes(mongo: Mongo, mongo_database: Callable[[], str]) -> list[str]:
    """A database with few records, and one with many times as many (still below a page)."""
    urls = []
    for threads, steps in ((2, 3), (20, 40)):
        name = mongo_database()
        records = [
            record
            for thread in range(threads)
            for step in range(steps)
            for record in (
                SAMPLES.checkpoint(f"t-{thread}", f"{step:03}", ns="" if thread else "sub"),
                SAMPLES.write(f"t-{thread}", f"{step:03}", ns="" if thread else "sub"),
            )
        ]
        filled(mongo.url, name, *records)
        urls.append(mongo.database(name))
    return urls


LOOKS: dict[str, Callable[[Any], Any]] = {
    "threads": lambda saver: list(saver.threads()),
    "thread": lambda saver: saver.thread("t-0"),
    "namespaces": lambda saver: saver.namespaces("t-1"),
    "rows": lambda saver: list(saver.rows("t-1")),
    "newest": lambda saver: saver.newest("t-1", "", 5),
    "row": lambda saver: saver.row(Ref("t-1", "", "001")),
    "metadata": lambda saver: list(saver.metadata([row.ref for row in saver.rows("t-1", "")])),
    "writes": lambda saver: list(saver.writes("t-1", values=0)),
    "writes of some": lambda saver: list(saver.writes("t-1", "", ["000", "001", "002"], values=0)),
    "totals": lambda saver: saver.totals(),
}


@pytest.mark.parametrize("name", LOOKS)
def test_statements_do_not_grow(name: str, sizes: list[str], sent: SentCommands) -> None:
    """A listing takes as many queries in a large database as in a small one, except pages of answers, and no values."""
    counts = []
    for url in sizes:
        with opened(url) as saver:
            sent.commands.clear()
            assert saver.moment(lambda saver=saver: LOOKS[name](saver))
        counts.append(sum("getMore" not in command for command in sent.commands))
        assert not [command for command in sent.commands if shows_values(command)]
    assert counts[0] == counts[1] <= 4


def shows_values(command: dict[str, Any]) -> bool:
    """Whether an answer would contain checkpoints or values of writes; their sizes are allowed."""
    if "getMore" in command:
        return False
    if "find" in command:
        return not command["projection"] or bool({"checkpoint", "value"} & set(command["projection"]))
    stages = [stage for stage in command["pipeline"] if "$project" in stage]
    shown = {key for stage in stages for key in stage["$project"]}
    counted = any("$group" in stage or "$count" in stage for stage in command["pipeline"])
    return not (stages or counted) or bool({"checkpoint", "value"} & shown)


def test_checkpoints_come_in_growing_pages(sizes: list[str], sent: SentCommands) -> None:
    """Forty checkpoints are fetched as four, sixteen and twenty, from many threads as from one."""
    with opened(sizes[1]) as saver:
        refs = [Ref(f"t-{1 + at % 19}", "", f"{at:03}") for at in range(40)]
        sent.commands.clear()
        assert [c.row.ref for c in saver.checkpoints(refs)] == refs
    assert len([command for command in sent.commands if "find" in command]) == 3


def test_large_checkpoints_come_one_at_a_time(
    mongo: Mongo, mongo_database: Callable[[], str], sent: SentCommands
) -> None:
    """Pages are bounded by bytes as well as by number."""
    name = mongo_database()
    filled(
        mongo.url,
        name,
        *(SAMPLES.checkpoint("t", f"{n:02}", payload=Payload("bytes", b"x" * 900_000)) for n in range(12)),
    )
    with opened(mongo.database(name)) as saver:
        sent.commands.clear()
        assert len(list(saver.checkpoints([Ref("t", "", f"{n:02}") for n in range(12)]))) == 12
    assert [len(c["filter"]["checkpoint_id"]["$in"]) for c in sent.commands if "find" in c] == [4, 2, 2, 2, 2]


def test_long_values_stay_on_the_server(database_url: str, sent: SentCommands) -> None:
    """A value above the limit isn't sent: the server computes its size and leaves it out."""
    with MongoClient(database_url) as client:
        writes = client.get_default_database()["checkpoint_writes"]
        writes.update_one({"checkpoint_id": "1"}, {"$set": {"value": b"x" * 5000}})
    with opened(database_url) as saver:
        sent.commands.clear()
        assert next((w.size, w.payload) for w in saver.writes("t", values=100)) == (5000, None)
    assert sent.commands[0]["pipeline"][-1]["$project"]["value"] == {
        "$cond": [{"$lte": [{"$binarySize": "$value"}, 100]}, "$value", None]
    }


@pytest.fixture(scope="module")
def doubled(mongo: Mongo, mongo_database: Callable[[], str]) -> list[str]:
    """A database of 50 threads and 50 tips, and one of 100."""
    urls = []
    for threads in (50, 100):
        name = mongo_database()
        filled(mongo.url, name, *paged.records(SAMPLES, threads))
        urls.append(mongo.database(name))
    return urls


@pytest.mark.parametrize(("name", "most"), [("threads", 40), ("info", 40), ("grep", 40), ("tree", 36), ("delete", 30)])
def test_commands_ask_by_the_page(
    name: str, most: int, doubled: list[str], sent: SentCommands, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands read 50 threads or tips in pages of 25, and twice as many in at most twice as many pages."""
    few, many = (paged.cost(paged.COMMANDS[name], url, sent.names, capsys) for url in doubled)
    assert many <= 2 * few
    assert few <= most


def test_undo_asks_by_the_page(doubled: list[str], sent: SentCommands, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that an undo restores are read by the page, both kinds together."""
    few, many = (paged.cost_of_undo(url, sent.names, capsys) for url in doubled)
    assert many <= 2 * few
    assert few <= 45


def test_several_threads_in_one_statement(doubled: list[str], sent: SentCommands) -> None:
    """Skeletons and writes of many threads, read by one statement, equal those read thread by thread."""
    with opened(doubled[0]) as saver:
        ids = [thread.thread_id for thread in saver.threads()]
        rows = {thread_id: list(saver.rows(thread_id)) for thread_id in ids}
        writes = [write for thread_id in ids for write in saver.writes(thread_id)]
        sent.commands.clear()
        listed = list(saver.rows_of(ids))
        assert [row for thread_id in sorted(ids) for row in rows[thread_id]] == listed
        assert sorted(saver.writes_on([row.ref for row in listed])) == sorted(writes)
    assert sum("getMore" not in command for command in sent.commands) == 2
