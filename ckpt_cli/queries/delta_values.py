"""`DeltaValues`: the delta channels at every checkpoint of a namespace; each checkpoint is read once.

`Inspection.deltas` reads the ancestors of a checkpoint back to the last stored values. Asked of each checkpoint of a
long thread, it would read each of them hundreds of times. Here the values follow from those of the parent. `Inspection`
is asked where a line begins, and now and then where nothing proves a reducer yet: it also looks ahead.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.reducers.delta import marked, may_repeat
from ckpt_cli.history.reducers.line_values import Line
from ckpt_cli.history.reducers.rebuilt import Rebuilt, is_unproven
from ckpt_cli.history.reducers.stretches import Stretches
from ckpt_cli.history.state.channels import is_snapshot, missing
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State

_AGAIN = 100  # checkpoints after which `Inspection` is asked again for a reducer that it didn't find …
_PART = 4  # … or this part of those since the last stored value, as it reads all of them


@dataclass(slots=True)
class _Reached:
    """A line up to a checkpoint, kept until the last child of the checkpoint was read.

    Attributes:
        line: its channels; None if their values can't be read.
        ahead: what the next stored value of a channel shows too, until it is reached.
        since: the number of checkpoints since the line began, or since a stored value.
        patience: the number of checkpoints before `Inspection` is asked again.
        left: the number of children that weren't read.
        problem: why the values can't be read.
    """

    line: Line | None
    ahead: dict[str, Stretches] = field(default_factory=dict)
    since: int = 0
    patience: int = 0
    left: int = 0
    problem: PayloadCorrupt | None = None


class DeltaValues:
    """Rebuilds the delta channels of one namespace.

    Args:
        reader: the database, inside a moment.

    Attributes:
        larger: those of the values given last that no stored value proves, or that have more elements than all that do.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._reached: dict[str, _Reached] = {}
        self.larger: Mapping[str, Rebuilt] = {}

    def at(self, state: State) -> Mapping[str, Any]:
        """The delta channels of which this checkpoint stores no value; parents must come before their children.

        Raises:
            PayloadCorrupt: something that they need can't be read.
        """
        self.larger = {}
        lineage, own_id = self._reader.lineage(state.ref.thread_id, state.ref.ns), state.ref.checkpoint_id
        parent_id = lineage.parent(own_id)
        reached = self._taken(parent_id or "")
        if reached is None and not marked(state):
            return {}
        stores = any(is_snapshot(value) for value in state.values.values())
        parent = state.ref._replace(checkpoint_id=parent_id or "")
        try:
            if reached is None or (reached.line is None and stores):
                reached, values = self._begin(state)
            else:
                values = self._go_on(reached, state, parent)
        except PayloadCorrupt as error:
            reached, values = _Reached(None, problem=error), {}
        children = lineage.children.get(own_id, ())
        if children:
            reached.left = len(children)
            self._reached[own_id] = reached
        if reached.problem is not None:
            raise reached.problem
        self.larger = self._larger(reached, state.ref, values)
        if len(children) > 1:  # each may lead to another value
            reached.ahead, reached.patience = {}, 0
        return values

    def _taken(self, checkpoint_id: str) -> _Reached | None:
        """The line up to a checkpoint, for one of its children; None if it wasn't read or has no delta channels."""
        reached = self._reached.get(checkpoint_id)
        if reached is None:
            return None
        reached.left -= 1
        if reached.left <= 0:
            return self._reached.pop(checkpoint_id)
        line = reached.line and reached.line.copy()
        return _Reached(line, {}, reached.since, reached.patience, problem=reached.problem)

    def _begin(self, state: State) -> tuple[_Reached, dict[str, Any]]:
        line = Line(lambda at: Inspection(self._reader, at.ref).deltas())
        return _Reached(line), _unstored(state, line.at(state))

    def _go_on(self, reached: _Reached, state: State, parent: Ref) -> dict[str, Any]:
        line, reader = reached.line, self._reader
        if line is None:
            return {}
        around, stored = Inspection(reader, state.ref), reader.writes(parent)
        own = around.taken(reader.state(parent), stored)
        repeated = may_repeat(stored)
        known = line.at(state, own.writes, grown=around.grown(state), lost=own.lost, repeated=repeated)
        for channel in line.ended:
            reached.ahead.pop(channel, None)
            reached.since = reached.patience = 0
        values = _unstored(state, known)
        for channel in reached.ahead.keys() & values.keys():
            if reached.ahead[channel].steps > line.rebuilt[channel].shown.steps:
                values[channel] = _with(line, channel, reached.ahead[channel]).value
        reached.since, reached.patience = reached.since + 1, reached.patience - 1
        if reached.patience < 0 and any(map(is_unproven, values.values())):
            reached.patience = max(_AGAIN, reached.since // _PART)
            values |= self._looked_ahead(reached, around, values)
        return values

    def _looked_ahead(self, reached: _Reached, around: Inspection, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values that something later proves, of those that nothing proved so far."""
        found = {}
        for channel, delta in around.deltas().items():
            if is_unproven(values.get(channel)) and delta.evidence is not None:
                reached.ahead[channel] = delta.shown
                found[channel] = delta.value
        return found

    def _larger(self, reached: _Reached, ref: Ref, values: dict[str, Any]) -> dict[str, Rebuilt]:
        """Those of the values that are larger, by what `Inspection` finds: it also looks ahead."""
        if reached.line is None:
            return {}
        own = {c: _with(reached.line, c, reached.ahead.get(c)) for c in values if c in reached.line.rebuilt}
        larger = {c: one for c, one in own.items() if _is_unshown(one, values[c])}
        if new := larger.keys() - reached.ahead.keys():
            found = Inspection(self._reader, ref).deltas()
            reached.ahead |= {c: found[c].shown for c in new if c in found}
            larger = {c: _with(reached.line, c, reached.ahead.get(c)) for c in larger}
            values |= {c: one.value for c, one in larger.items()}
        return {channel: one for channel, one in larger.items() if _is_unshown(one, values[channel])}


def _is_unshown(one: Rebuilt, value: Any) -> bool:
    """See `Rebuilt.is_unshown`; the value was rebuilt already."""
    return one.makes_larger(value) or (one.reducer is None and not is_unproven(value) and not one.is_settled)


def _with(line: Line, channel: str, shown: Stretches | None) -> Rebuilt:
    """A channel at the checkpoint that a line has reached, with what stored values show of it."""
    known = line.rebuilt[channel]
    return known if shown is None else replace(known, shown=shown)


def _unstored(state: State, values: Mapping[str, Any]) -> dict[str, Any]:
    return {channel: values[channel] for channel in missing(state) if channel in values}
