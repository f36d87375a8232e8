"""Rebuilds delta channels from the nearest stored value and the later writes.

Only some checkpoints store the value of a delta channel, but all store its writes. To get the value at a checkpoint,
start from the nearest ancestor that stores a value. The graph's reducer applies the writes from there on to this value,
in canonical order. The writes that are stored on that ancestor count; the writes stored on the checkpoint itself belong
to the next checkpoint (langgraph 1.2 ``channels/delta.py``; checkpoint 4.3 ``base/__init__.py:
get_delta_channel_history``).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.reducers.rebuilt import Rebuilt
from ckpt_cli.history.reducers.reducers import ABSENT, ChannelStep
from ckpt_cli.history.reducers.stretches import Stretch, Stretches, counting
from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR, INTERRUPT, is_snapshot, unwrapped
from ckpt_cli.history.state.delta_counters import counters
from ckpt_cli.values.state import State, TaskWrite

_STRETCHES = 2  # older stretches that a reducer is tested on
_MORE = 2  # so many more are read if these don't show enough: one stored value may be odd, or no key came again
_DOUBTFUL = 4  # stretches with repeated steps that are read in search of others
AHEAD = 300
"""So many checkpoints are searched for a later snapshot."""


@dataclass(frozen=True, slots=True)
class Station:
    """One checkpoint on a line, with those of its writes that are in the line's next checkpoint.

    Attributes:
        grown: whether the parent's writes made the checkpoint's values; False for a fork, an update or a replay.
        lost: the channels that the line's next checkpoint changed by writes that are not stored.
        repeated: whether tasks failed or asked here beside others. When the step runs again, a finished task may run
            again too, and its older write stays stored.
    """

    state: State
    writes: Sequence[TaskWrite]
    grown: bool = True
    lost: Collection[str] = ()
    repeated: bool = False


def may_repeat(writes: Iterable[TaskWrite]) -> bool:
    """Whether tasks failed or asked at a checkpoint beside others that finished, which may have run again with them.

    The own writes of a task that failed or asked are those of one run: it stores them when it has finished, or beside
    its failure if a conditional edge raised.
    """
    stored = [*writes]
    halted = {write.task_id for write in stored if write.channel in (ERROR, INTERRUPT)}
    return bool(halted) and any(w.task_id not in halted and w.channel not in CONTROL_WRITES for w in stored)


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

    Evidence for reducers is sought up to the first checkpoint that can't be read.

    Args:
        state: the checkpoint.
        channels: the channels to rebuild.
        ancestors: the checkpoint's ancestors, from its parent back; only as many are read as the channels need.
        ahead: gives the checkpoint, its first child, that child's first child, and so on; a snapshot found there may
            show the reducer.

    Raises:
        PayloadCorrupt: a checkpoint that a value needs can't be read.
    """
    walks = {channel: _Walk(channel, channel in marked(state)) for channel in channels}
    oldest = state
    try:
        for station in ancestors:
            oldest = station.state
            for walk in walks.values():
                walk.pass_by(station)
            if all(walk.done for walk in walks.values()):
                break
    except PayloadCorrupt:
        if not all(walk.seeded for walk in walks.values()):
            raise
    deltas = {channel: walk.finish(oldest) for channel, walk in walks.items() if walk.rebuilt.marked}
    ahead_of = {c: rebuilt for c, rebuilt in deltas.items() if rebuilt.writes or rebuilt.seed is ABSENT}
    if ahead_of:
        with suppress(PayloadCorrupt):
            _learn_ahead(ahead_of, ahead())
    return deltas


def begins(state: State) -> bool:
    """Whether a thread may begin with this checkpoint; if not, older checkpoints aren't stored."""
    return state.parent_id is None and (state.step is None or state.step <= _FIRST.get(state.source, 0))


_FIRST = {"input": -1, "": -1, "loop": -1, "update": 0, "fork": 0}
"""The latest step of a thread's first checkpoint, by its source."""


def lost_bases(state: State) -> list[str]:
    """The delta channels whose value is lost at a checkpoint, if no older one is stored: its writes go on from there.

    A channel without a version was never written, so it began empty after the older checkpoints.
    """
    if begins(state):
        return []
    return [c for c in counters(state.metadata) if c in state.versions and c not in state.values]


class _Walk:
    """Follows one channel back: first to its seed, then over older stretches until there is enough evidence.

    Attributes:
        done: whether no older checkpoint is needed.
        seeded: whether the value from which the writes go on was found.
    """

    def __init__(self, channel: str, is_marked: bool) -> None:
        self.channel = channel
        self.rebuilt = Rebuilt(marked=is_marked)
        self.done = False
        self.seeded = False
        self._after: Any = ABSENT  # the stored value that the current stretch leads to
        self._end = ""  # its version
        self._is_last = False  # whether the next ancestor begins the last step of a stretch
        self._repeated = False  # whether the current stretch has a repeated step
        self._writes: list[Any] = []
        self._stretches: list[Stretch] = []  # the latest first
        self._doubtful: list[Stretch] = []

    def pass_by(self, station: Station) -> None:
        """Add one more ancestor."""
        if self.done:
            return
        if self.channel in station.lost:
            self._after = ABSENT  # this stretch is no evidence
            self.rebuilt.lost |= not self.seeded
        self._repeated |= station.repeated
        writes = [write for write in station.writes if write.channel == self.channel]
        own = [write.value for write in writes]
        self._writes[:0] = counting(own) if self._is_last else own
        self.rebuilt.beside |= not self.seeded and len({write.task_id for write in writes}) > 1
        self._is_last = False
        self.rebuilt.marked |= self.channel in marked(station.state)
        if not self.seeded:
            self.rebuilt.writes, self.rebuilt.repeated = list(self._writes), self._repeated
        stored = station.state.values.get(self.channel, ABSENT)
        if stored is not ABSENT:
            self._arrive(unwrapped(stored), version_of(self.channel, station.state), station.grown)
        elif self.seeded and (begins(station.state) or self.channel not in station.state.versions):
            self._close(ABSENT, "")
            self.done = True

    def _arrive(self, stored: Any, version: str, grown: bool) -> None:
        if self.seeded:
            self._close(stored, version)
        else:
            self.seeded, self.rebuilt.seed, self.rebuilt.begin = True, stored, version
        self._after, self._end, self._writes, self._repeated = (stored if grown else ABSENT), version, [], False
        self._is_last = True
        found = len(self._stretches)
        enough = found >= _STRETCHES and (found >= _STRETCHES + _MORE or self._is_known())
        self.done = enough or len(self._doubtful) >= _DOUBTFUL or not self.rebuilt.marked

    def _is_known(self) -> bool:
        """Whether the stretches so far prove a reducer, and show what it does with writes such as those to rebuild."""
        self.rebuilt.shown = counted(self._stretches)
        return self.rebuilt.evidence is not None and not self.rebuilt.unmet

    def _close(self, before: Any, version: str) -> None:
        if self._after is not ABSENT and self._writes:
            kind = self._doubtful if self._repeated else self._stretches
            kind.append(Stretch(ChannelStep(before, list(self._writes), self._after), version, self._end))

    def finish(self, oldest: State) -> Rebuilt:
        """What is known of the channel, once its ancestors were passed; `oldest` is the last of them.

        Stretches with repeated steps only count if there are no others, and if a reducer explains them.
        """
        self.rebuilt.baseless = not self.seeded and self.channel in lost_bases(oldest)
        doubtful = counted(self._doubtful)
        use_doubtful = not self._stretches and doubtful.evidence is not None
        self.rebuilt.shown = doubtful if use_doubtful else counted(self._stretches)
        return self.rebuilt


def version_of(channel: str, state: State) -> str:
    """The version of a channel as text, which names its stored value in the namespace."""
    return str(state.versions.get(channel, ""))


def counted(latest_first: Sequence[Stretch]) -> Stretches:
    """What some stretches show together."""
    shown = Stretches()
    for stretch in reversed(latest_first):
        shown.add(stretch)
    return shown


def _learn_ahead(deltas: Mapping[str, Rebuilt], stations: Iterable[Station]) -> None:
    """Add the stretches up to later snapshots: they show the type, and prove the reducer or speak against it.

    One is enough, unless no reducer explains it. Where a step was repeated on the way, such a stretch speaks against
    none.
    """
    walks = {channel: _WalkAhead(channel, rebuilt) for channel, rebuilt in deltas.items()}
    for place, station in enumerate(islice(stations, AHEAD)):
        for walk in walks.values():
            walk.pass_by(station, is_later=place > 0)
        if all(walk.done for walk in walks.values()):
            return


class _WalkAhead:
    """Follows one channel on, from a checkpoint to later stored values."""

    def __init__(self, channel: str, rebuilt: Rebuilt) -> None:
        self.done = False
        self._channel, self._rebuilt = channel, rebuilt
        self._seed, self._begin, self._writes = rebuilt.seed, rebuilt.begin, list(rebuilt.writes)
        self._own: list[Any] = []  # the last step's writes
        self._is_whole, self._repeated = rebuilt.is_whole, False
        self._found = 0

    def pass_by(self, station: Station, *, is_later: bool) -> None:
        """Add one more checkpoint; the first is where the channel is rebuilt."""
        if self.done:
            return
        stored = station.state.values.get(self._channel, ABSENT) if is_later else ABSENT
        if stored is not ABSENT:
            self._arrive(unwrapped(stored), version_of(self._channel, station.state), station.grown)
        if self._channel in station.lost:
            self._is_whole = False
        self._writes += self._own
        self._own = [write.value for write in station.writes if write.channel == self._channel]
        self._repeated |= station.repeated

    def _arrive(self, stored: Any, version: str, grown: bool) -> None:
        shown = self._rebuilt.shown
        if grown and (writes := [*self._writes, *counting(self._own)]):
            stretch = Stretch(ChannelStep(self._seed, writes, stored), self._begin, version, self._is_whole)
            shown.add(stretch, doubtful=self._repeated)
            self._rebuilt.ahead.add(version)
        if self._rebuilt.example is ABSENT:
            self._rebuilt.example = stored
        self._found += 1
        is_known = shown.evidence is not None and not self._rebuilt.unmet
        self.done = self._found > _MORE or is_known or not shown.steps
        self._seed, self._begin, self._writes, self._own = stored, version, [], []
        self._is_whole, self._repeated = True, False
