"""The rows that the adapter makes in SQLite are those that LangGraph's own saver makes, for the same calls."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.graphs import SCENARIOS
from tests.langgraph.both import Both, both
from tests.langgraph.places import places

TABLES = {
    "checkpoints": "thread_id, checkpoint_ns, checkpoint_id",
    "writes": "thread_id, checkpoint_ns, checkpoint_id, task_id, idx",
}


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[Both]:
    """Two empty databases."""
    with both(places(request, "sqlite")) as pair:
        yield pair


def same(pair: Both) -> dict[str, list[Any]]:
    """The rows of both, which are the same to the byte and the storage class."""
    mine, theirs = (rows(Path(place.url)) for place in pair.places)
    assert mine == theirs
    return mine


def rows(path: Path) -> dict[str, list[Any]]:
    """All of a database, with each value's storage class."""
    with closing(sqlite3.connect(path)) as connection:
        typed = {
            table: ", ".join(
                f"{name}, typeof({name})"
                for (name,) in connection.execute(f"SELECT name FROM pragma_table_info('{table}')")
            )
            for table in TABLES
        }
        return {
            table: connection.execute(f"SELECT {typed[table]} FROM {table} ORDER BY {key}").fetchall()
            for table, key in TABLES.items()
        }


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_rows(pair: Both, scenario: str) -> None:
    """Every row of both tables is the same, whatever graph ran, and none is left of deleted threads."""
    threads = [thread_id for thread_id, _ in SCENARIOS[scenario](pair)]
    assert all(same(pair).values())
    everywhere = list(pair.theirs.list(None))
    assert list(pair.mine.list(None)) == everywhere
    wanted = {"source": "loop", "step": 1}
    assert list(pair.mine.list(None, filter=wanted, limit=3)) == list(pair.theirs.list(None, filter=wanted, limit=3))
    for thread_id in threads:
        pair.delete_thread(thread_id)
    assert not any(same(pair).values())


def test_writes_twice(pair: Both) -> None:
    """Special writes replace existing ones, ordinary writes don't, and a checkpoint replaces the one with its id."""
    config = {"configurable": {"thread_id": 7, "checkpoint_ns": "", "checkpoint_id": "1"}}
    for value in ("first", "second"):
        pair.put_writes(config, [("a", value), ("b", value), ("a", value)], "task", "path")
        pair.put_writes(config, [("__error__", value)], "task", "path of " + value)
        pair.put_writes(config, [("__interrupt__", value), ("c", value), ("__resume__", None)], "other")
        pair.put_writes(config, [("__resume__", value), ("__resume__", value + " again")], "other")
        pair.put_writes(config, [("more", value)] * 5, "task")
        pair.put_writes(config, [], "task")
        checkpoint = {**EMPTY, "id": "1", "channel_values": {"text": value, "bytes": b"\xff"}}
        pair.put(config, checkpoint, {"source": value, "lone": "\ud83d", "nul": "\0", "writes": {"a": 1}}, {})
    assert len(same(pair)["writes"]) == 9


EMPTY = {
    "v": 4,
    "ts": "2026-11-21T00:00:00+00:00",
    "channel_versions": {},
    "versions_seen": {},
    "updated_channels": None,
}


def test_versions(pair: Both) -> None:
    """The next version of nothing, of a number and of a text counts one on, as text."""
    for current in (None, 3, "00000000000000000000000000000007.0.42", "00000000000000000000000000000002."):
        mine, theirs = pair.mine.get_next_version(current, None), pair.get_next_version(current, None)
        assert mine.partition(".")[0] == theirs.partition(".")[0]
        assert float(mine.partition(".")[2]) < 1
