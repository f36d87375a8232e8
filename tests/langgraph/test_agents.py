"""Agents run on the adapter as they do on LangGraph's own saver, from many threads and event loops at once."""

import asyncio
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from ckpt_cli.errors import DatabaseUnreachable, Refused
from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from tests.graphs import SCENARIOS
from tests.graphs.building import line, on
from tests.graphs.lines import asking, nested
from tests.truth_rendering import rendered

SERDE = JsonPlusSerializer()


def history_of(saver: BaseCheckpointSaver[Any], scenario: str) -> list[Any]:
    """What a scenario's graphs say of every checkpoint, but for what differs from run to run.

    What is next is asked of heads only: while a join still waits for a node, langgraph 1.2 sometimes calls it due.
    """
    found: list[Any] = []
    for thread_id, graph in SCENARIOS[scenario](saver):
        for state in graph.get_state_history(on(thread_id)):
            values = rendered(Codec().decode(Payload(*SERDE.dumps_typed(state.values))))
            for message in values.get("messages", []) if isinstance(values, dict) else []:
                message.pop("id", None)
            step = [state.metadata.get("source"), state.metadata["step"], values]
            found.append([thread_id, *step])
        now = graph.get_state(on(thread_id))
        asked = [(task.name, task.error, [i.value for i in task.interrupts]) for task in now.tasks]
        found.append([sorted(now.next), sorted(asked, key=repr)])
    return found


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_runs_alike(saver: CkptSaver, tmp_path: Path, scenario: str) -> None:
    """A graph's whole history on the adapter is its history on the official saver."""
    with SqliteSaver.from_conn_string(str(tmp_path / "official.sqlite")) as official:
        assert history_of(saver, scenario) == history_of(official, scenario)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_official_saver_carries_on(saver: CkptSaver, path: Path, scenario: str) -> None:
    """The official saver reads the same as the adapter from what the adapter wrote, in the same process."""
    threads = list(SCENARIOS[scenario](saver))
    with SqliteSaver.from_conn_string(str(path)) as official:
        for thread_id, _ in threads:
            assert list(official.list(on(thread_id))) == list(saver.list(on(thread_id)))


def test_many_threads_at_once(saver: CkptSaver) -> None:
    """Sixteen threads of Python run agents on one adapter, each with its own state."""
    graph = nested(saver, ask=True)

    def live(number: int) -> list[Any]:
        graph.invoke({"log": [number]}, on(str(number)))
        return graph.invoke(Command(resume=f"answer {number}"), on(str(number)))["log"]

    with ThreadPoolExecutor(16) as pool:
        logs = list(pool.map(live, range(48)))
    assert [[log[0], log.count(f"answer {n}") > 0] for n, log in enumerate(logs)] == [[n, True] for n in range(48)]
    assert len({tuple(map(str, log)) for log in logs}) == 48


def test_async(saver: CkptSaver) -> None:
    """Agents of one event loop run at once, ask, are answered, and read their delta channels' histories."""

    async def live(number: int) -> tuple[list[Any], int]:
        graph = asking(saver)
        await graph.ainvoke({"log": [number]}, on(str(number)))
        state = await graph.ainvoke(Command(resume="yes"), on(str(number)))
        return state["log"], len([state async for state in graph.aget_state_history(on(str(number)))])

    async def all_of_them() -> list[Any]:
        async with saver:
            return await asyncio.gather(*(live(number) for number in range(12)))

    expected = [([number, "write", "yes", None, "send"], 5) for number in range(12)]
    assert asyncio.run(all_of_them()) == expected


def test_an_async_list_may_be_left(saver: CkptSaver) -> None:
    """Who stops in the middle of a list leaves nothing locked."""
    graph = line(saver, "a", "b")
    graph.invoke({"log": []}, on("t"))

    async def first() -> Any:
        listed = saver.alist(on("t"))
        return (await anext(listed)).metadata["step"]

    assert asyncio.run(first()) == 2
    next(saver.list(on("t")))
    assert graph.invoke({"log": []}, on("t"))["log"] == ["a", "b", "a", "b"]


def test_encrypted(path: Path) -> None:
    """With an encrypting serializer nothing readable is stored, and the agent continues."""
    serde = EncryptedSerializer.from_pycryptodome_aes(key=b"0123456789abcdef")
    with CkptSaver(path, serde=serde) as saver:
        graph = asking(saver)
        graph.invoke({"log": ["a secret"]}, on("t"))
    with CkptSaver(path, serde=serde) as saver:
        assert asking(saver).invoke(Command(resume="yes"), on("t"))["log"][0] == "a secret"
    assert b"a secret" not in path.read_bytes()


def test_old_databases_go_on(database: Any) -> None:
    """An agent continues in a database without task paths; only new rows are added."""
    path = database("legacy/py-0.6.11")
    with closing(sqlite3.connect(path)) as connection:
        before = connection.execute("SELECT sql FROM sqlite_schema").fetchall()
    with CkptSaver(path) as saver:
        graph = line(saver, "a", "b")
        graph.invoke({"log": ["x"]}, on("new"))
        assert graph.get_state(on("new")).values["log"] == ["x", "a", "b"]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT sql FROM sqlite_schema").fetchall() == before


def test_opening_makes_nothing(tmp_path: Path) -> None:
    """A missing database is an error that says how to create one; an existing one is never created anew."""
    path = tmp_path / "no.sqlite"
    for name in (path, f"sqlite:///{path}"):
        with pytest.raises(DatabaseUnreachable) as caught:
            CkptSaver(name)
        assert "CkptSaver.create" in caught.value.hint
        assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"")
    with pytest.raises(DatabaseUnreachable):
        CkptSaver(path)
    with pytest.raises(Refused):
        CkptSaver.create(path)
    assert path.read_bytes() == b""


OTHER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
"""


def test_its_locks_hold(saver: CkptSaver, path: Path) -> None:
    """While it writes, opening and closing the file again in this process lets no other process write."""

    def work() -> str:
        with CkptSaver(path) as again:
            assert list(again.list(None)) == []
        CkptSaver(f"sqlite:///{path}").close()
        other = [sys.executable, "-c", OTHER, str(path)]
        return subprocess.run(other, capture_output=True, text=True, check=True).stdout

    assert "locked" in saver._saver.transaction(work)
    assert work() == ""


def test_clones_share(saver: CkptSaver) -> None:
    """LangGraph's copy with a longer list of allowed classes works on the same connection."""
    saver.serde = JsonPlusSerializer(allowed_msgpack_modules=[("ipaddress", "IPv4Address")])
    clone = saver.with_allowlist([("decimal", "Decimal")])
    assert clone is not saver
    line(clone, "a").invoke({"log": []}, on("t"))
    assert len(list(saver.list(on("t")))) == 3
