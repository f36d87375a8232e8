"""Damaged msgpack decoded as far as possible: bad UTF-8, cut off, wrong lengths; BROKEN nodes.

ormsgpack refuses a whole checkpoint for one bad UTF-8 byte, but a person needs the undamaged channels.
"""

from collections.abc import Callable
from typing import Any

from ckpt_cli.serde import error_paths, msgpack_spans
from ckpt_cli.serde.msgpack_spans import DamageError, Head
from ckpt_cli.serde.unpack import unpack
from ckpt_cli.values.node import DAMAGED, Form, Node, Opened

ENCODING = "msgpack"
"""`Node.encoding` of a node that keeps the bytes of one msgpack element."""

_PROBLEMS = 1_000  # problems that get a message of their own


class _Frame:
    """A container that is being filled."""

    __slots__ = ("at_key", "key", "parts_left", "path", "value")

    def __init__(self, head: Head, path: str) -> None:
        self.path = path
        self.value: Any = [] if head.kind == msgpack_spans.ARRAY else {}
        self.parts_left = head.children
        self.at_key = head.kind == msgpack_spans.MAP
        self.key: Any = None

    def put(self, value: Any) -> None:
        """Add the next key, value or item."""
        self.parts_left -= 1
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.at_key:
            self.key, self.at_key = value, False
        else:
            self.value[self.key], self.at_key = value, True

    @property
    def step(self) -> str:
        """The path from this container to the part that is read next."""
        if isinstance(self.value, list):
            return f"[{len(self.value)}]"
        if self.at_key:
            return ".<key>"
        return error_paths.step(self.key)


class Rescue:
    """Decodes one damaged payload; containers go at most `levels` deep.

    `hidden_prefix` is the path from an object's payload to its fields; messages show paths without this prefix.
    """

    def __init__(self, data: bytes, levels: int, node: Callable[[int, bytes], Any], hidden_prefix: str = "") -> None:
        self._data = data
        self._levels = levels
        self._node = node
        self._hidden_prefix = hidden_prefix
        self._stack: list[_Frame] = []
        self._at = 0
        self._problems = 0
        self._last: Node | None = None

    def value(self) -> Any:
        """The value as far as it could be decoded."""
        while True:
            try:
                value = self._next()
            except DamageError as damage:
                return self._close_all(damage)
            if isinstance(value, _Frame):
                self._stack.append(value)
            elif self._stack:
                self._stack[-1].put(value)
            else:
                return value
            while self._stack[-1].parts_left == 0:
                whole = self._stack.pop().value
                if not self._stack:
                    return whole
                self._stack[-1].put(whole)

    def _next(self) -> Any:
        at = self._at
        head = msgpack_spans.head(self._data, at)
        key = bool(self._stack) and self._stack[-1].at_key
        if head.kind in (msgpack_spans.ARRAY, msgpack_spans.MAP):
            if not key and len(self._stack) < self._levels:
                self._at = head.end
                return _Frame(head, self._path())
            self._at = msgpack_spans.end(self._data, at)
            return self._key(at) if key else self._broken(f"nested deeper than {self._levels} levels", at)
        self._at = head.end
        if head.kind == msgpack_spans.EXT:
            content = self._data[head.start : head.end]
            return self._broken("an object as a key", at) if key else self._node(head.code, content)
        return self._scalar(head, at)

    def _scalar(self, head: Head, at: int) -> Any:
        if head.kind == msgpack_spans.STR:
            try:
                return self._data[head.start : head.end].decode()
            except UnicodeDecodeError:
                return self._broken("bad UTF-8", at)
        if head.kind == msgpack_spans.BIN:
            return self._data[head.start : head.end]
        return self._broken("reserved byte 0xc1", at) if head.kind == msgpack_spans.RESERVED else head.value

    def _key(self, at: int) -> Any:
        try:
            return next(iter(unpack(b"\x81" + self._data[at : self._at] + b"\xc0")))
        except ValueError:
            return self._broken("a container as a key", at)

    def _broken(self, problem: str, at: int) -> Node:
        self._problems += 1
        if self._last is not None and self._problems > _PROBLEMS:
            return self._last
        raw = self._data[at : self._at]
        message = error_paths.with_path(problem, self._path().removeprefix(self._hidden_prefix))
        opened = Opened("", "", Form.BROKEN, raw, problem=message)
        self._last = Node(opened, encoding=ENCODING, raw=raw)
        return self._last

    def _path(self) -> str:
        return self._stack[-1].path + self._stack[-1].step if self._stack else ""

    def _close_all(self, damage: DamageError) -> Any:
        at, self._at = damage.at, len(self._data)
        value: Any = None
        while self._stack:
            frame = self._stack[-1]
            if value is not None:
                frame.put(value)
            if frame.parts_left:
                if frame.at_key:
                    frame.put(DAMAGED)
                frame.put(self._broken(damage.what, at))
                at = self._at
            value = self._stack.pop().value
        return self._broken(damage.what, at) if value is None else value
