"""`SnapshotBytes`: what the snapshots of a pruning take in the database."""

from collections.abc import Mapping, Set
from contextlib import suppress

from ckpt_cli.errors import Refused
from ckpt_cli.model import Ref
from ckpt_cli.plans.retained_snapshots import Snapshots
from ckpt_cli.plans.thread_bytes import Growth, ThreadBytes
from ckpt_cli.reading import Reader


class SnapshotBytes:
    """How much larger checkpoints become by the snapshots that they store; each is encoded once and not kept.

    A snapshot has more bytes than its value: also those of the channel's name, and of the form that marks a snapshot.
    """

    def __init__(self, reader: Reader, sizes: ThreadBytes) -> None:
        self._reader = reader
        self._sizes = sizes
        self._growths: dict[tuple[Ref, frozenset[str]], Growth] = {}

    def sum(self, snapshots: Snapshots | None) -> int:
        """The bytes of all snapshots, as the saver will count them."""
        stored = _stored(snapshots)
        self._measure(snapshots, [ref for ref, names in stored.items() if (ref, names) not in self._growths])
        return self._sizes.sum_growths(self._growths.get(one, Growth()) for one in stored.items())

    def is_exact(self, snapshots: Snapshots | None) -> bool:
        """Whether the saver will count exactly so many."""
        return self._sizes.foresees(_stored(snapshots))

    def _measure(self, snapshots: Snapshots | None, refs: list[Ref]) -> None:
        """Measure checkpoints; of one that can't be changed nothing is stored: its plan is refused."""
        if snapshots is None:
            return
        for stored in self._reader.saver.checkpoints(refs):
            ref = stored.row.ref
            with suppress(Refused):
                growth = self._sizes.growth(stored, snapshots.record(stored, stored))
                self._growths[ref, frozenset(snapshots.of(ref))] = growth


def _stored(snapshots: Snapshots | None) -> Mapping[Ref, frozenset[str]]:
    found: Mapping[Ref, Set[str]] = {} if snapshots is None else snapshots.channels
    return {ref: frozenset(channels) for ref, channels in found.items() if channels}
