"""Whether a value has only parts of other values: chosen, cut, sorted, dropped or rounded ones."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ckpt_cli.history.reducers.agreement import agree
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.node import Node

_MOST = 50  # new elements of a list that are looked into; a reducer that changes more of them looks like no known one
_DIGITS = range(4)  # to which a reducer may round


def is_composed(value: Any, parts: Sequence[Any]) -> bool:
    """Whether a value is empty, or has only parts of these; True also if it is nested too deeply to say.

    Parts are the elements of a list or set, what a dict or object has under the same name, a piece of a text.
    """
    try:
        return _is_composed(value, parts)
    except RecursionError:
        return True


def _is_composed(value: Any, parts: Sequence[Any]) -> bool:
    elements = value if isinstance(value, list) else items(value)
    if value is None or elements == [] or value in (0, "", {}) or any(agree(part, value) for part in parts):
        return True
    if isinstance(value, str):
        return _is_piece(value, (part for part in parts if isinstance(part, str)))
    if isinstance(value, int | float):
        return _is_rounded(value, (part for part in parts if isinstance(part, int | float)))
    if isinstance(value, dict):
        return _has_values(value, (part for part in parts if isinstance(part, dict)))
    if elements is not None:
        return _has_elements(elements, [one for part in parts for one in (part, *_elements(part))])
    return isinstance(value, Node) and _has_fields(value, [part for part in parts if isinstance(part, Node)])


def _is_piece(text: str, parts: Iterable[str]) -> bool:
    piece = text.strip().casefold()
    return any(piece in part.casefold() for part in parts)


def _is_rounded(number: float, parts: Iterable[float]) -> bool:
    """Whether a number is one of some others but for its sign, its type, and digits behind the point."""
    finite = (abs(part) for part in parts if abs(part) < _LARGE)
    return any(abs(number) in (part, int(part), *(round(part, digits) for digits in _DIGITS)) for part in finite)


_LARGE = 1e300


def _has_values(value: Mapping[Any, Any], parts: Iterable[Mapping[Any, Any]]) -> bool:
    known: dict[Any, list[Any]] = {}
    for part in parts:
        for key, one in part.items():
            known.setdefault(key, []).append(one)
    return all(key in known and _is_composed(one, known[key]) for key, one in value.items())


def _elements(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else items(value) or ()


def _has_elements(elements: Iterable[Any], pool: Sequence[Any]) -> bool:
    identical = set(map(id, pool))
    new = [one for one in elements if id(one) not in identical]
    if new:
        equal = {_spelled(one) for one in pool}
        new = [one for one in new if _spelled(one) not in equal]
    return len(new) > _MOST or all(_is_composed(one, pool) for one in new)


def _spelled(value: Any) -> Any:
    """A key that is equal for equal plain values, so that a long list is compared with another one in one pass."""
    return id(value) if isinstance(value, Node) else (type(value), repr(value))


def _has_fields(value: Node, nodes: Iterable[Node]) -> bool:
    """Whether an object has only fields of others of its class; a message gets an id from its reducer."""
    fields = [one.fields or {} for one in nodes if one.type == value.type]
    return value.fields is not None and _has_values({**value.fields, "id": None}, [*fields, {"id": None}])
