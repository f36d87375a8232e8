"""A state that a server's JSON can't hold is refused with the reason, whichever call meets it."""

from typing import Any

import pytest

from ckpt_cli.errors import Refused
from ckpt_cli.langgraph import CkptSaver
from tests.graphs.building import on


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [("postgres", "a\0b", "U+0000"), ("postgres", "\ud83d", "half a surrogate pair"), ("mysql", "a\0b", "")],
)
def test_a_text_in_the_state(request: pytest.FixtureRequest, kind: str, text: str, reason: str) -> None:
    """The refusal names the checkpoint and the problem, and nothing is stored; what fits is stored and read again."""
    server: Any = request.getfixturevalue(kind)
    checkpoint: Any = {"v": 4, "id": "1", "ts": "", "channel_versions": {"text": "1", "list": "1"}, "versions_seen": {}}
    checkpoint |= {"channel_values": {"text": text, "list": [text.encode("utf-8", "replace")]}}
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    with CkptSaver(server.url(server.fresh())) as saver:
        if reason:
            with pytest.raises(Refused) as caught:
                saver.put(config, checkpoint, {}, checkpoint["channel_versions"])
            assert reason in caught.value.message and "checkpoint 1 of thread 't'" in caught.value.message
            assert saver.get_tuple(on("t")) is None
        else:
            saver.put(config, checkpoint, {}, checkpoint["channel_versions"])
            found = saver.get_tuple(on("t"))
            assert found is not None
            assert found.checkpoint["channel_values"] == checkpoint["channel_values"]
