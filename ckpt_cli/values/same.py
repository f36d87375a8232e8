"""Strict equality of decoded values: same type and same content; sets in any order, nan."""

from collections.abc import Callable, Iterator, Sequence
from itertools import compress
from math import copysign, isnan
from operator import is_not
from typing import Any, NamedTuple


class Compared(NamedTuple):
    """What of an object is compared.

    Attributes:
        identity: the contents of two objects are only compared if their identities are equal.
        content: what it holds, decoded.
        nameless: whether a pickle has the arguments of the call in order, without their names.
    """

    identity: tuple[str, ...]
    content: Any
    nameless: bool = False


class Comparable:
    """An object that is compared by its recorded content. `Node` is the only such class."""

    __slots__ = ()
    raw: bytes | None
    encoding: str

    @property
    def compared(self) -> Compared:
        """Its identity and its content."""
        raise NotImplementedError

    @property
    def unordered(self) -> bool:
        """Whether the order of its elements means nothing, as in a set."""
        raise NotImplementedError

    @property
    def members(self) -> list[Any] | None:
        """The elements whose order means nothing; None if it has none."""
        raise NotImplementedError


def same(a: Any, b: Any) -> bool:
    """Whether two values have the same type and content: 1 is not 1.0 and not True, nan is nan.

    Values may be nested at any depth, because the function is iterative.
    """
    return compare(a, b)


def compare(a: Any, b: Any, otherwise: Callable[[Any, Any], bool] | None = None) -> bool:
    """Whether two values are the same, or `otherwise` says of each pair of parts in which they differ that it is."""
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if type(a) is not type(b):
            if otherwise is None or not otherwise(a, b):
                return False
        elif isinstance(a, dict):
            if not _compare_dicts(a, b, stack):
                return False
        elif isinstance(a, list | tuple):
            if len(a) != len(b):
                return False
            stack.extend(unlike(a, b))
        elif isinstance(a, Comparable):
            if not _compare_objects(a, b, stack) and (otherwise is None or not otherwise(a, b)):
                return False
        elif isinstance(a, float):
            if not _equal_floats(a, b):
                return False
        elif a != b:
            return False
    return True


def alike(a: Any, b: Any) -> bool:
    """Whether two values are the same, or Python at least holds them equal, as 1 and True; ten times as fast."""
    try:
        return bool(a is b or a == b) or same(a, b)
    except RecursionError:  # `same` takes values nested at any depth
        return same(a, b)


def unlike(a: Sequence[Any], b: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """The pairs of elements that aren't the same object, found at the speed of C. Both sequences have one length."""
    return compress(zip(a, b, strict=True), map(is_not, a, b))


def _equal_floats(a: float, b: float) -> bool:
    return (isnan(a) and isnan(b)) or (a == b and copysign(1, a) == copysign(1, b))


def _compare_dicts(a: dict[Any, Any], b: dict[Any, Any], stack: list[tuple[Any, Any]]) -> bool:
    """Whether two dicts have the same keys; the pairs of their values, still to be compared, are added to `stack`."""
    if len(a) != len(b):
        return False
    if not all(isinstance(key, str) for key in a):
        a, b = {_exact(key): a[key] for key in a}, {_exact(key): b[key] for key in b}
    if a.keys() != b.keys():
        return False
    stack.extend((value, b[key]) for key, value in a.items())
    return True


def _exact(key: Any) -> Any:
    """A key that equals only keys of its own type: for Python 1 equals True, and nan doesn't equal itself."""
    if isinstance(key, tuple):
        return tuple(_exact(item) for item in key)
    return (type(key), repr(key) if isinstance(key, float) else key)


def _compare_objects(a: Comparable, b: Comparable, stack: list[tuple[Any, Any]]) -> bool:
    """Whether two objects may be equal: their bytes or their identities are.

    If only the identities are equal, the pair of contents, still to be compared, is added to `stack`.
    """
    if a.raw is not None and a.raw == b.raw and a.encoding == b.encoding:
        return True
    (identity, own, nameless), (other_identity, other, other_nameless) = a.compared, b.compared
    if identity != other_identity:
        return False
    if nameless != other_nameless:
        own, other = _in_order(own), _in_order(other)
    if (members := a.members) is not None and (others := b.members) is not None:
        own, other = _sorted(members), _sorted(others)
    stack.append((own, other))
    return True


def _in_order(content: Any) -> Any:
    """The arguments of a call without their names, as a pickle records those of a named tuple or a slotted class."""
    return list(content.values()) if isinstance(content, dict) else content


def _sorted(items: list[Any]) -> list[Any]:
    """The elements of a set, sorted, because each Python process stores the same set of texts in another order."""
    try:
        return sorted(items, key=sort_key)
    except RecursionError:
        return items


def sort_key(value: Any) -> tuple[str, Any]:
    """A sort key that is equal for values that are the same, but for objects of which one form has no names.

    Two keys with the same first part can be compared.
    """
    if isinstance(value, Comparable):
        identity, content, _ = value.compared
        elements = [content] if value.members is None else value.members
        return "", (identity, sorted(map(sort_key, elements)))
    if isinstance(value, dict):
        return "dict", sorted((sort_key(key), sort_key(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return type(value).__name__, [sort_key(item) for item in value]
    return type(value).__name__, repr(value)
