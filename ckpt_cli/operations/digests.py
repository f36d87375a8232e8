"""Digests that stand for long values in the log's images of rows that were only added."""

from hashlib import sha256

from ckpt_cli.model import RowChange, Scalar
from ckpt_cli.savers.contract import Saver

_LONG = 64  # characters or bytes; shorter values stay as they are


class Digest(bytes):
    """The SHA-256 of a value's text: it shows whether a row still has the value, and can't bring it back."""

    __slots__ = ()


def digest_of(text: bytes) -> Digest:
    """The digest of a value's text."""
    return Digest(sha256(text).digest())


def text_of(value: Scalar) -> bytes:
    """The text of a value; values with the same text count as equal, because a column's type may have changed."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


def condensed(saver: Saver, change: RowChange) -> RowChange:
    """A change that adds a row, with digests in place of long values; another change as it is.

    To undo an added row, nothing but its key and the proof that it is unchanged is needed. Documents stay whole, as
    they are compared field by field.
    """
    if change.before is not None or change.after is None or not saver.has_flat_rows:
        return change
    if saver.written_columns(change.relation) is None:
        return change
    return change._replace(after={name: _short(value) for name, value in change.after.items()})


def _short(value: Scalar) -> Scalar:
    if not isinstance(value, str | bytes) or len(value) <= _LONG:
        return value
    return digest_of(text_of(value))
