"""Which channels have another value than at the parent; of some delta channels nothing shows it."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.state.channels import deltas, unwrapped
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State

_NOTHING = object()


class ChangedChannels:
    """Compares a checkpoint's channels with those of its parent, if there is one that can be read.

    Args:
        values: the user's channels at the checkpoint as the graph sees them.
    """

    def __init__(self, reader: Reader, state: State, lineage: Lineage, values: Mapping[str, Any]) -> None:
        self._reader, self._state, self._lineage, self._values = reader, state, lineage, values

    def has_changed(self, channel: str) -> bool | None:
        """Whether a channel's value differs from the parent's; a channel with a new version may have the same value,
        or none as before, as an ``UntrackedValue`` has.

        None for a delta channel that was written to, if nothing proves what its reducer made of the writes.
        """
        state, parent = self._state, self._parent
        if parent is None:
            return channel in state.updated if state.updated else channel in state.versions
        if state.versions.get(channel) == parent.versions.get(channel):
            return False
        if channel in {*deltas(state), *deltas(parent)}:
            return self._has_delta_changed(channel, parent)
        if channel not in state.values or channel not in parent.values:
            return channel in state.values or channel in parent.values
        return not same(state.values[channel], parent.values[channel])

    def _has_delta_changed(self, channel: str, parent: State) -> bool | None:
        before = Inspection(self._reader, parent.ref).values().get(channel, _NOTHING)
        after = self._values.get(channel, _NOTHING)
        if is_unproven(before) or is_unproven(after):
            return None
        return before is _NOTHING or after is _NOTHING or not same(unwrapped(before), unwrapped(after))

    @cached_property
    def _parent(self) -> State | None:
        own = self._state.ref
        parent = self._lineage.parent(own.checkpoint_id)
        try:
            return None if parent is None else self._reader.state(Ref(own.thread_id, own.ns, parent))
        except PayloadCorrupt:
            return None
