"""Rebuilds delta channels from the nearest stored value and the later writes; their counters in metadata.

Only some checkpoints store the value of a delta channel, but all store its writes. To get the value at a checkpoint,
start from the nearest ancestor that stores a value. The graph's reducer applies the writes from there on to this value,
in canonical order. The writes that are stored on that ancestor count; the writes stored on the checkpoint itself belong
to the next checkpoint (langgraph 1.2 ``channels/delta.py``; checkpoint 4.3 ``base/__init__.py:
get_delta_channel_history``).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ckpt_cli.history.reducers.rebuilt import Rebuilt
from ckpt_cli.history.reducers.reducers import ABSENT, ChannelStep
from ckpt_cli.history.state.channels import is_snapshot, unwrapped
from ckpt_cli.values.state import State, TaskWrite

COUNTERS = "counters_since_delta_snapshot"
"""The metadata key that names the delta channels and counts updates and steps since the last snapshot of each."""

_SPANS = 2  # older snapshots that a reducer is tested on
_DOUBTFUL = 4  # spans with repeated steps that are read in search of others
AHEAD = 300
"""So many checkpoints are searched for a later snapshot."""


@dataclass(frozen=True, slots=True)
class Station:
    """One checkpoint on a line, with those of its writes that are in the line's next checkpoint.

    Attributes:
        grown: whether the parent's writes made the checkpoint's values; False for a fork, an update or a replay.
        lost: the channels that the line's next checkpoint changed by writes that are not stored.
        repeated: whether tasks failed or asked here. When the step runs again, a finished task may run again too, and
            its older write stays stored.
    """

    state: State
    writes: Sequence[TaskWrite]
    grown: bool = True
    lost: Collection[str] = ()
    repeated: bool = False


def counters(metadata: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Delta channel to the updates and steps since its last snapshot; (0, 0) if no pair of numbers is stored."""
    stored = metadata.get(COUNTERS)
    pairs = stored.items() if isinstance(stored, dict) else ()
    return {
        channel: (pair[0], pair[1]) if _is_pair(pair) else (0, 0) for channel, pair in pairs if isinstance(channel, str)
    }


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value)


def marked(state: State) -> set[str]:
    """The channels that a checkpoint itself shows to be delta channels."""
    return counters(state.metadata).keys() | {channel for channel, value in state.values.items() if is_snapshot(value)}


def rebuild(
    state: State,
    channels: Collection[str],
    ancestors: Iterable[Station],
    ahead: Callable[[], Iterable[Station]] = tuple,
) -> dict[str, Rebuilt]:
    """The delta channels among `channels`, rebuilt at a checkpoint that stores no value of them.

    Args:
        state: the checkpoint.
        channels: the channels to rebuild.
        ancestors: the checkpoint's ancestors, from its parent back; only as many are read as the channels need.
        ahead: gives the checkpoint, its first child, that child's first child, and so on; a snapshot found there may
            show the reducer.
    """
    walks = {channel: _Walk(channel, channel in marked(state)) for channel in channels}
    for station in ancestors:
        for walk in walks.values():
            walk.pass_by(station)
        if all(walk.done for walk in walks.values()):
            break
    for walk in walks.values():
        walk.use_doubtful_spans()
    deltas = {channel: walk.rebuilt for channel, walk in walks.items() if walk.rebuilt.marked}
    ahead_of = {c: rebuilt for c, rebuilt in deltas.items() if rebuilt.writes or rebuilt.seed is ABSENT}
    if ahead_of:
        _learn_ahead(ahead_of, ahead())
    return deltas


class _Walk:
    """Follows one channel back: first to its seed, then over older spans until there is enough evidence."""

    def __init__(self, channel: str, is_marked: bool) -> None:
        self.channel = channel
        self.rebuilt = Rebuilt(marked=is_marked)
        self.done = False
        self._seeded = False
        self._after: Any = ABSENT  # the stored value that the current span leads to
        self._repeated = False  # whether the current span has a repeated step
        self._writes: list[Any] = []
        self._doubtful: list[ChannelStep] = []

    def pass_by(self, station: Station) -> None:
        """Add one more ancestor."""
        if self.done:
            return
        if self.channel in station.lost:
            self._after = ABSENT  # this span is no evidence
            self.rebuilt.lost |= not self._seeded
        self._repeated |= station.repeated
        self._writes[:0] = [write.value for write in station.writes if write.channel == self.channel]
        self.rebuilt.marked |= self.channel in marked(station.state)
        if not self._seeded:
            self.rebuilt.writes = list(self._writes)
        stored = station.state.values.get(self.channel, ABSENT)
        if stored is not ABSENT:
            self._arrive(unwrapped(stored), station.grown)
        elif self._seeded and station.state.parent_id is None:
            self._close(ABSENT)
            self.done = True

    def _arrive(self, stored: Any, grown: bool) -> None:
        if self._seeded:
            self._close(stored)
        else:
            self._seeded, self.rebuilt.seed = True, stored
        self._after, self._writes, self._repeated = (stored if grown else ABSENT), [], False
        enough = len(self.rebuilt.spans) >= _SPANS or len(self._doubtful) >= _DOUBTFUL
        self.done = enough or not self.rebuilt.marked

    def _close(self, before: Any) -> None:
        if self._after is not ABSENT and self._writes:
            spans = self._doubtful if self._repeated else self.rebuilt.spans
            spans.append(ChannelStep(before, list(self._writes), self._after))

    def use_doubtful_spans(self) -> None:
        """Take the spans with repeated steps as evidence if there are no others, and if a reducer explains them."""
        if not self.rebuilt.spans and Rebuilt(spans=self._doubtful).evidence is not None:
            self.rebuilt.spans = self._doubtful


def _learn_ahead(deltas: dict[str, Rebuilt], stations: Iterable[Station]) -> None:
    """Add the span up to a later snapshot: it shows the type, and proves the reducer or speaks against it.

    Where a step was repeated on the way, a span that no reducer explains speaks against none.
    """
    writes = {channel: list(rebuilt.writes) for channel, rebuilt in deltas.items()}
    repeated = False
    for place, station in enumerate(islice(stations, AHEAD)):
        for channel in list(writes):
            stored = station.state.values.get(channel, ABSENT) if place else ABSENT
            if stored is not ABSENT:
                rebuilt, after = deltas[channel], unwrapped(stored)
                step = ChannelStep(rebuilt.seed, writes.pop(channel), after)
                rebuilt.example = after
                if station.grown and step.writes and not (repeated and Rebuilt(spans=[step]).evidence is None):
                    rebuilt.spans = [*rebuilt.spans, step]
            elif channel in station.lost:
                del writes[channel]
            else:
                writes[channel] += [write.value for write in station.writes if write.channel == channel]
        repeated |= station.repeated
        if not writes:
            return
