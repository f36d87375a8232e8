"""Values on their way into statements and out of columns."""

from collections.abc import Iterator, Sequence
from itertools import islice

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


def chunks(texts: Sequence[str]) -> Iterator[tuple[str, list[str | bytes]]]:
    """Many texts as the insides of ``IN (…)`` with their parameters, so many at a time as a statement takes."""
    rest = iter(texts)
    while chunk := [bound(text) for text in islice(rest, _CHUNK)]:
        yield ", ".join(["CAST(? AS TEXT)"] * len(chunk)), chunk
