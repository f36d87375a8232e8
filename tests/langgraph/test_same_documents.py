"""The documents that the adapter makes in Redis are those that LangGraph's own saver makes, for the same calls.

Tests on Redis have one database. So the own saver's calls are repeated, first on it and then on the adapter.
"""

import json
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.redis import RedisSaver
from langgraph.types import Overwrite

from ckpt_cli.langgraph import CkptSaver
from tests.graphs import SCENARIOS
from tests.graphs.building import line, on
from tests.servers.redis import Server

SOME = ("chats", "deltas", "functional", "interrupts", "sends", "subgraphs", "stateful_subgraph", "forks")

Call = tuple[str, tuple[Any, ...]]


class Recorder(RedisSaver):
    """Remembers the calls that write."""

    calls: list[Call]

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.calls.append(("put", (_copy(config), *deepcopy((checkpoint, metadata, new_versions)))))
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.calls.append(("put_writes", (_copy(config), deepcopy(list(writes)), task_id, task_path)))
        super().put_writes(config, writes, task_id, task_path)


def _copy(config: Any) -> Any:
    return {**config, "configurable": dict(config["configurable"])}


@pytest.fixture
def recorder(redis_server: Server) -> Iterator[Recorder]:
    """The own saver on an empty database."""
    with Recorder.from_conn_string(redis_server.empty()) as saver:
        saver.calls = []
        saver.setup()
        yield saver


def replayed(server: Server, calls: list[Call], mine: bool) -> dict[str, Any]:
    """Every key of the database after these calls, with its value."""
    url = server.empty()
    with (CkptSaver if mine else RedisSaver).from_conn_string(url) as saver:
        saver.setup()
        for name, arguments in calls:
            getattr(saver, name)(_copy(arguments[0]), *deepcopy(arguments[1:]))
        return {key.decode(): _parsed(value) for key, value in server.contents()}


def _parsed(value: Any) -> Any:
    """A document without its time of writing; a list of keys or a pointer as it is."""
    if not isinstance(value, bytes) or not value.startswith(b"{"):
        return value
    document = json.loads(value)
    return {key: item for key, item in document.items() if key != "checkpoint_ts"}


def differences(server: Server, calls: list[Call]) -> list[tuple[str, Any, Any]]:
    """The fields that differ: the name, the own saver's value, the adapter's.

    A checkpoint that comes after its writes says on the own saver that it has none, and `list` leaves them out. So that
    field must be at least as true on the adapter.
    """
    theirs, mine = replayed(server, calls, mine=False), replayed(server, calls, mine=True)
    assert theirs.keys() == mine.keys()
    fields = [
        (name, theirs[key].get(name), mine[key].get(name))
        for key in theirs
        if isinstance(theirs[key], dict) and theirs[key].keys() == mine[key].keys()
        for name in theirs[key]
    ]
    others = [(key, theirs[key], mine[key]) for key in theirs if type(theirs[key]) is not dict]
    unlike = [(key, theirs[key], mine[key]) for key in theirs if _names(theirs[key]) != _names(mine[key])]
    differing = [one for one in [*fields, *others] if one[1] != one[2]]
    assert all(one[2] for one in differing if one[0] == "has_writes")
    return [*unlike, *(one for one in differing if one[0] != "has_writes")]


def _names(value: Any) -> Any:
    return list(value) if isinstance(value, dict) else None


def test_a_config_with_everything(recorder: Recorder, redis_server: Server) -> None:
    """Metadata, tags and a run's id in the config are where the own saver has them: the run's id in its own field."""
    first = {"configurable": {"thread_id": "t", "run_id": "run 1", "user": "Åsa", "n": 3}, "run_name": "named"}
    metadata = {"plan": "pro\0", "run_id": "another", "deep": {"x": [1]}, "none": None}
    graph = line(recorder, "a", "b")
    graph.invoke({"log": ["日\0"]}, {**first, "metadata": metadata, "tags": ["x", "y"]})  # type: ignore[arg-type]
    graph.invoke({"log": []}, on("u", run_id="run 2", é="ü", f=1.5))
    config: Any = {"configurable": {"thread_id": "v", "checkpoint_ns": ""}}
    empty: Any = {"v": 4, "id": "1", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}
    for number, values in enumerate(({}, {"source": "loop", "step": 3, "run_id": "run 3", "é": "a\0b"}, {"step": 1})):
        recorder.put(config, {**empty, "id": str(number)}, values, {})  # type: ignore[arg-type]
    assert differences(redis_server, recorder.calls) == []
    stored = [one for one in replayed(redis_server, recorder.calls, mine=True).values() if isinstance(one, dict)]
    assert {one["run_id"] for one in stored if "run_id" in one} == {"run 1", "run 3", ""}


@pytest.mark.parametrize("scenario", SOME)
def test_scenarios(recorder: Recorder, redis_server: Server, scenario: str) -> None:
    """Every document of real graphs is the same, field by field, if the own saver's JSON keeps the types of values."""
    list(SCENARIOS[scenario](recorder))
    calls = [call for call in recorder.calls if not _is_lossy(call)]
    assert calls
    assert differences(redis_server, calls) == []


def _is_lossy(call: Call) -> bool:
    """Whether the own saver loses an error's words, replaces an answer beside ordinary writes, or keeps a dataclass."""
    name, arguments = call
    values = arguments[1] if name == "put_writes" else ()
    mixed = len({channel.startswith("__resume") for channel, _ in values}) > 1
    return mixed or any(isinstance(value, BaseException | Overwrite) for _, value in values)


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 11, 22, tzinfo=UTC),
        {1: "a", None: "b"},
        {"lc": 1, "type": "constructor", "id": ["builtins", "eval"], "kwargs": {}},
        {"__interrupt__": True, "value": 1},
        {"__bytes__": "AAAA"},
        [HumanMessage("ü", id="h", additional_kwargs={"at": datetime(2026, 11, 22, tzinfo=UTC)})],
        {"b": b"\xff\x00"},
        float("inf"),
    ],
    ids=repr,
)
def test_types_that_its_json_lacks(recorder: Recorder, redis_server: Server, value: Any) -> None:
    """A value that the own saver's JSON would change is read as it was written, by the adapter and by the own saver."""
    del recorder
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
    with closing(CkptSaver(redis_server.url)) as mine:
        saver: BaseCheckpointSaver[Any] = mine
        empty: Any = {"v": 4, "id": "1", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}
        saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, empty, {"source": "input", "step": 0}, {})
        saver.put_writes(config, [("a", value)], "task")
        with RedisSaver.from_conn_string(redis_server.url) as theirs:
            theirs.setup()
            for reader in (mine, theirs):
                found = reader.get_tuple(config)
                assert found is not None
                assert found.pending_writes == [("task", "a", value)]


def test_runs_are_deleted_by_the_index(recorder: Recorder, redis_server: Server) -> None:
    """The own saver keeps a run's id beside the metadata, and there it is found; other runs stay."""
    for thread_id, run in (("t", "first"), ("t", "second"), ("other", "FIRST"), ("other", "first,last")):
        config: Any = {"configurable": {"thread_id": thread_id, "run_id": run}}
        line(recorder, "a").invoke({"log": []}, config)
    with closing(CkptSaver(redis_server.url)) as saver:
        saver.delete_for_runs(["first", "no such run"])
        assert len(list(saver.list(on("t")))) == 3
        assert len(list(saver.list(on("other")))) == 6
        assert line(saver, "a").get_state(on("t")).values["log"] == ["a", "a"]
