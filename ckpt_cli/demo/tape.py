"""`Tape`: the demo's clock and random numbers, and the records that were made so far.

The random numbers have a fixed seed, so the last group of each checkpoint id is the same for everybody. The short id is
made from this group. Only the times differ.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from random import Random
from uuid import UUID

from ckpt_cli.model import Checkpoint, Write

_SEED = 1043
_SAVING = 0.0015  # seconds that each save takes, so that ids are in the order of saving
_GREGORIAN = 0x01B21DD213814000  # 100 ns ticks from 1582-10-15 to 1970-01-01


class Tape:
    """Gives times, ids and versions in the library's own forms; collects the records.

    Args:
        now: the end of the story, in seconds since 1970.
    """

    def __init__(self, now: float) -> None:
        self.records: list[Checkpoint | Write] = []
        self._now = now
        self._at = now
        self._dice = Random(_SEED)  # noqa: S311 - ids of a demo, nothing secret

    def ago(self, **time: float) -> None:
        """Set the clock to this long before `now` (``hours=2``)."""
        self._at = self._now - timedelta(**time).total_seconds()

    def wait(self, seconds: float) -> None:
        """Advance the clock by about this many seconds."""
        self._at += seconds * (0.8 + 0.4 * self._dice.random())

    def day(self, days_ago: int) -> date:
        """The date this many days before `now`."""
        return (datetime.fromtimestamp(self._now, UTC) - timedelta(days=days_ago)).date()

    def stamp(self, step: int) -> tuple[str, str]:
        """The `ts` and id of a checkpoint saved at this moment (langgraph-checkpoint 4.3, ``base/id.py: uuid6``)."""
        import uuid6

        self._at += _SAVING
        ticks = round(self._at * 1e6) * 10 + _GREGORIAN
        node = self._dice.getrandbits(48)
        bits = (ticks >> 12) << 80 | (ticks & 0xFFF) << 64 | (step & 0x3FFF) << 48 | node
        ts = datetime.fromtimestamp(round(self._at * 1e6) / 1e6, UTC)
        return ts.isoformat(timespec="microseconds"), str(uuid6.UUID(int=bits, version=6))

    def uuid4(self) -> str:
        """A random id, in the form of a message's id."""
        return str(UUID(int=self._dice.getrandbits(128), version=4))

    def version(self, current: Iterable[str]) -> str:
        """The version after the highest of `current` (langgraph-checkpoint-sqlite 3.1, ``get_next_version``)."""
        highest = max((int(version.split(".")[0]) for version in current), default=0)
        return f"{highest + 1:032}.{self._dice.random()}"
