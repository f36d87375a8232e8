"""``trace --format perfetto`` keeps the rules of the Trace Event Format, on graphs of many kinds that really ran.

The rules are those of the format's document ("Trace Event Format", Google): a JSON object with ``traceEvents``; a
complete event (``X``) has ``name``, ``cat``, ``ts`` and ``dur`` in microseconds, ``pid`` and ``tid``; events of one
thread are apart, or one inside the other; metadata events (``M``) name processes and threads.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.commands.trace import TraceFormat, trace
from ckpt_cli.output.clean import clean_line
from ckpt_cli.output.line import Page
from ckpt_cli.output.printer import render
from ckpt_cli.session import Session
from tests import golden
from tests.graphs.building import on
from tests.graphs.traced_kinds import KINDS, State, says

AT_ONCE = 3


def events_of(path: Path, thread: str) -> list[dict[str, Any]]:
    """The events of a thread, as a viewer reads them."""
    with closing(Session(str(path), clock=lambda: golden.NOW)) as session:
        view = trace(session, thread, form=TraceFormat.PERFETTO)
        document = json.loads("\n".join(clean_line(line) for line in render(view, Page(None, golden.NOW))))
    assert document.keys() == {"displayTimeUnit", "traceEvents"}
    assert document["displayTimeUnit"] in ("ms", "ns")
    events: list[dict[str, Any]] = document["traceEvents"]
    return events


def check(events: list[dict[str, Any]]) -> None:
    """Each event keeps the rules of the format."""
    processes, threads = set(), set()
    by_track: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        assert {"ph", "name", "pid", "tid", "args"} <= event.keys()
        assert type(event["pid"]) is type(event["tid"]) is int
        assert event["pid"] > 0 < event["tid"], "0 is the idle task of the machine"
        track = event["pid"], event["tid"]
        if event["ph"] == "M":
            assert isinstance(event["args"]["name"], str) and event["args"]["name"]
            known = {"process_name": processes, "thread_name": threads}[event["name"]]
            key = event["pid"] if known is processes else track
            assert key not in known
            known.add(key)
            continue
        assert event["ph"] == "X" and event["name"] and event["cat"]
        assert type(event["ts"]) is type(event["dur"]) is int and event["ts"] > 0 <= event["dur"]
        assert event["pid"] in processes and track in threads, "named before its first event"
        by_track.setdefault(track, []).append((event["ts"], event["ts"] + event["dur"]))
    assert threads == by_track.keys()
    assert max(Counter(tid for _, tid in threads).values(), default=1) == 1, "viewers take a tid for one thread of all"
    for own in by_track.values():
        assert own == sorted(own)
        for (_, end), (begin, _) in combinations(own, 2):
            assert end <= begin, "two events of a track overlap"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traced.sqlite"


@pytest.fixture
def saver(path: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(path)) as opened:
        yield opened


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_on_graphs_that_ran(kind: Callable[[Any], Any], saver: SqliteSaver, path: Path) -> None:
    """Loops, Sends, joins, subgraphs, questions, errors and forks."""
    kind(saver)
    threads = {found.config["configurable"]["thread_id"] for found in saver.list(None)}
    for thread in threads:
        events = events_of(path, thread)
        check(events)
        assert any(event["ph"] == "X" for event in events)


@pytest.mark.parametrize(
    "thread", ["chat-linear", "mapreduce", "commands", "functional", "subgraph-interrupted", "forks"]
)
def test_on_recorded_threads(thread: str, database: Callable[[str], Path]) -> None:
    """What other programs recorded."""
    check(events_of(database("real"), thread))


def test_a_subgraph_that_runs_several_times_at_once(saver: SqliteSaver, path: Path) -> None:
    """Each call has tracks of its own: its tasks overlap with those of the others in time."""
    everyone = Barrier(AT_ONCE)
    inner = StateGraph(State)
    inner.add_node("meet", lambda _: {"n": everyone.wait()})
    inner.add_node("after", says("after"))
    inner.add_edge(START, "meet")
    inner.add_edge("meet", "after")
    outer = StateGraph(State)
    nested = inner.compile()
    outer.add_node("sub", lambda state: {"log": nested.invoke(state)["log"]})
    outer.add_conditional_edges(START, lambda _: [Send("sub", {"n": n}) for n in range(AT_ONCE)], ["sub"])
    outer.compile(checkpointer=saver).invoke({"n": 0}, on("a"))
    events = events_of(path, "a")
    check(events)
    met = [event for event in events if event["name"] == "meet"]
    assert len(met) == len({event["tid"] for event in met}) == AT_ONCE
    assert max(event["ts"] for event in met) < min(event["ts"] + event["dur"] for event in met)
