"""No decoder gets a payload whose headers claim more than there is, whatever version is installed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.serde import unpack as module
from ckpt_cli.serde.unpack import must_hold, unpack
from tests.serde.test_hostile import BOMBS, MSGPACK

_LOOK = """
import sys
from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.msgpack import decode_plain
from ckpt_cli.values.jsonform import to_json
payload = Payload(sys.argv[1], sys.stdin.buffer.read())
if payload.tag == "msgpack":
    decode_plain(payload.data)
codec = Codec()
codec.is_whole(payload)
to_json(codec.decode(payload))
"""

_LIES = [b"\xdc\xff\xff", b"\xdd\xff\xff\xff\xff", b"\xde\x80\x00", b"\xdf\x00\x10\x00\x00"]

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=40), inner, max_size=20),
    max_leaves=60,
)


@pytest.mark.parametrize(("name", "bomb"), BOMBS, ids=[name for name, _ in BOMBS])
def test_no_payload_ends_the_process(name: str, bomb: Any) -> None:
    """Each is looked into by a process of its own, which lives; $CKPT_TEST_ORMSGPACK may hold another version."""
    path = [os.environ.get("CKPT_TEST_ORMSGPACK", ""), str(Path(__file__).parents[2])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK, bomb.tag], input=bomb.data, capture_output=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("name", [name for name in MSGPACK if "of four billion" in name and "shape" not in name])
def test_a_claim_that_the_bytes_can_not_hold_is_refused(name: str) -> None:
    """The walk itself raises the error, not the decoder, for every kind of header."""
    with pytest.raises(ValueError, match=r"claims more|unexpected end"):
        must_hold(MSGPACK[name])


@given(st.lists(_VALUES, max_size=5), st.sampled_from(_LIES), st.booleans())
def test_a_lie_behind_anything_is_found(values: list[Any], lie: bytes, inside: bool) -> None:
    """Also where strings, binaries and numbers before it look like headers, on every version of the decoder."""
    before = b"".join(ormsgpack.packb(value) for value in values)
    data = (bytes([0x90 + len(values) + 1]) if inside else b"") + before + lie + b"\xc0"
    with pytest.raises(ValueError, match="claims more"):
        must_hold(data)


@given(_VALUES)
def test_what_is_true_is_decoded(value: Any) -> None:
    """Everything that the real packer writes passes the walk and comes back as the decoder alone reads it."""
    data = ormsgpack.packb([value, ormsgpack.Ext(5, ormsgpack.packb(value))])
    must_hold(data)
    pair: Any = unpack(data, lambda *parts: parts)
    assert repr(pair) == repr(ormsgpack.unpackb(data, ext_hook=lambda *parts: parts))


@pytest.mark.parametrize("length", [*range(1, 40), 255, 256, 65_535, 65_536])
def test_every_size_of_an_element_is_stepped_over(length: int) -> None:
    """A text, bytes and an object of each kind of header, with what looks like a claim inside."""
    content = (b"\xdd" * length)[:length]
    text = ormsgpack.packb("x" * length)
    for data in (text, ormsgpack.packb(content), ormsgpack.packb(ormsgpack.Ext(1, content))):
        must_hold(b"\x92" + data + b"\xc0")
        with pytest.raises(ValueError, match="claims more"):
            must_hold(b"\x92" + data + b"\xdd\xff\xff\xff\xff")


@pytest.mark.parametrize(
    "number", [0, -1, 127, 128, -33, 2**8, -(2**8), 2**16, -(2**16), 2**32, -(2**32), 0.5, True, None]
)
def test_every_number_is_stepped_over(number: Any) -> None:
    """A false claim right after a number is found, whatever the number's size."""
    with pytest.raises(ValueError, match="claims more"):
        must_hold(b"\x92" + ormsgpack.packb(number) + b"\xdd\xff\xff\xff\xff")


@pytest.mark.parametrize(
    ("version", "walked"), [("1.10.0", True), ("1.13.0", True), ("1.13.1", False), ("2.0.0", False), ("unknown", True)]
)
def test_long_payloads_are_walked_for_decoders_that_believe_claims(
    version: str, walked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version that trusts headers gets only checked payloads; for the others a long walk would only cost time."""
    seen: list[int] = []
    monkeypatch.setattr(module, "must_hold", lambda data: seen.append(len(data)))
    monkeypatch.setattr(ormsgpack, "__version__", version)
    unpack(ormsgpack.packb(b"\xdd\xff\xff\xff\xff" * 2000))
    unpack(ormsgpack.packb("plain" * 2000))
    assert len(seen) == walked
    unpack(ormsgpack.packb(b"\xdd\xff\xff\xff\xff"))
    assert seen[-1] == 7
