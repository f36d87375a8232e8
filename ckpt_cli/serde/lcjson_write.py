"""Writes LangGraph's JSON in the style of the payload that it replaces: with spaces, or without.

langgraph-checkpoint 1.0, ``serde/jsonplus.py: _encode_constructor_args``; LangGraph.js,
``checkpoint/src/serde/jsonplus.ts``.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.serde.javascript_values import must_be_javascript
from ckpt_cli.serde.splice import splice
from ckpt_cli.values.node import Form, Node

_SURROGATES = re.compile("[\ud800-\udfff]")
_FIRST_KEY = re.compile(r'[\[ ]*\{"(?:[^"\\]|\\.)*":( ?)')
_SPACE = re.compile(r"[ \t\n\r]*")
_CONSTRUCT = "construct"


class JsonWire:
    """`splice.Wire` for JSON; raw parts are text.

    Args:
        like: the JSON that is replaced: without a space behind its first key, it is JavaScript's.
        javascript: whether LangGraph.js must be able to load what is written, whatever it replaces.
    """

    def __init__(self, like: str, *, javascript: bool = False) -> None:
        first = _FIRST_KEY.match(like)
        self._javascript = javascript or bool(first and not first[1])
        self._loaded_by_javascript = javascript
        self._ascii = like.isascii() and "\\u" in like
        self._comma, self._colon = (",", ":") if self._javascript else (", ", ": ")

    def members(self, raw: str) -> list[tuple[Any, str, str]] | None:
        """See `splice.Wire`."""
        flat = _split(raw, "{", "}")
        if flat is None:
            return None
        members = [(json.loads(key), key, value) for key, value in zip(flat[::2], flat[1::2], strict=True)]
        return members if len({key for key, *_ in members}) == len(members) else None

    def elements(self, raw: str) -> list[str] | None:
        """See `splice.Wire`."""
        return _split(raw, "[", "]")

    def join_map(self, pairs: Sequence[tuple[str, str]]) -> str:
        """See `splice.Wire`."""
        return "{" + self._comma.join(f"{_key(key)}{self._colon}{value}" for key, value in pairs) + "}"

    def join_list(self, items: Sequence[str]) -> str:
        """See `splice.Wire`."""
        return "[" + self._comma.join(items) + "]"

    def write(self, value: Any) -> str:
        """See `splice.Wire`.

        Raises:
            UsageError: this JSON can't express a part of the value.
        """
        if self._loaded_by_javascript:
            must_be_javascript(value)
        try:
            text = json.dumps(
                value,
                default=self._envelope,
                ensure_ascii=self._ascii,
                allow_nan=not self._javascript,
                separators=(self._comma, self._colon),
            )
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"JSON can't hold this: {error}") from error
        return text if text.isascii() else _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)

    def write_object(self, new: Node, old: Node, raw: str, levels: int) -> str:
        """An edited object in its old envelope; only changed arguments are written anew."""
        members = self.members(raw)
        parts = _arguments(new)
        if members is None or (new.type, new.form, new.method) != (old.type, old.form, old.method):
            return self.write(new)
        before = _arguments(old)
        if any(parts[key] and key not in {name for name, *_ in members} for key in parts):
            return self.write(new)
        return self.join_map(
            [
                (raw_key, splice(self, parts[key], before[key], part, levels) if key in parts else part)
                for key, raw_key, part in members
            ]
        )

    def _envelope(self, item: Any) -> dict[str, Any]:
        if isinstance(item, bytes):
            return self._bytes_envelope(item)
        if not isinstance(item, Node):
            raise UsageError(f"a {type(item).__name__} can't be stored")
        form = item.form
        path = [*item.module.split("."), item.name] if item.module else [item.name]
        if form is Form.UNDEFINED:
            return {"lc": 2, "type": "undefined"}
        if form is Form.SNAPSHOT:
            return {"lc": 2, "type": "delta_snapshot", "value": item.state}
        if form is Form.LC1:
            rest = item.state if item.method else {"kwargs": item.state}
            return {"lc": 1, "type": item.method or "constructor", "id": path, **rest}
        method = [None, _CONSTRUCT] if item.method == _CONSTRUCT else item.method or None
        return {"lc": 2, "type": "constructor", "id": path, "method": method, **_call(item)}

    def _bytes_envelope(self, data: bytes) -> dict[str, Any]:
        id_, method, args = ["builtins", "bytes"], "fromhex", [data.hex()]
        if self._javascript:
            id_, method, args = ["Uint8Array"], "from", [list(data)]  # type: ignore[list-item]
        return {"lc": 2, "type": "constructor", "id": id_, "method": method, "args": args, "kwargs": {}}


def _key(raw: str) -> str:
    """A key as text, as `json.dumps` writes numbers, true and null."""
    if raw[:1] in "{[":
        raise UsageError("JSON can't hold this: keys must be texts, numbers, true, false or null")
    return raw if raw[:1] == '"' else f'"{raw}"'


def _arguments(node: Node) -> dict[str, Any]:
    """The members of an envelope that hold values."""
    if node.form is Form.LC2:
        return {"args": node.state["args"], "kwargs": node.state["kwargs"]}
    if node.form is Form.SNAPSHOT:
        return {"value": node.state}
    return {"kwargs": node.state} if node.form is Form.LC1 and not node.method else {}


def _call(node: Node) -> dict[str, Any]:
    form, state = node.form, node.state
    if form is Form.LC2:
        return {"args": state["args"], "kwargs": state["kwargs"]}
    if form in (Form.VALUE, Form.METHOD):
        return {"args": [state.hex() if isinstance(state, bytes) else state], "kwargs": {}}
    if form is Form.ARGS:
        return {"args": state, "kwargs": {}}
    if form in (Form.KWARGS, Form.PYDANTIC, Form.PYDANTIC_V1) and isinstance(state, dict):
        return {"args": [], "kwargs": state}
    raise UsageError(f"JSON has no form for {node.type or 'this'} as it was stored ({form})")


def _split(raw: str, opening: str, closing: str) -> list[str] | None:
    """The raw elements of an array, or the keys and values of an object in turn; None if damaged or of another type."""
    if not raw.startswith(opening):
        return None
    scan = json.JSONDecoder().raw_decode
    parts: list[str] = []
    at = _skip(raw, 1)
    while at < len(raw) and raw[at] != closing:
        try:
            _, end = scan(raw, at)
        except (ValueError, RecursionError):
            return None
        parts.append(raw[at:end])
        at = _skip(raw, end)
        if at < len(raw) and raw[at] in ",:":
            at = _skip(raw, at + 1)
    return parts


def _skip(raw: str, at: int) -> int:
    match = _SPACE.match(raw, at)
    return match.end() if match else at
