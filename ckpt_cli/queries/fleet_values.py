"""The channels inside checkpoints: their sizes, and how often a value is stored again."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import groupby

from ckpt_cli.errors import KeyMissing, PayloadCorrupt
from ckpt_cli.model import Checkpoint, Payload, Ref
from ckpt_cli.reading import Reader
from ckpt_cli.serde.raw_channels import Raw, common_elements, raw_channels, size
from ckpt_cli.views.stats import ChannelLine, StatsView

_NAMES = 2000  # different channels that are kept apart
_OTHERS = "(others)"


@dataclass
class _Sums:
    values: int = 0
    bytes: int = 0
    repeats: int = 0
    repeated: int = 0
    grown: int = 0


class ChannelSizes:
    """Adds up the channels of checkpoints; of each namespace, only the checkpoint before is in memory.

    Attributes:
        checkpoints: how many were read; `unread` of them couldn't be split into channels.
        apart: whether channels are stored apart, so that each version is stored only once.
        bytes: of bodies and metadata, also where the engine can't tell their sizes.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._sums: dict[str, _Sums] = {}
        self.checkpoints = self.unread = self.bytes = 0
        self.apart = False

    def add(self, thread_ids: Collection[str]) -> None:
        """Add the checkpoints of these threads."""
        self.add_refs(row.ref for row in self._reader.saver.rows_of(thread_ids))

    def add_refs(self, refs: Iterable[Ref]) -> None:
        """Add these checkpoints; those of a namespace come together, and a value is compared with the one before."""
        stored = self._reader.saver.checkpoints(refs)
        for _, checkpoints in groupby(stored, key=lambda one: one.row.ref[:2]):
            before: dict[str, Raw] = {}
            for checkpoint in checkpoints:
                before = self._add(checkpoint, before)

    def lines(self) -> list[ChannelLine]:
        """The sums, the largest first."""
        lines = [
            ChannelLine(name, one.values, one.bytes, one.repeats, one.repeated, one.grown)
            for name, one in self._sums.items()
        ]
        return sorted(lines, key=lambda one: (-one.bytes, one.name))

    def fill(self, view: StatsView) -> None:
        """Add the sums to a view."""
        view.channels = self.lines()
        view.unread_checkpoints = self.unread
        if not self.apart:
            view.repeated_bytes = sum(one.repeated_bytes for one in view.channels)

    def _add(self, checkpoint: Checkpoint, before: dict[str, Raw]) -> dict[str, Raw]:
        self.checkpoints += 1
        self.bytes += len(checkpoint.body.data) + len(checkpoint.metadata.data)
        if checkpoint.channels is not None:
            self.apart = True
            return before
        channels = self._channels(checkpoint.body, before)
        if channels is None:
            self.unread += 1
            return before
        for name, raw in channels.items():
            known = name if name in self._sums or len(self._sums) < _NAMES else _OTHERS
            sums, length = self._sums.setdefault(known, _Sums()), size(raw)
            sums.values, sums.bytes = sums.values + 1, sums.bytes + length
            old = before.get(name)
            if old == raw:
                sums.repeats, sums.repeated = sums.repeats + 1, sums.repeated + length
            elif old is not None:
                sums.grown += common_elements(raw, old)
        return channels

    def _channels(self, body: Payload, before: dict[str, Raw]) -> dict[str, Raw] | None:
        try:
            return raw_channels(self._reader.codec.decrypted(body), before)
        except (KeyMissing, PayloadCorrupt):
            return None
