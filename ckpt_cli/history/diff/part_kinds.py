"""`Kind`: how a value is followed through a history: whole, by elements, by keys, along a key."""

from enum import Enum, auto
from typing import Any

from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.node import Node
from ckpt_cli.values.parts import inside, positions


class Kind(Enum):
    """How a value is followed."""

    NOTHING = auto()
    WHOLE = auto()
    LIST = auto()
    KEYS = auto()
    STEP = auto()
    """One key, named by the path."""


def kind_of(value: Any, steps: tuple[Any, ...]) -> Kind:
    """How a value is followed that isn't one part; `steps` is the rest of the path."""
    plain = inside(value)
    if steps:
        by_position = type(steps[0]) in (int, slice) and not isinstance(plain, dict)
        return Kind.LIST if by_position and positions(plain) is not None else Kind.STEP
    if isinstance(plain, dict):
        return Kind.KEYS
    is_list = isinstance(plain, list | tuple) or (isinstance(plain, Node) and items(plain) is not None)
    return Kind.LIST if is_list else Kind.WHOLE
