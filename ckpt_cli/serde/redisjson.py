"""JSON as LangGraph's Redis saver writes it: LangChain's envelopes, and the saver's own markers.

The markers are for other values. checkpoint-redis 0.5.2, ``jsonplus_redis.py: _preprocess_redis_json,
_default_handler``, and ``base.py: _msgpack_to_redis_json`` for bytes, which only checkpoints may contain.
"""

from base64 import b64decode, b64encode
from datetime import datetime, timedelta
from typing import Any

from ckpt_cli.serde import lcjson
from ckpt_cli.serde.lcjson_write import JsonWire
from ckpt_cli.serde.splice import splice
from ckpt_cli.values.node import Form, Node, Opened

TAG = "redis-json"

_TYPES = "langgraph.types"
_MESSAGES = "langchain_core.messages"


def decode(data: bytes) -> Any:
    """The value of one JSON text; never raises. A damaged part becomes a BROKEN node."""
    return lcjson.decode(data, revive if b'"__' in data or b'"lc"' in data else None)


def encode(value: Any, old: Any, data: bytes) -> bytes:
    """The JSON of a value that replaces `old`, the value of `data`.

    Raises:
        UsageError: this JSON can't express a part of the value.
    """
    text = data.decode("utf-8", "surrogatepass")
    return str(splice(RedisWire(text), value, old, text)).encode()


def revive(value: dict[str, Any]) -> Any:
    """The node that a marker or an envelope records; any other dict unchanged."""
    if value.get("__interrupt__") is True and "value" in value:
        fields = {name: item for name, item in value.items() if name != "__interrupt__"}
        return Node(Opened(_TYPES, "Interrupt", Form.KWARGS, fields))
    if value.get("__send__") is True and value.keys() == {"__send__", "node", "arg"}:
        return Node(Opened(_TYPES, "Send", Form.ARGS, [value["node"], value["arg"]]))
    if value.get("__delta_snapshot__") is True and value.keys() == {"__delta_snapshot__", "value"}:
        return Node(Opened("langgraph.checkpoint.serde.types", "_DeltaSnapshot", Form.SNAPSHOT, value["value"]))
    if value.keys() == {"__bytes__"} and isinstance(value["__bytes__"], str):
        try:
            return b64decode(value["__bytes__"], validate=True)
        except ValueError:
            return value
    return lcjson.revive(value)


class RedisWire(JsonWire):
    """`splice.Wire` for JSON as RedisJSON returns it: no spaces, no NaN."""

    def __init__(self, like: str) -> None:
        super().__init__(like)
        self._javascript = True
        self._comma, self._colon = ",", ":"

    def write_object(self, new: Node, old: Node, raw: str, levels: int) -> str:
        """See `splice.Wire`; a marker is always written as a whole."""
        if new.form in (Form.LC1, Form.LC2):
            return super().write_object(new, old, raw, levels)
        return self.write(new)

    def _envelope(self, item: Any) -> dict[str, Any]:
        if isinstance(item, bytes):
            return {"__bytes__": b64encode(item).decode()}
        if isinstance(item, Node):
            return _marker_of(item) or super()._envelope(item)
        return super()._envelope(item)


def _marker_of(item: Node) -> dict[str, Any] | None:
    """The marker of a node; None if the node has no marker."""
    if item.form is Form.SNAPSHOT:
        return {"__delta_snapshot__": True, "value": item.state}
    if item.module == _TYPES and item.name == "Interrupt" and isinstance(item.state, dict):
        return {"__interrupt__": True, **item.state}
    if item.module == _TYPES and item.name == "Send" and item.form is Form.ARGS:
        return {"__send__": True, "node": item.state[0], "arg": item.state[1]}
    if item.type == "builtins.set" and item.form is Form.VALUE:
        return {"lc": 2, "type": "constructor", "id": ["builtins", "set"], "args": [item.state]}
    if item.type == "datetime.datetime" and item.method == "fromisoformat" and isinstance(item.state, str):
        return _datetime(item.state)
    if item.module.startswith(_MESSAGES) and item.form in (Form.PYDANTIC, Form.KWARGS):
        path = ["langchain", "schema", "messages", item.name]
        return {"lc": 1, "type": "constructor", "id": path, "kwargs": item.state}
    return None


def _datetime(text: str) -> dict[str, Any] | None:
    """A call of the class itself: current serializers leave the method of an envelope out, and give None.

    langgraph-checkpoint 4.3, ``serde/jsonplus.py: _revive_lc2``.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    zone = [] if moment.tzinfo is None else [_timezone(moment)]
    args = [*moment.timetuple()[:6], moment.microsecond, *zone]
    return {"lc": 2, "type": "constructor", "id": ["datetime", "datetime"], "args": args}


def _timezone(moment: datetime) -> dict[str, Any]:
    offset = moment.utcoffset() or timedelta()
    args = [offset.days, offset.seconds, offset.microseconds]
    delta = {"lc": 2, "type": "constructor", "id": ["datetime", "timedelta"], "args": args}
    return {"lc": 2, "type": "constructor", "id": ["datetime", "timezone"], "args": [delta]}
