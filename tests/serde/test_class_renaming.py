"""Classes in payloads get other names: the real serializer then makes the new ones, and no other byte changes."""

import json
import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Send
from pydantic import BaseModel

from ckpt_cli.copying.payload_changes import ChangedRecords, PayloadChanges
from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.serde import mongodb_metadata
from ckpt_cli.serde.class_renaming import ClassRenaming
from ckpt_cli.serde.codec import Codec

NAMES = {f"shop_then.models.{name}": f"shop_now.{name}d" for name in ("Cart", "Item", "Kind")}
BACK = {new: old for old, new in NAMES.items()}


@pytest.fixture
def shop() -> Iterator[tuple[ModuleType, ModuleType]]:
    """The module that has the classes under their old names, and the one with the new names."""
    modules = then, now = ModuleType("shop_then.models"), ModuleType("shop_now")
    for module, end in ((then, ""), (now, "d")):
        for name, made in _classes().items():
            made.__module__, made.__name__, made.__qualname__ = module.__name__, name + end, name + end
            setattr(module, name + end, made)
    named = {"shop_then": ModuleType("shop_then"), **{module.__name__: module for module in modules}}
    sys.modules.update(named)
    yield modules
    for name in named:
        del sys.modules[name]


def _classes() -> dict[str, Any]:
    @dataclass
    class Item:
        name: str
        price: float

    class Cart(BaseModel):
        owner: str
        items: list[Any] = []

    return {"Item": Item, "Cart": Cart, "Kind": Enum("Kind", {"BIG": "big"})}


def test_the_serializer_makes_the_new_classes(shop: Any) -> None:
    """In objects, in objects inside objects, in Sends and snapshots; texts that name a class stay."""
    then, now = shop

    def value(module: Any, end: str) -> Any:
        item, cart, kind = (getattr(module, name + end) for name in ("Item", "Cart", "Kind"))
        text = "shop_then.models.Cart and shop_then.models Item"
        return {
            "cart": cart(owner="Ann", items=[1.5, text]),
            "list": [item(text, 0.1), {"deep": [kind.BIG, Send("node", {"item": item("x", 1e22)})]}],
            "snapshot": _DeltaSnapshot([item("y", -0.0)]),
        }

    serde = JsonPlusSerializer(allowed_msgpack_modules=True)
    old = Payload(*serde.dumps_typed(value(then, "")))
    renaming = ClassRenaming(NAMES)
    new = renaming.payload(old)
    assert serde.loads_typed(new) == value(now, "d")
    assert new == Payload(*serde.dumps_typed(value(now, "d"))) and renaming.found == NAMES.keys()
    assert ClassRenaming(BACK).payload(new) == old


def _object(module: bytes, name: bytes) -> bytes:
    """An extension as the serializer makes it, around a float of 4 bytes, which it never writes."""
    parts = [bytes([0xA0 + len(part)]) + part for part in (module, name)]
    content = b"\x93" + b"".join(parts) + b"\xca\x3f\x80\x00\x00"
    return b"\xc7" + bytes([len(content), 0]) + content


OLD, NEW = _object(b"shop_then.models", b"Cart"), _object(b"shop_now", b"Cartd")


def test_all_other_bytes_stay() -> None:
    """Spellings of numbers and texts that nobody writes today; what only looks like a class is the same object."""
    renaming = ClassRenaming(NAMES)
    texts = Payload(
        *JsonPlusSerializer().dumps_typed({"shop_then.models": "Cart", "list": ["shop_then.models", "Cart"]})
    )
    for payload in (texts, Payload("null", b""), Payload("msgpack+aes", OLD)):
        assert renaming.payload(payload) is payload
    assert not renaming.found
    around = b"\x93\xca\x3f\x80\x00\x00%b\xd9\x01a"
    for cut in (0, 1):  # damaged at its end
        data = (around % OLD)[: -cut or None]
        assert renaming.payload(Payload("msgpack", data)).data == (around % NEW)[: -cut or None]


@pytest.mark.parametrize("tag", ["json", "redis-json", ""])
@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_json(tag: str, separators: tuple[str, str]) -> None:
    """The envelope gets the new name; every other character stays, numbers as they were spelled."""

    def text(path: list[str]) -> bytes:
        envelope = {"lc": 2, "type": "constructor", "id": path, "kwargs": {"owner": "Änn", "id": ["shop_then", "x"]}}
        whole = {"a": [envelope, 1], "id": path if path == ["x"] else ["shop_then", "models", "Cart"]}
        return json.dumps(whole, separators=separators).replace("1]", "1.50e+3]").encode()

    new = ClassRenaming(NAMES).payload(Payload(tag, text(["shop_then", "models", "Cart"])))
    assert new == Payload(tag, text(["shop_now", "Cartd"]))


def test_pickles_are_refused(shop: Any) -> None:
    """A pickle that names the class can't be changed without running it; another one stays."""
    renaming = ClassRenaming(NAMES)
    other = Payload("pickle", pickle.dumps({"a": 1}))
    assert renaming.payload(other) is other
    for tag in ("pickle", ""):
        with pytest.raises(NotSupported, match="pickle"):
            renaming.payload(Payload(tag, pickle.dumps(shop[0].Kind.BIG)))


def test_metadata_of_mongodb_and_of_dynamodb() -> None:
    """Values inside MongoDB's metadata are renamed; what DynamoDB's saver encrypted as one is divided."""
    pairs = mongodb_metadata.with_payloads(b'{"a": {"b": ["msgpack", "wA=="]}}', lambda _: Payload("msgpack", OLD))
    key = Codec(b"0123456789abcdef")
    both = b"\x82\xaacheckpoint" + OLD + b"\xa8metadata\x80"
    sealed = key.sealed(Payload("msgpack", both), "")
    row = CheckpointRow("t", "", "1", None)
    change = ChangedRecords(PayloadChanges(True, ClassRenaming(NAMES)), key, key, RecordFormat())
    made = change.opened_checkpoint(
        Checkpoint(row, sealed._replace(tag=f"checkpoint@{sealed.tag}"), Payload(mongodb_metadata.TAG, pairs))
    )
    assert made.body == Payload("msgpack", NEW)
    assert mongodb_metadata.decode(made.metadata.data, lambda one: one.data) == {"a": {"b": NEW}}
