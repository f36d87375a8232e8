"""Threads are copied, pruned and deleted so that agents go on, delta channels too."""

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.redis import RedisSaver

from ckpt_cli.errors import Refused
from ckpt_cli.langgraph import CkptSaver
from tests.graphs import SCENARIOS
from tests.graphs.building import line, on
from tests.graphs.recent import Deltas
from tests.langgraph.both import both
from tests.langgraph.places import places
from tests.langgraph.test_same_records import records
from tests.servers.redis import Server


def values(graph: Any, thread_id: str) -> Any:
    return graph.get_state(on(thread_id)).values


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_pruned_threads_go_on(saver: CkptSaver, scenario: str) -> None:
    """What is left of a pruned thread shows the same state, tasks and questions, and is no more than is needed."""
    for thread_id, graph in SCENARIOS[scenario](saver):
        before, many = graph.get_state(on(thread_id), subgraphs=True), len(list(saver.list(on(thread_id))))
        saver.prune([thread_id])
        after = graph.get_state(on(thread_id), subgraphs=True)
        assert (after.values, after.next, after.interrupts) == (before.values, before.next, before.interrupts)
        assert [_alone(task.state) for task in after.tasks] == [_alone(task.state) for task in before.tasks]
        left = list(saver.list(on(thread_id)))
        spaces = {item.config["configurable"]["checkpoint_ns"] for item in left}
        assert len(left) == len(spaces) or "delta" in thread_id
        assert len(left) < many or many == len(spaces)


def _alone(state: Any) -> Any:
    """A task's config, or its subgraph's state, without the configs, which name parents that pruning removes."""
    if not isinstance(state, tuple):
        return state
    tasks = tuple(task._replace(state=_alone(task.state)) for task in state.tasks)  # type: ignore[attr-defined]
    return state._replace(parent_config=None, config=None, tasks=tasks)  # type: ignore[attr-defined]


WITHOUT_DELTAS = [name for name in SCENARIOS if name != "deltas"]


@pytest.mark.parametrize("scenario", WITHOUT_DELTAS)
def test_as_the_own_prune(request: pytest.FixtureRequest, scenario: str) -> None:
    """On Postgres every record that is left is the one that the own saver's prune leaves; it refuses delta channels."""
    with both(places(request, "postgres")) as pair:
        threads = [thread_id for thread_id, _ in SCENARIOS[scenario](pair)]
        before = records(pair.places[0])
        for saver in (pair.mine, pair.theirs):
            saver.prune(threads)
        mine, theirs = map(records, pair.places)
        assert mine == theirs
        assert len(mine[0]) < len(before[0]) or scenario == "functional"
        for saver in (pair.mine, pair.theirs):
            saver.prune(threads, strategy="delete")
        assert [*map(records, pair.places)] == [([], []), ([], [])]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_copies_go_on(saver: CkptSaver, scenario: str) -> None:
    """A copy of a thread has the same history as the thread, and continues independently."""
    for thread_id, graph in SCENARIOS[scenario](saver):
        copy = f"copy of {thread_id}"
        before = list(saver.list(on(thread_id)))
        saver.copy_thread(thread_id, copy)
        assert values(graph, copy) == values(graph, thread_id)
        assert [s.next for s in graph.get_state_history(on(copy))] == [
            s.next for s in graph.get_state_history(on(thread_id))
        ]
        with pytest.raises(Refused):
            saver.copy_thread(thread_id, copy)
        saver.delete_thread(copy)
        assert list(saver.list(on(copy))) == []
        assert list(saver.list(on(thread_id))) == before


def test_delta_channels_keep_what_they_need(saver: CkptSaver) -> None:
    """Pruning keeps a delta channel's snapshot and the writes since, and a thread of any length continues."""
    graph = line(saver, "one", "two", schema=Deltas)
    for turn in range(7):
        graph.invoke({"log": [turn]}, on("t"))
        before = values(graph, "t")
        saver.prune(["t"])
        assert values(graph, "t") == before
        assert len(list(saver.list(on("t")))) <= 5
    assert len(before["log"]) == 21


def test_runs_are_deleted(saver: CkptSaver) -> None:
    """The checkpoints of a run go, of all threads and namespaces, and no others."""
    graph = line(saver, "a")
    for thread_id in ("t", "u"):
        for run in ("first", "second"):
            graph.invoke({"log": []}, {**on(thread_id), "metadata": {"run_id": run}})
    saver.delete_for_runs(["first", "no such run"])
    left = [item.metadata["run_id"] for thread_id in ("t", "u") for item in saver.list(on(thread_id))]
    assert left == ["second"] * 6
    assert values(graph, "t")["log"] == ["a", "a"]


def test_a_name_in_metadata_is_told(saver: CkptSaver) -> None:
    """Metadata that names its thread names the copy in the copy, and is otherwise the same."""
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    checkpoint: Any = {"v": 4, "id": "1", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}
    saver.put(config, checkpoint, {"source": "input", "thread_id": "t"}, {})  # type: ignore[typeddict-unknown-key]
    saver.copy_thread("t", "u")
    assert [item.metadata for item in saver.list(None)] == [
        {"source": "input", "thread_id": "t"},
        {"source": "input", "thread_id": "u"},
    ]


def test_wrong_words(saver: CkptSaver) -> None:
    """An unknown strategy, and one thread id in the place of several, are errors."""
    with pytest.raises(ValueError, match="no such strategy"):
        saver.prune(["t"], strategy="newest")
    with pytest.raises(ValueError, match="negative"):
        saver.prune(["t"], keep_last=-1)
    with pytest.raises(TypeError):
        saver.prune("t")


def test_more_than_the_newest_is_kept(saver: CkptSaver) -> None:
    """`keep_last` wins over the strategy; 0 removes the whole thread."""
    graph = line(saver, "a", "b", "c")
    for thread_id in ("t", "u"):
        graph.invoke({"log": []}, on(thread_id))
    newest = [item.config for item in saver.list(on("t"), limit=3)]
    saver.prune(["t"], strategy="delete", keep_last=3)
    saver.prune(["u"], keep_last=0)
    assert [item.config for item in saver.list(on("t"))] == newest
    assert list(saver.list(on("u"))) == []
    assert graph.invoke({"log": ["x"]}, on("t"))["log"] == ["a", "b", "c", "x", "a", "b", "c"]


@pytest.mark.parametrize("kept", [0, 1, 2, 100])
def test_as_the_own_prune_of_redis(redis_server: Server, kept: int) -> None:
    """On Redis the same keys are left as by the own saver's prune with `keep_last`, of threads without delta channels.

    The pointer to the newest checkpoint goes with the last checkpoint of its namespace.
    """
    left = []
    for opened in (CkptSaver.from_conn_string, RedisSaver.from_conn_string):
        with opened(redis_server.empty()) as saver, redis_server.client() as client:
            saver.setup()
            graph = line(saver, "a", "b", "c")
            for thread_id in ("t", "u"):
                graph.invoke({"log": []}, on(thread_id))
            saver.prune(["t"], keep_last=kept)
            left.append(Counter(key.split(b":")[0] + b" " + key.split(b":")[1] for key in client.scan_iter("*")))
    assert left[0] == left[1]


def test_a_failed_copy_leaves_nothing(saver: CkptSaver, path: Path) -> None:
    """A copy that meets one checkpoint of its own is refused whole."""
    graph = line(saver, "a")
    graph.invoke({"log": []}, on("t"))
    newest = saver.get_tuple(on("t"))
    assert newest is not None
    config = {"configurable": {"thread_id": "u", "checkpoint_ns": ""}}
    saver.put(config, newest.checkpoint, newest.metadata, {})
    with closing(sqlite3.connect(path)) as connection:
        before = connection.execute("SELECT * FROM checkpoints ORDER BY 1, 2, 3").fetchall()
        with pytest.raises(Refused):
            saver.copy_thread("t", "u")
        assert connection.execute("SELECT * FROM checkpoints ORDER BY 1, 2, 3").fetchall() == before
