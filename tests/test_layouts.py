"""A checkpoint whose channels are kept apart is put together and laid out again without losing a byte."""

import json
from typing import Any

import pytest

from ckpt_cli.layouts import placed, whole
from ckpt_cli.model import NULL, Checkpoint, CheckpointRow, Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form, Node, Opened

CODEC = Codec()
ROW = CheckpointRow("t", "", "2", "1")
METADATA = Payload("json", b'{"step":  1}')
LIST = Payload("msgpack", b"\x93\x01\x02\xcd\x00\x03")  # 3 is spelled in three bytes, as no packer does


def stored(header: dict[str, Any], channels: dict[str, Payload]) -> Checkpoint:
    text = json.dumps(header, indent=1).encode()
    return Checkpoint(CheckpointRow("t", "", "1", None), Payload("json", text), METADATA, channels)


def versions(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "1.0")


RECENT = stored(
    {"v": 4, "channel_values": {"n": 1, "text": "a"}, "channel_versions": versions("n", "text", "log", "gone")},
    {"log": LIST},
)
OLDER = stored(
    {"v": 3, "channel_versions": versions("n", "text", "log", "gone")},
    {"log": LIST, "n": Payload("msgpack", b"\x01"), "text": NULL, "gone": Payload("empty", b"")},
)
JAVASCRIPT = stored({"v": 4, "channel_versions": {"log": 1, "n": 2}}, {"log": Payload("json", b"[1, 2,3]")})


def put(body: dict[str, Any], like: Checkpoint, *, marked: bool = True) -> Checkpoint:
    return placed(ROW, body, {"step": 1}, like, CODEC.decode, CODEC.encode, marked=marked)


@pytest.mark.parametrize("like", [RECENT, OLDER, JAVASCRIPT], ids=["recent", "older", "javascript"])
def test_untouched_is_the_same_bytes(like: Checkpoint) -> None:
    """Laid out again unedited, header, metadata and every channel have the same bytes."""
    made = put(whole(like, CODEC.decode), like)
    assert made == like._replace(row=ROW)


def test_one_channel_is_edited() -> None:
    """Simple values are in the header, others apart, and unedited values keep their bytes."""
    body = whole(RECENT, CODEC.decode)
    values = {**body["channel_values"], "n": 2.5, "text": ["b"]}
    made = put({**body, "channel_values": values}, RECENT)
    assert json.loads(made.body.data)["channel_values"] == {"n": 2.5}
    assert made.channels == {"log": LIST, "text": Payload("msgpack", b"\x91\xa1b")}


def test_everything_apart() -> None:
    """If the header has no place for values, all are kept apart, also those of one byte and of none."""
    body = whole(OLDER, CODEC.decode)
    assert body["channel_values"] == {"log": [1, 2, 3], "n": 1, "text": None}
    made = put({**body, "channel_values": {"log": [1, 2, 3], "n": 2, "text": "b"}}, OLDER)
    assert "channel_values" not in json.loads(made.body.data)
    assert made.channels == {
        "log": LIST,
        "n": Payload("msgpack", b"\x02"),
        "text": Payload("msgpack", b"\xa1b"),
        "gone": Payload("empty", b""),
    }


def test_javascript_stays_json() -> None:
    """A new value in a thread of LangGraph.js is JSON, also null."""
    body = whole(JAVASCRIPT, CODEC.decode)
    made = put({**body, "channel_values": {**body["channel_values"], "n": None}}, JAVASCRIPT)
    assert made.channels == {"log": Payload("json", b"[1, 2,3]"), "n": Payload("json", b"null")}


@pytest.mark.parametrize("marked", [True, False])
def test_a_snapshot_leaves_its_mark(marked: bool) -> None:
    """A delta channel's snapshot is kept apart, with ``true`` in the header if that database does so."""
    snapshot = Node(Opened("langgraph.checkpoint.serde.types", "_DeltaSnapshot", Form.SNAPSHOT, ["x"]))
    body = whole(RECENT, CODEC.decode)
    made = put({**body, "channel_values": {**body["channel_values"], "d": snapshot}}, RECENT, marked=marked)
    assert json.loads(made.body.data)["channel_values"].get("d") is (True if marked else None)
    assert made.channels is not None
    assert made.channels["d"].data[:1] in (b"\xc7", b"\xd5", b"\xd6", b"\xd7")
    assert whole(made, CODEC.decode)["channel_values"]["d"].form is Form.SNAPSHOT


def test_encrypted_stays_encrypted() -> None:
    """A new channel beside encrypted ones is encrypted too, whatever its value is."""
    codec = Codec(b"0123456789abcdef")
    from ckpt_cli.serde import aes

    locked = Payload("msgpack+aes", aes.encrypt(LIST.data, b"0123456789abcdef"))
    like = stored({"v": 4, "channel_values": {}, "channel_versions": versions("log", "other")}, {"log": locked})
    body = whole(like, codec.decode)
    values = {**body["channel_values"], "other": ["secret"]}
    made = placed(ROW, {**body, "channel_values": values}, {"step": 1}, like, codec.decode, codec.encode)
    assert made.channels is not None and made.channels["log"] == locked
    assert made.channels["other"].tag == "msgpack+aes"
    assert codec.decode(made.channels["other"]) == ["secret"]
