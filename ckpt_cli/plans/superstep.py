"""Applies one superstep's writes to channels, like ``apply_writes``: joins, triggers, deferred nodes.

No graph is needed. This follows langgraph 1.2 ``pregel/_algo.py: apply_writes`` and its channel classes. The kind of a
channel follows from its name (`history.state.channels`), its stored value and its learned reducer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.errors import Refused
from ckpt_cli.history.reducers.reducers import ABSENT
from ckpt_cli.history.state.channels import CONTROL_WRITES, NO_WRITES, RETURN, START, TASKS, order, target
from ckpt_cli.history.tasks.next_tasks import ready
from ckpt_cli.shell_words import command
from ckpt_cli.values.langgraph_values import items, overwrite
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.state import Version

_NOT_STORED_IN_CHANNELS = CONTROL_WRITES | {NO_WRITES, RETURN, "__pregel_push"}

Fold = Callable[[str, Any, Sequence[Any]], Any]
"""A function of a user's channel, its value and a step's writes to it; it gives the channel's next value.

For a channel that a step empties it is also called if a step has no writes to the channel.
"""


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """The writes of a task, or of an input or update that counts as a task.

    Attributes:
        path: the task's path; the library applies the writes of tasks in the order of the paths.
        node: the node whose ``versions_seen`` advances.
        triggers: the channels that triggered the task. An input has no triggers and doesn't count as a step.
    """

    path: str
    node: str
    writes: Sequence[tuple[str, Any]]
    triggers: Sequence[str] = ()


@dataclass
class Channels:
    """The channels of a checkpoint while a step changes them.

    Attributes:
        values: the stored values, and rebuilt values of delta channels; an empty channel is absent.
        versions: channel to its version.
        seen: node to the channel versions that it has seen.
        is_deferred: whether a node waits until all others have finished; None if nothing shows it.
        fold: gives the new value of one of the user's channels.
        empties: whether a step empties one of the user's channels that it doesn't write to.
        is_topic: whether one of the user's channels is known to be a topic, of either kind.
        doubtful: nodes that were triggered though nothing shows whether they are deferred.
        is_preview: nothing will be stored, so a join may have a form that its node can't load.
        bounds: delta channels of messages to the most elements that a stored value shows; -1 if none shows any.
        unnamed: in a preview, the nodes of which a person must say whether they are deferred before anything is stored.
    """

    values: dict[str, Any]
    versions: dict[str, Version]
    seen: dict[str, dict[str, Version]]
    is_deferred: Callable[[str], bool | None]
    fold: Fold
    empties: Callable[[str], bool] = lambda _channel: False
    is_topic: Callable[[str], bool] = lambda _channel: False
    doubtful: set[str] = field(default_factory=set)
    is_preview: bool = False
    unnamed: set[str] = field(default_factory=set)
    bounds: dict[str, int] = field(default_factory=dict)

    def apply(self, tasks: Iterable[TaskOutput], after: Callable[[Version | None], Version]) -> set[str]:
        """Apply the writes of tasks, and give the updated channels; `after` gives the version after another version."""
        ordered = sorted(tasks, key=lambda task: task.path)
        is_step = any(task.triggers for task in ordered)
        for task in ordered:
            seen = {c: self.versions[c] for c in task.triggers if c in self.versions}
            self.seen.setdefault(task.node, {}).update(seen)
        version = after(max(self.versions.values(), key=order, default=None))
        for channel in {c for task in ordered for c in task.triggers}:
            if self._consume(channel):
                self.versions[channel] = version
        updated = self._write(ordered, version)
        if is_step:
            self._notify(updated, version)
        return updated

    def _write(self, tasks: Sequence[TaskOutput], version: Version) -> set[str]:
        written: dict[str, list[Any]] = {}
        for task in tasks:
            for channel, value in task.writes:
                if channel not in _NOT_STORED_IN_CHANNELS:
                    written.setdefault(channel, []).append(value)
                if overwrite(value) is not None:
                    self.bounds.pop(channel, None)
        return {channel for channel, values in written.items() if self._update(channel, values, version)}

    def _notify(self, updated: set[str], version: Version) -> None:
        """End the step in channels without writes; if no node is triggered, also let the deferred nodes run."""
        for channel in [c for c in self.values if c not in updated and self.available(c)]:
            if self._update(channel, [], version):
                updated.add(channel)
        if not any(channel == START or target(channel) is not None for channel in updated):
            for channel in [c for c in self.values if self._finish(c)]:
                self.versions[channel] = version
                updated.add(channel)

    def _update(self, channel: str, writes: Sequence[Any], version: Version) -> bool:
        """Apply the writes of a step to a channel; True if the channel has a new value that nodes can read."""
        before = self.values.get(channel, ABSENT)
        changed, value = self._new_value(channel, before, writes)
        if not changed:
            return False
        self.versions[channel] = version
        if value is ABSENT:
            self.values.pop(channel, None)
        else:
            self.values[channel] = value
        return self.available(channel)

    def _new_value(self, channel: str, before: Any, writes: Sequence[Any]) -> tuple[bool, Any]:
        if channel == TASKS:
            return bool(writes) or bool(items(before)), _sends(writes)
        if channel.startswith("join:"):
            return _join_after(before, writes, lambda: self._must_know_deferred(channel))
        if channel == START:
            return (True, writes[-1]) if writes else (before is not ABSENT, ABSENT)
        if (node := target(channel)) is not None:
            return self._triggered(node, before, writes)
        if writes or self.empties(channel):
            value = self.fold(channel, before, writes)
            return not self._got_nothing(channel, before, value, writes), value
        return False, before

    def _got_nothing(self, channel: str, before: Any, value: Any, writes: Sequence[Any]) -> bool:
        """Whether a topic got no items and lost none: it isn't updated (1.2 ``channels/topic.py: Topic.update``)."""
        if before is value is ABSENT:
            return True
        is_topic = not writes or self.is_topic(channel)
        return is_topic and (before == value == [] or (bool(writes) and before is value))

    def _triggered(self, node: str, before: Any, writes: Sequence[Any]) -> tuple[bool, Any]:
        """Whether the trigger of a node changes, and its value after these writes.

        The library can't load the bare value for a deferred node, but it can load the pair for any node: an
        ``EphemeralValue`` takes whatever is stored. So a node that may be deferred gets the pair, and a pair doesn't
        show that its node is deferred. The trigger of another node is emptied by every step.
        """
        if not writes:
            stays = is_deferred(before) and self._stays_due(node)
            return (False, before) if stays else (before is not ABSENT, ABSENT)
        waits = self.is_deferred(node)
        if waits is None:
            self.doubtful.add(node)
        return True, writes[-1] if waits is False else [writes[-1], False]

    def _stays_due(self, node: str) -> bool:
        """Whether a node whose trigger is stored as a pair is deferred, and so due until it runs.

        Raises:
            Refused: nothing shows it.
        """
        why = "{} is due since an update that didn't know whether it is deferred, and nothing shows it now: if it is, "
        return self.must_know_deferred(node, why + "it stays due after this step, else it doesn't run any more")

    def _must_know_deferred(self, join: str) -> bool:
        """Whether the node behind a join is deferred; no stored form of a join fits both kinds of nodes.

        Raises:
            Refused: nothing shows it.
        """
        why = "{} waits for several nodes and has never been reached, here or in another thread of this graph; whether "
        why += "it is deferred decides in what form that wait is stored, and LangGraph can't read the other form"
        return self.must_know_deferred(target(join) or "", why)

    def must_know_deferred(self, node: str, why: str) -> bool:
        """Whether a node is deferred; False in a preview that can't know it, and the node is then `unnamed`.

        Raises:
            Refused: nothing shows it; the message is `why`, in which ``{}`` is the node.
        """
        if (waits := self.is_deferred(node)) is not None:
            return waits
        if self.is_preview:
            self.unnamed.add(node)
            return False
        option = command("", options=["--deferred", f"{node}=no"]).strip()
        raise Refused(why.format(node), hint=f"add {option}, or =yes if it was added with defer=True")

    @property
    def undecided(self) -> list[str]:
        """The nodes that run now, or after all others, and nothing shows which."""
        triggers: dict[str, Any] = {node: self.values.get(f"branch:to:{node}") for node in sorted(self.doubtful)}
        return [node for node, value in triggers.items() if is_deferred(value) and not value[1]]

    def available(self, channel: str) -> bool:
        """Whether a channel has a value that a node can read."""
        value = self.values.get(channel, ABSENT)
        if channel == TASKS:
            return bool(items(value))
        return value is not ABSENT and (target(channel) is None or ready(channel, value))

    def _consume(self, channel: str) -> bool:
        """Empty a trigger whose node has started; True if this changed the channel."""
        value = self.values.get(channel, ABSENT)
        if value is ABSENT or target(channel) is None or not ready(channel, value):
            return False
        if channel.startswith("join:"):
            arrived = value[0] if isinstance(value, list) and is_deferred(value) else value
            empty = _with_members(arrived, [])
            self.values[channel] = [empty, False] if arrived is not value else empty
            return True
        if is_deferred(value):
            del self.values[channel]
            return True
        return False

    def _finish(self, channel: str) -> bool:
        """Let a deferred node run, because no other node will run; True if this changed the channel."""
        value = self.values[channel]
        if target(channel) is None or not is_deferred(value) or value[1]:
            return False
        if channel.startswith("join:") and not ready(channel, value[0]):
            return False
        self.values[channel] = [value[0], True]
        return True


def written_triggers(node: str, versions: Mapping[str, Version]) -> list[str]:
    """The channels that trigger a node and were written at least once. Checkpoints don't name other channels."""
    return [channel for channel in versions if channel == node == START or target(channel) == node]


def is_deferred(value: Any) -> bool:
    """Whether a trigger's value belongs to a deferred node, which runs last (1.2 ``channels/last_value.py``).

    Such a value is a pair: the value itself, and whether the node may run now.
    """
    return isinstance(value, list) and len(value) == 2 and isinstance(value[1], bool)


def _sends(writes: Sequence[Any]) -> list[Any]:
    return [item for write in writes for item in (write if isinstance(write, list) else [write])]


def _join_after(before: Any, writes: Sequence[Any], deferred: Callable[[], bool]) -> tuple[bool, Any]:
    """Whether a join changes, and its value after these writes (1.2 ``channels/named_barrier_value.py``).

    `deferred` says whether its node is deferred; it is called only if no value of the join is stored.
    """
    pair = is_deferred(before)
    arrived = before[0] if pair else before
    members = [] if arrived is ABSENT else list(items(arrived) or [])
    new = [write for write in dict.fromkeys(writes) if write not in members]
    if not new:
        return False, before
    made = _with_members(arrived, [*members, *new])
    if before is ABSENT:
        return True, [made, False] if deferred() else made
    return True, [made, before[1]] if pair else made


def _with_members(join: Any, members: list[Any]) -> Any:
    """The value of a join channel with other members, in the same type as before."""
    if isinstance(join, list):  # LangGraph.js stores a set as an array
        return members
    return Node(Opened("builtins", "set", Form.VALUE, members))
