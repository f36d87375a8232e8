"""`Line`: the user's channels at each checkpoint of a line; delta channels are rebuilt from writes."""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ckpt_cli.history.reducers.delta import marked
from ckpt_cli.history.reducers.rebuilt import Rebuilt, named_value
from ckpt_cli.history.reducers.reducers import ChannelStep, Evidence, Reducer
from ckpt_cli.history.state.channels import unwrapped, user_channels
from ckpt_cli.values.state import State, TaskWrite

NONE_NAMED: Mapping[str, Reducer] = MappingProxyType({})
_SPANS = 4  # spans of a delta channel's history from which its reducer is learned


class Line:
    """The user's channels at each checkpoint down a line; the values of delta channels come from their writes."""

    def __init__(
        self, rebuild: Callable[[State], Mapping[str, Rebuilt]], named: Mapping[str, Reducer] = NONE_NAMED
    ) -> None:
        self._rebuild = rebuild
        self._named = named
        self._deltas: dict[str, Rebuilt] | None = None

    def at(
        self, state: State, written: Iterable[TaskWrite] = (), *, grown: bool = False, lost: Collection[str] = ()
    ) -> dict[str, Any]:
        """The user's channels at the next checkpoint of the line.

        Args:
            state: the checkpoint.
            written: the writes stored on its parent that are in it, in canonical order.
            grown: whether these writes made the checkpoint; then a stored value is evidence for a reducer.
            lost: the channels that it changed by writes that are not stored.
        """
        stored = {channel: unwrapped(value) for channel, value in state.values.items()}
        for channel, delta in (self._deltas or {}).items():
            delta.lost = delta.lost or channel in lost
        deltas = self._carried(state, stored, list(written), grown=grown)
        rebuilt_values = {c: named_value(one, self._named.get(c)) for c, one in deltas.items() if c not in stored}
        values = {**stored, **rebuilt_values}
        return {channel: values[channel] for channel in user_channels(state) if channel in values}

    @property
    def reducers(self) -> dict[str, Evidence | Reducer | None]:
        """The reducer of each delta channel, as evidence or as its messages suggest; None if there is neither."""
        delta = (self._deltas or {}).items()
        return {c: one.evidence or one.supposed for c, one in delta}

    def _carried(
        self, state: State, stored: Mapping[str, Any], written: list[TaskWrite], *, grown: bool
    ) -> dict[str, Rebuilt]:
        if self._deltas is None:
            self._deltas = dict(self._rebuild(state))
        else:
            for channel, delta in self._deltas.items():
                # a new list: values that were given out hold the old one
                delta.writes = [*delta.writes, *(write.value for write in written if write.channel == channel)]
        for channel in marked(state) - self._deltas.keys():
            new = Rebuilt(marked=True) if channel in stored else self._rebuild(state).get(channel)
            if new is not None:
                self._deltas[channel] = new
        for channel in self._deltas.keys() & stored.keys():
            delta = self._deltas[channel]
            if grown and delta.writes and not delta.lost:
                delta.spans = [*delta.spans, ChannelStep(delta.seed, delta.writes, stored[channel])][-_SPANS:]
            delta.seed, delta.writes, delta.lost = stored[channel], [], False
        return self._deltas
