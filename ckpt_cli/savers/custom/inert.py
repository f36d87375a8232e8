"""A serializer that decodes a checkpointer's values and makes no objects: these stay the bytes that are stored.

LangGraph's serializer imports the modules that a payload names. A checkpointer that uses it is copied, and the copy
reads with `InertSerializer`: nothing is imported, no object is made, and every class keeps its name.
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
    """Decodes containers, text and numbers; all else stays a msgpack extension, which is written back unchanged."""

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, __unpack_ext_hook__=ormsgpack.Ext)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Encode as LangGraph does, but as JSON where a value holds objects in LangChain's JSON form."""
        if _in_json(obj):
            return "json", json.dumps(obj).encode()
        return super().dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Decode a value; of a pickle, which isn't loaded, the text says so and how long it is."""
        tag, raw = data
        if tag == "msgpack":
            must_hold(raw)
        if tag == "json":
            return json.loads(raw)
        return f"a pickle of {len(raw)} bytes, not loaded" if tag == "pickle" else super().loads_typed(data)


def inert(saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """A copy of a checkpointer that makes no objects, as LangGraph makes one (``base/__init__.py: with_allowlist``).

    A checkpointer with a serializer of the user's own is returned as it is: the user named that code.
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


def _in_json(value: Any) -> bool:
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
