"""Measures an agent on `CkptSaver` against the same agent on LangGraph's own saver: what is sent, and ratios of time.

``pytest tests/bench/agents.py -s [-k KIND]`` uses the servers of the tests, and prints a table. Runs on the two savers
are interleaved, so that a busy machine is busy for both; what is sent is counted in runs of their own, through a proxy.
``CKPT_BENCH_ROUNDS`` says how often each run is timed. For MongoDB, DynamoDB and Valkey only requests are counted: two
of them are stand-ins here, whose time says nothing.
"""

import asyncio
import gc
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from ckpt_cli.langgraph import CkptSaver
from tests.langgraph.counting import GRAPHS, Count, arguments, count_of, counted, official, official_async
from tests.langgraph.places import PLACES, places

SIZE = 50
"""Steps of a run, and tasks of a step."""

_ROUNDS = int(os.environ.get("CKPT_BENCH_ROUNDS", "15"))
_UNTIMED = ("mongodb", "dynamodb", "valkey")
_SHARED = ("redis",)
"""Kinds with one database for both savers; each run has a thread of its own."""

_ROWS: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def report() -> Iterator[None]:
    """Print all rows at the end."""
    yield
    head = "| database | run | statements, official's | round trips, official's | time against the official |"
    print("\n", head, "|---|---|---|---|---|", *_ROWS, sep="\n")


def urls(request: pytest.FixtureRequest, kind: str) -> tuple[str, str]:
    """A database for each of the two savers."""
    where = places(request, kind)
    mine = where().url
    return mine, mine if kind in _SHARED else where().url


def row(kind: str, run: str, ours: Count, theirs: Count, ratio: float | None) -> str:
    """A line of the table."""
    counts = [f"{mine}, {other}" if other else "" for mine, other in zip(ours, theirs, strict=True)]
    return f"| {kind} | {run} | {' | '.join(counts)} | {'' if ratio is None else f'{ratio:.2f}'} |"


def ratio_of(times: tuple[list[float], list[float]]) -> float:
    """How many times as long our runs take: the median of the ratios of neighbours."""
    return statistics.median(mine / other for mine, other in zip(*times, strict=True))


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("kind", PLACES)
def test_sync(request: pytest.FixtureRequest, kind: str, graph: str) -> None:
    """Count and time runs of the sync methods."""

    def run(saver: Any) -> None:
        start, config = arguments()
        GRAPHS[graph](saver, SIZE).invoke(start, config)

    counts, pair = [], urls(request, kind)
    for url, own in zip(pair, (True, False), strict=True):
        with counted(kind, url) as (through, counter), CkptSaver(through) if own else official(kind, through) as saver:
            run(saver)
            before = count_of(counter)
            run(saver)
            counts.append(count_of(counter) - before)
    ratio = None
    if kind not in _UNTIMED:
        with CkptSaver(pair[0]) as mine, official(kind, pair[1]) as theirs:
            ratio = ratio_of(timed(run, mine, theirs))
    _ROWS.append(row(kind, f"{graph}, sync", *counts, ratio))


def timed(run: Callable[[Any], None], *savers: Any) -> tuple[list[float], list[float]]:
    times: tuple[list[float], list[float]] = ([], [])
    for saver in savers:
        run(saver)
    for _ in range(_ROUNDS):
        for saver, own in zip(savers, times, strict=True):
            gc.collect()
            began = time.perf_counter()
            run(saver)
            own.append(time.perf_counter() - began)
    return times


@pytest.mark.filterwarnings("ignore:get_async_redis_connection")  # LangGraph's own saver calls it
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("kind", [kind for kind in PLACES if kind != "mysql"])
def test_async(request: pytest.FixtureRequest, kind: str, graph: str) -> None:
    """Count and time runs of the async methods."""

    async def run(saver: Any) -> None:
        start, config = arguments()
        await GRAPHS[graph](saver, SIZE).ainvoke(start, config)

    async def all_runs() -> str:
        counts, pair = [], urls(request, kind)
        for url, own in zip(pair, (True, False), strict=True):
            with counted(kind, url) as (through, counter):
                async with CkptSaver(through) if own else official_async(kind, through) as saver:
                    await run(saver)
                    before = count_of(counter)
                    await run(saver)
                    counts.append(count_of(counter) - before)
        if kind in _UNTIMED:
            return row(kind, f"{graph}, async", *counts, None)
        async with CkptSaver(pair[0]) as mine, official_async(kind, pair[1]) as theirs:
            return row(kind, f"{graph}, async", *counts, ratio_of(await timed_async(run, mine, theirs)))

    _ROWS.append(asyncio.run(all_runs()))


async def timed_async(run: Callable[[Any], Awaitable[None]], *savers: Any) -> tuple[list[float], list[float]]:
    times: tuple[list[float], list[float]] = ([], [])
    for saver in savers:
        await run(saver)
    for _ in range(_ROUNDS):
        for saver, own in zip(savers, times, strict=True):
            gc.collect()
            began = time.perf_counter()
            await run(saver)
            own.append(time.perf_counter() - began)
    return times
