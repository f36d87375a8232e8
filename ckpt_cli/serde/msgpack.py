"""Decodes msgpack as LangGraph writes it: objects lazily, bounds of depth and copied bytes, node cache.

Source: checkpoint 1.0.10 and later, ``serde/jsonplus.py: _msgpack_enc``. ormsgpack decodes the plain data of a value.
Every object in it (extension codes 0 to 7) becomes a `Node` that decodes its own payload when it is used. Equal
payloads become the same node, so they are decoded once.

Bounds: a value and all objects in it are at most `LEVELS` + `_FEW_HEADERS` containers deep, and decoding all objects
copies at most a multiple of the payload. A part that exceeds a bound becomes a BROKEN node that keeps its bytes.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ckpt_cli.serde import extension_shapes
from ckpt_cli.serde.growing_list import GrowingList, put_back
from ckpt_cli.serde.unpack import unpack
from ckpt_cli.values.node import Form, Node, Opened, broken, opaque

LEVELS = 400
"""How deep containers and objects may be nested; Python's own recursion limit is 1,000."""

_FEW_HEADERS = 100  # a payload with at most this many possible container headers can't be deep; its depth isn't tracked
_COPIES = 64 << 20  # bytes that decoding all objects may copy, plus 8 times the size of the value
_PART = 4096  # bytes whose headers are counted at once
_MEMO = 16 << 20  # bytes of payloads whose nodes are cached
_MEMO_PAYLOAD = 64 << 10
_LONG = 4096  # bytes; shorter payloads aren't checked for a growing list
_SHORT_TEXT = 257  # bytes of a payload that may be a text of at most 255

_PLAIN = frozenset({list, dict})
_OPENERS = bytes([*range(0x80, 0xA0), 0xC7, 0xC8, 0xC9, *range(0xD4, 0xD9), 0xDC, 0xDD, 0xDE, 0xDF])


def decode_plain(data: bytes) -> Any:
    """The plain data of a payload, with None for each object; a BROKEN node if it can't be read whole."""
    try:
        return unpack(data, lambda _code, _data: None)
    except ValueError as error:
        return broken(str(error), data)


class _Room(NamedTuple):
    """How many more levels a value may have, and how many more bytes its objects may copy."""

    levels: int
    copies: int


class _Placeholder(NamedTuple):
    """Placeholder for an object that may be nested deeply; used until the object's depth inside the value is known."""

    code: int
    data: bytes


def _short_text(data: bytes) -> str | None:
    """The text of a payload that is one text of at most 255 bytes, as many are; None for others, and damaged ones."""
    start = 1 if 0xA0 <= (first := data[0] if data else 0) < 0xC0 else 2 if first == 0xD9 and len(data) > 1 else 0
    if not start or len(data) - start != (first & 0x1F if start == 1 else data[1]):
        return None
    try:
        return data[start:].decode()
    except UnicodeDecodeError:
        return None


def _is_shallow(data: bytes) -> bool:
    """Whether a payload has so few possible container headers that it can't exceed a bound."""
    if len(data) <= _PART:
        return len(data) - len(data.translate(None, _OPENERS)) <= _FEW_HEADERS
    left = min(_FEW_HEADERS, _COPIES // len(data))
    for at in range(0, len(data), _PART):  # mostly, the beginning of a long payload has enough headers
        part = data[at : at + _PART]
        left -= len(part) - len(part.translate(None, _OPENERS))
        if left < 0:
            return False
    return True


def _is_within(box: list[Any], levels: int) -> bool:
    """Whether the plain containers have at most this many levels; checked level by level, in fast comprehensions."""
    layer = [item for item in box if type(item) in _PLAIN]
    for _ in range(levels):
        if not layer:
            break
        layer = [
            item
            for container in layer
            for item in (container if type(container) is list else container.values())
            if type(item) in _PLAIN
        ]
    return not layer


class Unpacker:
    """Decodes msgpack payloads; caches nodes by their bytes, within bounds."""

    def __init__(self) -> None:
        self._memo: dict[tuple[int, bytes, int], Node] = {}
        self._memo_size = 0
        self._growing = GrowingList(_MEMO, _is_shallow)
        self._shallow_loads = {code: partial(self._load, code, None) for code in range(8)}

    def value(self, data: bytes) -> Any:
        """The value of one payload; never raises. A damaged part becomes a BROKEN node."""
        if len(data) <= _SHORT_TEXT and (text := _short_text(data)) is not None:
            return text
        if len(data) < _LONG and _is_shallow(data):
            try:
                return unpack(data, self._shallow)
            except ValueError:
                return self._value(data, None)
        room = _Room(LEVELS, 8 * len(data) + _COPIES)
        if len(data) < _LONG:
            return self._value(data, room)
        value = self._with_known_list(data, room)
        if value is None:
            self._growing.remember(value := self._value(data, room))
        return value

    def _with_known_list(self, data: bytes, room: _Room) -> Any:
        """The value of a payload that contains the previous payload's list; None if the list is missing or damaged."""
        cut = self._growing.cut(data)
        if cut is None:
            return None
        try:
            rest = self._value(cut.rest, room, rescue=False)
        except ValueError:
            return None
        whole = [*cut.known, *(self._shallow(code, added) for code, added in cut.new)] if cut.new else cut.known
        value = put_back(rest, whole)
        if value is not None:
            self._growing.remember(whole, cut.items)
        return value

    def _value(self, data: bytes, room: _Room | None, hidden_prefix: str = "", *, rescue: bool = True) -> Any:
        placeholders: list[_Placeholder] = []
        if room is None or _is_shallow(data):
            hook: Callable[[int, bytes], Any] = self._shallow
            room = None
        else:
            hook = partial(self._tracked, placeholders)
        try:
            value = unpack(data, hook)
        except ValueError:
            if not rescue:
                raise
            value = _rescued(data, room.levels if room else LEVELS, hook, hidden_prefix)
        if room is None:
            return value
        box = [value]
        if not _is_within(box, room.levels):
            if not rescue:
                raise ValueError("nested too deep")
            box = [_rescued(data, room.levels, hook, hidden_prefix)]
        if placeholders:
            self._settle(box, room)
        return box[0]

    def _shallow(self, code: int, data: bytes) -> Node:
        load = self._shallow_loads.get(code)
        return self._remember(code, data, _UNTRACKED, load) if load else opaque(f"msgpack:{code}", data)

    def _tracked(self, placeholders: list[_Placeholder], code: int, data: bytes) -> Any:
        known = self._memo.get((code, data, _UNTRACKED))
        if known is not None:
            return known
        if code not in self._shallow_loads or _is_shallow(data):
            return self._shallow(code, data)
        placeholders.append(_Placeholder(code, data))
        return placeholders[-1]

    def _settle(self, box: list[Any], room: _Room) -> None:
        """Replace each placeholder by a node that has the `_Room` left at the placeholder's depth."""
        stack: list[tuple[Any, int]] = [(box, room.levels)]
        while stack:
            container, levels = stack.pop()
            for key, value in enumerate(container) if type(container) is list else container.items():
                kind = type(value)
                if kind is list or kind is dict:
                    stack.append((value, levels - 1))
                elif kind is _Placeholder:
                    container[key] = self._node(value, _Room(levels - 1, room.copies - len(value.data)))

    def _node(self, placeholder: _Placeholder, room: _Room) -> Node:
        if room.levels < 0 or room.copies < 0:
            return _broken(placeholder.code, placeholder.data, "nested too deep")
        load = partial(self._load, placeholder.code, room)
        return self._remember(placeholder.code, placeholder.data, room.levels, load)

    def _remember(self, code: int, data: bytes, levels: int, load: Callable[[bytes], Opened]) -> Node:
        key = (code, data, levels)
        node = self._memo.get(key)
        if node is None:
            node = Node(encoding=f"msgpack:{code}", raw=data, load=load)
            if len(data) <= _MEMO_PAYLOAD:
                self._memo[key] = node
                self._memo_size += len(data) + _NODE_BYTES
                while self._memo_size > _MEMO:
                    oldest = next(iter(self._memo))
                    del self._memo[oldest]
                    self._memo_size -= len(oldest[1]) + _NODE_BYTES
        return node

    def _load(self, code: int, room: _Room | None, data: bytes) -> Opened:
        inner = self._value(data, room, hidden_prefix="" if code == extension_shapes.SNAPSHOT else "[2]")
        return extension_shapes.open_object(code, inner, data)


_UNTRACKED = -1  # the level of shallow objects in the cache's keys
_NODE_BYTES = 500  # bytes that a cached node takes in addition to its payload


def _rescued(data: bytes, levels: int, hook: Callable[[int, bytes], Any], hidden_prefix: str) -> Any:
    """The value of a payload that ormsgpack refuses, as far as it can be decoded."""
    from ckpt_cli.serde.msgpack_rescue import Rescue

    return Rescue(data, levels, hook, hidden_prefix).value()


def _broken(code: int, data: bytes, problem: str) -> Node:
    return Node(Opened("", "", Form.BROKEN, data, problem=f"{problem}"), encoding=f"msgpack:{code}", raw=data)
