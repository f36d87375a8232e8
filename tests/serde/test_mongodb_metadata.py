"""MongoDB's metadata documents: the official saver's own bytes, and ckpt's own edits in the official form."""

import json
from base64 import b64encode
from typing import Any

import pytest
from langgraph.checkpoint.mongodb.utils import dumps_metadata, loads_metadata
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.errors import UsageError
from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form

TAG = "mongo-pairs"
KEY = b"0123456789abcdef"
METADATA = {
    "source": "loop",
    "step": 3,
    "parents": {"": "1f1e", "a|b": "1f1f"},
    "none": None,
    "raw": b"\x00",
    "list": [1, {"x": [None]}],
    "empty": {},
    "ratio": 0.25,
}
SERDES = [JsonPlusSerializer(), EncryptedSerializer.from_pycryptodome_aes(JsonPlusSerializer(), key=KEY)]


def plain(document: Any) -> Any:
    """A document as ckpt's saver hands it over."""
    if isinstance(document, dict):
        return {key: plain(value) for key, value in document.items()}
    return [document[0], b64encode(document[1]).decode()]


def payload(serde: Any, values: dict[str, Any]) -> Payload:
    return Payload(TAG, json.dumps(plain(dumps_metadata(serde, values))).encode())


def official(serde: Any, pair_payload: Payload) -> Any:
    """What the official saver reads of a document."""

    def stored(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: stored(value) for key, value in part.items()}
        from base64 import b64decode

        return [part[0], b64decode(part[1])]

    return loads_metadata(serde, stored(json.loads(pair_payload.data)))


@pytest.mark.parametrize("serde", SERDES)
def test_read_as_it_was_written(serde: Any) -> None:
    """Every value of a document that the official saver made is read, encrypted or not."""
    assert Codec(KEY).decode(payload(serde, METADATA)) == METADATA


@pytest.mark.parametrize("serde", SERDES)
def test_an_edit_is_read_by_the_official_saver(serde: Any) -> None:
    """Edited, added and nested values are what the official saver reads, and all others keep their very bytes."""
    old = payload(serde, METADATA)
    edited = {**METADATA, "step": 4, "parents": {"": "1f20"}, "new": [1], "empty": {"now": None}, "source": b"x"}
    new = Codec(KEY).encode(edited, like=old)
    assert official(serde, new) == edited
    before, after = json.loads(old.data), json.loads(new.data)
    assert {key for key in before if before[key] != after[key]} == {"step", "parents", "empty", "source"}
    assert all("+aes" in leaf[0] for leaf in (after["step"], after["new"])) == (serde is SERDES[1])


def test_unchanged_metadata_is_the_same_payload() -> None:
    """Equal values give back the payload itself."""
    old = payload(SERDES[0], METADATA)
    assert Codec().encode(dict(METADATA), like=old) is old


@pytest.mark.parametrize("empty", [b"", b"null", b"{}"])
def test_new_metadata_is_as_the_official_saver_makes_it(empty: bytes) -> None:
    """Without anything to follow, values are encoded as the current saver does."""
    made = Codec().encode(METADATA, like=Payload(TAG, empty))
    assert json.loads(made.data) == plain(dumps_metadata(SERDES[0], METADATA))


def test_values_without_a_tag_are_json() -> None:
    """The saver of 0.1 stored JSON bytes, and what is new follows them."""
    old = Payload(TAG, json.dumps({"step": [b64encode(b"1").decode()], "parents": {}}).encode())
    assert Codec().decode(old) == {"step": 1, "parents": {}}
    new = json.loads(Codec().encode({"step": 2, "source": "fork", "parents": {}}, like=old).data)
    assert new == {"step": ["Mg=="], "source": [b64encode(b'"fork"').decode()], "parents": {}}


def test_keys_are_text() -> None:
    """A document has no other keys."""
    with pytest.raises(UsageError, match="text keys"):
        Codec().encode({1: 2}, like=Payload(TAG, b"{}"))


def test_damage_is_told() -> None:
    """What is no document is a broken value, and one bad value leaves the others."""
    assert Codec().decode(Payload(TAG, b"{")).form is Form.BROKEN
    read = Codec().decode(Payload(TAG, json.dumps({"a": ["msgpack", "wQ=="], "b": ["msgpack", "AQ=="]}).encode()))
    assert read["b"] == 1 and read["a"].form is Form.BROKEN
