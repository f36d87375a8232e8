"""Rebuilds delta channels from the nearest stored value and the later writes; their counters in metadata.

Only some checkpoints store the value of a delta channel, but all store its writes. To get the value at a checkpoint,
start from the nearest ancestor that stores a value. The graph's reducer applies the writes from there on to this value,
in canonical order. The writes that are stored on that ancestor count; the writes stored on the checkpoint itself belong
to the next checkpoint (langgraph 1.2 ``channels/delta.py``; checkpoint 4.3 ``base/__init__.py:
get_delta_channel_history``).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ckpt_cli.history.reducers.evidence import learn
from ckpt_cli.history.reducers.reducers import (
    ABSENT,
    APPEND,
    COLLECT,
    MESSAGES,
    UNION,
    ChannelStep,
    Evidence,
    Reducer,
    Shorthand,
    Unfit,
)
from ckpt_cli.history.state.channels import is_snapshot, unwrapped
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.state import State, TaskWrite

COUNTERS = "counters_since_delta_snapshot"
"""The metadata key that names the delta channels and counts updates and steps since the last snapshot of each."""

_REDUCERS = (MESSAGES, APPEND, COLLECT, UNION)
_SPANS = 2  # older snapshots that a reducer is tested on
_DOUBTFUL = 4  # spans with repeated steps that are read in search of others
_AHEAD = 300  # checkpoints searched for a later snapshot if there is no older one


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


@dataclass(slots=True)
class Rebuilt:
    """What is known of a delta channel at one checkpoint.

    Attributes:
        seed: the nearest ancestor's stored value; ABSENT if the channel began empty.
        writes: the values written since then, oldest first.
        spans: the parts of the channel's history between one stored value and the next.
        marked: whether some checkpoint shows that this is a delta channel; if not, it may be an ordinary empty channel.
        lost: whether a step since the seed changed the channel by writes that are not stored. Then no value is known.
    """

    seed: Any = ABSENT
    writes: list[Any] = field(default_factory=list)
    spans: list[ChannelStep] = field(default_factory=list)
    marked: bool = False
    lost: bool = False

    @property
    def evidence(self) -> Evidence | None:
        """The reducer that explains every span; None if none does."""
        return learn(self.spans, _REDUCERS, replayed=True)

    @property
    def reducer(self) -> Reducer | None:
        """The reducer that explains the spans; without spans, the reducer that the kind of values suggests."""
        if self.spans:
            evidence = self.evidence
            return evidence.reducer if evidence else None
        return next((r for r in (MESSAGES, APPEND) if self._foldable(r)), None)

    def _foldable(self, reducer: Reducer) -> bool:
        try:
            result = reducer.replay(self.seed, self.writes)
            return isinstance(result, list) and not any(isinstance(item, Shorthand) for item in result)
        except Unfit:
            return False

    @property
    def value(self) -> Any:
        """The channel's value; if no reducer explains the history, an object with the seed and the writes."""
        if not self.writes and not self.lost:
            return [] if self.seed is ABSENT else self.seed
        reducer = None if self.lost else self.reducer
        if reducer is not None:
            try:
                result = reducer.replay(self.seed, self.writes)
                return (
                    [i.given if isinstance(i, Shorthand) else i for i in result] if isinstance(result, list) else result
                )
            except Unfit:
                pass
        seed = {} if self.seed is ABSENT else {"seed": self.seed}
        return Node(Opened("", "DeltaChannel", Form.KWARGS, {**seed, "writes": self.writes}))


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
    unproven = {channel: rebuilt for channel, rebuilt in deltas.items() if not rebuilt.spans and rebuilt.writes}
    if unproven:
        _learn_ahead(unproven, ahead())
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
        if not self.rebuilt.spans and learn(self._doubtful, _REDUCERS, replayed=True) is not None:
            self.rebuilt.spans = self._doubtful


def _learn_ahead(unproven: dict[str, Rebuilt], stations: Iterable[Station]) -> None:
    """Add the span up to a later snapshot; it can show the reducer where there is no older snapshot."""
    writes = {channel: list(rebuilt.writes) for channel, rebuilt in unproven.items()}
    repeated = False
    for place, station in enumerate(islice(stations, _AHEAD)):
        for channel in list(writes):
            stored = station.state.values.get(channel, ABSENT) if place else ABSENT
            if stored is not ABSENT:
                step = ChannelStep(unproven[channel].seed, writes.pop(channel), unwrapped(stored))
                if station.grown and not (repeated and learn([step], _REDUCERS, replayed=True) is None):
                    unproven[channel].spans.append(step)
            elif channel in station.lost:
                del writes[channel]
            else:
                writes[channel] += [write.value for write in station.writes if write.channel == channel]
        repeated |= station.repeated
        if not writes:
            return
