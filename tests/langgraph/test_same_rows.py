"""What the adapter writes and reads is what LangGraph's own saver writes and reads, for the same calls."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.langgraph import CkptSaver
from tests.graphs import SCENARIOS, Graph

TABLES = {
    "checkpoints": "thread_id, checkpoint_ns, checkpoint_id",
    "writes": "thread_id, checkpoint_ns, checkpoint_id, task_id, idx",
}


class Both(SqliteSaver):
    """The official saver; every call that writes is made on the adapter too.

    Both get copies: LangGraph gives messages their ids while they are saved.
    """

    def __init__(self, connection: sqlite3.Connection, mine: CkptSaver) -> None:
        super().__init__(connection)
        self.mine = mine

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        checkpoint = deepcopy(checkpoint)
        theirs = super().put(config, checkpoint, metadata, new_versions)
        assert self.mine.put(config, checkpoint, metadata, new_versions) == theirs
        return theirs

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        writes = deepcopy(writes)
        super().put_writes(config, writes, task_id, task_path)
        self.mine.put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        super().delete_thread(thread_id)
        self.mine.delete_thread(thread_id)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    """Two empty databases."""
    with (
        closing(CkptSaver.create(tmp_path / "mine.sqlite")) as mine,
        closing(sqlite3.connect(tmp_path / "theirs.sqlite", check_same_thread=False)) as connection,
    ):
        both = Both(connection, mine)
        both.setup()
        yield both


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


def run(both: Both, scenario: str) -> list[tuple[str, Graph]]:
    return list(SCENARIOS[scenario](both))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_rows(both: Both, tmp_path: Path, scenario: str) -> None:
    """Every row of both tables is the same to the byte and the storage class, whatever graph ran."""
    threads = run(both, scenario)
    mine, theirs = rows(tmp_path / "mine.sqlite"), rows(tmp_path / "theirs.sqlite")
    assert theirs["checkpoints"] and theirs["writes"]
    assert mine == theirs
    for thread_id, _ in threads:
        both.delete_thread(thread_id)
    assert rows(tmp_path / "mine.sqlite") == {"checkpoints": [], "writes": []}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_tuples(both: Both, scenario: str) -> None:
    """Each checkpoint is read the same by its id, as the newest, and in lists of a thread, a namespace or all."""
    for thread_id, _ in run(both, scenario):
        thread = {"configurable": {"thread_id": thread_id}}
        listed = list(SqliteSaver.list(both, thread))
        assert listed and list(both.mine.list(thread)) == listed
        for theirs in listed:
            assert both.mine.get_tuple(theirs.config) == theirs
            channels = sorted(theirs.checkpoint["channel_versions"])
            history = SqliteSaver.get_delta_channel_history(both, config=theirs.config, channels=channels)
            assert both.mine.get_delta_channel_history(config=theirs.config, channels=channels) == history
        for ns in {item.config["configurable"]["checkpoint_ns"] for item in listed}:
            newest = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}
            assert both.mine.get_tuple(newest) == both.get_tuple(newest)
            assert list(both.mine.list(newest, limit=2)) == list(both.list(newest, limit=2))
            assert list(both.mine.list(newest, before=listed[0].config)) == list(
                both.list(newest, before=listed[0].config)
            )
        for wanted in ({"source": "loop"}, {"step": 1, "source": "loop"}, {"nothing": None}, {"user": "Åsa"}):
            assert list(both.mine.list(thread, filter=wanted)) == list(both.list(thread, filter=wanted))
    assert list(both.mine.list(None)) == list(both.list(None))
    assert list(both.mine.list(None, limit=3, filter={"source": "loop"})) == list(
        both.list(None, limit=3, filter={"source": "loop"})
    )


def test_writes_twice(both: Both, tmp_path: Path) -> None:
    """Special writes replace what stands in their places, others leave it, and a checkpoint replaces its like."""
    config = {"configurable": {"thread_id": 7, "checkpoint_ns": "", "checkpoint_id": "1"}}
    for value in ("first", "second"):
        both.put_writes(config, [("a", value), ("b", value), ("a", value)], "task", "path")
        both.put_writes(config, [("__error__", value)], "task", "path of " + value)
        both.put_writes(config, [("__interrupt__", value), ("c", value), ("__resume__", None)], "other")
        both.put_writes(config, [("__resume__", value), ("__resume__", value + " again")], "other")
        both.put_writes(config, [("more", value)] * 5, "task")
        both.put_writes(config, [], "task")
        checkpoint = {**EMPTY, "id": "1", "channel_values": {"text": value, "bytes": b"\xff"}}
        both.put(config, checkpoint, {"source": value, "lone": "\ud83d", "nul": "\0", "writes": {"a": 1}}, {})
    assert rows(tmp_path / "mine.sqlite") == rows(tmp_path / "theirs.sqlite")
    assert len(rows(tmp_path / "mine.sqlite")["writes"]) == 9


EMPTY = {
    "v": 4,
    "ts": "2026-11-21T00:00:00+00:00",
    "channel_versions": {},
    "versions_seen": {},
    "updated_channels": None,
}


def test_versions(both: Both) -> None:
    """The next version of nothing, of a number and of a text counts one on, as text."""
    for current in (None, 3, "00000000000000000000000000000007.0.42", "00000000000000000000000000000002."):
        mine, theirs = both.mine.get_next_version(current, None), both.get_next_version(current, None)
        assert mine.partition(".")[0] == theirs.partition(".")[0]
        assert float(mine.partition(".")[2]) < 1
