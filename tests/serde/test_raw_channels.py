"""The encoded channels of a checkpoint's body, with and without those of the checkpoint before."""

from typing import Any

import ormsgpack
from hypothesis import example, given
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.model import Payload
from ckpt_cli.serde.msgpack_spans import elements
from ckpt_cli.serde.raw_channels import common_elements, raw_channels, split_body

_SERDE = JsonPlusSerializer()
_LEAVES = st.none() | st.integers(-(2**40), 2**40) | st.text(max_size=40) | st.binary(max_size=40)
_VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=3), inner)
)
_CHANNELS = st.dictionaries(st.sampled_from(["a", "b", "c"]), _VALUES)


def _body(channels: dict[str, Any]) -> Payload:
    return Payload(*_SERDE.dumps_typed({"v": 4, "channel_values": channels, "versions_seen": {}}))


@given(_CHANNELS, _CHANNELS, st.lists(_VALUES, max_size=20))
@example({"a": [1] * 15}, {}, [2, 3])
@example({"a": []}, {}, ["x"])
def test_what_is_known_changes_nothing(first: dict[str, Any], other: dict[str, Any], added: list[Any]) -> None:
    """Lists that grew, values that stayed and others are cut out at the same places as without the one before."""
    grown = {channel: [*value, *added] if isinstance(value, list) else value for channel, value in first.items()}
    before = raw_channels(_body(first))
    assert before is not None
    for body in (_body(grown), _body(other), _body({**grown, **other})):
        assert raw_channels(body, before) == raw_channels(body)


@given(_CHANNELS, _CHANNELS)
def test_a_body_is_split(first: dict[str, Any], channels: dict[str, Any]) -> None:
    """The channels are those of `raw_channels`, the rest is everything else; damage inside gives None."""
    body = _body(channels)
    found = split_body(body, raw_channels(_body(first)) or {})
    assert found is not None and found[1] == raw_channels(body)
    assert ormsgpack.unpackb(found[0].data) == {"v": 4, "versions_seen": {}}
    cut = _body({"a": [1, 2]}).data[:24]
    assert split_body(Payload("msgpack", cut)) is None
    assert split_body(Payload("json", b"{}")) is None and split_body(Payload("msgpack", b"\x80")) is None


@given(st.lists(_VALUES, max_size=20), st.lists(_VALUES, max_size=20))
def test_common_elements_are_counted_in_bytes(old: list[Any], added: list[Any]) -> None:
    """Those of the shorter list, if the longer one begins with it, and only as far as both agree."""
    before, after = (_SERDE.dumps_typed(value)[1] for value in (old, [*old, *added]))
    assert common_elements(after, before) == sum(end - start for start, end in elements(before))
    if len(old) > 1 and old[1] != "other":
        changed = _SERDE.dumps_typed([old[0], "other", *old[2:]])[1]
        start, end = next(elements(before))
        assert common_elements(changed, before) == end - start


def test_damage_is_not_hidden() -> None:
    """A body that ends too early, has a channel twice or names that aren't text is read as without the one before."""
    before = raw_channels(_body({"a": [1, 2], "b": "text"}))
    assert before is not None
    whole = _body({"a": [1, 2, 3], "b": "text"})
    for length in range(len(whole.data)):
        assert raw_channels(whole._replace(data=whole.data[:length]), before) is None
    for inner in (
        b"\x82\xa1a\x91\x01\xa1a\x91\x01",
        ormsgpack.packb({7: 1}, option=ormsgpack.OPT_NON_STR_KEYS),
        b"\x90",
    ):
        odd = Payload("msgpack", b"\x81\xaechannel_values" + inner)
        assert raw_channels(odd, before) == raw_channels(odd)
