"""Names and values as parameters of statements, columns as values: text that isn't UTF-8, numbers, NULL."""

from collections.abc import Iterator, Sequence
from itertools import islice

from ckpt_cli.model import NULL, CheckpointRow, Payload, Scalar, Write
from ckpt_cli.savers.spelling import index_of, raw_of, text_of
from ckpt_cli.savers.sqlite.driver import ResultRow

EVERYTHING = 1 << 62
"""The greatest size of a value that is read, if all are."""
_INTEGERS = 1 << 63
_CHUNK = 500  # values in one IN (…); older builds of SQLite take at most 999


def bound(text: str) -> str | bytes:
    """Text as a parameter; text that isn't UTF-8 becomes its bytes, which the statement casts to text."""
    if text.isascii():
        return text
    for errors in ("strict", "surrogateescape"):
        try:
            raw = text.encode("utf-8", errors)
        except UnicodeEncodeError:
            continue
        return text if errors == "strict" else raw
    return text.encode("utf-8", "surrogatepass")


def data(value: object) -> bytes:
    """A column's bytes. LangGraph for Python stores blobs, LangGraph.js stores text; NULL has no bytes."""
    if type(value) is bytes:
        return value
    return b"" if value is None else str(value).encode("utf-8", "surrogateescape")


def stored(name: str) -> Scalar:
    """A name as its column holds it: text, unless its spelling means another storage class (`savers.spelling`)."""
    raw = raw_of(name)
    if raw is None or type(raw) in (str, bytes, float) or (type(raw) is int and -_INTEGERS <= raw < _INTEGERS):
        return raw  # type: ignore[no-any-return]
    return name


def equals(name: str) -> tuple[str, Scalar]:
    """The SQL that compares a column with a name, to write after the column, and the parameter of the SQL."""
    raw = stored(name)
    return ("= CAST(? AS TEXT)", bound(raw)) if isinstance(raw, str) else ("IS ?", raw)


def among(column: str, names: Sequence[str]) -> Iterator[tuple[str, list[Scalar]]]:
    """Conditions that together find many names, with their parameters; each has the names for one statement."""
    rest = iter(names)
    while chunk := [stored(name) for name in islice(rest, _CHUNK)]:
        values = [raw for raw in chunk if raw is not None]
        places = ", ".join("CAST(? AS TEXT)" if isinstance(raw, str) else "?" for raw in values)
        null = f" OR {column} IS NULL" if len(values) < len(chunk) else ""
        yield f"({column} IN ({places}){null})", [bound(raw) if isinstance(raw, str) else raw for raw in values]


def skeleton(thread_id: str, ns: str, own_id: Scalar, parent_id: Scalar, size: int | None) -> CheckpointRow:
    """A checkpoint's row without its payloads."""
    return CheckpointRow(thread_id, ns, text_of(own_id), parent(parent_id), size)


def parent(raw: Scalar) -> str | None:
    """A parent's id; None for a root."""
    return None if raw is None else text_of(raw)


def tag(raw: Scalar) -> str:
    """A type tag; "" if the generation or the row has none."""
    return "" if raw is None else text_of(raw)


def metadata(text: object, *, typed: bool) -> Payload:
    """Metadata as a payload: JSON even if checkpoints are encrypted. Tables without type tags give the tag ""."""
    return NULL if text is None else Payload("json" if typed else "", data(text))


def write(thread_id: str, row: ResultRow) -> Write:
    """The pending write in a row of `statements.WRITES`; its payload is None if the statement didn't read it."""
    ns, checkpoint_id, path, task_id, idx, channel, kind, size, value = row
    payload = None if size is not None and value is None else Payload(tag(kind), data(value))
    place = (thread_id, text_of(ns), text_of(checkpoint_id), text_of(task_id), index_of(idx))
    return Write(*place, text_of(channel), "" if path is None else text_of(path), payload, size or 0)
