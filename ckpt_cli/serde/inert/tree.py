"""The pickle machine's records become a finite tree: cycles, shared parts, "billion laughs", depth.

A pickle is a graph. If an object contains itself, the inner occurrence becomes a BROKEN node. A shared part counts each
time it is used. Values that together exceed about `_GROWTH` times the pickle (the "billion laughs") are cut off. So
memory stays bounded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.serde.inert.machine import Dict, Global, Missing, Object, Set
from ckpt_cli.serde.inert.types import build_value
from ckpt_cli.values.node import Form, Node, Opened, broken
from ckpt_cli.values.well_known_types import text

LEVELS = 400
"""How deep containers and objects may be nested; Python's own recursion limit is 1,000."""

_GROWTH = 64
_ALWAYS_ALLOWED = 16 << 20  # units that even a small pickle may grow to
_NODE = 64  # units of an element without its text
_KEY_LEVELS = 16
_DIGITS = 14_000  # bits of an integer that Python still writes as a decimal


@dataclass(slots=True)
class _Frame:
    """A record whose parts are being turned into values."""

    record: Any
    parts: Iterator[Any]
    values: list[Any] = field(default_factory=list)
    weight: int = _NODE
    height: int = 0

    def take(self, value: Any, weight: int, height: int) -> None:
        """Add the value of one part, with its weight and its depth."""
        self.values.append(value)
        self.weight += weight
        self.height = max(self.height, height + 1)


class Tree:
    """Turns a graph of records into a value."""

    def __init__(self, size: int) -> None:
        self._weight_left = _GROWTH * size + _ALWAYS_ALLOWED
        self._done: dict[int, tuple[Any, int, int]] = {}
        self._open: set[int] = set()
        self._frames: list[_Frame] = []

    def value(self, root: Any) -> Any:
        """The value of the graph that begins at this record."""
        top = _Frame(None, iter((root,)))
        self._frames = [top]
        while True:
            frame = self._frames[-1]
            for part in frame.parts:
                if not self._part(frame, part):
                    break
            else:
                self._frames.pop()
                if not self._frames:
                    return frame.values[0]
                self._close(frame)

    def _part(self, frame: _Frame, part: Any) -> bool:
        """Add the value of one part; False if the parts of this part must be turned into values first."""
        if not isinstance(part, list | tuple | Dict | Set | Object):
            value = _atom(part)
            self._take_within_bounds(frame, value, _NODE + (len(value) if isinstance(value, str | bytes) else 0), 0)
        elif id(part) in self._open:
            frame.take(broken("a cycle"), _NODE, 0)
        elif id(part) in self._done:
            self._take_within_bounds(frame, *self._done[id(part)])
        elif len(self._frames) > LEVELS or self._weight_left < 0:
            self._take_within_bounds(frame, None, _ALWAYS_ALLOWED if self._weight_left < 0 else 0, LEVELS)
        else:
            self._open.add(id(part))
            self._frames.append(_Frame(part, _parts(part)))
            return False
        return True

    def _take_within_bounds(self, frame: _Frame, value: Any, weight: int, height: int) -> None:
        if len(self._frames) + height > LEVELS:
            frame.take(broken(f"nested deeper than {LEVELS} levels"), _NODE, 0)
        elif weight > self._weight_left:
            frame.take(broken("grows beyond all bounds"), _NODE, 0)
        else:
            self._weight_left -= weight
            frame.take(value, weight, height)

    def _close(self, frame: _Frame) -> None:
        key = id(frame.record)
        value = _whole(frame.record, frame.values)
        self._open.discard(key)
        self._done[key] = (value, frame.weight, frame.height)
        self._weight_left -= _NODE
        self._frames[-1].take(value, frame.weight, frame.height)


def _atom(part: Any) -> Any:
    if isinstance(part, Global):
        return Node(Opened(part.module, part.name, Form.PICKLE, {}))
    if isinstance(part, Missing):
        return broken(f"{part.problem}")
    if isinstance(part, bytearray):
        return Node(Opened("builtins", "bytearray", Form.VALUE, bytes(part)))
    if isinstance(part, int) and part.bit_length() > _DIGITS:
        return broken("a number of thousands of digits")
    return part


def _parts(record: Any) -> Iterator[Any]:
    if isinstance(record, list | tuple):
        yield from record
    elif isinstance(record, Set):
        yield from record.items
    else:
        if isinstance(record, Object):
            yield from (record.made_by, record.args, record.kwargs, record.state)
            yield from record.items
        for pair in record.pairs:
            yield from pair


def _whole(record: Any, values: list[Any]) -> Any:
    if isinstance(record, list | tuple):
        return values
    if isinstance(record, Set):
        return Node(Opened("builtins", record.name, Form.VALUE, values))
    if isinstance(record, Dict):
        return _dict(values)
    made_by, args, kwargs, state = values[:4]
    after = 4 + len(record.items)
    return build_value(made_by, args, kwargs, state, values[4:after], _dict(values[after:]))


def _dict(flat: list[Any]) -> dict[Any, Any]:
    return {_key(key, _KEY_LEVELS): value for key, value in zip(flat[::2], flat[1::2], strict=True)}


def _key(key: Any, levels: int) -> Any:
    if isinstance(key, Node):
        return text(key) or key
    if isinstance(key, list) and levels:
        return tuple(_key(item, levels - 1) for item in key)
    return broken("a container as a key") if isinstance(key, list | dict) else key
