"""Reads the JSON form of values back (``edit``, ``--patch``): the inverse of `jsonform.to_json`."""

from binascii import a2b_base64
from collections.abc import Callable
from json import dumps
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.values.jsonform import FIELDS, ISO_METHOD, implied_form
from ckpt_cli.values.node import Form, Node, Opened, broken

SNAPSHOT_CLASS = ("langgraph.checkpoint.serde.types", "_DeltaSnapshot")

Done = Callable[[Any], Any]
"""Gives the value of a part of the JSON, whose own parts were read before."""


def from_json(data: Any) -> Any:
    """The value that has this JSON form; plain JSON is returned unchanged.

    Raises:
        UsageError: the ``$`` keys describe no value, or a secret is masked.
    """
    order, todo = [], [data]
    while todo:
        item = todo.pop()
        if isinstance(item, list | dict):
            order.append(item)
            todo.extend(item if isinstance(item, list) else item.values())
    built: dict[int, Any] = {}

    def done(item: Any) -> Any:
        return built[id(item)] if isinstance(item, list | dict) else item

    for item in reversed(order):
        built[id(item)] = [done(child) for child in item] if isinstance(item, list) else _dict(item, done)
    return done(data)


def _dict(data: dict[str, Any], done: Done) -> Any:
    marks = {key for key in data if key[:1] == "$" and key[1:2] != "$"}
    if not marks:
        return _fields(data, done)
    mark = next((mark for mark in _MARKS if mark in marks), None)
    if mark is None:
        raise UsageError(f"{min(marks)} has no meaning here", hint="a key of your own that begins with $ is written $$")
    try:
        return _MARKS[mark](data, done)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"a {mark} that can't be read: {error}") from error


def _fields(data: dict[str, Any], done: Done) -> dict[str, Any]:
    return {key.removeprefix("$"): done(item) for key, item in data.items() if key[:1] != "$" or key[1:2] == "$"}


def _map(data: dict[str, Any], done: Done) -> dict[Any, Any]:
    return {done(key): done(item) for key, item in data["$map"]}


def _bytes(data: dict[str, Any]) -> bytes:
    return a2b_base64(data["$bytes"], strict_mode=True)


def _tuple(data: dict[str, Any], done: Done) -> tuple[Any, ...]:
    return tuple(done(data["$tuple"]))


def _broken(data: dict[str, Any]) -> Node:
    raw = _bytes(data)
    opened = broken(str(data["$broken"]), raw, needs_key=bool(data.get("$needs_key")))
    opened.encoding = data.get("$encoding", "")
    return opened


def _opaque(data: dict[str, Any]) -> Node:
    raw, name = _bytes(data), str(data["$opaque"])
    return Node(Opened("", name, Form.OPAQUE, raw), encoding=data.get("$encoding", name), raw=raw)


def _snapshot(data: dict[str, Any], done: Done) -> Node:
    return Node(Opened(*SNAPSHOT_CLASS, Form.SNAPSHOT, done(data["$snapshot"])))


_MODULES = {"set": "builtins", "frozenset": "builtins", "deque": "collections"}
"""Classes that a person may write without their module: LangGraph couldn't find them, and would load a list."""


_EXAMPLE = 'such as {"$type": "package.module.Class", "field": 1}; a key of your own named $type is written $$type'


def _object(data: dict[str, Any], done: Done) -> Node:
    if data.get("$masked"):
        raise UsageError("a secret is masked", hint="with --reveal the JSON has the secret itself and can be read back")
    kind = data["$type"]
    if not isinstance(kind, str):
        raise UsageError(f"$type is the name of a class, not {dumps(kind)}", hint=_EXAMPLE)
    module, _, name = kind.rpartition(".")
    if kind in _MODULES and "$module" not in data:
        raise UsageError(f"$type {kind!r} has no module", hint=f'write "$type": "{_MODULES[kind]}.{kind}"')
    if "$module" in data:
        module = str(data["$module"])
        name = kind.removeprefix(f"{module}.") if module else kind
    form = _form(data, kind, module)
    method = str(data.get("$method", ISO_METHOD if form is Form.METHOD else ""))
    return Node(Opened(module, name, form, _state(data, form, done), method))


def _form(data: dict[str, Any], kind: str, module: str) -> Form:
    if "$form" in data:
        return Form(data["$form"])
    if "$args" in data:
        return Form.ARGS
    if "$value" in data:
        return Form.METHOD if "$method" in data or kind == "datetime.datetime" else Form.VALUE
    if kind == "numpy.ndarray" and data.keys() >= {"dtype", "shape", "order", "data"}:
        return Form.ARRAY
    return implied_form(module)


def _state(data: dict[str, Any], form: Form, done: Done) -> Any:
    if form is Form.LC2:
        return {"args": done(data["$args"]), "kwargs": _fields(data, done)}
    if form is Form.PICKLE:
        state = {key[1:]: done(data[key]) for key in ("$args", "$kwargs", "$state", "$items") if key in data}
        fields = _fields(data, done)
        return {**state, "state": fields} if fields else state
    if form in (Form.VALUE, Form.METHOD) or (form in FIELDS and "$value" in data):
        return done(data["$value"])
    return done(data["$args"]) if form is Form.ARGS else _fields(data, done)


_MARKS: dict[str, Callable[[dict[str, Any], Done], Any]] = {
    "$type": _object,
    "$map": _map,
    "$broken": lambda data, _: _broken(data),
    "$opaque": lambda data, _: _opaque(data),
    "$bytes": lambda data, _: _bytes(data),
    "$float": lambda data, _: float(data["$float"]),
    "$tuple": _tuple,
    "$undefined": lambda *_: Node(Opened("", "undefined", Form.UNDEFINED, None)),
    "$snapshot": _snapshot,
}
