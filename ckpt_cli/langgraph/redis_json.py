"""Makes live objects from the JSON of LangGraph's Redis saver: its markers and envelopes.

Source: checkpoint-redis 0.5.2, ``jsonplus_redis.py``.
"""

from base64 import b64decode
from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from ckpt_cli.serde.redisjson import TAG


class RedisSerializer(JsonPlusSerializer):
    """LangGraph's serializer, extended to read the markers in this JSON."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value of a payload in any of LangGraph's encodings."""
        return super().loads_typed(("json", data[1]) if data[0] == TAG else data)

    def _reviver(self, value: dict[str, Any]) -> Any:
        """The live object for one JSON object; the object's members are live objects already."""
        if value.get("__interrupt__") is True and "value" in value:
            from langgraph.types import Interrupt

            return Interrupt(value["value"], id=value.get("id", ""))
        if value.get("__send__") is True and value.keys() == {"__send__", "node", "arg"}:
            from langgraph.types import Send

            return Send(value["node"], value["arg"])
        if value.get("__delta_snapshot__") is True and value.keys() == {"__delta_snapshot__", "value"}:
            return _DeltaSnapshot(value["value"])
        if value.keys() == {"__bytes__"} and isinstance(value["__bytes__"], str):
            return b64decode(value["__bytes__"])
        if value.get("id") == ["builtins", "set"] and value.get("type") == "constructor":
            return set(*value.get("args", ()))
        return super()._reviver(value)
