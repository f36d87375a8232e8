"""Writes values and nodes as msgpack, as LangGraph does; nodes that were read keep their bytes.

Source: langgraph-checkpoint 4.3, ``serde/jsonplus.py: _msgpack_enc``. A node that was read is written with the payload
that it kept. A new node (from an edit or ``demo``) is written by its form.
"""

from collections.abc import Sequence
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.serde import msgpack_spans
from ckpt_cli.serde.extension_shapes import PYDANTIC_METHOD, SNAPSHOT
from ckpt_cli.serde.msgpack_rescue import ENCODING
from ckpt_cli.serde.splice import splice
from ckpt_cli.serde.unpack import unpack
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.recorded_calls import CLASSES

_CODES = {
    Form.VALUE: 0,
    Form.ARGS: 1,
    Form.KWARGS: 2,
    Form.METHOD: 3,
    Form.PYDANTIC_V1: 4,
    Form.PYDANTIC: 5,
    Form.ARRAY: 6,
    Form.SNAPSHOT: SNAPSHOT,
}


def pack(value: Any) -> bytes:
    """The msgpack of a value.

    Raises:
        UsageError: msgpack, or LangGraph's use of msgpack, can't express a part of the value.
    """
    import ormsgpack

    problems: list[UsageError] = []

    def default(item: Any) -> Any:
        try:
            return _object(item)
        except UsageError as error:
            problems.append(error)
            raise

    try:
        return ormsgpack.packb(value, default=default, option=ormsgpack.OPT_NON_STR_KEYS)
    except (TypeError, RecursionError) as error:
        raise problems[0] if problems else UsageError(f"msgpack can't hold this: {error}") from error


def _object(item: Any) -> Any:
    import ormsgpack

    if not isinstance(item, Node):
        raise UsageError(f"a {type(item).__name__} can't be stored")
    if item.raw is not None and item.encoding.startswith("msgpack:"):
        code = int(item.encoding.removeprefix("msgpack:"))
        return ormsgpack.Ext(code, item.raw) if code >= 0 else ormsgpack.Fragment(_reserved(code, item.raw))
    if item.raw is not None and item.encoding == ENCODING:
        return ormsgpack.Fragment(complete_bytes(item))
    if item.raw is not None and item.encoding == "bytearray":
        return item.raw  # a payload of its own, which LangGraph stores as bytes inside a checkpoint
    return ormsgpack.Ext(*_ext(item))


def packed(node: Node) -> Node:
    """The same object as the bytes that msgpack stores for it, so that they are made only once; its state is dropped.

    Raises:
        UsageError: msgpack can't express a part of it.
    """
    code, data = _ext(node)
    return Node(
        Opened(node.module, node.name, node.form, node.state, node.method), encoding=f"msgpack:{code}", raw=data
    )


def _reserved(code: int, data: bytes) -> bytes:
    """An extension with one of msgpack's own codes (timestamps), which ormsgpack reads but doesn't write."""
    sizes = {1: 0xD4, 2: 0xD5, 4: 0xD6, 8: 0xD7, 16: 0xD8}
    if len(data) in sizes:
        return bytes([sizes[len(data)], code & 0xFF]) + data
    return b"\xc9" + len(data).to_bytes(4) + bytes([code & 0xFF]) + data


def complete_bytes(node: Node) -> bytes:
    """The bytes of a broken element, if it is as long as its header says.

    Raises:
        UsageError: the element is cut off, so nothing could follow it.
    """
    raw = node.raw or b""
    try:
        if msgpack_spans.end(raw) == len(raw):
            return raw
    except msgpack_spans.DamageError:
        pass
    raise UsageError(f"a value that can't be decoded can't be carried over: {node.problem}")


def _ext(node: Node) -> tuple[int, bytes]:
    form, state = node.form, node.state
    if form is Form.LC1 and not node.method and (node.module, node.name) in CLASSES:
        return _CODES[Form.PYDANTIC], pack([CLASSES[node.module, node.name], node.name, state, PYDANTIC_METHOD])
    if form is Form.LC2:
        form, state = _as_call(node)
    code = _CODES.get(form)
    if code is None:
        raise UsageError(f"msgpack has no form for {node.type or 'this'} as it was stored ({form})")
    if form is Form.SNAPSHOT:
        return code, pack(state)
    if form is Form.ARRAY:
        return code, pack([state["dtype"], state["shape"], state["order"], state["data"]])
    parts = [node.module, node.name, state]
    if form is Form.METHOD or form is Form.PYDANTIC:
        parts.append(node.method or PYDANTIC_METHOD)
    return code, pack(parts)


def _as_call(node: Node) -> tuple[Form, Any]:
    args, kwargs = node.state["args"], node.state["kwargs"]
    if node.method and len(args) == 1 and not kwargs:
        return Form.METHOD, args[0]
    if args and kwargs:
        raise UsageError(f"msgpack has no form for {node.type} with both kinds of arguments")
    return (Form.KWARGS, kwargs) if kwargs else (Form.ARGS, args)


class MsgpackWire:
    """`splice.Wire` for msgpack; raw parts are bytes."""

    def members(self, raw: bytes) -> list[tuple[Any, bytes, bytes]] | None:
        """See `splice.Wire`; None also for a map with duplicate keys."""
        if not msgpack_spans.is_map(raw):
            return None
        try:
            flat = [raw[start:end] for start, end in msgpack_spans.elements(raw)]
            members = [(_key(key), key, value) for key, value in zip(flat[::2], flat[1::2], strict=True)]
        except (msgpack_spans.DamageError, ValueError):
            return None
        return members if len({key for key, *_ in members}) == len(members) else None

    def elements(self, raw: bytes) -> list[bytes] | None:
        """See `splice.Wire`."""
        try:
            return (
                [raw[start:end] for start, end in msgpack_spans.elements(raw)] if msgpack_spans.is_array(raw) else None
            )
        except msgpack_spans.DamageError:
            return None

    def join_map(self, pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
        """See `splice.Wire`."""
        return map_header(len(pairs)) + b"".join(key + value for key, value in pairs)

    def join_list(self, items: Sequence[bytes]) -> bytes:
        """See `splice.Wire`."""
        return _header(len(items), 0x90, 0xDC) + b"".join(items)

    def write(self, value: Any) -> bytes:
        """See `splice.Wire`."""
        return pack(value)

    def write_object(self, new: Node, old: Node, raw: bytes, levels: int) -> bytes:
        """An edited object; its parts that were not edited keep their bytes."""
        same_class = (new.module, new.name, new.form, new.method) == (old.module, old.name, old.form, old.method)
        if new.raw is None and same_class and (extension := _payload(raw)) is not None and new.form in _WITH_STATE:
            code, payload = extension
            if new.form is Form.SNAPSHOT:
                return packed_extension(code, splice(self, new.state, old.state, payload, levels))
            parts = self.elements(payload)
            if parts is not None and len(parts) > _STATE_AT:
                parts[_STATE_AT] = splice(self, new.state, old.state, parts[_STATE_AT], levels)
                return packed_extension(code, self.join_list(parts))
        return pack(new)


_STATE_AT = 2  # an object's payload is module, name, state
_WITH_STATE = frozenset(_CODES) - {Form.ARRAY}


def _payload(raw: bytes) -> tuple[int, bytes] | None:
    """Code and content of an extension; None if the bytes aren't an extension."""
    try:
        head = msgpack_spans.head(raw, 0)
    except msgpack_spans.DamageError:
        return None
    return (head.code, raw[head.start : head.end]) if head.kind == msgpack_spans.EXT and head.end == len(raw) else None


def packed_extension(code: int, data: bytes) -> bytes:
    """An extension: its header, and these contents."""
    import ormsgpack

    return ormsgpack.packb(ormsgpack.Ext(code, data))


def _key(raw: bytes) -> Any:
    return next(iter(unpack(b"\x81" + raw + b"\xc0")))


def map_header(pairs: int) -> bytes:
    """The bytes before the keys and values of a map."""
    return _header(pairs, 0x80, 0xDE)


def _header(length: int, small: int, large: int) -> bytes:
    if length < 16:
        return bytes([small | length])
    if length < 1 << 16:
        return bytes([large]) + length.to_bytes(2)
    return bytes([large + 1]) + length.to_bytes(4)
