"""Pickled dates, UUIDs, sets, pydantic models, secrets as nodes; arguments of odd types: `pickle_calls`.

So values of old and new databases are equal. Any other object becomes a node with the name of its class or function,
and with its arguments, state and items.
"""

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from ckpt_cli.serde.inert.arrays import ARRAYS
from ckpt_cli.serde.inert.pickle_calls import PickleCall, resolve_call
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.well_known_types import text


def build_value(made_by: Any, args: Any, kwargs: Any, state: Any, items: list[Any], pairs: dict[Any, Any]) -> Any:
    """The value of an object that this call would have made."""
    call = resolve_call(made_by, args, kwargs, state, items, pairs)
    known = _KNOWN.get((call.module, call.name)) or _by_shape
    try:
        value = known(call) if not call.kwargs else None
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError):
        value = None
    return _unknown(call) if value is None else value


def _unknown(call: PickleCall) -> Node:
    parts = {
        "args": call.args,
        "kwargs": call.kwargs,
        "state": _slots(call.state),
        "items": call.items or call.pairs,
    }
    present = {key: part for key, part in parts.items() if part is not None and part != [] and part != {}}
    return call.node(Form.PICKLE, present or {"args": []}, method=call.method)


def _slots(state: Any) -> Any:
    """The attributes in a state ``(__dict__ or None, slots)`` (``object.__reduce_ex__``); any other state unchanged."""
    if isinstance(state, list) and len(state) == 2 and isinstance(state[1], dict):
        if state[0] is None:
            return state[1]
        if isinstance(state[0], dict):
            return {**state[0], **state[1]}
    return state


def _by_shape(call: PickleCall) -> Any:
    """The value of a Pydantic model, a secret or LangGraph's dict of channels, recognized by its parts; else None."""
    if call.module.startswith("langgraph.") and call.name == "AddableValuesDict":
        return call.pairs
    if not isinstance(call.state, dict) or call.args or call.items or call.pairs:
        return None
    if call.state.keys() == {"_secret_value"}:
        return call.node(Form.VALUE, call.state["_secret_value"])
    fields = call.state.get("__dict__")
    if not isinstance(fields, dict):
        return None
    if "__pydantic_fields_set__" in call.state:
        return call.node(Form.PYDANTIC, {**fields, **(call.state.get("__pydantic_extra__") or {})})
    return call.node(Form.PYDANTIC_V1, fields) if "__fields_set__" in call.state else None


def _octets(value: Any, length: int) -> bytes:
    """The packed fields of a date or time as bytes; Python 2 pickled such bytes as text."""
    octets = value.encode("latin-1") if isinstance(value, str) else value
    if not isinstance(octets, bytes) or len(octets) != length:
        raise ValueError(value)
    return octets


def _clock(octets: bytes) -> str:
    micro = int.from_bytes(octets[3:6])
    return f"{octets[0]:02}:{octets[1]:02}:{octets[2]:02}" + (f".{micro:06}" if micro else "")


def _day(octets: bytes) -> str:
    return f"{int.from_bytes(octets[:2]):04}-{octets[2] & 0x7F:02}-{octets[3]:02}"


def _zone(args: list[Any]) -> str:
    """The zone as an offset (ISO 8601), or its name in brackets (RFC 9557), because ckpt looks up no zone rules."""
    if len(args) < 2:
        return ""
    name = text(args[1])
    if name is None:
        raise ValueError(args[1])
    if name == "UTC":
        return "+00:00"
    return name.removeprefix("UTC") if name.startswith(("UTC+", "UTC-")) else f"[{name}]"


def _datetime(call: PickleCall) -> Node:
    octets = _octets(call.args[0], 10)
    iso = f"{_day(octets)}T{_clock(octets[4:])}{_zone(call.args)}"
    return call.node(Form.METHOD, iso, method="fromisoformat")


def _date(call: PickleCall) -> Node:
    octets = _octets(call.args[0], 4)
    return call.node(Form.ARGS, [int.from_bytes(octets[:2]), octets[2], octets[3]])


def _time(call: PickleCall) -> Node:
    octets = _octets(call.args[0], 6)
    fields = {"hour": octets[0] & 0x7F, "minute": octets[1], "second": octets[2]}
    zone = call.args[1] if len(call.args) > 1 else None
    rest = {"microsecond": int.from_bytes(octets[3:]), "tzinfo": zone, "fold": octets[0] >> 7}
    return call.node(Form.KWARGS, {**fields, **rest})


def _uuid(call: PickleCall) -> Node:
    return call.node(Form.VALUE, f"{call.state['int']:032x}")


def _value(call: PickleCall) -> Node:
    return call.node(Form.VALUE, call.args[0])


def _args(call: PickleCall) -> Node:
    return call.node(Form.ARGS, call.args)


def _dict(call: PickleCall) -> dict[Any, Any]:
    if call.args and call.name != "defaultdict":
        return dict(call.args[0]) | call.pairs
    return call.pairs


def _bytearray(call: PickleCall) -> Node:
    data = call.args[0].encode("latin-1") if call.args and isinstance(call.args[0], str) else bytes(*call.args[:1])
    return call.node(Form.VALUE, data)


_KNOWN: dict[tuple[str, str], Callable[[PickleCall], Any]] = {
    ("datetime", "datetime"): _datetime,
    ("datetime", "date"): _date,
    ("datetime", "time"): _time,
    ("datetime", "timedelta"): _args,
    ("datetime", "timezone"): _args,
    ("uuid", "UUID"): _uuid,
    ("decimal", "Decimal"): _value,
    ("zoneinfo", "ZoneInfo"): _value,
    ("re", "_compile"): lambda call: call.node(Form.ARGS, call.args, name="compile"),
    ("builtins", "set"): lambda call: call.node(Form.VALUE, call.args[0] if call.args else []),
    ("builtins", "frozenset"): lambda call: call.node(Form.VALUE, call.args[0] if call.args else []),
    ("builtins", "complex"): _args,
    ("builtins", "bytearray"): _bytearray,
    ("builtins", "bytes"): lambda call: b"" if not call.args else None,
    ("builtins", "dict"): _dict,
    ("collections", "OrderedDict"): _dict,
    ("collections", "defaultdict"): _dict,
    ("collections", "deque"): lambda call: call.node(Form.VALUE, call.items or (call.args[0] if call.args else [])),
    **ARRAYS,
    ("_codecs", "encode"): lambda call: call.args[0].encode("latin-1"),
    **{("ipaddress", f"IPv{n}{kind}"): _value for n in (4, 6) for kind in ("Interface", "Network")},
    ("ipaddress", "IPv4Address"): lambda call: call.node(Form.VALUE, str(IPv4Address(call.args[0]))),
    ("ipaddress", "IPv6Address"): lambda call: call.node(Form.VALUE, str(IPv6Address(call.args[0]))),
    **{("pathlib", f"{pure}{kind}Path"): _args for pure in ("", "Pure") for kind in ("", "Posix", "Windows")},
}
