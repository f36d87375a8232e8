"""What a target can't hold is listed before anything is written; all else is there as its own saver reads it."""

import json
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.postgres.shallow import ShallowPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import BaseModel

from ckpt_cli.app import run
from tests.copying.official import gone_on, records, states
from tests.cross.backend import Backend
from tests.graphs.building import line, on
from tests.langgraph.places import places


class Point(BaseModel):
    x: int


@dataclass
class Pair:
    x: int


class Kind(Enum):
    BIG = "big"


NUMBERS = [1e22, -0.0, 2**63, 0.1 + 0.2, 5e-324, 1e15, -1.5e300]
TYPED = [
    datetime(2026, 1, 2, 3, 4, 5, 678),
    datetime(2026, 1, 2, tzinfo=UTC),
    datetime(2026, 1, 2, tzinfo=timezone(-timedelta(hours=5, minutes=30))),
    *(date(2026, 1, 2), timedelta(days=-1, microseconds=3), Decimal("1.10"), UUID(int=7), {1, 2}, frozenset({"x"})),
    *(b"\1\2", Pair(3), Document("text", metadata={"n": 1}), HumanMessage("hello", id="1"), PurePosixPath("/a").name),
]
HELD: dict[str, Any] = {"numbers": NUMBERS, "typed": TYPED, "texts": ["a\0b", "𝄞", ""], "nested": [[{"a": [None]}]]}
LOST_BY_REDIS: dict[str, Any] = {
    "model": [{"deep": [Point(x=1)]}],
    "enum": [Kind.BIG],
    "keys": [{1: 2}],
    "envelope": [{"lc": 2, "type": "constructor", "id": ["builtins", "set"], "args": []}],
    "marker": [{"__bytes__": "AA=="}],
    "nan": [math.nan],
}
METADATA: dict[str, Any] = {"large": 1e22, "signed": -0.0}


def listed(source: Backend, target: Backend, capsys: Any) -> dict[str, str]:
    """Thread to why it is refused; nothing was written, and then the others were."""
    capsys.readouterr()
    assert run(["copy", source.url, target.url, "--yes", "--json"]) == 7, capsys.readouterr()
    refused = {one["thread_id"]: one["problem"] for one in json.loads(capsys.readouterr().out)["threads"]}
    with closing(target.saver()) as saver:
        assert not list(saver.threads())
    assert run(["copy", source.url, target.url, "--yes", "--skip-refused", "--json"]) == 0, capsys.readouterr()
    after = {one["thread_id"]: one["problem"] for one in json.loads(capsys.readouterr().out)["threads"]}
    assert refused == after
    return {thread_id: problem for thread_id, problem in refused.items() if problem}


def filled(saver: Any, values: dict[str, list[Any]], **metadata: Any) -> None:
    for thread_id, value in values.items():
        line(saver, "a").invoke({"log": value}, on(thread_id, **metadata))


def must_be_held(source: Backend, target: Backend, *threads: str) -> None:
    with source.official() as here, target.official() as there:
        for thread_id in threads:
            graph, other = line(here, "a"), line(there, "a")
            assert repr(states(other, thread_id)) == repr(states(graph, thread_id))  # -0.0 equals 0.0
            assert repr(other.get_state(on(thread_id)).values) == repr(graph.get_state(on(thread_id)).values)


def test_types_that_redis_loses(request: pytest.FixtureRequest, capsys: Any) -> None:
    """What its saver would read as a dict, a text or nothing is refused; dates, sets, dataclasses and bytes aren't."""
    source, target = places(request, "sqlite")(), places(request, "redis")()
    with source.official() as saver:
        filled(saver, {**HELD, **LOST_BY_REDIS})
    problems = listed(source, target, capsys)
    assert problems.keys() == LOST_BY_REDIS.keys()
    assert f"would read a {Point.__module__}.Point, in channel" in problems["model"]
    must_be_held(source, target, *HELD)


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_numbers_of_json(request: pytest.FixtureRequest, kind: str, capsys: Any) -> None:
    """Values keep every number. In metadata, Postgres' JSONB has 1e22 as an integer and no -0.0: those are refused."""
    source, target = places(request, "sqlite")(), places(request, kind)()
    with source.official() as saver:
        filled(saver, HELD, fine=0.5)
        for name, number in METADATA.items():
            line(saver, "a").invoke({"log": []}, on(name, number=number))
        filled(saver, {"nan in metadata": []}, number=math.nan)
    problems = listed(source, target, capsys)
    lost = METADATA if kind == "postgres" else {}
    assert problems.keys() == {*lost, "nan in metadata"}
    assert all(f"has the number {METADATA[name]}, which" in problems[name] for name in lost)
    must_be_held(source, target, *HELD)


@pytest.mark.parametrize(("kind", "size"), [("mongodb", 17_000_000), ("dynamodb", 500_000)])
def test_too_large(request: pytest.FixtureRequest, kind: str, size: int, capsys: Any) -> None:
    """A document of more than 16 MB and an item of more than 400 kB, with the limit in the message."""
    source, target = places(request, "sqlite")(), places(request, kind)()
    with source.official() as saver:
        filled(saver, {"large": [os.urandom(size)], "small": ["x"]})
    problems = listed(source, target, capsys)
    assert problems.keys() == {"large"}
    assert ("16" if kind == "mongodb" else "400") in problems["large"]
    must_be_held(source, target, "small")


class Integers(SqliteSaver):
    """Counts versions as LangGraph.js and the base class do."""

    get_next_version = BaseCheckpointSaver.get_next_version


@pytest.fixture
def branches(request: pytest.FixtureRequest) -> Iterator[tuple[Backend, Any]]:
    """A thread of which two branches have the same integer versions with other values, and its saver."""
    source = places(request, "sqlite")()
    with Integers.from_conn_string(source.url) as saver:
        graph = line(saver, "a", "b")
        graph.invoke({"log": ["go"]}, on("t"))
        early = list(graph.get_state_history(on("t")))[1].config
        for name in ("one", "two"):
            graph.update_state(early, {"log": [name]})
        yield source, saver


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_versions_that_branches_share(request: pytest.FixtureRequest, kind: str, branches: Any, capsys: Any) -> None:
    """Where values are stored by version, each branch gets versions of its own, and both go on."""
    (source, saver), target = branches, places(request, kind)()
    assert run(["copy", source.url, target.url, "--yes"]) == 0, capsys.readouterr()
    with target.official() as there:
        graph, other = line(saver, "a", "b"), line(there, "a", "b")
        assert records(there, "t", "") == records(saver, "t", "")
        assert states(other, "t") == states(graph, "t")
        assert gone_on(other, "t") == gone_on(graph, "t")


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_value_that_was_changed_in_place(request: pytest.FixtureRequest, kind: str, capsys: Any) -> None:
    """Two checkpoints have it under one version: the reason says so, and of nothing that it is there already."""
    source, target = places(request, "sqlite")(), places(request, kind)()
    with source.official() as saver:
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        for step, value in enumerate([["b"], ["b", "c"]]):
            made = empty_checkpoint() | {"channel_values": {"join": value}, "channel_versions": {"join": "1.5"}}
            config = saver.put(config, made, {"source": "loop", "step": step}, {"join": "1.5"} if step == 0 else {})
    [(thread, problem)] = listed(source, target, capsys).items()
    assert (thread, "has two values at version 1.5, and this database stores each version once" in problem) == (
        "t",
        True,
    )


_ONE_RUN = """
import sys
from operator import or_
from typing import Annotated, TypedDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    tags: Annotated[set, or_]
    n: int

with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
    graph = StateGraph(State).add_node("a", lambda state: {"n": state.get("n", 0) + 1}).add_edge(START, "a")
    given = {"tags": {"urgent", "vip", "fraud", "new", "paid"}} if sys.argv[2] == "0" else {"n": 5}
    graph.compile(checkpointer=saver).invoke(given, {"configurable": {"thread_id": "t"}})
"""


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_set_that_each_process_writes_in_its_own_order(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path, capsys: Any
) -> None:
    """Equal sets are one value of their version, also where a copy is brought up to date; the agent goes on."""
    source, target = tmp_path / "t.sqlite", places(request, kind)()
    for number in range(4):
        words = [sys.executable, "-c", _ONE_RUN, str(source), str(number)]
        subprocess.run(words, check=True, env={**os.environ, "PYTHONHASHSEED": str(number)})
        if number:
            assert run(["copy", str(source), target.url, "--yes"]) == 0, capsys.readouterr()
    with closing(sqlite3.connect(source)) as connection, target.official() as there:
        bodies = {bytes(row[0]) for row in connection.execute("SELECT checkpoint FROM checkpoints")}
        orders = {body[body.index(b"tags") :][:80] for body in bodies if b"urgent" in body}
        own, copied = (
            {one.checkpoint["id"]: one.checkpoint["channel_values"] for one in saver.list(on("t"))}
            for saver in (SqliteSaver(connection), there)
        )
        assert own == copied and len(orders) > 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_saver_without_history(postgres: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Shallow tables hold one checkpoint of a thread: nothing is copied into them, and what they have out of them."""
    monkeypatch.chdir(tmp_path)
    name = postgres.loaded("pg-shallow")
    assert run(["demo"]) == 0
    capsys.readouterr()
    assert run(["copy", "ckpt-demo.sqlite", postgres.url(name), "--yes", "--json"]) == 6
    assert "shallow" in json.loads(capsys.readouterr().err)["error"]["message"]
    with ShallowPostgresSaver.from_conn_string(postgres.url(name)) as saver:
        thread_id = next(saver.list(None)).config["configurable"]["thread_id"]
        listed = {one.checkpoint["id"] for one in saver.list(on(thread_id))}
    assert run(["copy", postgres.url(name), "new.sqlite", thread_id, "--yes", "--json"]) == 0, capsys.readouterr()
    with SqliteSaver.from_conn_string("new.sqlite") as saver:
        assert {one.checkpoint["id"] for one in saver.list(on(thread_id))} == listed
