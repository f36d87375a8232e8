"""Encrypted payloads of the real EncryptedSerializer: open with the key, say so without it, and go out encrypted."""

import builtins
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from ckpt_cli.errors import KeyMissing
from ckpt_cli.installing import install
from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form
from ckpt_cli.values.same import same
from tests.serde.samples import CHECKPOINT, SERIALIZER, payload

KEY = b"0123456789abcdef"
REAL = EncryptedSerializer.from_pycryptodome_aes(SERIALIZER, key=KEY)


def stored(value: Any) -> Payload:
    return Payload(*REAL.dumps_typed(value))


@pytest.mark.parametrize("value", [CHECKPOINT, None, b"raw", bytearray(b"raw"), [1, 2.5], 1 + 2j])
def test_the_key_opens_every_kind(value: Any) -> None:
    """msgpack, null, bytes and pickle inside the encryption read as they do without it."""
    found = stored(value)
    assert found.tag.endswith("+aes")
    assert same(Codec(KEY).decode(found), Codec().decode(payload(value)))


@pytest.mark.parametrize("key", [None, b"another key 1234", b"no such length"])
def test_a_missing_or_wrong_key_is_told(key: bytes | None) -> None:
    """The value is BROKEN, says that a key would help, and keeps its bytes."""
    found = stored(CHECKPOINT)
    node = Codec(key).decode(found)
    assert (node.form, node.needs_key, node.raw, node.encoding) == (Form.BROKEN, True, found.data, found.tag)
    if key is None:
        assert "--key-env" in node.problem


@pytest.mark.parametrize("data", [b"", b"x" * 31, b"x" * 32])
def test_bytes_that_are_no_ciphertext_are_told(data: bytes) -> None:
    """Too short, or with a tag that doesn't fit."""
    assert Codec(KEY).decode(Payload("msgpack+aes", data)).needs_key


def test_another_cipher_is_opaque() -> None:
    """A cipher of the user's own is carried on as it is."""
    node = Codec(KEY).decode(Payload("msgpack+mine", b"abc"))
    assert (node.form, node.raw, node.name) == (Form.OPAQUE, b"abc", "msgpack+mine")


def test_an_edited_value_is_encrypted_again_and_the_library_reads_it() -> None:
    """Its plaintext is what the real serializer would have written; an untouched one keeps its very bytes."""
    codec, like = Codec(KEY), stored(CHECKPOINT)
    value = codec.decode(like)
    assert codec.encode(value, like) is like
    new = codec.encode({**value, "v": 5}, like)
    assert new.tag == "msgpack+aes" and new.data != like.data
    assert REAL.loads_typed((new.tag, new.data)) == {**CHECKPOINT, "v": 5}


def test_without_a_key_nothing_is_encrypted() -> None:
    """Encoding like an encrypted payload without its key is refused, even for the same value."""
    with pytest.raises(KeyMissing):
        Codec().encode([1], stored([1]))


def test_without_the_extra_its_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pycryptodome is not installed the problem names the install command."""
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("Crypto"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    node = Codec(KEY).decode(stored_before)
    assert node.needs_key and install("pycryptodome>=3.20") in node.problem


stored_before = stored([1])
