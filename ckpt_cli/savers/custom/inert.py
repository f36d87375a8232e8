"""A checkpointer's own decoding without what it makes: objects stay the bytes they are stored as.

LangGraph's serializer imports the modules that a payload names. Where a checkpointer uses that one, a copy of it reads
with this one instead, so that nothing is imported or made, and every class keeps its name.
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
    """Containers, text and numbers; all else as msgpack's extension, which is written again as it was."""

    def __init__(self) -> None:
        super().__init__(pickle_fallback=False, __unpack_ext_hook__=ormsgpack.Ext)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """As LangGraph does, but for JSON's own form of objects, which only JSON can say."""
        if _in_json(obj):
            return "json", json.dumps(obj).encode()
        return super().dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """A value; a pickle isn't loaded, and is shown as what it is."""
        tag, raw = data
        if tag == "msgpack":
            must_hold(raw)
        if tag == "json":
            return json.loads(raw)
        return f"a pickle of {len(raw)} bytes, not loaded" if tag == "pickle" else super().loads_typed(data)


def inert(saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """A copy that makes no objects, as LangGraph copies one (``base/__init__.py: with_allowlist``).

    One with a serializer of somebody else's stays what it is: its code is what the person named.
    """
    serde, found = saver.serde, InertSerializer()
    if isinstance(serde, EncryptedSerializer) and type(serde.serde) is JsonPlusSerializer:
        clone = copy.copy(saver)
        clone.serde = EncryptedSerializer(serde.cipher, found)
        return clone
    if type(serde) is JsonPlusSerializer:
        clone = copy.copy(saver)
        clone.serde = found
        return clone
    return saver


def _in_json(value: Any) -> bool:
    """Whether it holds objects in the form of LangChain's JSON."""
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
