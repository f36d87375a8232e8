"""The reader makes one state of both layouts of a checkpoint, and says why something can't be read."""

import base64
import json
from collections.abc import Mapping
from typing import Any

import pytest

from ckpt_cli.errors import CheckpointNotFound, KeyMissing, PayloadCorrupt
from ckpt_cli.inspection import Inspection
from ckpt_cli.layouts import must_be_mapping, named, state_of
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Write
from ckpt_cli.reading import Reader
from ckpt_cli.savers.memory import MemorySaver
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.langgraph_values import js_send
from ckpt_cli.values.node import Form, Node, Opened

PARENT = "1f044c4a-fd0f-6d40-8000-4dec1219bbeb"
CHILD = "1f044c4a-fd10-6d40-8001-4dec1219bbeb"
BODY = {"v": 4, "id": CHILD, "ts": "2025-06-01T00:00:00+00:00", "channel_versions": {"x": 2, "big": 3, "gone": 4}}


def stored(
    body: Any, channels: Mapping[str, Payload] | None = None, metadata: Any = None, checkpoint_id: str = CHILD
) -> Checkpoint:
    """A checkpoint with a JSON body."""
    parent = PARENT if checkpoint_id == CHILD else None
    return Checkpoint(CheckpointRow("t", "", checkpoint_id, parent), as_json(body), as_json(metadata or {}), channels)


def as_json(value: Any) -> Payload:
    """A value as JSON."""
    return Payload("json", json.dumps(value).encode())


def reader(*records: Checkpoint | Write) -> Reader:
    """A reader of these records."""
    saver = MemorySaver()
    saver.apply(Plan("test", records))
    return Reader(saver, Codec())


def decoded(checkpoint: Checkpoint) -> Any:
    """A checkpoint's state."""
    return reader().decode(checkpoint)


def test_whole_body() -> None:
    """One payload holds everything."""
    body = {**BODY, "channel_values": {"x": 1}, "versions_seen": {"a": {"x": 1}}, "updated_channels": ["x"]}
    state = decoded(stored(body, metadata={"source": "loop", "step": 3}))
    assert (state.values, state.seen, state.updated) == ({"x": 1}, {"a": {"x": 1}}, ["x"])
    assert (state.source, state.step, state.ref, state.parent_id) == ("loop", 3, Ref("t", "", CHILD), PARENT)


def test_header_and_channels() -> None:
    """Channels kept apart win over inline values; ``empty`` is a version without a value."""
    channels = {"big": as_json([1]), "gone": Payload("empty", b""), "x": as_json("blob")}
    state = decoded(stored({**BODY, "channel_values": {"x": True, "n": 1}}, channels))
    assert state.values == {"x": "blob", "n": 1, "big": [1]}
    assert decoded(stored(BODY, channels)).values == {"x": "blob", "big": [1]}


@pytest.mark.parametrize("sends", [[], ["json", base64.b64encode(b'[{"node": "w", "args": 1}]').decode()]])
def test_sends_in_the_body(sends: list[Any]) -> None:
    """Before v 4 Sends are in the body, in checkpoint-postgres 1.0 as a pair of type tag and base64."""
    state = decoded(stored({**BODY, "v": 1, "pending_sends": sends}))
    assert [parsed.node for send in state.sends if (parsed := js_send(send))] == (["w"] if sends else [])


def test_sends_of_the_parent() -> None:
    """If the body has no Sends, those that the parent's tasks wrote are taken."""
    sent = as_json({"node": "w", "args": 1})
    write = Write("t", "", PARENT, "task", 0, "__pregel_tasks", payload=sent)
    child, parent = stored({**BODY, "v": 1}), stored({**BODY, "v": 1}, checkpoint_id=PARENT)
    assert len(reader(parent, child, write).state(child.row.ref).sends) == 1
    apart = stored({**BODY, "v": 3, "pending_sends": []}, {})
    assert len(reader(parent, apart, write).state(child.row.ref).sends) == 1
    inside = stored({**BODY, "v": 3, "pending_sends": []})
    assert reader(parent, inside, write).state(child.row.ref).sends == []
    today = stored(BODY)
    assert reader(parent, today, write).state(child.row.ref).sends == []


def test_missing_keys() -> None:
    """Any mapping is enough; a checkpoint without ``v`` has format 0."""
    state = decoded(stored({}))
    assert (state.v, state.ts, state.values, state.updated, state.metadata) == (0, CHILD, {}, None, {})


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (as_json("[unable to serialize, circular reference is too complex to analyze]"), "unable to serialize"),
        (as_json([1]), "type list where an object should be"),
        (Payload("json", b"nope"), "not JSON"),
        (Payload("json", b'{"v": 4, "chan'), "no channel of the checkpoint can be read"),
        (Payload("strange", b"x"), "type strange"),
    ],
)
def test_no_checkpoint_object(payload: Payload, message: str) -> None:
    """A body that is no object is an error that quotes it, only for that checkpoint."""
    row = CheckpointRow("t", "", CHILD, None)
    with pytest.raises(PayloadCorrupt, match=message):
        decoded(Checkpoint(row, payload, as_json({})))


def test_damage_within_a_checkpoint() -> None:
    """Everything before the damage is shown, and versions of a wrong type are ignored."""
    state = decoded(Checkpoint(CheckpointRow("t", "", CHILD, None), Payload("json", TORN), as_json({})))
    assert state.values == {"a": 1}
    assert state.versions == {"a": 1}


TORN = b'{"v": 4, "channel_values": {"a": 1}, "channel_versions": {"a": 1, "b": [2], "c": nul'


def test_key_is_missing() -> None:
    """An encrypted body without a key says that a key would help."""
    row = CheckpointRow("t", "", CHILD, None)
    with pytest.raises(KeyMissing, match="can't be decoded") as caught:
        decoded(Checkpoint(row, Payload("msgpack+aes", bytes(48)), as_json({})))
    assert "--key-env" in caught.value.hint


def test_metadata_that_cannot_be_read() -> None:
    """Unreadable metadata counts as none; the values are still shown."""
    state = state_of(stored({}, metadata="words"), Codec().decode, lambda _: [])
    assert (dict(state.metadata), state.source, state.step) == ({}, "", None)


def test_pickled_dict_subclasses() -> None:
    """``defaultdict`` and names that are members of an enum, both of langgraph 0.0, are read like plain ones."""
    reserved = Node(Opened("langgraph.pregel.reserved", "ReservedChannels", Form.PICKLE, {"args": ["is_last_step"]}))
    versions = Node(Opened("collections", "defaultdict", Form.PICKLE, {"items": {reserved: 1, "x": 2}}))
    assert named(versions) == {"is_last_step": 1, "x": 2}
    assert must_be_mapping(versions, "versions") == named(versions)


def test_unknown_checkpoint() -> None:
    """An unknown checkpoint is an error."""
    with pytest.raises(CheckpointNotFound):
        reader().state(Ref("t", "", CHILD))


def test_values_are_the_users() -> None:
    """Control channels are left out, and the order is as stored."""
    values = {"b": 1, "branch:to:x": None, "a": 2, "__start__": {}}
    stored_reader = reader(stored({**BODY, "channel_values": values}, checkpoint_id=PARENT))
    assert list(Inspection(stored_reader, Ref("t", "", PARENT)).values().items()) == [("b", 1), ("a", 2)]
