"""`KnownValues`: where the values are that a writer added, and equal ones are kept once."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable

from ckpt_cli.savers.bundle.segments import LONG, Segment

_BY_DIGEST = 100_000  # so many values are remembered: about 25 MB
_BY_CONTENT = 12 << 20  # bytes of long values that are kept: comparing them is quicker than a digest
_ENDS = 64


class KnownValues:
    """The values added last, by their SHA-256; the last long ones also by their bytes."""

    def __init__(self) -> None:
        self._by_digest: OrderedDict[bytes, Segment] = OrderedDict()
        self._by_content: OrderedDict[tuple[int, bytes, bytes], tuple[bytes, Segment]] = OrderedDict()
        self._kept = 0

    def place(self, data: bytes, add: Callable[[bytes], Segment]) -> Segment:
        """Where an equal value is; `add` adds this one if none is remembered."""
        known, segment = self._by_content.get(_outline(data), (b"", None))
        if segment is not None and known == data:
            return segment
        digest = hashlib.sha256(data).digest()
        segment = self._by_digest.pop(digest, None) or add(data)
        self._by_digest[digest] = segment
        if len(self._by_digest) > _BY_DIGEST:
            self._by_digest.popitem(last=False)
        self._keep(data, segment)
        return segment

    def _keep(self, data: bytes, segment: Segment) -> None:
        if not LONG <= len(data) <= _BY_CONTENT:
            return
        known, _ = self._by_content.pop(_outline(data), (b"", None))
        self._by_content[_outline(data)] = data, segment
        self._kept += len(data) - len(known)
        while self._kept > _BY_CONTENT:
            _, (dropped, _) = self._by_content.popitem(last=False)
            self._kept -= len(dropped)


def _outline(data: bytes) -> tuple[int, bytes, bytes]:
    return len(data), data[:_ENDS], data[-_ENDS:]
