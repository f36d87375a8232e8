"""The ancestors from which delta channels of kept checkpoints are rebuilt; which Sends are own."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Set
from itertools import islice
from typing import Any

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.delta import counters
from ckpt_cli.layouts import named, values_of
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader

_AT_ONCE = 50


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

    def note(self, ref: Ref, metadata: Mapping[str, Any]) -> None:
        """Learn the delta channels that a checkpoint's metadata counts."""
        if counted := counters(metadata):
            self._channels[ref.ns].update(counted)

    def channels(self, ns: str) -> Set[str]:
        """The delta channels of a namespace, as far as the kept checkpoints show them."""
        return self._channels.get(ns, set())

    def needed(self, ns: str, kept: Collection[str]) -> Iterator[str]:
        """The ancestors of kept checkpoints up to the nearest stored value of each delta channel."""
        channels, lineage = self.channels(ns), self._lineages[ns]
        if not channels:
            return
        self._read(ns, kept)
        passed: dict[str, set[str]] = {}
        for checkpoint_id in sorted(kept, reverse=True):
            line = lineage.line(checkpoint_id)
            missing = channels - self.stored_values(ns, next(line))
            for ancestor in line:
                if not missing or missing <= passed.get(ancestor, set()):
                    break
                yield ancestor
                passed.setdefault(ancestor, set()).update(missing)
                missing = missing - self.stored_values(ns, ancestor)

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
