"""`PlainSet`: a set of the state in an expression of ``--where``, compared as Python compares sets."""

from collections.abc import Iterator
from typing import Any

from ckpt_cli.values.node import Node
from ckpt_cli.values.same import alike


class PlainSet(frozenset[Any]):
    """A set that equals any set with the same elements, in any order, and no list.

    Objects are elements as dicts of their fields, and tuples, which payloads record as lists, as tuples.
    """

    __slots__ = ()

    def __contains__(self, element: object) -> bool:
        """Whether an element is in the set; Python itself can't look for a dict."""
        if isinstance(element, dict):
            return any(element == own for own in self)
        return super().__contains__(element)

    def __repr__(self) -> str:
        """The same text in each process, without a word that `contains` could find."""
        return f"{{{', '.join(sorted(map(repr, self)))}}}"


PlainSet.__name__ = "set"  # as Python's errors about an expression call it


class _Fields(dict[Any, Any]):
    """The fields of an object that is an element of a set."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self))


def plain_set(elements: Iterator[tuple[Any, Any]], *, is_python: bool) -> PlainSet:
    """The set of these elements, each as stored and as plain data.

    A set of JavaScript (not `is_python`) may have equal elements, so one that has is refused.

    Raises:
        ValueError: different elements are equal as plain data, as a UUID and its text are, so the set would shrink.
    """
    members: dict[Any, Any] = {}
    for stored, plain in elements:
        element = _element(stored, plain)
        if element in members and not (is_python and alike(members[element], stored)):
            raise ValueError("a set has elements that an expression can't tell from each other")
        members[element] = stored
    return PlainSet(members)


def _element(stored: Any, plain: Any) -> Any:
    """The element as something that has a hash; an object without fields is itself, as it has nothing else."""
    return stored if plain == {} and isinstance(stored, Node) else _hashable(plain)


def _hashable(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple(map(_hashable, plain))
    return _Fields(plain) if isinstance(plain, dict) else plain
