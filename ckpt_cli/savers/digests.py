"""`Digest`: the SHA-256 of a value, which stands for it where rows are compared."""

from hashlib import sha256

from ckpt_cli.model import Scalar

LONG = 64
"""The characters or bytes of a value up to which it is kept itself."""


class Digest(bytes):
    """The SHA-256 of a value's text: it shows whether a row still has the value, and can't bring it back."""

    __slots__ = ()


def digest_of(text: bytes) -> Digest:
    """The digest of a value's text."""
    return Digest(sha256(text).digest())


def text_of(value: Scalar) -> bytes:
    """The text of a value; values with the same text count as equal, because a column's type may have changed."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
