"""`Mint`: ids, times and channel versions of new checkpoints, in the format that the thread already uses.

Sources: langgraph-checkpoint 4.3 ``base/id.py: uuid6(clock_seq=step)``, checkpoint-sqlite 3.1 ``get_next_version``. The
head of a thread is the checkpoint with the highest id. So a new id must be higher than the head's id, even if another
machine made the head's id with a clock that is ahead of ours.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import md5
from random import Random, SystemRandom
from uuid import UUID

from ckpt_cli.errors import NotSupported
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state.channels import counter
from ckpt_cli.values.state import Version

_GREGORIAN = 0x01B21DD213814000  # 100 ns ticks from 1582-10-15 to 1970-01-01
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The id of a new checkpoint, and its ``ts``."""

    id: str
    ts: str


class Mint:
    """Makes ids, times and versions.

    Args:
        clock: seconds since 1970.
        dice: the source of random numbers.
    """

    def __init__(self, clock: Callable[[], float] = time.time, dice: Random | None = None) -> None:
        self._clock = clock
        self._dice = dice or SystemRandom()

    def stamp(self, head_id: str, ts: str, sequence: int) -> Stamp:
        """A new id that is higher than the head's, and the new ``ts`` in the format of `ts`.

        The step `sequence` is encoded in the id.

        Raises:
            NotSupported: the head's id is neither a uuid6 nor a time (langgraph 0.0).
        """
        if ids.is_uuid6(head_id):
            return self._uuid6(head_id, ts, sequence)
        try:
            head = datetime.fromisoformat(head_id)
        except ValueError as error:
            raise NotSupported(f"ids like {head_id!r} can't be continued: no LangGraph release makes them") from error
        now = datetime.fromtimestamp(self._clock(), UTC).astimezone(head.tzinfo or UTC)
        when = max(now if head.tzinfo else now.replace(tzinfo=None), head + _MICROSECOND)
        text = when.isoformat(timespec="microseconds")
        return Stamp(text, text)

    def version(self, current: Version | None, like: Version | None = None, data: bytes = b"") -> Version:
        """The version after `current`, in the format of `current`; if that is None, in the format of `like`.

        Older formats contain a hash of `data`.
        """
        kind = current if current is not None else like
        number = counter(current) + 1 if current is not None else 1
        if isinstance(kind, int | float):
            return number
        tail = (kind or "0.0").partition(".")[2]
        if not tail:  # checkpoint-sqlite 1.0.0 writes this for an empty channel
            return f"{number:032}."
        if len(tail) == 32 and "." not in tail and not tail.startswith("0."):
            return f"{number:032}.{md5(data, usedforsecurity=False).hexdigest()}"
        return f"{number:032}.{self._dice.random():016}"

    def _uuid6(self, head_id: str, ts: str, sequence: int) -> Stamp:
        digits = head_id.replace("-", "")
        above = (int(digits[0:12], 16) << 12 | int(digits[13:16], 16)) + 1
        now = round(self._clock() * 1e6)
        ticks = max(now * 10 + _GREGORIAN, above)
        bits = (ticks >> 12) << 80 | 6 << 76 | (ticks & 0xFFF) << 64  # the package `uuid6` takes 20 ms to import
        bits |= 2 << 62 | (sequence & 0x3FFF) << 48 | self._dice.getrandbits(48)
        when = datetime.fromtimestamp(now / 1e6, UTC)
        new_ts = (
            when.isoformat(timespec="milliseconds").replace("+00:00", "Z")  # as JavaScript writes it
            if ts.endswith("Z")
            else when.isoformat(timespec="microseconds")
        )
        return Stamp(str(UUID(int=bits)), new_ts)
