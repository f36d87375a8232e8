"""`Memo`: what became of values that were redacted before, and its tally; within a bound of bytes."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from ckpt_cli.history.redaction.tally import Tally

T = TypeVar("T")

_ENTRY = 1000  # bytes that an entry takes beside its own


class Memo(Generic[T]):
    """Remembers the newest results; the oldest are forgotten first."""

    def __init__(self, size: int) -> None:
        """`size` is how many bytes all results may have; one of more than an eighth is not remembered."""
        self._most = size
        self._size = 0
        self._found: OrderedDict[Hashable, tuple[T, Tally, int]] = OrderedDict()

    def get(self, key: Hashable) -> tuple[T, Tally] | None:
        """A result with its tally; None if it isn't remembered."""
        found = self._found.get(key)
        return None if found is None else found[:2]

    def put(self, key: Hashable, result: T, tally: Tally, size: int) -> None:
        """Remember a result of so many bytes."""
        if size > self._most // 8:
            return
        self._found[key] = result, tally, size + _ENTRY
        self._size += size + _ENTRY
        while self._size > self._most:
            _, (_, _, freed) = self._found.popitem(last=False)
            self._size -= freed

    def clear(self) -> None:
        """Forget everything."""
        self._found.clear()
        self._size = 0
