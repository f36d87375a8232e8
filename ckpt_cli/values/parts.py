"""The parts of a value in every form of recording: its fields, by name, and its elements, by position."""

from collections.abc import Iterator
from typing import Any

from ckpt_cli.values.langgraph_values import send
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.well_known_types import arguments, items, text

_NO_PARTS = frozenset({Form.BROKEN, Form.OPAQUE, Form.UNDEFINED, Form.ARRAY})


def inside(value: Any) -> Any:
    """The value in a delta snapshot; any other value unchanged. A path has no step for the snapshot itself."""
    return value.state if isinstance(value, Node) and value.form is Form.SNAPSHOT else value


def fields(value: Any) -> dict[Any, Any]:
    """The items of a dict or the named fields of an object; {} for a value without any."""
    value = inside(value)
    if isinstance(value, dict):
        return value
    if not isinstance(value, Node) or is_leaf(value):
        return {}
    named = value.fields or arguments(value)[1]
    if not named and (sent := send(value)) is not None:
        return {"node": sent.node, "arg": sent.arg}
    return named if isinstance(named, dict) else {}


def positions(value: Any) -> list[Any] | tuple[Any, ...] | None:
    """The elements of a list, tuple, set or deque, or the positional arguments of an object; else None."""
    value = inside(value)
    if isinstance(value, list | tuple):
        return value
    if not isinstance(value, Node) or is_leaf(value):
        return None
    elements = items(value)
    if elements is not None or send(value) is not None:
        return elements
    if value.form is Form.PICKLE and isinstance(value.state, dict):
        # `state` has the fields; everything else that the pickle recorded (args, items, …) counts as one element each
        return [part for name, part in value.state.items() if name != "state" and part not in (None, [], {})]
    args = list(arguments(value)[0])
    return args or None


def is_leaf(value: Any) -> bool:
    """Whether a value is shown and compared as a whole: scalars, dates and the like, arrays, undecodable bytes."""
    value = inside(value)
    if isinstance(value, Node):
        return value.form in _NO_PARTS or text(value) is not None
    return not isinstance(value, dict | list | tuple)


def parts(value: Any) -> Iterator[tuple[Any, Any]]:
    """All direct parts of a value, each with its position or key."""
    value = inside(value)
    if isinstance(value, dict):
        yield from value.items()
    elif not is_leaf(value):
        yield from enumerate(positions(value) or ())
        if not isinstance(value, list | tuple):
            yield from fields(value).items()
