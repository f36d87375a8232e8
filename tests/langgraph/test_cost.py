"""An agent on the adapter sends no more than on LangGraph's own saver: statements and round trips, sync and async."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from ckpt_cli.langgraph import CkptSaver
from tests.langgraph.counting import GRAPHS, Count, Counter, arguments, count_of, counted, official, official_async
from tests.langgraph.places import PLACES, Where, places

SIZE = 12
"""Steps of a run, and tasks of a step; both savers send the same for each, so more would show the same."""


@pytest.fixture(params=PLACES)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of database; on Redis, Valkey and DynamoDB round trips alone are counted."""
    return str(request.param)


@pytest.fixture
def where(request: pytest.FixtureRequest, kind: str) -> Where:
    """Empty databases of that kind."""
    return places(request, kind)


def sync_run(saver: Any, graph: str) -> list[Any]:
    """What a run returns, and what is read afterwards."""
    start, config = arguments()
    compiled = GRAPHS[graph](saver, SIZE)
    return [compiled.invoke(start, config)["log"], compiled.get_state(config).values["log"]]


async def async_run(saver: Any, graph: str) -> list[Any]:
    start, config = arguments()
    compiled = GRAPHS[graph](saver, SIZE)
    return [(await compiled.ainvoke(start, config))["log"], (await compiled.aget_state(config)).values["log"]]


def sync_count(kind: str, url: str, graph: str, *, own: bool) -> tuple[Count, list[Any]]:
    """What the second run of a saver sends: the first one prepares statements and checks tables."""
    with counted(kind, url) as (counted_url, counter), opened(kind, counted_url, own=own) as saver:
        sync_run(saver, graph)
        before = count_of(counter)
        result = sync_run(saver, graph)
        return count_of(counter) - before, result


def opened(kind: str, url: str, *, own: bool) -> AbstractContextManager[Any]:
    return CkptSaver(url) if own else official(kind, url)


async def async_count(kind: str, url: str, graph: str, *, own: bool) -> tuple[Count, list[Any]] | None:
    with counted(kind, url) as (counted_url, counter):
        either = CkptSaver(counted_url) if own else official_async(kind, counted_url)
        if either is None:
            return None
        async with either as saver:
            await async_run(saver, graph)
            before = count_of(counter)
            result = await async_run(saver, graph)
            return count_of(counter) - before, result


@pytest.mark.parametrize("graph", GRAPHS)
def test_sync(where: Where, kind: str, graph: str) -> None:
    """Steps and a fan-out, and reading the state: the same results with no more statements and round trips."""
    ours, result = sync_count(kind, where().url, graph, own=True)
    theirs, expected = sync_count(kind, where().url, graph, own=False)
    assert result == expected
    must_be_cheap(ours, theirs)


@pytest.mark.filterwarnings("ignore:get_async_redis_connection")  # LangGraph's own saver calls it
@pytest.mark.parametrize("graph", GRAPHS)
def test_async(where: Where, kind: str, graph: str) -> None:
    """The same for the async methods; where there is no async saver to compare with, it is the sync one."""
    ours, result = asyncio.run(async_count(kind, where().url, graph, own=True)) or (Count(0, 0), [])
    other = asyncio.run(async_count(kind, where().url, graph, own=False))
    theirs, expected = other or sync_count(kind, where().url, graph, own=False)
    assert result == expected
    must_be_cheap(ours, theirs)


def must_be_cheap(ours: Count, theirs: Count, name: str = "a run") -> None:
    assert sum(ours) > 0, name
    assert ours.statements <= theirs.statements, name
    assert ours.trips <= theirs.trips, name


def _config(thread_id: str, **names: str) -> Any:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": "", **names}}


def _put(saver: Any, thread_id: str, own_id: str, values: dict[str, Any]) -> None:
    versions = dict.fromkeys(values, "00000000000000000000000000000001.5")
    checkpoint = {"v": 4, "id": own_id, "ts": "", "versions_seen": {}, "updated_channels": None}
    checkpoint |= {"channel_values": values, "channel_versions": versions}
    saver.put(_config(thread_id), checkpoint, {"step": 1}, versions)


def _put_writes(saver: Any, thread_id: str, *channels: str) -> None:
    writes = [(channel, [channel]) for channel in channels]
    saver.put_writes(_config(thread_id, checkpoint_id="1"), writes, "task", "path")


CALLS: dict[str, Callable[[Any, str], object]] = {
    "put a checkpoint with channels apart": lambda saver, t: _put(saver, t, "1", {"a": [1], "b": [2], "n": 1}),
    "put it again": lambda saver, t: _put(saver, t, "1", {"a": [1], "b": [2], "n": 1}),
    "put a small one": lambda saver, t: _put(saver, t, "2", {"n": 1}),
    "put a write": lambda saver, t: _put_writes(saver, t, "a"),
    "put writes": lambda saver, t: _put_writes(saver, t, "a", "b", "c"),
    "put special writes": lambda saver, t: _put_writes(saver, t, "__error__", "__interrupt__"),
    "get a checkpoint": lambda saver, t: saver.get_tuple(_config(t, checkpoint_id="1")),
    "get the newest": lambda saver, t: saver.get_tuple(_config(t)),
    "get a missing one": lambda saver, t: saver.get_tuple(_config(t, checkpoint_id="3")),
}


def call_counts(saver: Any, counter: Counter) -> dict[str, Count]:
    """What each call sends when it is made for the second time: the first time a statement may be prepared."""
    counts = {}
    for thread_id in ("first", "second"):
        for name, call in CALLS.items():
            before = count_of(counter)
            call(saver, thread_id)
            counts[name] = count_of(counter) - before
    return counts


def test_calls(where: Where, kind: str) -> None:
    """Each call by itself sends no more statements and takes no more round trips."""
    counts = []
    for own in (True, False):
        with counted(kind, where().url) as (url, counter), opened(kind, url, own=own) as saver:
            counts.append(call_counts(saver, counter))
    ours, theirs = counts
    for name in CALLS:
        # the end of a pipeline may count as the trip of the call before: no call waits for less than one answer
        must_be_cheap(ours[name], theirs[name]._replace(trips=max(theirs[name].trips, 1)), name)
