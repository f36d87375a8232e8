"""Many agents at once on one saver: each has the results and the records that it has when they run one by one."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.conformance import everything
from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.model import Checkpoint, Write
from ckpt_cli.reading import Reader
from ckpt_cli.serde.codec import Codec
from tests.cross.backend import Backend
from tests.graphs.building import Bag, Log, on, says
from tests.langgraph.places import Where, places
from tests.truth_rendering import rendered

RUNS = 20
"""How many agents run at once in one event loop; it holds with 100 as well."""

THREADS, EACH = 16, 1
"""How many threads of Python run agents, and how many agents each; it holds with 16 and 4 as well."""

KINDS = ("sqlite", "postgres", "mysql", "redis")


@pytest.fixture(params=KINDS)
def where(request: pytest.FixtureRequest) -> Where:
    """Empty databases of each kind with a server, and of SQLite."""
    return places(request, request.param)


def agent(saver: Any) -> Any:
    """Fans out to a subgraph that waits for other agents, asks, and goes on."""

    async def pause(state: Bag) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"log": [state["n"]]}

    def ask(state: Bag) -> dict[str, Any]:
        return {"log": [interrupt({"of": state["n"]})]}

    child = StateGraph(Bag, output_schema=Log)
    child.add_node("pause", pause)
    child.add_edge(START, "pause")
    builder = StateGraph(Bag)
    builder.add_node("split", says("split"))
    builder.add_node("child", child.compile())
    builder.add_node("ask", ask)
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda s: [Send("child", {"n": 10 * s["n"] + k}) for k in (1, 2)], ["child"])
    builder.add_edge("child", "ask")
    return builder.compile(checkpointer=saver)


async def live(graph: Any, number: int) -> Any:
    """One agent, until its question is answered."""
    config = on(f"agent {number}", number=number)
    await graph.ainvoke({"log": [], "n": number}, config)
    return await graph.ainvoke(Command(resume=f"answer {number}"), config)


def one_by_one(saver: Any, count: int) -> list[Any]:
    graph = agent(saver)

    async def run() -> list[Any]:
        return [await live(graph, number) for number in range(count)]

    return asyncio.run(run())


def all_at_once(saver: Any, count: int) -> list[Any]:
    graph = agent(saver)

    async def run() -> list[Any]:
        return await asyncio.gather(*(live(graph, number) for number in range(count)))

    return asyncio.run(run())


def by_threads(saver: Any, count: int) -> list[Any]:
    """Each thread has an event loop of its own, and a graph of its own on the same saver."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda number: asyncio.run(live(agent(saver), number)), range(count)))


@pytest.mark.parametrize(("run", "count"), [(all_at_once, RUNS), (by_threads, THREADS * EACH)])
def test_as_one_by_one(where: Where, run: Callable[[Any, int], list[Any]], count: int) -> None:
    """Results and stored records equal those of the same agents run one by one: nothing is lost or doubled."""
    expected_results, expected = ran(where(), one_by_one, count)
    results, found = ran(where(), run, count)
    assert results == expected_results
    assert expected.keys() == {f"agent {number}" for number in range(count)}
    assert found == expected
    assert {(len(checkpoints), len(writes)) for checkpoints, writes in found.values()} == {(11, 20)}


def ran(place: Backend, run: Callable[[Any, int], list[Any]], count: int) -> tuple[list[Any], Any]:
    """The results of agents on an empty database, and what they stored."""
    with CkptSaver(place.url) as saver:
        results = run(saver, count)
    return results, contents(place)


def contents(place: Backend) -> dict[str, tuple[list[str], list[str]]]:
    """The checkpoints and writes of each thread, without what differs from run to run, sorted."""
    with closing(place.saver()) as saver:
        threads, checkpoints, writes = everything(saver)
        reader = Reader(saver, Codec())
        found: dict[str, tuple[list[str], list[str]]] = {thread.thread_id: ([], []) for thread in threads}
        steps = {checkpoint.row.ref: _metadata(checkpoint).get("step") for checkpoint in checkpoints}
        states = reader.states(checkpoint.row.ref for checkpoint in checkpoints)
        for checkpoint, state in zip(checkpoints, states, strict=True):
            found[checkpoint.row.thread_id][0].append(_checkpoint(state.values, checkpoint, steps))
        for write in writes:
            found[write.thread_id][1].append(_write(write, steps))
    return {name: (sorted(some), sorted(others)) for name, (some, others) in found.items()}


def _metadata(checkpoint: Checkpoint) -> Any:
    return Codec().decode(checkpoint.metadata)


def _checkpoint(state: Any, checkpoint: Checkpoint, steps: dict[Any, Any]) -> str:
    row, metadata = checkpoint.row, _metadata(checkpoint)
    parent = steps[row.ref._replace(checkpoint_id=row.parent_id)] if row.parent_id else None
    values = {name: rendered(value) for name, value in state.items()}
    kept = {name: metadata.get(name) for name in ("source", "step", "number")}
    return repr((_ns(row.ns), parent, sorted(kept.items()), sorted(values.items(), key=repr)))


def _write(write: Write, steps: dict[Any, Any]) -> str:
    assert write.payload is not None
    value = rendered(Codec().decode(write.payload))
    if write.channel == "__interrupt__":
        value = [item["value"] if isinstance(item, dict) and "value" in item else "a question" for item in value]
    return repr((_ns(write.ns), steps[write.ref], write.idx, write.channel, value))


def _ns(ns: str) -> str:
    return "|".join(part.partition(":")[0] for part in ns.split("|"))
