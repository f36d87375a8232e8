"""Payloads that share a growing list decode, one after the other, to what each decodes to alone."""

from typing import Any

import ormsgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_cli.serde import growing_list
from ckpt_cli.serde.growing_list import GrowingList
from ckpt_cli.serde.msgpack import Unpacker
from ckpt_cli.values.same import same

OPTIONS = ormsgpack.OPT_NON_STR_KEYS
LONG = "x" * 400
"""Of such texts a dozen make a payload in which a list is looked for."""


def said(text: str, code: int = 5) -> ormsgpack.Ext:
    """An object as messages are stored."""
    fields = ["langchain_core.messages.ai", "AIMessage", {"content": text, "id": text[:3]}, "model_validate_json"]
    return ormsgpack.Ext(code, ormsgpack.packb(fields))


def body(messages: Any, **beside: Any) -> bytes:
    """A checkpoint's payload."""
    return ormsgpack.packb(
        {"v": 4, "channel_values": {"messages": messages, **beside}, "seen": {"a": {}}}, option=OPTIONS
    )


BEGINNING = [said(f"{n:03}{LONG}") for n in range(20)]
DEEP = ormsgpack.Ext(5, ormsgpack.packb([[[]] * 150]))
ITEM = st.sampled_from([said("a"), said("b" + LONG), said("c", 0), said("d", 9), DEEP, "text", 5, None, {"k": [1]}])
LISTS = st.lists(ITEM, max_size=3)
BESIDE = st.sampled_from(
    [
        {},
        {"phase": "note"},
        {"copy": ormsgpack.packb(BEGINNING)},
        {"mark": ormsgpack.Ext(127, growing_list._MARK_BODY)},
        {"deep": DEEP, "docs": BEGINNING[::-1]},
    ]
)
CHANGE = st.tuples(st.integers(0, 22), LISTS, BESIDE, st.sampled_from(["", "", "cut", "flip", "twice", "bare", "key"]))


def payload(kept: int, added: list[Any], beside: dict[str, Any], how: str, at: int) -> bytes:
    """What one step stored: a part of the beginning, elements after it, and what is wrong with them."""
    messages = [*BEGINNING[:kept], *added]
    if how == "bare":
        return ormsgpack.packb(messages, option=OPTIONS)
    data = body(messages, **beside)
    if how == "key":
        data = b"\x82" + ormsgpack.packb("a") + b"\x01" + ormsgpack.packb(messages, option=OPTIONS) + b"\x02"
    if how == "twice":
        data = b"\x82" + ormsgpack.packb("a") + data + ormsgpack.packb("a") + body(added)
    if how == "cut":
        data = data[: at % len(data)]
    if how == "flip":
        place = at % len(data)
        data = data[:place] + bytes([data[place] ^ (1 << at % 8)]) + data[place + 1 :]
    return data


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(CHANGE, st.integers(0, 1 << 16)), min_size=2, max_size=6))
def test_what_was_decoded_before_changes_no_value(steps: list[tuple[Any, int]]) -> None:
    """Lists that grew, shrank, moved, occur twice or in a text, or are damaged: each is read as by a new decoder."""
    unpacker = Unpacker()
    unpacker.value(body(BEGINNING))
    for change, at in steps:
        data = payload(*change, at)
        assert same(unpacker.value(data), Unpacker().value(data))


@pytest.mark.parametrize(
    "bytes_of", [body, lambda messages: ormsgpack.packb(messages, option=OPTIONS)], ids=["in a checkpoint", "by itself"]
)
def test_a_list_that_grew_keeps_its_nodes(bytes_of: Any) -> None:
    """Elements of the previous payload are the same objects, not decoded again; an equal list is the same."""
    unpacker = Unpacker()

    def read(messages: list[Any]) -> list[Any]:
        value = unpacker.value(bytes_of(messages))
        found: list[Any] = value["channel_values"]["messages"] if isinstance(value, dict) else value
        return found

    first, second = read(BEGINNING[:18]), read(BEGINNING)
    assert len(second) == 20
    assert all(a is b for a, b in zip(first, second, strict=False))
    assert read(BEGINNING) is second


def test_a_mark_that_stands_in_the_data_is_data() -> None:
    """Who knows the mark can't make a list appear elsewhere."""
    unpacker = Unpacker()
    forged = ormsgpack.Ext(127, growing_list._MARK_BODY)
    data = ormsgpack.packb({"channel_values": {"forged": forged, "messages": BEGINNING}})
    unpacker.value(data)
    assert same(unpacker.value(data), Unpacker().value(data))
    assert unpacker.value(data)["channel_values"]["forged"].encoding == "msgpack:127"


def test_the_list_is_found_and_cut_out() -> None:
    """The property above isn't kept by never finding a list."""
    kept = GrowingList(1 << 20, lambda _data: True)
    kept.remember(Unpacker().value(body(BEGINNING)))
    found = kept.cut(body([*BEGINNING, said("new")], phase="note"))
    assert found is not None
    assert (len(found.known), [code for code, _ in found.new]) == (20, [5])
    assert len(found.rest) < 200
    assert kept.cut(body(BEGINNING[:10])) is None


def test_an_object_that_is_not_free_ends_the_shortcut() -> None:
    """An object whose decoding depends on its place is neither kept in a list nor taken as a new element of one."""
    deep = said("deep")
    bounds = [lambda data: b"deep" not in data, lambda data: False]
    kept, none = (GrowingList(1 << 20, is_free) for is_free in bounds)
    for one in (kept, none):
        one.remember(Unpacker().value(body(BEGINNING)))
    assert kept.cut(body([*BEGINNING, said("plain")])) is not None
    assert kept.cut(body([*BEGINNING, deep])) is None
    assert none.cut(body(BEGINNING)) is None
