"""Strict equality of decoded values: same type and same content, compared by raw bytes where there are any."""

from collections.abc import Iterator, Sequence
from itertools import compress
from math import copysign, isnan
from operator import is_not
from typing import Any

from ckpt_cli.values.node import Node


def same(a: Any, b: Any) -> bool:
    """Whether two values are one and the same: 1 is not 1.0 and not True, nan is nan. Iterative: depth is free."""
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            return False
        if isinstance(a, dict):
            if not _keyed(a, b, stack):
                return False
        elif isinstance(a, list | tuple):
            if len(a) != len(b):
                return False
            stack.extend(unlike(a, b))
        elif isinstance(a, Node):
            if not _nodes(a, b, stack):
                return False
        elif isinstance(a, float):
            if not _floats(a, b):
                return False
        elif a != b:
            return False
    return True


def unlike(a: Sequence[Any], b: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """The pairs of two sequences of one length that aren't one object, passed over at the speed of C."""
    return compress(zip(a, b, strict=True), map(is_not, a, b))


def _floats(a: float, b: float) -> bool:
    return (isnan(a) and isnan(b)) or (a == b and copysign(1, a) == copysign(1, b))


def _keyed(a: dict[Any, Any], b: dict[Any, Any], stack: list[tuple[Any, Any]]) -> bool:
    if len(a) != len(b):
        return False
    if not all(isinstance(key, str) for key in a):
        a, b = {_exact(key): a[key] for key in a}, {_exact(key): b[key] for key in b}
    if a.keys() != b.keys():
        return False
    stack.extend((value, b[key]) for key, value in a.items())
    return True


def _exact(key: Any) -> Any:
    """A key that equals only its own kind: as keys, 1 and True are one to Python, and nan is not even itself."""
    if isinstance(key, tuple):
        return tuple(_exact(item) for item in key)
    return (type(key), repr(key) if isinstance(key, float) else key)


def _nodes(a: Node, b: Node, stack: list[tuple[Any, Any]]) -> bool:
    if a.raw is not None and a.raw == b.raw and a.encoding == b.encoding:
        return True
    if (a.module, a.name, a.form, a.method, a.problem) != (b.module, b.name, b.form, b.method, b.problem):
        return False
    if is_set(a) and isinstance(a.state, list) and isinstance(b.state, list):
        stack.append((_sorted(a.state), _sorted(b.state)))
    else:
        stack.append((a.state, b.state))
    return True


def is_set(value: Node) -> bool:
    """Whether the order of an object's elements says nothing."""
    return value.type in _SETS


def _sorted(items: list[Any]) -> list[Any]:
    """The elements of a set in an order of their own: each process stores a set of texts in another one."""
    from json import dumps

    from ckpt_cli.values.jsonform import to_json

    try:
        return sorted(items, key=lambda item: dumps(to_json(item, reveal=True), sort_keys=True))
    except RecursionError:
        return items


_SETS = frozenset({"builtins.set", "builtins.frozenset"})
