"""What the adapter writes and reads is what LangGraph's own saver writes and reads, for the same calls."""

import json
from contextlib import closing
from typing import Any

import pytest

from ckpt_cli.conformance import everything
from ckpt_cli.model import Checkpoint, Write
from tests.cross.backend import Backend
from tests.graphs import SCENARIOS
from tests.langgraph.both import Both, both
from tests.langgraph.places import PLACES, places

SOME = ("chats", "deltas", "functional", "interrupts", "sends", "subgraphs")
"""Of the scenarios those with all kinds of records; for servers they are enough."""

OF_KIND = {
    "sqlite": tuple(SCENARIOS),
    "dynamodb": ("chats", "breakpoints"),  # the stand-in copies all it has in each transaction
    "redis": (),  # there is one database only
    "valkey": ("deltas", "functional", "sends"),  # its saver replaces any write, and lists namespaces in another order
}

RUNS = [(kind, scenario) for kind in PLACES for scenario in OF_KIND.get(kind, SOME)]


def records(place: Backend) -> tuple[list[Checkpoint], list[Write]]:
    """All of a database, byte for byte; JSON objects in one order of keys, and writes in one, as tasks run in any."""
    with closing(place.saver()) as saver:
        _, checkpoints, unsorted = everything(saver)
    writes = sorted(unsorted, key=lambda write: (write.ref, write.order))
    return [c._replace(body=_sorted(c.body), metadata=_sorted(c.metadata)) for c in checkpoints], writes


def _sorted(payload: Any) -> Any:
    if payload.tag != "json":
        return payload
    return payload._replace(data=json.dumps(json.loads(payload.data), sort_keys=True).encode())


@pytest.mark.parametrize(("kind", "scenario"), RUNS)
def test_scenarios(request: pytest.FixtureRequest, kind: str, scenario: str) -> None:
    """Whatever graph ran: every record is the same to the byte, and read the same, one by one and listed."""
    with both(places(request, kind)) as pair:
        threads = [thread_id for thread_id, _ in SCENARIOS[scenario](pair)]
        mine, theirs = map(records, pair.places)
        assert mine[0] and mine[1]
        assert mine == theirs
        for thread_id in threads:
            must_read_alike(pair, thread_id)
            pair.delete_thread(thread_id)
        assert [*map(records, pair.places)] == [([], []), ([], [])]


def must_read_alike(pair: Both, thread_id: str) -> None:
    thread = {"configurable": {"thread_id": thread_id}}
    listed = listing(pair.theirs, thread)
    assert listed and listing(pair.mine, thread) == listed
    for item in list(pair.theirs.list(thread)):
        assert comparable(pair.mine.get_tuple(item.config)) == comparable(item)
        channels = sorted(item.checkpoint["channel_versions"])
        theirs = pair.theirs.get_delta_channel_history(config=item.config, channels=channels)
        assert pair.mine.get_delta_channel_history(config=item.config, channels=channels).keys() == theirs.keys()
    for ns in {item["config"]["checkpoint_ns"] for item in listed}:
        place = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns}}
        assert comparable(pair.mine.get_tuple(place)) == comparable(pair.theirs.get_tuple(place))
        middle = listing(pair.theirs, place)[-1]["config"]
        for words in ({"limit": 2}, {"before": {"configurable": middle}}, {"filter": {"source": "loop"}}):
            assert listing(pair.mine, place, **words) == listing(pair.theirs, place, **words)


def listing(saver: Any, config: Any, **words: Any) -> list[Any]:
    return [comparable(item) for item in saver.list(config, **words)]


def comparable(item: Any) -> Any:
    """A tuple in full; writes in one order, which not every official saver has, and configs without more words."""
    parent = item.parent_config and item.parent_config["configurable"]["checkpoint_id"]
    writes = sorted(item.pending_writes or [], key=repr)
    names = {key: item.config["configurable"][key] for key in ("thread_id", "checkpoint_ns", "checkpoint_id")}
    return {**item._asdict(), "config": names, "parent_config": parent, "pending_writes": writes}
