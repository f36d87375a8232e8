"""Channels that a deployment's graph lacks: copied to where values are stored by version, they stay without a value."""

import json
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import StateGraph

from ckpt_cli.app import run
from ckpt_cli.copying.gone_values import GoneValues
from ckpt_cli.errors import NotSupported
from tests.langgraph.places import places

ON: Any = {"configurable": {"thread_id": "t"}}


def _append(old: list[str], new: list[str]) -> list[str]:
    return [*old, *new]


class Old(TypedDict, total=False):
    log: Annotated[list[str], _append]


class New(Old, total=False):
    late: dict[str, int]


def graph(saver: Any, state: Any, wrote: dict[str, Any]) -> Any:
    """A graph of one node."""
    builder = StateGraph(state)
    builder.add_node("a", lambda _: {"log": ["a"], **wrote})
    builder.set_entry_point("a")
    return builder.compile(checkpointer=saver)


def late(saver: Any) -> list[Any]:
    """The channel at each checkpoint, as the library reads it."""
    return [one.checkpoint["channel_values"].get("late") for one in saver.list(ON)]


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_the_copy_reads_the_same(request: pytest.FixtureRequest, kind: str, capsys: Any) -> None:
    """What a deployment without the channel stored has no value in the copy, also if the copy goes on in the gap."""
    source, other = places(request, "sqlite")(), places(request, kind)()
    with source.official() as here:
        graph(here, New, {"late": {"k": 1}}).invoke({"log": ["1"]}, ON)
        for number in range(3):
            graph(here, Old, {}).invoke({"log": [str(number)]}, ON)
            assert run(["copy", source.url, other.url, "t", "--yes"]) == 0
        graph(here, New, {"late": {"k": 2}}).invoke({"log": ["3"]}, ON)
        assert run(["copy", source.url, other.url, "t", "--yes"]) == 0
        capsys.readouterr()
        assert run(["copy", source.url, other.url, "t", "--dry-run", "--json"]) == 0
        assert [one["problem"] for one in json.loads(capsys.readouterr().out)["threads"]] == []
        with other.official() as there:
            assert late(there) == late(here)
            assert {"k": 1} in late(here)
            graph(there, New, {}).invoke({"log": ["4"]}, ON)
            graph(here, New, {}).invoke({"log": ["4"]}, ON)
            assert late(there) == late(here)


def test_what_was_seen_stays_seen() -> None:
    """A run that stopped before a node at this version goes on, and doesn't stop there again."""
    gone, body = GoneValues(), {"channel_versions": {"late": "3.0.5"}}
    gone.body("", body, ["late"], ["late"], "checkpoint 1")
    seen = {"__interrupt__": {"late": "3.0.5", "x": "4.0.1"}, "a": {"late": "2.0.7"}}
    made = gone.body("", {**body, "versions_seen": seen}, [], [], "checkpoint 2")
    version = made["channel_versions"]["late"]
    assert version > "3.0.5"
    assert made["versions_seen"] == {"__interrupt__": {"late": version, "x": "4.0.1"}, "a": {"late": "2.0.7"}}


def test_a_version_that_is_a_number() -> None:
    """LangGraph.js counts in numbers, beside which no other version has a place: such a checkpoint is refused."""
    gone = GoneValues()
    body = {"channel_versions": {"late": 3}}
    assert gone.body("", body, ["late"], ["late"], "checkpoint 1") == body
    with pytest.raises(NotSupported, match="checkpoint 2 has no value of channel 'late' at version 3"):
        gone.body("", body, [], [], "checkpoint 2")


def test_a_snapshot_is_no_value_that_comes_back() -> None:
    """A later checkpoint that shows a delta channel's snapshot again reads the same, so its version is kept."""
    gone = GoneValues()
    body = {"channel_versions": {"audit": "3.0.5"}}
    assert gone.body("", body, ["audit"], [], "checkpoint 1") == body
    assert gone.body("", body, [], [], "checkpoint 2") == body
