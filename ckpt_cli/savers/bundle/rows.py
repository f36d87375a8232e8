"""Rows of a database as lines of a bundle, exactly as they were, for `export --remove`; `RowTable`"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ckpt_cli.model import Payload, Row, Scalar
from ckpt_cli.savers.bundle.frames import Kind
from ckpt_cli.savers.bundle.json_lines import line, number, parse, text
from ckpt_cli.savers.bundle.records import Store
from ckpt_cli.savers.bundle.segments import Segment

ROW = "row"
_INLINE = 64  # characters; longer texts, and all bytes, are segments

Read = Callable[[Segment], bytes]


class StoredRow(NamedTuple):
    """A row of a table, a document or a key, whose values are in the bundle.

    Attributes:
        home: a hash of the address of the database that had it.
    """

    home: str
    relation: str
    key: Row
    columns: Mapping[str, Any]

    def read(self, segment: Read) -> Row:
        """The row with all its values."""
        return {name: _value(value, segment) for name, value in self.columns.items()}


def row_line(home: str, relation: str, key: Row, row: Row, store: Store) -> bytes:
    """The line of a row whose values are stored now."""
    columns = {name: _stored(value, store) for name, value in row.items()}
    names = {name: [b64encode(one).decode()] if isinstance(one, bytes) else one for name, one in key.items()}
    return line([ROW, home, relation, names, columns])


def read_row(values: Any) -> StoredRow:
    """The row of a line."""
    kind, home, relation, key, columns = values
    if kind != ROW:
        raise ValueError(f"a line of kind {kind!r} is among the rows")
    names = {text(name): b64decode(one[0]) if isinstance(one, list) else _scalar(one) for name, one in key.items()}
    return StoredRow(text(home), text(relation), names, {text(name): _place(one) for name, one in columns.items()})


class RowTable:
    """The rows of a thread; of one row there may be several, from several times. Each line is parsed where needed."""

    def __init__(self, pages: Iterator[bytes], read: Read) -> None:
        self._read = read
        self._lines: dict[tuple[str, str], list[bytes]] = {}
        for one in pages:
            stored = parse(one, read_row)
            self._lines.setdefault(_name(stored.relation, stored.key), []).append(one)

    def find(self, relation: str, key: Row) -> Iterator[tuple[str, Row]]:
        """The rows with this key, the latest first, each with the hash of its database's address."""
        for one in reversed(self._lines.get(_name(relation, key), ())):
            stored = parse(one, read_row)
            yield stored.home, stored.read(self._read)


def _name(relation: str, key: Row) -> tuple[str, str]:
    return relation, repr(sorted(key.items()))


def _stored(value: Scalar, store: Store) -> Any:
    if isinstance(value, bytes):
        return {"bytes": _segments(value, store)}
    if isinstance(value, str) and len(value) > _INLINE:
        return {"text": _segments(value.encode("utf-8", "surrogatepass"), store)}
    return value


def _segments(data: bytes, store: Store) -> list[int]:
    return [place for segment in store(Kind.ROW, Payload("", data)) for place in segment]


def _place(value: Any) -> Any:
    if not isinstance(value, dict):
        return _scalar(value)
    [(kind, places)] = value.items()
    if kind not in ("bytes", "text"):
        raise ValueError(f"a value of kind {kind!r}")
    step = len(Segment._fields)
    return kind, [Segment(*map(number, places[start : start + step])) for start in range(0, len(places), step)]


def _scalar(value: Any) -> Scalar:
    if value is None or isinstance(value, int | float | str):
        return value
    raise TypeError("a value is neither text nor number")


def _value(stored: Any, read: Read) -> Scalar:
    if not isinstance(stored, tuple):
        return _scalar(stored)
    kind, segments = stored
    data = _joined(segments, read)
    return data if kind == "bytes" else data.decode("utf-8", "surrogatepass")


def _joined(segments: Sequence[Segment], read: Read) -> bytes:
    return b"".join(map(read, segments))
