"""Replacements of whole values: of one at a redacted path, and of everything in an outline.

An outline (``--only-structure``) shows which values are equal and about how long they are, and nothing else.
"""

from typing import Protocol

from ckpt_cli.history.redaction.masks import MASK, Masks

_LEAST = 16
_LARGEST_INT = 1 << 62


class Eraser(Protocol):
    """Replaces single values, each by one of its own kind."""

    def text(self, text: str) -> str:
        """The replacement of a text."""

    def integer(self, number: int) -> int:
        """The replacement of an integer."""

    def real(self, number: float) -> float:
        """The replacement of a number with a fraction."""

    def data(self, data: bytes) -> bytes:
        """The replacement of bytes."""


class Mask:
    """Masks: texts and bytes become the mask or a pseudonym, numbers 0."""

    def __init__(self, masks: Masks) -> None:
        self._masks = masks

    def text(self, text: str) -> str:
        """See `Eraser`."""
        return self._masks.text(text) if text else text

    def integer(self, _: int) -> int:
        """See `Eraser`."""
        return 0

    def real(self, _: float) -> float:
        """See `Eraser`."""
        return 0.0

    def data(self, data: bytes) -> bytes:
        """See `Eraser`."""
        return MASK.encode() if data else data


class Outline:
    """Outlines: equal values become equal ones, of the length's class: up to 16, 32, 64 … characters.

    Integers have the digits' class: 1, 2, up to 4, 8, 16. Other numbers are between 0 and 1.
    """

    def __init__(self, masks: Masks) -> None:
        self._masks = masks

    def text(self, text: str) -> str:
        """See `Eraser`."""
        return self._masks.digest(text)[:_LEAST].ljust(_size_class(len(text)), "x") if text else text

    def integer(self, number: int) -> int:
        """See `Eraser`."""
        digits = min(_class(len(str(abs(min(max(number, -_LARGEST_INT), _LARGEST_INT)))), 1), _LEAST)
        return int(self._masks.digest(f"int {number:x}")[:15], 16) % int("9" * digits)

    def real(self, number: float) -> float:
        """See `Eraser`."""
        return int(self._masks.digest(f"float {number!r}")[:12], 16) / (1 << 48)

    def data(self, data: bytes) -> bytes:
        """See `Eraser`."""
        digest = self._masks.digest(f"bytes {data.hex()}")[:_LEAST].encode()
        return digest.ljust(_size_class(len(data)), b"x") if data else data


def _size_class(length: int) -> int:
    return _class(length, _LEAST)


def _class(length: int, least: int) -> int:
    return max(least, 1 << max(length - 1, 0).bit_length())
