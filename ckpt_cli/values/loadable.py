"""Typed or edited objects as LangGraph stores what it loads of them; refuses what it can't load.

LangGraph's serializer gives the bare arguments of an object that it can't make (langgraph-checkpoint 4.3
``serde/jsonplus.py: _reconstruction_fallback``): a text in place of a date, a list in place of a set. Only Python's own
types are made here, from a fixed table; other classes are the agent's.
"""

import builtins
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from uuid import UUID

from ckpt_cli.errors import UsageError
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.same import same
from ckpt_cli.values.well_known_types import arguments, items

_CALLS = frozenset({Form.VALUE, Form.ARGS, Form.KWARGS, Form.METHOD})


class _Kind(NamedTuple):
    """How a type is made of its arguments, how LangGraph stores it, and an example of what may be typed."""

    make: Callable[..., Any]
    form: Form
    store: Callable[[Any], Any]
    example: str


def read_typed(data: Any) -> Any:
    """The value of JSON that a person typed, with its objects as LangGraph stores them.

    Raises:
        UsageError: the JSON describes no value, or an object that LangGraph couldn't load.
    """
    return as_loaded(from_json(data))


def as_loaded(value: Any) -> Any:
    """The same value, with each new object of a well-known type as LangGraph stores it; what was read stays.

    Raises:
        UsageError: LangGraph couldn't load an object, so a node would get something else.
    """
    order, todo = list[Any](), [value]
    while todo:
        item = todo.pop()
        if (parts := _parts(item)) is not None:
            order.append(item)
            todo.extend(parts)
    built: dict[int, Any] = {}

    def done(item: Any) -> Any:
        return built.get(id(item), item)

    for item in reversed(order):
        built[id(item)] = _rebuilt(item, done)
    return done(value)


def _parts(item: Any) -> Iterator[Any] | None:
    """What is inside a container or a new object; None for all else, also for an object that keeps its bytes."""
    if isinstance(item, list | tuple):
        return iter(item)
    if isinstance(item, dict):
        return iter(item.values())
    return iter([item.state]) if isinstance(item, Node) and item.raw is None else None


def _rebuilt(item: Any, done: Callable[[Any], Any]) -> Any:
    if isinstance(item, Node):
        state = done(item.state)
        return _loaded(item if state is item.state else Node(_opened(item, item.form, state)))
    if isinstance(item, dict):
        new = {key: done(part) for key, part in item.items()}
        return item if all(new[key] is part for key, part in item.items()) else new
    parts = [done(part) for part in item]
    unchanged = all(part is old for part, old in zip(parts, item, strict=True))
    return item if unchanged else tuple(parts) if isinstance(item, tuple) else parts


def _opened(node: Node, form: Form, state: Any) -> Opened:
    return Opened(node.module, node.name, form, state, node.method if form is node.form else "")


def _loaded(node: Node) -> Node:
    """One new object as LangGraph stores it."""
    if node.form in _CALLS:
        _must_name_a_class(node)
    if node.unordered and node.form in {*_CALLS, Form.LC2}:
        return _as_set(node, items(node))
    kind = _KINDS.get(node.type.replace("pathlib._local.", "pathlib."))
    if kind is None or node.form not in _CALLS:
        return node
    args, kwargs = arguments(node)
    if any(isinstance(part, Node) for part in (*args, *kwargs.values())):
        return node  # a time with its zone, a zone with its offset: these parts were checked
    try:
        state = kind.store(kind.make(*args, **kwargs))
    except (ValueError, TypeError, ArithmeticError, AttributeError, re.error) as error:
        what = f"LangGraph couldn't load this {node.type}: {error}"
        raise UsageError(what, hint=f"such as {kind.example}") from error
    if kind.form is node.form and same(state, node.state):
        return node
    method = "fromisoformat" if kind.form is Form.METHOD else ""
    return Node(Opened(node.module, node.name, kind.form, state, method))


def _must_name_a_class(node: Node) -> None:
    """Check that the name may be that of a class: LangGraph imports its module, and gives the bare fields if it can't.

    Raises:
        UsageError: no module has such a name, or JSON has a form of its own for the type.
    """
    if not all(node.type.split(".")) or not node.module:
        hint = 'such as {"$type": "package.module.Class", "field": 1}; without $type it is a dict'
        raise UsageError(f"$type {node.type!r} names no class in a module", hint=hint)
    module, _, name = node.type.rpartition(".")
    if module == "enum" and name in _ENUMS:
        hint = 'such as {"$type": "package.module.Color", "$value": 1}'
        raise UsageError(f"{node.type} has no members; a class of your own has them", hint=hint)
    if module != "builtins":
        return
    if (plain := _PLAIN.get(name)) is not None:
        raise UsageError(f"JSON has a form of its own for {node.type}", hint=f"such as {plain}")
    if not isinstance(getattr(builtins, name, None), type):
        raise UsageError(f"Python has no class {node.type}", hint="a class of your own has its module before its name")


_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "ReprEnum"})
_PLAIN = {
    "bytes": '{"$bytes": "YWI="}, which is base64',
    "str": '"text"',
    "int": "1",
    "float": '1.5, or {"$float": "nan"}',
    "bool": "true",
    "NoneType": "null",
    "list": "[1, 2]",
    "dict": '{"key": 1}, or {"$map": [[1, 2]]} for other keys than texts',
}


def _as_set(node: Node, members: list[Any] | None) -> Node:
    """A set with each element once: 1, 1.0 and True are one element, of which Python keeps the first.

    Raises:
        UsageError: an element can't be in a set, so LangGraph would give a list.
    """
    if members is None:
        raise UsageError(f"the elements of a {node.type} are a list", hint=f"such as {_typed(node.type, '[1, 2]')}")
    kept = dict[Any, Any]()
    for member in members:
        kept.setdefault(_Element(member), member)
    elements = members if len(kept) == len(members) else [*kept.values()]
    if node.form is Form.LC2:
        return node if elements is members else Node(_opened(node, Form.LC2, {**node.state, "args": [elements]}))
    return node if elements is node.state else Node(_opened(node, Form.VALUE, elements))


class _Element:
    """An element of a set, equal to another where Python holds the loaded objects equal."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        if isinstance(value, list | tuple | dict) or (isinstance(value, Node) and value.type in _UNHASHABLE):
            what = value.type if isinstance(value, Node) else "dict" if isinstance(value, dict) else "list"
            why = f"no set can have a {what} as an element: LangGraph would give a list in place of the set"
            raise UsageError(why, hint="--set PATH=[…] sets a list")
        self._value = value

    def __hash__(self) -> int:
        return hash(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Element) and self._value == other._value


_UNHASHABLE = frozenset({"builtins.set", "collections.deque"})


def _date(*args: Any) -> date:
    return date.fromisoformat(args[0]) if len(args) == 1 else date(*args)


def _datetime(*args: Any, **fields: Any) -> datetime:
    return datetime.fromisoformat(args[0]) if len(args) == 1 and not fields else datetime(*args, **fields)


def _time(*args: Any, **fields: Any) -> time:
    if len(args) != 1 or not isinstance(args[0], str):
        return time(*args, **fields)
    if (given := time.fromisoformat(args[0])).tzinfo is not None:
        raise ValueError("a time with a zone has its fields apart")
    return given


def _time_fields(value: time) -> dict[str, Any]:
    return {key: getattr(value, key) for key in ("hour", "minute", "second", "microsecond", "tzinfo", "fold")}


def _zone(key: Any) -> str:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo("UTC")
    except ZoneInfoNotFoundError:
        return str(key)  # this machine knows no zones, and the agent's may
    try:
        return ZoneInfo(key).key
    except ZoneInfoNotFoundError as error:
        raise ValueError(f"no time zone {key!r}") from error


def _pattern(pattern: Any, flags: Any = 0) -> list[Any]:
    made = re.compile(pattern, flags)
    return [made.pattern, made.flags]


def _decimal(number: Any) -> Decimal:
    try:
        return Decimal(number)
    except InvalidOperation as error:
        raise ValueError(f"{number!r} is no number") from error


def _deque(elements: Any) -> list[Any]:
    if not isinstance(elements, list | tuple):
        raise TypeError("its elements are a list")
    return list(elements)


def _typed(kind: str, value: str, key: str = "$value") -> str:
    return f'{{"$type": "{kind}", "{key}": {value}}}'


def _plainly(value: Any) -> Any:
    return value


_KINDS = {
    "datetime.date": _Kind(
        _date, Form.ARGS, lambda made: [made.year, made.month, made.day], _typed("datetime.date", '"2026-05-06"')
    ),
    "datetime.datetime": _Kind(
        _datetime, Form.METHOD, datetime.isoformat, _typed("datetime.datetime", '"2026-05-06T10:00:00+00:00"')
    ),
    "datetime.time": _Kind(_time, Form.KWARGS, _time_fields, _typed("datetime.time", '"10:30:00"')),
    "datetime.timedelta": _Kind(
        timedelta,
        Form.ARGS,
        lambda made: [made.days, made.seconds, made.microseconds],
        _typed("datetime.timedelta", "[0, 90]", "$args"),
    ),
    "decimal.Decimal": _Kind(_decimal, Form.VALUE, str, _typed("decimal.Decimal", '"1.50"')),
    "uuid.UUID": _Kind(
        UUID, Form.VALUE, lambda made: made.hex, _typed("uuid.UUID", '"12345678-1234-1234-1234-123456789abc"')
    ),
    "zoneinfo.ZoneInfo": _Kind(_zone, Form.VALUE, _plainly, _typed("zoneinfo.ZoneInfo", '"Europe/Berlin"')),
    "re.compile": _Kind(_pattern, Form.ARGS, _plainly, _typed("re.compile", '["a+", 0]', "$args")),
    "collections.deque": _Kind(_deque, Form.VALUE, _plainly, _typed("collections.deque", "[1, 2]")),
    **{
        f"ipaddress.{made.__name__}": _Kind(made, Form.VALUE, str, _typed(f"ipaddress.{made.__name__}", f'"{example}"'))
        for made, example in (
            *((IPv4Address, "10.0.0.1"), (IPv4Interface, "10.0.0.1/8"), (IPv4Network, "10.0.0.0/8")),
            *((IPv6Address, "::1"), (IPv6Interface, "::1/64"), (IPv6Network, "fd00::/8")),
        )
    },
    **{
        f"pathlib.{name}": _Kind(
            made, Form.ARGS, lambda path: list(path.parts), _typed(f"pathlib.{name}", '["/", "tmp", "a"]', "$args")
        )
        for made, names in ((PurePosixPath, ("Path", "PosixPath")), (PureWindowsPath, ("WindowsPath",)))
        for name in names
    },
}
