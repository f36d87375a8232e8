"""Threads copied between any two kinds of databases are what they were, by LangGraph's own savers, and go on there."""

import json
import os
import random
from contextlib import closing
from typing import Any

import pytest

from ckpt_cli.app import run
from tests.copying.official import gone_on, records, states
from tests.copying.test_killed import killed_after
from tests.cross.backend import Backend
from tests.graphs import SCENARIOS
from tests.langgraph.places import PLACES, places

KINDS = list(PLACES)
RING = [(one, KINDS[(index + 1) % len(KINDS)]) for index, one in enumerate(KINDS)]
SOME = [*RING, ("sqlite", "sqlite"), ("sqlite", "redis"), ("redis", "postgres")]
LEFT_OUT = [("redis", "redis"), ("valkey", "mongodb")]
ALL = [(one, two) for one in KINDS for two in KINDS if (one, two) not in LEFT_OUT]
EVERY = os.environ.get("CKPT_PAIRS") == "all"
PAIRS = ALL if EVERY else SOME
"""With ``CKPT_PAIRS=all`` all pairs, all graphs, and a kill in each. Tests have one Redis; for the other pair that is
left out see the last test."""


def _scenarios(one: str, two: str) -> list[str]:
    """The graphs of a pair: otherwise a share of them, so that each is in several pairs; fewest where it is slowest."""
    share = 1 if EVERY else 16 if "dynamodb" in (one, two) else 4
    return list(SCENARIOS)[PAIRS.index((one, two)) % share :: share]


def fresh(request: pytest.FixtureRequest, kind: str) -> Backend:
    """An empty database."""
    return places(request, kind)()


def copied(source: Backend, target: Backend, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """What ``ckpt copy`` says as JSON."""
    capsys.readouterr()
    code = run(["copy", source.url, target.url, *words, "--yes", "--json"])
    printed = capsys.readouterr()
    assert printed.out, printed.err
    said = dict(json.loads(printed.out))
    assert code == 0, [one["problem"] for one in said["threads"] if one["problem"]]
    return said


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_every_kind_of_graph(request: pytest.FixtureRequest, one: str, two: str, capsys: Any) -> None:
    """Ids, parents, values, metadata, writes, tasks and what is next are equal; the next runs give the same."""
    source, target = fresh(request, one), fresh(request, two)
    with source.official() as here:
        graphs = [(name, *found) for name in _scenarios(one, two) for found in SCENARIOS[name](here)]
        if EVERY:
            killed_after(random.Random(one + two).uniform(0.1, 3), ["copy", source.url, target.url, "--yes"])
            assert run(["operations", "--settle", "-d", target.url]) == 0
        done = copied(source, target, capsys)["done"]
        assert EVERY or done == len({thread_id for _, thread_id, _ in graphs})
        with closing(source.saver()) as saver, target.official() as there:
            for name, thread_id, graph in graphs:
                for ns in saver.namespaces(thread_id):
                    assert records(there, thread_id, ns) == records(here, thread_id, ns), (name, ns)
                other = graph.copy({"checkpointer": there})
                assert states(other, thread_id) == states(graph, thread_id), name
                assert gone_on(other, thread_id) == gone_on(graph, thread_id), name


@pytest.mark.slow
def test_a_step_that_mongodb_could_not_go_on_from(request: pytest.FixtureRequest, capsys: Any) -> None:
    """Valkey stores no task paths, by which MongoDB's saver replaces a task's answers: such threads are refused."""
    source, target = fresh(request, "valkey"), fresh(request, "mongodb")
    with source.official() as here:
        graphs = dict(SCENARIOS["interrupts"](here))
        assert run(["copy", source.url, target.url, "--yes", "--skip-refused", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        problems = {one["thread_id"]: one["problem"] for one in said["threads"]}
        assert "has no path of its task" in problems.pop("ask-second")
        with target.official() as there:
            for thread_id in [one for one, problem in problems.items() if not problem]:
                graph, other = graphs[thread_id], graphs[thread_id].copy({"checkpointer": there})
                assert states(other, thread_id) == states(graph, thread_id)
                assert gone_on(other, thread_id) == gone_on(graph, thread_id)
