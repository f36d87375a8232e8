"""`Line`: the user's channels at each checkpoint of a line; delta channels are rebuilt from writes."""

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from types import MappingProxyType
from typing import Any

from ckpt_cli.history.reducers.delta import marked, version_of
from ckpt_cli.history.reducers.rebuilt import Rebuilt, named_value
from ckpt_cli.history.reducers.reducers import ChannelStep, Evidence, Reducer
from ckpt_cli.history.reducers.stretches import Stretch, counting
from ckpt_cli.history.state.channels import unwrapped, user_channels
from ckpt_cli.values.state import State, TaskWrite

NONE_NAMED: Mapping[str, Reducer] = MappingProxyType({})


class Line:
    """The user's channels at each checkpoint down a line; the values of delta channels come from their writes.

    Attributes:
        ended: the stretch of each delta channel that ends with the checkpoint that was read last: it stores the value.
    """

    def __init__(
        self, rebuild: Callable[[State], Mapping[str, Rebuilt]], named: Mapping[str, Reducer] = NONE_NAMED
    ) -> None:
        self.ended: Mapping[str, Stretch] = {}
        self._rebuild = rebuild
        self._named = named
        self._deltas: dict[str, Rebuilt] | None = None

    def at(
        self,
        state: State,
        written: Iterable[TaskWrite] = (),
        *,
        grown: bool = False,
        lost: Collection[str] = (),
        credited: Iterable[TaskWrite] | None = None,
        repeated: bool = False,
    ) -> dict[str, Any]:
        """The user's channels at the next checkpoint of the line.

        Args:
            state: the checkpoint.
            written: the writes stored on its parent that are in it, in canonical order.
            grown: whether these writes made the checkpoint; then a stored value is evidence for a reducer.
            lost: the channels that it changed by writes that are not stored.
            credited: those that made it, if they are known; an update leaves the tasks' writes beside its own out of a
                value that it stores.
            repeated: whether tasks failed or asked at its parent, so that some writes may come from another run.
        """
        stored = {channel: unwrapped(value) for channel, value in state.values.items()}
        self.ended = {}
        for channel, delta in (self._deltas or {}).items():
            delta.lost = delta.lost or channel in lost
            delta.repeated = delta.repeated or repeated
        own = list(written)
        made = own if credited is None or state.source == "input" else list(credited)  # an input's come after it
        deltas = self._carried(state, stored, own, made, grown=grown)
        rebuilt_values = {c: named_value(one, self._named.get(c)) for c, one in deltas.items() if c not in stored}
        values = {**stored, **rebuilt_values}
        return {channel: values[channel] for channel in user_channels(state) if channel in values}

    def copy(self, named: Mapping[str, Reducer] = NONE_NAMED) -> "Line":
        """Another line that has come as far, and goes on to another child; it has these named reducers."""
        other = Line(self._rebuild, named)
        if self._deltas is not None:
            other._deltas = {channel: one.copy() for channel, one in self._deltas.items()}
        return other

    @property
    def has_deltas(self) -> bool:
        """Whether a delta channel was met so far, to which writes must be added."""
        return bool(self._deltas)

    @property
    def deltas(self) -> Set[str]:
        """The delta channels, as far as the checkpoints that were read show them."""
        return (self._deltas or {}).keys()

    @property
    def rebuilt(self) -> Mapping[str, Rebuilt]:
        """What is known of each delta channel at the checkpoint that was read last."""
        return self._deltas or {}

    @property
    def reducers(self) -> dict[str, Evidence | Reducer | None]:
        """The reducer of each delta channel, as evidence or as its messages suggest; None if there is neither."""
        delta = (self._deltas or {}).items()
        return {c: one.evidence or one.supposed for c, one in delta}

    def _carried(
        self,
        state: State,
        stored: Mapping[str, Any],
        written: list[TaskWrite],
        made: list[TaskWrite],
        *,
        grown: bool,
    ) -> dict[str, Rebuilt]:
        if self._deltas is None:
            self._deltas = dict(self._rebuild(state))
        else:
            for channel, delta in self._deltas.items():
                ends = channel in stored
                own = [write.value for write in (made if ends else written) if write.channel == channel]
                # a new list: values that were given out hold the old one
                delta.writes = [*delta.writes, *(counting(own) if ends else own)]
        for channel in sorted(marked(state) - self._deltas.keys()):
            new = Rebuilt(marked=True) if channel in stored else self._rebuild(state).get(channel)
            if new is not None:
                self._deltas[channel] = new
        ends_here = [channel for channel in self._deltas if channel in stored]
        self.ended = {c: _end(c, self._deltas[c], state, stored[c], grown) for c in ends_here}
        return self._deltas


def _end(channel: str, delta: Rebuilt, state: State, stored: Any, grown: bool) -> Stretch:
    """The stretch that ends with a stored value; the next one begins with this value, not with a computed one."""
    step, version = ChannelStep(delta.seed, delta.writes, stored), version_of(channel, state)
    stretch = Stretch(step, delta.begin, version, delta.is_whole, REPEATED if delta.repeated else "")
    if grown and version not in delta.ahead:
        delta.shown.add(stretch, doubtful=delta.repeated)
    delta.seed, delta.begin, delta.writes = stored, version, []
    delta.lost = delta.baseless = delta.repeated = False
    return stretch


REPEATED = "a task failed or asked on the way to it, so some writes may come from another run"
