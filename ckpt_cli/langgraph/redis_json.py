"""Live objects to the JSON of LangGraph's Redis saver and back: its markers and envelopes.

Source: checkpoint-redis 0.5.2, ``jsonplus_redis.py``.
"""

import json
from base64 import b64decode
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Interrupt, Send

from ckpt_cli.model import Payload
from ckpt_cli.serde.redisjson import TAG

_PLAIN = (str, int, float, bool)
_MESSAGES = "langchain_core.messages."
_MARKERS = ("__interrupt__", "__send__", "__delta_snapshot__")


def encode(value: Any) -> Payload | None:
    """A value in this JSON, as the own saver encodes it; None if the value would lose a type or can't be JSON.

    The own saver stores dates, UUIDs and enums as plain texts. `CkptSaver` doesn't: it encodes such a value
    in another way that the own saver reads, too.
    """
    try:
        text = json.dumps(_jsonable(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return Payload(TAG, text.encode())
    except (TypeError, ValueError, RecursionError):  # UnicodeEncodeError is a ValueError
        return None


def _jsonable(value: Any) -> Any:
    """The value with markers and envelopes; raises TypeError for a type that has none."""
    if value is None or type(value) in _PLAIN:
        return value
    if type(value) in (list, tuple):  # LangGraph's serializer makes lists of tuples, too
        return [_jsonable(item) for item in value]
    if type(value) is dict:
        if _is_ambiguous(value) or not all(type(key) is str for key in value):
            raise TypeError("keys that are no text, or that would be read as a marker")
        return {key: _jsonable(item) for key, item in value.items()}
    return _enveloped(value)


def _is_ambiguous(value: dict[Any, Any]) -> bool:
    """Whether an agent's own dict would be read as a marker or an envelope."""
    return "lc" in value or value.keys() == {"__bytes__"} or any(value.get(name) is True for name in _MARKERS)


def _enveloped(value: Any) -> dict[str, Any]:
    """``_preprocess_redis_json`` and ``_default_handler``."""
    if type(value) is Interrupt and value.response_schema is None:
        return {"__interrupt__": True, "value": _jsonable(value.value), "id": value.id}
    if type(value) is _DeltaSnapshot:
        return {"__delta_snapshot__": True, "value": _jsonable(value.value)}
    if type(value) is Send and value.timeout is None:
        return {"__send__": True, "node": value.node, "arg": _jsonable(value.arg)}
    if type(value) is set:
        return {
            "lc": 2,
            "type": "constructor",
            "id": ["builtins", "set"],
            "args": [[_jsonable(item) for item in value]],
        }
    if isinstance(value, BaseMessage) and type(value).__module__.startswith(_MESSAGES):
        envelope = dict(value.to_json())
        return {**envelope, "kwargs": _jsonable(envelope["kwargs"])}
    raise TypeError(f"no JSON for {type(value)}")


class RedisSerializer(JsonPlusSerializer):
    """LangGraph's serializer, extended to read the markers in this JSON."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a payload in any of LangGraph's encodings."""
        return super().loads_typed(("json", data[1]) if data[0] == TAG else data)

    def _reviver(self, value: dict[str, Any]) -> Any:
        """The live object for one JSON object; the object's members are live objects already."""
        if value.get("__interrupt__") is True and "value" in value:
            return Interrupt(value["value"], id=value.get("id", ""))
        if value.get("__send__") is True and value.keys() == {"__send__", "node", "arg"}:
            return Send(value["node"], value["arg"])
        if value.get("__delta_snapshot__") is True and value.keys() == {"__delta_snapshot__", "value"}:
            return _DeltaSnapshot(value["value"])
        if value.keys() == {"__bytes__"} and isinstance(value["__bytes__"], str):
            return b64decode(value["__bytes__"])
        if value.get("id") == ["builtins", "set"] and value.get("type") == "constructor":
            return set(*value.get("args", ()))
        return super()._reviver(value)


SERIALIZER = RedisSerializer()
