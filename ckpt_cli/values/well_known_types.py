"""The text of dates, UUIDs, sets, Enums, however recorded; which values are secrets (pydantic).

The text is computed from what was recorded; no object of a payload is built. Releases record the same type in different
ways (msgpack extensions, ``lc: 2`` JSON, JavaScript's names). So all functions here work on the arguments that the
class would have been called with.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta, timezone
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from ckpt_cli.values.node import Form, Node

SECRET = "**********"  # noqa: S105 - the mask, not a secret
"""What pydantic shows in place of a secret."""

Arguments = tuple[Sequence[Any], dict[str, Any]]
_NOTHING: Arguments = ((), {})


def arguments(node: Node) -> Arguments:
    """The positional and named arguments that a node's class would have been called with."""
    form, state = node.form, node.state
    if form in (Form.VALUE, Form.METHOD):
        return (state,), {}
    if form is Form.ARGS:
        return state, {}
    if form is Form.KWARGS:
        return (), state
    if form is Form.LC2:
        return state["args"], state["kwargs"]
    if form is Form.PICKLE and state.keys() == {"args"} and isinstance(state["args"], list):
        return state["args"], {}
    return _NOTHING


def is_secret(value: Any) -> bool:
    """Whether a value is a pydantic ``SecretStr`` or the like. In payloads its secret is clear text (ext 0)."""
    if not isinstance(value, Node):
        return False
    return value.name in ("SecretStr", "SecretBytes") or (
        value.module.startswith("pydantic") and value.name.startswith("Secret")
    )


def text(value: Any, reveal: bool = False) -> str | None:
    """The natural text of a value of a well-known type or of an Enum; None for all others. Secrets are masked."""
    if not isinstance(value, Node) or value.form not in _CALLS:
        return None
    args, kwargs = arguments(value)
    if is_secret(value):
        return str(args[0]) if reveal and args else SECRET
    if _is_error(value):
        return f"{value.name}({', '.join(repr(item) if isinstance(item, str | int) else '…' for item in args)})"
    known = _TEXTS.get(_plain_type(value))
    if known is not None:
        try:
            return known(args or [kwargs])
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError):
            return None
    member = enum_value(value)
    return None if member is None else str(member)


def _is_error(value: Node) -> bool:
    return value.form is Form.PICKLE and value.module == "builtins" and value.name.endswith("Error")


def enum_value(value: Node) -> str | int | float | None:
    """The value of a member of an Enum, as far as its form shows that it may be one; None for all others and secrets.

    Which kind of Enum, and so whether the member equals its value, isn't recorded.
    """
    if value.form not in _ENUMS or value.method or _plain_type(value) in _TEXTS or _is_error(value) or is_secret(value):
        return None
    args, kwargs = arguments(value)
    return args[0] if len(args) == 1 and not kwargs and type(args[0]) in (str, int, float, bool) else None


def items(value: Any) -> list[Any] | None:
    """The elements of a list, or of a set, frozenset or deque however it was recorded; None for all others."""
    if isinstance(value, list):
        return value
    if not isinstance(value, Node) or value.form not in _CALLS or value.type not in _COLLECTIONS:
        return None
    args, _ = arguments(value)
    if not args:
        return []
    return args[0] if isinstance(args[0], list) else None


def _plain_type(node: Node) -> str:
    module = node.module.removesuffix("._local") if node.module.startswith("pathlib") else node.module
    return f"{module}.{node.name}" if module else node.name


def _first(args: Sequence[Any]) -> str:
    if not isinstance(args[0], str | int | float):
        raise TypeError(args[0])
    return str(args[0])


def _uuid(args: Sequence[Any]) -> str:
    digits = args[0].replace("-", "")
    if len(digits) != 32:
        raise ValueError(digits)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _date(args: Sequence[Any]) -> str:
    return f"{args[0]:04d}-{args[1]:02d}-{args[2]:02d}" if len(args) == 3 else _first(args)


def _time(args: Sequence[Any]) -> str:
    if not isinstance(args[0], dict):
        if isinstance(args[0], str):
            return _first(args)
        args = [dict(zip(("hour", "minute", "second", "microsecond", "tzinfo"), args, strict=False))]
    fields = args[0]
    clock = f"{fields['hour']:02d}:{fields['minute']:02d}:{fields['second']:02d}"
    micro = fields.get("microsecond")
    zone = text(fields.get("tzinfo"))
    return f"{clock}{f'.{micro:06d}' if micro else ''}{zone.removeprefix('UTC') or '+00:00' if zone else ''}"


def _datetime(args: Sequence[Any]) -> str:
    if isinstance(args[0], str):
        return args[0]
    zone = args[7] if len(args) > 7 else None
    return f"{_date(args[:3])}T{_time([*args[3:7], zone])}"


def _timedelta(args: Sequence[Any]) -> str:
    return str(timedelta(*args))


def _timezone(args: Sequence[Any]) -> str:
    if len(args) == 2:
        return _first(args[1:])
    offset = timedelta(*arguments(args[0])[0])
    return str(timezone(offset))


def _posix(args: Sequence[Any]) -> str:
    return str(PurePosixPath(*args))


def _windows(args: Sequence[Any]) -> str:
    return str(PureWindowsPath(*args))


def _pattern(args: Sequence[Any]) -> str:
    return args[0].decode("latin-1") if isinstance(args[0], bytes) else _first(args)


def _js_pattern(args: Sequence[Any]) -> str:
    return f"/{args[0]}/{args[1] if len(args) > 1 else ''}"


_CALLS = frozenset({Form.VALUE, Form.ARGS, Form.KWARGS, Form.METHOD, Form.LC2, Form.PICKLE})

_ENUMS = frozenset({Form.VALUE, Form.LC2, Form.PICKLE})

_COLLECTIONS = frozenset({"builtins.set", "builtins.frozenset", "collections.deque", "Set"})

_TEXTS: dict[str, Callable[[Sequence[Any]], str]] = {
    "uuid.UUID": _uuid,
    "decimal.Decimal": _first,
    "datetime.datetime": _datetime,
    "datetime.date": _date,
    "datetime.time": _time,
    "datetime.timedelta": _timedelta,
    "datetime.timezone": _timezone,
    "zoneinfo.ZoneInfo": _first,
    "re.compile": _pattern,
    "builtins.complex": lambda args: str(complex(*args)),
    "builtins.range": lambda args: str(range(*args)),
    "RegExp": _js_pattern,
    "Error": _first,
    **{f"ipaddress.IPv{n}{kind}": _first for n in (4, 6) for kind in ("Address", "Interface", "Network")},
    **{f"pathlib.{name}": _posix for name in ("Path", "PosixPath", "PurePath", "PurePosixPath")},
    **{f"pathlib.{name}": _windows for name in ("WindowsPath", "PureWindowsPath")},
}
