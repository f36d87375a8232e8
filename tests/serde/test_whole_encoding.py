"""A value that is encoded anew keeps its meaning, and no byte that the value doesn't show."""

import json

import pytest

from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.same import same

KEY = b"0123456789abcdef"
_HIDDEN = b"\xa6secret"


@pytest.mark.parametrize(
    "payload",
    [
        Payload("msgpack", b"\x82\xa1a" + _HIDDEN + b"\xa1a\x01"),
        Payload("msgpack", b"\x81\xa1a\x01" + _HIDDEN),
        Payload("json", b'{"a": "secret", "a": 1}'),
        Payload("redis-json", b'{"a":"secret","a":1}'),
        Payload("checkpoint@msgpack", b"\x82\xaacheckpoint\x81\xa1a\x01\xa8metadata" + _HIDDEN),
    ],
)
def test_nothing_hidden_is_kept(payload: Payload) -> None:
    """Duplicate keys, bytes behind the end and the other half of a pair are gone."""
    codec = Codec()
    assert codec.decode(payload) == {"a": 1}
    anew = codec.encode_anew(codec.decode(payload), payload)
    assert b"secret" not in anew.data and anew.tag == payload.tag
    assert codec.decode(anew) == {"a": 1}


def test_metadata_of_mongodb() -> None:
    """Each value of the document is encoded anew."""
    codec = Codec()
    old = Payload("mongo-pairs", b'{"a": ["msgpack", "AaZzZWNyZXQ="], "b": {"c": ["bytes", "eA=="]}}')
    anew = codec.encode_anew(codec.decode(old), old)
    assert same(codec.decode(anew), {"a": 1, "b": {"c": b"x"}})
    assert json.loads(anew.data)["a"] == ["msgpack", "AQ=="]


def test_encrypted_values_stay_encrypted() -> None:
    """With a given nonce, the same plaintext has the same bytes."""
    pytest.importorskip("Crypto")
    from ckpt_cli.serde import aes

    codec = Codec(KEY)
    old = Payload("msgpack+aes", aes.encrypt(b"\x81\xa1a\x01" + _HIDDEN, KEY))
    anew = [codec.encode_anew({"a": 2}, old, lambda plain: plain.ljust(16)[:16]) for _ in range(2)]
    assert anew[0] == anew[1] and anew[0].tag == "msgpack+aes" and codec.decode(anew[0]) == {"a": 2}
