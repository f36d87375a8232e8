"""`WalkedStep`: one recorded step: the state before, its writes, the state after, its doubts."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ckpt_cli.history.reducers.channel_facts import Change
from ckpt_cli.history.reducers.early_values import Early
from ckpt_cli.history.reducers.stretches import Stretch
from ckpt_cli.history.state.channels import CONTROL_WRITES, NO_WRITES, RETURN, START, TASKS, is_control
from ckpt_cli.history.state.javascript import stored_defaults
from ckpt_cli.history.tasks.left_out_sends import possibly_left_out
from ckpt_cli.model import Ref
from ckpt_cli.plans.node_writes import count_lost_sends
from ckpt_cli.values.same import same
from ckpt_cli.values.state import State, TaskWrite

_NO_VALUES = CONTROL_WRITES | {NO_WRITES, RETURN, TASKS}


class RecordedWrite(NamedTuple):
    """One of the writes that made a checkpoint.

    Attributes:
        node: None if the node that wrote it is unknown.
        by_command: whether a ``Command`` given as input wrote it, before the step began.
    """

    task: str
    node: str | None
    channel: str
    value: Any
    by_command: bool = False


class WalkedStep(NamedTuple):
    """One checkpoint of a line, and the step that made it.

    Attributes:
        state: the checkpoint's state; None if it can't be read.
        before: the user's channels in the parent; None if they can't be read.
        after: the user's channels in this checkpoint; None if they can't be read.
        writes: the writes that made the checkpoint, in the library's order.
        by_run: whether a run made the checkpoint from its parent by these writes. Only then do writes prove reducers.
        partial: whether a run made it, and some of its tasks' writes aren't stored. Then those that are prove reducers
            only where they explain the state.
        doubt: a reason why the state may differ from the result of the writes; "" if there is none.
        ordered: whether the order in which the writes of several tasks are applied is recorded.
        moved: the channels that have another version in the checkpoint than in its parent.
        rebuilt: the delta channels whose value in `after` isn't recorded; it was computed from writes.
        parent: the parent's state; None for a root, and if it can't be read.
        credited: the same as `writes`, as they are stored; None if no stored writes made the checkpoint.
        stored: all writes that are stored on the parent.
        early_before: the lists in `before` that have the items of this step or later ones already, without them.
        early: the lists in `after` that have the items of later steps already, without them; see `early_values`.
        unproved: the channels in `early` whose later items aren't all stored.
        ended: the stretches of delta channels that end here: a new value of them is stored.
    """

    ref: Ref
    state: State | None
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    writes: Sequence[RecordedWrite] = ()
    by_run: bool = False
    doubt: str = ""
    ordered: bool = True
    moved: frozenset[str] = frozenset()
    rebuilt: frozenset[str] = frozenset()
    parent: State | None = None
    credited: Sequence[TaskWrite] | None = None
    stored: Sequence[TaskWrite] = ()
    early_before: Mapping[str, list[Any]] = {}
    early: Mapping[str, list[Any]] = {}
    unproved: frozenset[str] = frozenset()
    partial: bool = False
    ended: Mapping[str, Stretch] = MappingProxyType({})

    @property
    def source(self) -> str:
        """That of the checkpoint; "" if it can't be read."""
        return self.state.source if self.state is not None else ""

    @property
    def began(self) -> Mapping[str, Any]:
        """The user's channels when the step began, as far as they can be read."""
        if self.state is not None and self.state.parent_id is None and (defaults := stored_defaults(self.state)):
            return defaults
        return {**(self.before or {}), **self.early_before} if self.early_before else self.before or {}

    @property
    def made(self) -> Mapping[str, Any]:
        """The user's channels as the step made them, as far as they can be read."""
        return {**(self.after or {}), **self.early} if self.early else self.after or {}

    @property
    def kept(self) -> frozenset[str]:
        """The channels that have the same version as in the parent, or that LangGraph.js stored without one."""
        if self.state is None:
            return frozenset()
        return frozenset(self.state.versions.keys() - self.moved).union(stored_defaults(self.state))

    @property
    def came_early(self) -> dict[str, Change]:
        """The channels in `early`, but for those that are as they were in the parent, under the same version."""
        before, after, kept = self.before or {}, self.after or {}, self.kept
        channels = (c for c in self.early if not (c in kept and c in before and same(before[c], after.get(c))))
        return {c: Change.PERHAPS_EARLY if c in self.unproved else Change.EARLY for c in channels}

    def without_topics(self, others: Collection[str]) -> "WalkedStep":
        """The step, with the whole lists of these channels, which no later step can have made; see `unproved`."""
        if self.unproved.isdisjoint(others):
            return self
        early = Early({**self.early}, self.unproved).without(others)
        return self._replace(early=early.lists, unproved=early.unproved)

    @property
    def by_task(self) -> list[dict[str, list[Any]]]:
        """For each task, the values that it wrote to each of the user's channels."""
        tasks: dict[str, dict[str, list[Any]]] = {}
        for write in self.writes:
            if write.by_command:
                continue
            task_writes = tasks.setdefault(write.task, {})
            if self.is_user_write(write):
                task_writes.setdefault(write.channel, []).append(write.value)
        return list(tasks.values())

    @property
    def task_doubt(self) -> str:
        """A reason why not all writes of the tasks may count, or not all are stored; "" if there is none.

        It is only asked for where the writes don't explain the state.
        """
        nodes = {write.task: write.node for write in self.writes if not write.by_command}
        named = [node for node in nodes.values() if node]
        if len(set(named)) < len(named) and (self.parent is None or not count_lost_sends(self.parent, self.stored)[0]):
            return "a node ran there twice, so some writes may come from a run that failed"
        return ""

    @property
    def in_unknown_order(self) -> set[str]:
        """The channels that several tasks wrote to, if it isn't recorded which of them came first."""
        if self.ordered:
            return set()
        tasks = self.by_task
        return {channel for channel in self.written if sum(channel in task for task in tasks) > 1}

    @property
    def showing_nothing(self) -> set[str]:
        """The channels whose step shows nothing of a reducer: in an unknown order, or with items that are unproved.

        Also those with a write that may be another run's: it gave them no new version.
        """
        others = self.written.keys() - self.moved if self.doubt else set[str]()
        return self.in_unknown_order | self.unproved | others

    @property
    def written(self) -> dict[str, list[Any]]:
        """The values that the step wrote to each of the user's channels."""
        return self._values(write for write in self.writes if not write.by_command)

    @property
    def without_sends(self) -> list[tuple[str, dict[str, list[Any]]]]:
        """What may be missing of `written`, if a deployment lacked the nodes of some Sends: why, and what is left.

        Nothing proves it; it counts only where the writes don't explain the state.
        """
        if not self.by_run or self.state is None or self.parent is None:
            return []
        return [
            (
                f"a deployment without node {gone} leaves out what its tasks had written, and the value is as without",
                self._values(w for w in self.writes if not w.by_command and w.task not in tasks),
            )
            for gone, tasks in possibly_left_out(self.state, self.parent, self.stored)
        ]

    @property
    def by_command(self) -> dict[str, list[Any]]:
        """The values that a ``Command`` wrote to each of the user's channels that the step changed."""
        return self._values(write for write in self.writes if write.by_command and write.channel in self.moved)

    def _values(self, writes: Iterable[RecordedWrite]) -> dict[str, list[Any]]:
        values: dict[str, list[Any]] = {}
        for write in writes:
            if self.is_user_write(write):
                values.setdefault(write.channel, []).append(write.value)
        return values

    def is_user_write(self, write: RecordedWrite) -> bool:
        """Whether the write goes to one of the user's channels."""
        if write.channel in _NO_VALUES or (write.channel == START and self.state is None):
            return False
        return self.state is None or not is_control(write.channel, self.state)
