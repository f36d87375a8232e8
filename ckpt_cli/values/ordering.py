"""Python's order of decoded values: which of two is less, as ``max`` and ``min`` ask; imports no class.

Values of Python's own types are compared as Python would. An agent's class may have the order that Python makes from
recorded content: a namedtuple's or an ordered dataclass's (fields, one after the other), an ``IntEnum``'s. Whether the
class has it isn't recorded. Pydantic makes no order.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from itertools import compress
from operator import ne
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.same import alike
from ckpt_cli.values.well_known_types import arguments, items, text

PLAIN = (int, float, str, bytes)  # a bool is an int


class Unordered(Exception):
    """Python has no order between two values, or it isn't known."""


def is_less(a: Any, b: Any, *, supposing: bool = False) -> bool:
    """Whether Python holds ``a < b``; lists are compared by the first elements that differ.

    Args:
        a: a decoded value.
        b: another one.
        supposing: whether an agent's class is supposed to have the order that Python makes for a class.

    Raises:
        Unordered: Python raises TypeError, or only an agent's class itself knows.
    """
    while (parts := _sequences(a, b, supposing=supposing)) is not None:
        ours, theirs = parts
        try:
            unequal = compress(zip(ours, theirs, strict=False), map(ne, ours, theirs))
            pair = next((pair for pair in unequal if not is_equal(*pair)), None)
        except RecursionError as error:
            raise Unordered from error
        if pair is None:
            return len(ours) < len(theirs)
        a, b = pair
    try:
        return bool(python_value(a) < python_value(b))
    except (TypeError, ValueError, ArithmeticError) as error:
        raise Unordered from error


def is_equal(a: Any, b: Any) -> bool:
    """Whether Python holds two values equal, as a time in two zones, or 1 and True."""
    if alike(a, b):
        return True
    if not (isinstance(a, Node) and isinstance(b, Node)):
        return False
    try:
        return bool(python_value(a) == python_value(b))
    except Unordered:
        return False


def is_ordered(value: Any) -> bool:
    """Whether there may be an order between a value and others of its type; of a list, the first element decides."""
    while (parts := _sequences(value, value, supposing=True)) is not None:
        if not parts[0]:
            return True
        value = parts[0][0]
    try:
        python_value(value)
    except Unordered:
        return False
    return True


def is_ranked(value: Any) -> bool:
    """Whether graphs often compare values of this kind: a number, a time, a text that begins with a digit.

    Of a list, or an object of an agent's class, what is compared first decides. Of what is empty, the answer is
    yes: it shows no kind.
    """
    while (parts := _sequences(value, value, supposing=True)) is not None:
        if not parts[0]:
            return True
        value = parts[0][0]
    if isinstance(value, str):
        return not value or re.match(r"\W*v?\d", value) is not None
    if isinstance(value, Node):
        return value.type in _RANKED
    return value is None or isinstance(value, int | float)


def is_least(value: Any) -> bool:
    """Whether no value of this type is less: an empty text, bytes or list, and False; a null counts as nothing."""
    return value is None or value is False or (isinstance(value, str | bytes | list | tuple) and not value)


def sign(value: Any) -> int | None:
    """1 or -1 if a value is greater or less than what Python makes of its type without arguments, 0 if it is equal.

    None if it makes nothing of the type, as of a date. A channel begins with it (1.2 ``channels/binop.py: __init__``).
    """
    if isinstance(value, list | tuple):
        return 1 if value else 0
    try:
        made = python_value(value)
        start = type(made)()
        return int(made > start) - int(made < start)
    except (TypeError, ArithmeticError, Unordered):
        return None


def _sequences(a: Any, b: Any, *, supposing: bool) -> tuple[Sequence[Any], Sequence[Any]] | None:
    """What is compared one by one of two lists, deques, or objects of an agent's class; None for other values."""
    if isinstance(a, list | tuple) and type(a) is type(b):
        return a, b
    if not isinstance(a, Node) or not isinstance(b, Node) or a.type != b.type or a.type in _MADE:
        return None
    if a.type.startswith(_WITHOUT_ORDER):
        return None
    ours: Sequence[Any] | None
    theirs: Sequence[Any] | None
    if a.type == "collections.deque":
        ours, theirs = items(a), items(b)
    else:
        ours, theirs = (_content(a), _content(b)) if supposing else (None, None)
    return None if ours is None or theirs is None else (ours, theirs)


def _content(node: Node) -> Sequence[Any] | None:
    """The fields of an object that was recorded with their names, or the one value of a member of an Enum."""
    if node.form not in (Form.KWARGS, Form.VALUE, Form.LC2) or node.method or not node.module:
        return None
    if node.module in _PYTHON_MODULES:
        return None
    args, kwargs = arguments(node)
    if args and not kwargs:
        return args if len(args) == 1 and isinstance(args[0], PLAIN) else None
    return [*kwargs.values()] if kwargs and not args else None


_PYTHON_MODULES = frozenset({"builtins", "datetime", "zoneinfo", "re", "collections", "decimal", "pathlib"})
_WITHOUT_ORDER = ("langgraph.", "langchain", "pydantic")


def python_value(value: Any) -> Any:
    """The value as one that Python compares, and that it adds up.

    Raises:
        Unordered: it has no order, can't be read, or isn't of Python's own types.
    """
    if isinstance(value, PLAIN):
        return value
    make = _MADE.get(value.type.replace("pathlib._local.", "pathlib.")) if isinstance(value, Node) else None
    if make is None:
        raise Unordered
    try:
        return make(value)
    except (TypeError, ValueError, ArithmeticError, AttributeError, IndexError, KeyError) as error:
        raise Unordered from error


_RANKED = frozenset({*(f"datetime.{kind}" for kind in ("datetime", "date", "time", "timedelta")), "decimal.Decimal"})


def _of_text(make: Callable[[str], Any]) -> Callable[[Node], Any]:
    return lambda node: make(text(node) or "")


def _timedelta(node: Node) -> timedelta:
    args, kwargs = arguments(node)
    if not args and not kwargs:
        raise ValueError("nothing shows the span")
    return timedelta(*args, **kwargs)


def _decimal(node: Node) -> Any:
    from decimal import Decimal

    return Decimal(text(node) or "")


def _uuid(node: Node) -> Any:
    from uuid import UUID

    return UUID(text(node) or "")


def _address(node: Node) -> Any:
    import ipaddress

    return getattr(ipaddress, node.name)(text(node) or "")


_MADE: dict[str, Callable[[Node], Any]] = {
    "datetime.datetime": _of_text(datetime.fromisoformat),
    "datetime.date": _of_text(date.fromisoformat),
    "datetime.time": _of_text(time.fromisoformat),
    "datetime.timedelta": _timedelta,
    "decimal.Decimal": _decimal,
    "uuid.UUID": _uuid,
    **{f"ipaddress.IPv{n}{kind}": _address for n in (4, 6) for kind in ("Address", "Interface", "Network")},
    **{f"pathlib.{name}": _of_text(PurePosixPath) for name in ("Path", "PosixPath", "PurePath", "PurePosixPath")},
    **{f"pathlib.{name}": _of_text(PureWindowsPath) for name in ("WindowsPath", "PureWindowsPath")},
}
