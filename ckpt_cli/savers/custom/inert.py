"""A serializer that decodes a checkpointer's values without making objects or importing their modules.

An object stays the stored bytes. LangGraph's serializer imports the modules that a payload names. ckpt copies a
checkpointer that uses this serializer, and the copy reads with `InertSerializer`, which imports nothing and makes no
object. Every class keeps its name.
"""

import copy
import json
from typing import Any

import ormsgpack
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.serde.unpack import must_hold


class InertSerializer(JsonPlusSerializer):
    """Decodes containers, text and numbers. Other values stay msgpack extensions and are written unchanged."""

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, __unpack_ext_hook__=ormsgpack.Ext)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Encode as LangGraph does; a value that holds objects in LangChain's JSON form is encoded as JSON."""
        if _holds_lc_json(obj):
            return "json", json.dumps(obj).encode()
        return super().dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Decode a value. A pickle isn't loaded: the result is a text that says so, with its length."""
        tag, raw = data
        if tag == "msgpack":
            must_hold(raw)
        if tag == "json":
            return json.loads(raw)
        return f"a pickle of {len(raw)} bytes, not loaded" if tag == "pickle" else super().loads_typed(data)


def inert(saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """A copy of a checkpointer that makes no objects; it is copied as in ``base/__init__.py: with_allowlist``.

    A checkpointer with a serializer of the user's own is returned as it is, because the user named that code.
    """
    serde, own = saver.serde, InertSerializer()
    if isinstance(serde, EncryptedSerializer) and type(serde.serde) is JsonPlusSerializer:
        clone = copy.copy(saver)
        clone.serde = EncryptedSerializer(serde.cipher, own)
        return clone
    if type(serde) is JsonPlusSerializer:
        clone = copy.copy(saver)
        clone.serde = own
        return clone
    return saver


def _holds_lc_json(value: Any) -> bool:
    """Whether a value holds objects in LangChain's JSON form."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            if item.get("lc") in (1, 2) and "type" in item:
                return True
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, ormsgpack.Ext):
            return False
    return False
