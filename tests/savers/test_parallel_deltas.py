"""Nodes that write to one delta channel side by side: ckpt gives the value that the agent reads.

The official savers of the other databases give writes in the order in which they came, though they have their paths
(langgraph-checkpoint 4.3 ``base/__init__.py: get_delta_channel_history`` asks for the order of paths). There ckpt gives
the value that the run had.
"""

from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph

from tests.graphs.building import on
from tests.langgraph.places import PLACES, places


def _joined(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*old, *(item for write in writes for item in write)]


class Sequence(TypedDict, total=False):
    """A channel whose value depends on the order of writes."""

    seq: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=5)]


def _racing(saver: Any, thread_id: str) -> Any:
    """A graph whose first node by name finishes last in every step: it waits until the others' writes are stored."""

    def last(_: Any) -> dict[str, Any]:
        def stored() -> int:
            found = saver.get_tuple(on(thread_id))
            return sum(write[1] == "seq" for write in (found.pending_writes if found else None) or ())

        while stored() < 2:
            pass
        return {"seq": ["a"]}

    builder = StateGraph(Sequence)
    builder.add_node("a", last)
    for name in ("b", "c"):
        builder.add_node(name, lambda _, name=name: {"seq": [name]})
    for name in ("a", "b", "c"):
        builder.add_edge(START, name)
    builder.add_node("end", lambda _: {"seq": ["end"]})
    builder.add_edge(["a", "b", "c"], "end")
    return builder.compile(checkpointer=saver)


def _appended(value: Any) -> Any:
    """The items of a value; where nothing proves the reducer, as later values contradict it, of its writes in order."""
    return _joined(value.get("seed", []), value["writes"]) if isinstance(value, dict) else value


@pytest.fixture(autouse=True)
def own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No operation log of this machine's user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres", "valkey"])
def test_the_order_of_parallel_writes_is_the_agents(
    request: pytest.FixtureRequest, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`get` gives what `get_state` gives, at each checkpoint."""
    backend = places(request, kind)()
    with backend.official() as official:
        graph = _racing(official, "t")
        for _ in range(2):
            graph.invoke({"seq": ["in"]}, on("t"))
        states = [one for one in graph.get_state_history(on("t")) if one.values.get("seq")]
        values = {one.config["configurable"]["checkpoint_id"]: one.values["seq"] for one in states}
        by_ckpt = {i: backend.ckpt("get", "t", "seq", "--at", i, capsys=capsys)["value"] for i in values}
        assert {i: _appended(value) for i, value in by_ckpt.items()} == values


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLACES)
def test_a_pruning_with_snapshots_keeps_what_the_agent_reads(
    request: pytest.FixtureRequest, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`get_state` gives the same afterwards on every saver, also where it gives another order than the run had."""
    backend = places(request, kind)()
    with backend.official() as official:
        graph = _racing(official, "t")
        graph.invoke({"seq": ["in"]}, on("t"))
        before = graph.get_state(on("t")).values
        words = ["prune", "t", "--keep-last", "1", "--snapshot", "--reducer", "seq=append", "--yes"]
        said = backend.ckpt(*words, capsys=capsys)
        assert graph.get_state(on("t")).values == before
    is_refused = kind not in ("sqlite", "postgres", "valkey")
    assert any("may read these writes in another order" in note for note in said["notes"]) == is_refused
