"""Values on their way into statements and out of columns."""

from collections.abc import Iterator, Sequence
from itertools import islice

from ckpt_cli.model import Scalar
from ckpt_cli.savers.spelling import raw_of

_INTEGERS = 1 << 63
_CHUNK = 500  # values of one IN (…); SQLite takes 999 in its older builds


def bound(text: str) -> str | bytes:
    """Text as a parameter; where it carries bytes that are no UTF-8, those bytes, which the statement casts to text."""
    for errors in ("strict", "surrogateescape"):
        try:
            raw = text.encode("utf-8", errors)
        except UnicodeEncodeError:
            continue
        return text if errors == "strict" else raw
    return text.encode("utf-8", "surrogatepass")


def data(value: object) -> bytes:
    """A column's bytes, whatever its storage class: blobs in Python's, text in JavaScript's, NULL for no bytes."""
    if isinstance(value, bytes):
        return value
    return b"" if value is None else str(value).encode("utf-8", "surrogateescape")


def stored(name: str) -> Scalar:
    """A name as its column holds it: text, unless it is spelled for something else that SQLite stores."""
    raw = raw_of(name)
    if raw is None or type(raw) in (str, bytes, float) or (type(raw) is int and -_INTEGERS <= raw < _INTEGERS):
        return raw  # type: ignore[no-any-return]
    return name


def equals(name: str) -> tuple[str, Scalar]:
    """The end of a condition that finds a name, and its parameter."""
    raw = stored(name)
    return ("= CAST(? AS TEXT)", bound(raw)) if isinstance(raw, str) else ("IS ?", raw)


def among(column: str, names: Sequence[str]) -> Iterator[tuple[str, list[Scalar]]]:
    """The conditions that find many names with their parameters, so many at a time as a statement takes."""
    rest = iter(names)
    while chunk := [stored(name) for name in islice(rest, _CHUNK)]:
        known = [raw for raw in chunk if raw is not None]
        places = ", ".join("CAST(? AS TEXT)" if isinstance(raw, str) else "?" for raw in known)
        null = f" OR {column} IS NULL" if len(known) < len(chunk) else ""
        yield f"({column} IN ({places}){null})", [bound(raw) if isinstance(raw, str) else raw for raw in known]
