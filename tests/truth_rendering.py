"""Decoded values in the plain JSON of the truth files, by the rules those were made with."""

import base64
import json
import math
from typing import Any

import numpy as np

from ckpt_cli.values.langgraph_values import interrupts, is_secret, items, js_send, message, send, text
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.well_known_types import arguments

MISSING = "(missing)"

_INTERRUPT = ("id", "ns", "resumable", "when")


def canonical(value: Any) -> str:
    """One spelling of a JSON value, so that 1, 1.0 and true stay three."""
    return json.dumps(value, sort_keys=True)


def rendered(value: Any, *, place: str = "") -> Any:
    """A decoded value as a truth file shows it; `place` is the channel, for values that only their channel explains."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, list | tuple):
        return [rendered(item, place=place) for item in value]
    if isinstance(value, dict):
        return _dict(value, place)
    return _node(value)


def _dict(value: dict[Any, Any], place: str) -> Any:
    if value.get("lg_name") == "Send":
        return {"$send": value["node"], "arg": rendered(value["args"])}
    if place == "__pregel_tasks" and (found := js_send(value)) is not None:
        return {"node": found.node, "args": rendered(found.arg)}
    return {_key(key): rendered(item) for key, item in value.items()}


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return str(tuple(rendered(part) for part in key) if isinstance(key, tuple) else rendered(key))


def _node(value: Node) -> Any:
    for known in (_of_langgraph, _of_javascript, _of_python):
        found = known(value)
        if found is not None:
            return found
    fields = value.fields
    if fields is None:
        args, _ = arguments(value)
        return {"$args": rendered(args)} if args else {"$repr": repr(value)}
    return {key: rendered(item) for key, item in fields.items()}


def _of_langgraph(value: Node) -> Any:
    if value.form is Form.SNAPSHOT:
        return {"$delta_snapshot": rendered(value.state)}
    if (sent := send(value)) is not None:
        return {"$send": sent.node, "arg": rendered(sent.arg)}
    if value.name == "Interrupt" and interrupts(value):
        kept = value.fields or arguments(value)[1]
        named = {key: rendered(kept[key]) for key in _INTERRUPT if kept.get(key) is not None}
        return {"$interrupt": rendered(kept["value"]), **named}
    return _message(value)


def _message(value: Node) -> Any:
    recorded, fields = message(value), value.fields
    if recorded is None or fields is None:
        return None
    kind = fields.get("type") or recorded.role
    shown = {"type": kind, "id": recorded.id, "content": rendered(fields.get("content", ""))}
    calls = [
        {key: rendered(call.get(key)) for key in ("name", "args", "id")} for call in fields.get("tool_calls") or []
    ]
    extra = {"tool_calls": calls, "tool_call_id": recorded.tool_call_id, "name": recorded.name}
    return {**shown, **{key: item for key, item in extra.items() if item}}


def _of_javascript(value: Node) -> Any:
    args, _ = arguments(value)
    if value.form is Form.UNDEFINED:
        return {"$undefined": True}
    if value.form is not Form.LC2 or value.module:
        return None
    if value.name == "Set":
        return {"$set": rendered(args[0])}
    if value.name == "Map":
        return {"$map": rendered(args[0])}
    if value.name == "RegExp":
        return {"$regexp": args[0], "flags": args[1]}
    if value.name.endswith("Error"):
        return {"$error": args[0]}
    if value.name == "Uint8Array":
        return {"$bytes": base64.b64encode(bytes(args[0])).decode()}
    return {"$class": value.name, "args": rendered(args)}


def _of_python(value: Node) -> Any:
    args, _ = arguments(value)
    members = items(value)
    if members is not None:
        shown = [rendered(item) for item in members]
        return shown if value.name == "deque" else sorted(shown, key=canonical)
    if value.form is Form.ARRAY:
        return _array(value.state)
    if value.name == "bytearray" and args:
        return rendered(bytes.fromhex(args[0]) if isinstance(args[0], str) else args[0])
    if value.module == "builtins" and value.name in ("complex", "range"):
        return {"$repr": text(value)}
    if value.module == "builtins" and value.name.endswith("Error"):
        return {"$error": f"{value.name}({', '.join(map(repr, args))})"}
    if is_secret(value):
        return text(value, reveal=True)
    natural = text(value)
    if natural is not None and len(args) == 1 and isinstance(args[0], int | float):
        return args[0]  # an Enum's value
    return natural


def _array(parts: dict[str, Any]) -> Any:
    made = np.frombuffer(parts["data"], parts["dtype"]).reshape(parts["shape"], order=parts["order"])
    return {"dtype": made.dtype.str, "shape": list(made.shape), "items": rendered(made.tolist())}


def enveloped(value: Any) -> Any:
    """A value that came from JSON, with objects in their ``lc`` envelopes as in the JSON."""
    if isinstance(value, list):
        return [enveloped(item) for item in value]
    if isinstance(value, dict):
        return {_key(key): enveloped(item) for key, item in value.items()}
    if not isinstance(value, Node):
        return value
    state = enveloped(value.state)
    if value.form is Form.UNDEFINED:
        return {"lc": 2, "type": "undefined"}
    if value.form is Form.SNAPSHOT:
        return {"lc": 2, "type": "delta_snapshot", "value": state}
    path = [*filter(None, value.module.split(".")), value.name]
    if value.form is Form.LC1:
        return {
            "lc": 1,
            "type": value.method or "constructor",
            "id": path,
            **(state if value.method else {"kwargs": state}),
        }
    return {"lc": 2, "type": "constructor", "id": path, "method": value.method or None, **state}


def whole(value: Any) -> Any:
    """Constructors with the parts that some generations leave out."""
    if isinstance(value, list):
        return [whole(item) for item in value]
    if not isinstance(value, dict):
        return value
    parts = {key: whole(item) for key, item in value.items()}
    made = value.get("lc") == 2 and value.get("type") == "constructor"
    return {"method": None, "args": [], "kwargs": {}, **parts} if made else parts
