"""`EarlyLists`: the lists of a thread that were stored with items of later steps; see `early_values`."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.reducers.early_values import (
    IN_RUNS,
    LATE,
    NO_EARLY,
    Early,
    LaterStep,
    Lists,
    has_grown,
    settled,
    without_later_items,
)
from ckpt_cli.history.state.channels import deltas, is_control
from ckpt_cli.history.tasks.write_makers import is_update
from ckpt_cli.model import NULL_TASK, Ref
from ckpt_cli.plans.cut_runs import CutRuns, steps_between
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State, TaskWrite


class EarlyLists:
    """The lists with later items, checkpoint by checkpoint; a parent comes before its children."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._of: dict[str, Lists] = {}
        self._cut_runs = CutRuns(reader)

    def around(
        self,
        parent: State | None,
        child: State,
        written: Mapping[str, list[Any]],
        stored: Mapping[str, list[TaskWrite]],
    ) -> tuple[Lists, Early]:
        """The lists in the parent and in the child that have later items, without them.

        Args:
            parent: the state in which the step began; None for the first checkpoint.
            child: the state that the step made.
            written: what the step's tasks wrote to each channel.
            stored: the writes that were read, by the checkpoint that they are stored on.
        """
        old, new = ({} if one is None else _lists(one) for one in (parent, child))
        known = self._of.get(parent.ref.checkpoint_id, {}) if parent and child.source == "loop" else {}
        before, early = settled(
            old, new, written, known, lambda lists: self._early(child, {**old, **lists}, new, written, stored)
        )
        if early.lists:
            self._of[child.ref.checkpoint_id] = early.lists
        return before, early

    def _early(
        self,
        child: State,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        written: Mapping[str, list[Any]],
        stored: Mapping[str, list[TaskWrite]],
    ) -> Early:
        if child.source not in IN_RUNS or not has_grown(before, after):
            return NO_EARLY
        return without_later_items(before, after, written, lambda: self._later(child, stored))

    def _later(self, state: State, stored: Mapping[str, list[TaskWrite]]) -> Iterator[LaterStep]:
        """The next steps of the run."""
        for _ in range(LATE):
            tasks: dict[str, dict[str, list[Any]]] = {}
            own = stored.get(state.ref.checkpoint_id)
            for write in self._reader.writes(state.ref) if own is None else own:
                if write.task_id != NULL_TASK and not is_update(write):
                    tasks.setdefault(write.task_id, {}).setdefault(write.channel, []).append(write.value)
            following = self._next(state.ref)
            if following is None or steps_between(state.step, following.step):
                gone = following is not None
                yield LaterStep([*tasks.values()], dict, partial(self._cut_runs.may_be_cut, state.ref, gone=gone))
                return
            state = following
            yield LaterStep([*tasks.values()], partial(_values, state))

    def _next(self, ref: Ref) -> State | None:
        """The oldest child that a run made; None if there is none, or it can't be read."""
        children = self._reader.lineage(ref.thread_id, ref.ns).children.get(ref.checkpoint_id, ())
        try:
            states = (self._reader.state(ref._replace(checkpoint_id=one)) for one in children)
            return next((state for state in states if state.source == "loop"), None)
        except PayloadCorrupt:
            return None


def _values(state: State) -> Mapping[str, Any]:
    return state.values


def _lists(state: State) -> dict[str, Any]:
    """The lists of the user's channels; a delta channel's value is no list of the channel's own that a step extends."""
    hidden = {*deltas(state)}
    lists = ((channel, value) for channel, value in state.values.items() if type(value) is list)
    return {c: value for c, value in lists if c not in hidden and not is_control(c, state)}
