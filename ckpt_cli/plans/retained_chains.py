"""The ancestors from which delta channels of kept checkpoints are rebuilt; which Sends are own."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from itertools import islice
from typing import Any

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.layouts import named, values_of
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader

_AT_ONCE = 50

Cover = Callable[[Ref, Set[str]], Set[str]]
"""Gives those of some channels for which a checkpoint needs no ancestor."""


class Chains:
    """The chains of a thread's delta channels, as the library walks them up from a checkpoint.

    langgraph-checkpoint 4.3 ``base/__init__.py: get_delta_channel_history``. A graph asks for each delta channel that a
    checkpoint doesn't store, so the channels that any kept checkpoint of the namespace counts are looked for.
    """

    def __init__(self, reader: Reader, thread_id: str, lineages: Mapping[str, Lineage]) -> None:
        self._reader = reader
        self._thread_id = thread_id
        self._lineages = lineages
        self._channels = defaultdict[str, set[str]](set)
        self._stored: dict[Ref, frozenset[str]] = {}

    def note(self, ns: str, counted: Set[str]) -> None:
        """Learn the delta channels that a checkpoint's metadata counts."""
        if counted:
            self._channels[ns].update(counted)

    def forget(self) -> None:
        """Forget the delta channels: other checkpoints are kept now."""
        self._channels.clear()

    def channels(self, ns: str) -> Set[str]:
        """The delta channels of a namespace, as far as the kept checkpoints show them."""
        return self._channels.get(ns, set())

    def needed(self, ns: str, kept: Collection[str], cover: Cover | None = None) -> Iterator[str]:
        """The ancestors of kept checkpoints up to the nearest stored value of each delta channel.

        `cover` gives the channels for which a kept checkpoint needs no ancestor although it doesn't store them; it is
        asked where the parent isn't kept.
        """
        channels, lineage = self.channels(ns), self._lineages[ns]
        if not channels:
            return
        self._read(ns, kept)
        passed: dict[str, set[str]] = {}
        for checkpoint_id in sorted(kept, reverse=True):
            line = lineage.line(checkpoint_id)
            missing = self._missing(Ref(self._thread_id, ns, next(line)), channels, kept, cover)
            for ancestor in line:
                if not missing or missing <= passed.get(ancestor, set()):
                    break
                yield ancestor
                passed.setdefault(ancestor, set()).update(missing)
                missing = self._missing(Ref(self._thread_id, ns, ancestor), missing, kept, cover)

    def _missing(self, ref: Ref, channels: Set[str], kept: Collection[str], cover: Cover | None) -> Set[str]:
        """Those of these channels that are rebuilt at a checkpoint from its ancestors."""
        missing = channels - self.stored_values(ref.ns, ref.checkpoint_id)
        parent = self._lineages[ref.ns].parent(ref.checkpoint_id)
        if not missing or cover is None or parent is None or parent in kept or ref.checkpoint_id not in kept:
            return missing
        return missing - cover(ref, missing)

    def stored_values(self, ns: str, checkpoint_id: str) -> frozenset[str]:
        """The channels of which a checkpoint stores a value; a None in a header is none in some savers."""
        if Ref(self._thread_id, ns, checkpoint_id) not in self._stored:
            self._read(ns, list(islice(self._lineages[ns].line(checkpoint_id), _AT_ONCE)))
        return self._stored[Ref(self._thread_id, ns, checkpoint_id)]

    def _read(self, ns: str, checkpoint_ids: Collection[str]) -> None:
        refs = [Ref(self._thread_id, ns, i) for i in checkpoint_ids]
        for stored in self._reader.saver.checkpoints([ref for ref in refs if ref not in self._stored]):
            values, _ = values_of(stored, self._reader.value)
            held = frozenset(channel for channel, value in values.items() if value is not None)
            self._stored[stored.row.ref] = held


def stores_own_sends(body: Any) -> bool:
    """Whether a checkpoint doesn't start with Sends that are stored on its parent.

    Those of format `v` 4 have them in a channel, older ones under ``pending_sends`` or only there (`layouts.state_of`).
    """
    checkpoint = named(body)
    v = checkpoint.get("v")
    return bool(checkpoint.get("pending_sends")) or (isinstance(v, int) and v >= 4)
