"""How a thread's items are stored, detected from its last checkpoints: compression, time to live."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from ckpt_cli.savers.dynamodb.connection import Connection
from ckpt_cli.savers.dynamodb.items import CHECKPOINT, Item, text

_LAST = 10  # items of a thread that are read to see how it is stored


class StorageOptions(NamedTuple):
    """How the items of a thread are stored.

    Attributes:
        compressed: whether payloads are compressed.
        ttl: seconds after which the service deletes an item; None for never.
    """

    compressed: bool = False
    ttl: int | None = None

    def expiry(self, now: int) -> Item:
        """The attribute of an item that is stored at that time, in seconds since 1970, by which it expires."""
        return {} if self.ttl is None else {"ttl": {"N": str(now + self.ttl)}}


def read_options(connection: Connection, thread_id: str) -> StorageOptions | None:
    """How the last checkpoints of a thread are stored; None for a thread that has none."""
    columns = ("SK", "ttl", "compression")
    last = connection.query(f"{CHECKPOINT}{thread_id}", columns=columns, ScanIndexForward=False, Limit=_LAST)
    items = [*islice(last, _LAST)]
    return _detect_options(items) if items else None


def _detect_options(last: Sequence[Item]) -> StorageOptions:
    for item in last:
        written = _unix(text(item, "SK").rpartition("#")[2])
        expires = item.get("ttl", {}).get("N")
        if expires is not None and written is not None:
            seconds = round(float(expires) - written)
            return StorageOptions(any("compression" in one for one in last), max(seconds, 1))
    return StorageOptions(any("compression" in one for one in last))


def _unix(checkpoint_id: str) -> float | None:
    """The time in a uuid6, in seconds since 1970; None if the id isn't a uuid6."""
    digits = checkpoint_id.replace("-", "")
    if len(digits) != 32 or digits[12] != "6":
        return None
    ticks = int(digits[0:12], 16) << 12 | int(digits[13:16], 16)
    return (ticks - 0x01B21DD213814000) / 1e7
