"""JSON as LangGraph wrote it before msgpack, and LangGraph.js always: ``lc`` envelopes, dicts like them.

LangChain's own objects are ``{"lc": 1, …}`` (langchain-core, ``load/serializable.py``), all other objects
``{"lc": 2, …}`` (langgraph-checkpoint 1.0, ``serde/jsonplus.py: _encode_constructor_args``; LangGraph.js,
``checkpoint/src/serde/jsonplus.ts``). A user's dict that only looks like one of these stays a dict. The
library fails on such a dict, but ckpt must not.
"""

import json
from collections.abc import Callable
from typing import Any

from ckpt_cli.values.node import Form, Node, Opened, broken

Envelope = Callable[[dict[str, Any]], Any]

LEVELS = 500
"""How deep containers may be nested; Python's own recursion limit is 1,000."""


def decode(data: bytes, envelope: Envelope | None = None) -> Any:
    """The value of one JSON text; never raises. A damaged part becomes a BROKEN node.

    Args:
        data: UTF-8.
        envelope: converts each JSON object; the default is `revive`.
    """
    opened = envelope or revive
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        return _rescued(data, f"bad UTF-8 at byte {error.start}", opened, escaped=True)
    try:
        value = _loads(text) if envelope is None and '"lc"' not in text else json.loads(text, object_hook=opened)
    except RecursionError:
        return broken("nested too deep", data)
    except json.JSONDecodeError as error:
        return _rescued(data, f"not JSON: {error.msg} at character {error.pos}", opened)
    except ValueError:
        return _rescued(data, "a number of thousands of digits", opened)
    return value if _is_within_levels(value, text) else broken(f"nested deeper than {LEVELS} levels", data)


_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # of C, and lacks in typeshed


def _loads(text: str) -> Any:
    """What `json.loads` gives; without blanks around the value, as it is stored, in two thirds of the time."""
    try:
        value, end = _scan(text, 0)
    except (StopIteration, ValueError):
        return json.loads(text)
    return value if end == len(text) else json.loads(text)


def decode_plain(data: bytes) -> Any:
    """The plain data of a JSON text; a BROKEN node if it isn't JSON."""
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        return broken(str(error), data)


def _rescued(data: bytes, problem: str, opened: Envelope, *, escaped: bool = False) -> Any:
    from ckpt_cli.serde.lcjson_rescue import JsonRescue

    text = data.decode("utf-8", "surrogateescape" if escaped else "surrogatepass")
    value = JsonRescue(text, problem, LEVELS, opened, escaped=escaped).value()
    return broken(f"{problem}", data) if value is None else value


def _is_within_levels(value: Any, text: str) -> bool:
    if len(text) <= LEVELS or text.count("[") + text.count("{") <= LEVELS:
        return True
    layer = [value]
    for _ in range(LEVELS):
        layer = [child for item in layer for child in _children(item) if isinstance(child, list | dict | Node)]
        if not layer:
            return True
    return False


def _children(value: Any) -> Any:
    if isinstance(value, Node):
        return (value.state,)
    return value.values() if isinstance(value, dict) else value


def revive(value: dict[str, Any]) -> Any:
    """The node that an envelope records; any other dict unchanged."""
    version = value.get("lc")
    if type(version) is not int or version not in (1, 2):
        return value
    kind = value.get("type")
    if version == 2 and kind == "undefined" and len(value) == 2:
        return Node(Opened("", "undefined", Form.UNDEFINED, None))
    if version == 2 and kind == "delta_snapshot" and value.keys() == {"lc", "type", "value"}:
        return Node(Opened("langgraph.checkpoint.serde.types", "_DeltaSnapshot", Form.SNAPSHOT, value["value"]))
    path = value.get("id")
    if not isinstance(path, list) or not path or not all(isinstance(part, str) and part for part in path):
        return value
    return _lc1(value, path) if version == 1 else _lc2(value, path)


def _lc1(value: dict[str, Any], path: list[str]) -> Any:
    kind, module = value.get("type"), ".".join(path[:-1])
    if kind == "constructor" and value.keys() == {"lc", "type", "id", "kwargs"} and isinstance(value["kwargs"], dict):
        return Node(Opened(module, path[-1], Form.LC1, value["kwargs"]))
    rest = {key: item for key, item in value.items() if key not in ("lc", "type", "id")}
    if kind in ("not_implemented", "secret"):
        return Node(Opened(module, path[-1], Form.LC1, rest, method=kind))
    return value


def _lc2(value: dict[str, Any], path: list[str]) -> Any:
    args, kwargs = value.get("args") or [], value.get("kwargs") or {}
    if value.get("type") != "constructor" or not isinstance(args, list) or not isinstance(kwargs, dict):
        return value
    method = value.get("method")
    names = [method] if method is None or isinstance(method, str) else method
    if not isinstance(names, list) or not all(name is None or isinstance(name, str) for name in names):
        return value
    if not value.keys() <= {"lc", "type", "id", "method", "args", "kwargs"}:
        return value
    called = next((name for name in names if name), "")
    if path == ["builtins", "bytes"] and called == "fromhex" and len(args) == 1:
        try:
            return bytes.fromhex(args[0])
        except (TypeError, ValueError):
            return value
    return Node(Opened(".".join(path[:-1]), path[-1], Form.LC2, {"args": args, "kwargs": kwargs}, method=called))
