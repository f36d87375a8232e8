"""The payload that each msgpack extension code must have (pydantic, Enum …); others are BROKEN.

A payload of that shape becomes an `Opened`. langgraph-checkpoint 4.3, ``serde/jsonplus.py: EXT_CONSTRUCTOR_SINGLE_ARG``
to ``EXT_DELTA_SNAPSHOT``. The library writes no other shapes, so a payload of another shape becomes BROKEN; ckpt
doesn't guess.
"""

from collections.abc import Callable
from typing import Any

from ckpt_cli.values.node import Form, Node, Opened

PYDANTIC_METHOD = "model_validate_json"
"""The method that the library stores with every pydantic v2 object; `Opened.method` is then ``""``."""


def is_known(code: int) -> bool:
    """Whether LangGraph gives this extension code a meaning."""
    return code in _SHAPES or code == SNAPSHOT


def open_object(code: int, value: Any, raw: bytes) -> Opened:
    """The object that an extension's decoded payload records; BROKEN if the payload has another shape."""
    if code == SNAPSHOT:
        return Opened("langgraph.checkpoint.serde.types", "_DeltaSnapshot", Form.SNAPSHOT, value)
    if isinstance(value, list):
        record = _SHAPES[code](value)
        if record is not None:
            return record
    problem = _first_problem(value) or f"not the shape of extension {code}"
    return Opened("", "", Form.BROKEN, raw, problem=problem)


def _first_problem(value: Any) -> str:
    items = value if isinstance(value, list) else [value]
    return next((item.problem for item in items if isinstance(item, Node) and item.form is Form.BROKEN), "")


def _has_class(value: list[Any], length: int) -> bool:
    return len(value) == length and isinstance(value[0], str) and isinstance(value[1], str)


def _is_fields(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _single(value: list[Any]) -> Opened | None:
    return Opened(value[0], value[1], Form.VALUE, value[2]) if _has_class(value, 3) else None


def _args(value: list[Any]) -> Opened | None:
    if not _has_class(value, 3) or not isinstance(value[2], list):
        return None
    return Opened(value[0], value[1], Form.ARGS, value[2])


def _kwargs(value: list[Any]) -> Opened | None:
    if not _has_class(value, 3) or not _is_fields(value[2]):
        return None
    return Opened(value[0], value[1], Form.KWARGS, value[2])


def _method(value: list[Any]) -> Opened | None:
    if not _has_class(value, 4) or not isinstance(value[3], str):
        return None
    return Opened(value[0], value[1], Form.METHOD, value[2], method=value[3])


def _pydantic_v1(value: list[Any]) -> Opened | None:
    return Opened(value[0], value[1], Form.PYDANTIC_V1, value[2]) if _has_class(value, 3) else None


def _pydantic(value: list[Any]) -> Opened | None:
    if not _has_class(value, 4) or not isinstance(value[3], str):
        return None
    method = "" if value[3] == PYDANTIC_METHOD else value[3]
    return Opened(value[0], value[1], Form.PYDANTIC, value[2], method=method)


def _array(value: list[Any]) -> Opened | None:
    if len(value) != 4:
        return None
    dtype, shape, order, data = value
    if not isinstance(dtype, str) or order not in ("C", "F") or not isinstance(data, bytes):
        return None
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        return None
    state = {"dtype": dtype, "shape": shape, "order": order, "data": data}
    return Opened("numpy", "ndarray", Form.ARRAY, state)


SNAPSHOT = 7
"""The code of the delta snapshot, the only extension whose payload is a value without a class."""

_SHAPES: dict[int, Callable[[list[Any]], Opened | None]] = {
    0: _single,
    1: _args,
    2: _kwargs,
    3: _method,
    4: _pydantic_v1,
    5: _pydantic,
    6: _array,
}
