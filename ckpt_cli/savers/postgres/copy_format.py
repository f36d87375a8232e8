"""Rows in the binary format of COPY, for the types that LangGraph's tables have."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from struct import Struct

from ckpt_cli.model import Scalar

_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)  # the signature, no flags, no extension (Postgres 15, "COPY")
_TRAILER = b"\xff\xff"
_NULL = b"\xff\xff\xff\xff"
_COUNT, _LENGTH = Struct("!h"), Struct("!i")
_CHUNK = 64_000  # bytes; shorter rows are sent together


def _text(value: Scalar) -> bytes:
    return str(value).encode()


def _bytes(value: Scalar) -> bytes:
    return value if isinstance(value, bytes) else _text(value)


def _whole(form: str) -> Callable[[Scalar], bytes]:
    packed = Struct(form).pack
    return lambda value: packed(int(value or 0))


ENCODERS: Mapping[str, Callable[[Scalar], bytes]] = {
    "text": _text,
    "character varying": _text,
    "json": _text,
    "jsonb": lambda value: b"\x01" + _text(value),
    "bytea": _bytes,
    "smallint": _whole("!h"),
    "integer": _whole("!i"),
    "bigint": _whole("!q"),
}
"""The binary form of a value by the name of its column's type, as ``format_type`` gives it."""


def encoded(rows: Iterable[Sequence[Scalar]], kinds: Sequence[str]) -> Iterator[bytes]:
    """The bytes of a whole COPY, in chunks.

    Args:
        rows: the values of each row.
        kinds: the types of the columns; each is one of `ENCODERS`.
    """
    encoders = [ENCODERS[kind] for kind in kinds]
    start = _COUNT.pack(len(kinds))
    parts, size = [_HEADER], 0
    for row in rows:
        parts.append(start)
        for encode, value in zip(encoders, row, strict=True):
            data = _NULL if value is None else encode(value)
            if value is not None:
                parts.append(_LENGTH.pack(len(data)))
            parts.append(data)
            size += len(data)
        if size > _CHUNK:
            yield b"".join(parts)
            parts, size = [], 0
    yield b"".join([*parts, _TRAILER])
