"""A delta channel's history begins where LangGraph's own saver of that database lets it begin."""

from typing import Any

import pytest
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ckpt_cli.langgraph import CkptSaver
from tests.langgraph.places import Where

VALUES: dict[str, Any] = {
    "none": None,
    "false": False,
    "zero": 0,
    "empty text": "",
    "empty list": [],
    "snapshot of none": _DeltaSnapshot(None),
    "snapshot": _DeltaSnapshot(["x"]),
}


@pytest.mark.parametrize("mine_writes", [False, True])
def test_seeds(where: Where, mine_writes: bool) -> None:
    """Whichever saver stored None or another empty value, both give the same seed, or none, and the same writes."""
    place = where()
    with CkptSaver(place.url) as mine, place.official() as theirs:
        newest = stored_history(mine if mine_writes else theirs)
        channels = [*VALUES, "never"]
        histories = theirs.get_delta_channel_history(config=newest, channels=channels)
        assert mine.get_delta_channel_history(config=newest, channels=channels) == histories
        assert histories["never"] == {"writes": [("task 1", "never", 1), ("task 2", "never", 2)]}
        assert histories["snapshot"]["seed"] == _DeltaSnapshot(["x"])


def stored_history(saver: Any) -> Any:
    """Three checkpoints with writes; all of the values are in the middle one, and one of them in the first too."""
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for step in range(3):
        values = [{"none": ["earlier"]}, VALUES, {}][step]
        versions: Any = dict.fromkeys(values, saver.get_next_version(None, None))
        checkpoint: Any = {"v": 4, "id": str(uuid6(clock_seq=step)), "ts": "2026-11-22T00:00:00+00:00"}
        checkpoint |= {"channel_values": values, "channel_versions": versions, "versions_seen": {}}
        config = saver.put(config, checkpoint, {"source": "loop", "step": step, "parents": {}}, versions)
        if step < 2:
            saver.put_writes(config, [(channel, step + 1) for channel in (*VALUES, "never")], f"task {step + 1}")
    return config
