"""Damaged JSON decoded as far as possible: holes, ``undefined``, cut off, not UTF-8; BROKEN nodes.

LangGraph.js 0.2.3 wrote holes (``[1,,3]``) and the word ``undefined``; other texts are cut off, or contain bytes that
are not UTF-8. The library fails on all of these, but a person needs the undamaged channels.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from ckpt_cli.serde import error_paths
from ckpt_cli.values.node import DAMAGED, Node, broken

_PROBLEMS = 1_000  # problems that get a message of their own
_SPACE = re.compile(r"[ \t\n\r]*")
_LITERAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])|(?:null|true|false|NaN|-?Infinity)\b")
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_UP_TO_NEXT = re.compile(r'(?:[^,\]}"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)
_BAD_BYTES = re.compile("[\udc80-\udcff]")


class _Frame:
    """A container that is being filled."""

    __slots__ = ("key", "path", "value")

    def __init__(self, value: Any, path: str) -> None:
        self.value = value
        self.path = path
        self.key = ""

    @property
    def step(self) -> str:
        """The path from this container to the part that is read next."""
        return f"[{len(self.value)}]" if isinstance(self.value, list) else error_paths.step(self.key)


class JsonRescue:
    """Decodes one damaged text; `problem` says how it is damaged.

    If `escaped`, each lone surrogate in the text is a byte that was not UTF-8.
    """

    def __init__(
        self, text: str, problem: str, levels: int, revive: Callable[[dict[str, Any]], Any], *, escaped: bool
    ) -> None:
        self._text = text
        self._problem = problem
        self._levels = levels
        self._revive = revive
        self._escaped = escaped
        self._at = 0
        self._stack: list[_Frame] = []
        self._problems = 0
        self._last: Node | None = None

    def value(self) -> Any:
        """The value as far as it could be decoded; None if the text doesn't begin with a container."""
        self._skip_space()
        if self._text[self._at : self._at + 1] not in ("{", "["):
            return None
        self._open()
        while True:
            frame = self._stack[-1]
            if self._close_container():
                if not self._stack:
                    return self._add_problem(self._revived(frame))
                self._put(self._revived(frame))
            elif self._at >= len(self._text):
                return self._close_all()
            elif self._read_key(frame):
                self._read_value()

    def _close_container(self) -> bool:
        self._skip_space()
        if self._text[self._at : self._at + 1] not in ("]", "}"):
            return False
        self._at += 1
        self._stack.pop()
        return True

    def _read_key(self, frame: _Frame) -> bool:
        """Read the key if the container is an object; False if no key is there."""
        if isinstance(frame.value, list):
            return True
        start, key = self._at, self._string()
        self._skip_space()
        if isinstance(key, str) and self._text[self._at : self._at + 1] == ":":
            self._at += 1
            frame.key = key
            self._skip_space()
            return True
        self._skip_damage()
        frame.key = self._text[start : self._at][:64]
        self._put(self._broken("no key", start))
        return False

    def _read_value(self) -> None:
        start = self._at
        if start >= len(self._text):
            self._put(self._broken("truncated", start))
            return
        if self._text[start] in "{[":
            if len(self._stack) < self._levels:
                self._open()
            else:
                self._at = len(self._text)
                self._put(self._broken(f"nested deeper than {self._levels} levels", start))
            return
        value = self._string()
        if value is None and (literal := _LITERAL.match(self._text, start)):
            self._at = literal.end()
            value = self._number(literal[0], start)
        elif value is None:
            self._skip_damage()
            value = self._broken("no value", start)
        self._put(value)

    def _string(self) -> Any:
        """The string that begins here, BROKEN if it is damaged; None if no string begins here."""
        start = self._at
        if self._text[start : start + 1] != '"':
            return None
        try:
            value, self._at = _DECODER.raw_decode(self._text, start)
        except json.JSONDecodeError:
            string = _STRING.match(self._text, start)
            self._at = string.end() if string else len(self._text)
            return self._broken("a damaged text" if string else "truncated", start)
        if self._escaped and _BAD_BYTES.search(value):
            return self._broken("bad UTF-8", start)
        return value

    def _number(self, literal: str, start: int) -> Any:
        try:
            return json.loads(literal)
        except ValueError:
            return self._broken("a number of thousands of digits", start)

    def _open(self) -> None:
        self._stack.append(_Frame({} if self._text[self._at] == "{" else [], self._path()))
        self._at += 1

    def _put(self, value: Any) -> None:
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        else:
            frame.value[frame.key] = value
        self._skip_space()
        if self._text[self._at : self._at + 1] not in (",", "]", "}", ""):
            self._skip_damage()
        if self._text[self._at : self._at + 1] == ",":
            self._at += 1

    def _revived(self, frame: _Frame) -> Any:
        value = frame.value
        return self._revive(value) if isinstance(value, dict) and "lc" in value else value

    def _skip_damage(self) -> None:
        match = _UP_TO_NEXT.match(self._text, self._at)
        end = match.end() if match else self._at
        self._at = end if end < len(self._text) and self._text[end] != '"' else len(self._text)

    def _skip_space(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _path(self) -> str:
        return self._stack[-1].path + self._stack[-1].step if self._stack else ""

    def _broken(self, problem: str, start: int) -> Node:
        self._problems += 1
        if self._last is None or self._problems <= _PROBLEMS:
            raw = self._text[start : self._at].encode("utf-8", "surrogateescape" if self._escaped else "surrogatepass")
            self._last = broken(error_paths.with_path(problem, self._path()), raw)
        return self._last

    def _close_all(self) -> Any:
        """Close the containers that are open at the end of the text; each gets a BROKEN node ("truncated")."""
        while True:
            frame = self._stack[-1]
            frame.key = DAMAGED
            end = self._broken("truncated", self._at)
            if isinstance(frame.value, list):
                frame.value.append(end)
            else:
                frame.value[DAMAGED] = end
            self._stack.pop()
            whole = self._revived(frame)
            if not self._stack:
                return whole
            self._put(whole)

    def _add_problem(self, value: Any) -> Any:
        """The root value; if no part is BROKEN, the problem is added to the value as a BROKEN node."""
        if self._problems == 0 and isinstance(value, dict):
            value[DAMAGED] = self._broken(self._problem, self._at)
        elif self._problems == 0 and isinstance(value, list):
            value.append(self._broken(self._problem, self._at))
        return value
