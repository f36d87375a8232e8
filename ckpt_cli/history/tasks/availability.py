"""`Availability`: which channels of bare Pregel nodes hold a value and trigger nothing.

LangGraph asks whether a channel is available (1.2 ``pregel/_algo.py: apply_writes``, ``_triggers``). A value doesn't
always show it: a barrier's set may lack a name. But a step that gives a channel a new version lists it in
``updated_channels`` only if it is available then. A StateGraph's channels show it by their names, see `next_tasks`.
"""

from functools import reduce
from typing import Any

from ckpt_cli.history.state.channels import START, newer
from ckpt_cli.values.langgraph_values import items
from ckpt_cli.values.node import Node
from ckpt_cli.values.state import State, Version


class Availability:
    """Whether channels were available under their versions, as far as checkpoints show it."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, Version], bool | None] = {}  # None where two branches show both

    def learn(self, state: State) -> None:
        """Learn of the channels that got their version in a checkpoint's own step."""
        if START in state.versions or state.updated is None or not state.versions:
            return
        newest = reduce(lambda one, other: other if newer(other, one) else one, state.versions.values())
        for channel, value in state.values.items():
            if state.versions.get(channel) == newest and _may_be_unavailable(value):
                is_available = channel in state.updated
                known = self._shown.setdefault((channel, newest), is_available)
                if known is not is_available:
                    self._shown[channel, newest] = None

    def is_missing(self, channel: str, state: State) -> bool:
        """Whether a channel that holds a value in a checkpoint isn't available there."""
        return bool(self._shown) and self._of(channel, state) is False

    def is_open(self, channel: str, state: State) -> bool:
        """Whether another checkpoint may show that a channel which holds a value isn't available."""
        is_recorded = START not in state.versions and state.updated is not None
        return is_recorded and _may_be_unavailable(state.values[channel]) and self._of(channel, state) is None

    def _of(self, channel: str, state: State) -> bool | None:
        version = state.versions.get(channel)
        return None if version is None else self._shown.get((channel, version))


def _may_be_unavailable(value: Any) -> bool:
    """Whether a value is an empty list, a set, or a pair, as those of topics and barriers are."""
    parts = items(value)
    is_pair = parts is not None and len(parts) == 2 and isinstance(parts[1], bool)
    return isinstance(value, Node) or parts == [] or is_pair
