"""Live Python objects in the plain JSON of the truth files, by the same rules: what the installed library reads."""

import base64
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import math
import pathlib
import re
import uuid
import zoneinfo
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Interrupt, Send
from pydantic import BaseModel, SecretStr

from tests.truth_rendering import canonical

_TEXT = (uuid.UUID, decimal.Decimal, datetime.timedelta, datetime.timezone, pathlib.PurePath)
_TEXT += (ipaddress.IPv4Address, ipaddress.IPv6Network, ipaddress.IPv4Interface)


def rendered_object(value: Any) -> Any:
    """A live value as a truth file shows it."""
    if isinstance(value, enum.Enum):
        return rendered_object(value.value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {
            key if isinstance(key, str) else str(rendered_object(key)): rendered_object(v) for key, v in value.items()
        }
    return next(show(value) for kinds, show in _RULES if isinstance(value, kinds))


def _message(value: BaseMessage) -> Any:
    shown = {"type": value.type, "id": value.id, "content": rendered_object(value.content)}
    calls = [
        {key: rendered_object(call[key]) for key in ("name", "args", "id")} for call in getattr(value, "tool_calls", [])
    ]
    extra = {"tool_calls": calls, "tool_call_id": getattr(value, "tool_call_id", None), "name": value.name}
    return {**shown, **{key: item for key, item in extra.items() if item}}


def _interrupt(value: Interrupt) -> Any:
    return {"$interrupt": rendered_object(value.value), "id": value.id}


def _fields(value: Any) -> Any:
    names = [f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else type(value).model_fields
    return {name: rendered_object(getattr(value, name)) for name in names}


def _array(value: np.ndarray[Any, Any]) -> Any:
    return {"dtype": value.dtype.str, "shape": list(value.shape), "items": rendered_object(value.tolist())}


_RULES: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (bytes | bytearray, lambda v: {"$bytes": base64.b64encode(v).decode()}),
    (BaseMessage, _message),
    (Send, lambda v: {"$send": v.node, "arg": rendered_object(v.arg)}),
    (Interrupt, _interrupt),
    (_DeltaSnapshot, lambda v: {"$delta_snapshot": rendered_object(v.value)}),
    (list | tuple | deque, lambda v: [rendered_object(item) for item in v]),
    (set | frozenset, lambda v: sorted((rendered_object(item) for item in v), key=canonical)),
    (datetime.datetime | datetime.date | datetime.time, lambda v: v.isoformat()),
    (zoneinfo.ZoneInfo, lambda v: v.key),
    (re.Pattern, lambda v: v.pattern),
    (SecretStr, lambda v: v.get_secret_value()),
    (_TEXT, str),
    (np.ndarray, _array),
    (BaseModel, _fields),
    (object, lambda v: _fields(v) if dataclasses.is_dataclass(v) else {"$repr": repr(v)}),
)
