"""`PossibleNodes`: the nodes that a task may have run, by all that was read of its namespace."""

from collections.abc import Iterable

from ckpt_cli.history.state import channels
from ckpt_cli.history.state.channels import NOT_NODES, TASKS
from ckpt_cli.history.tasks.metadata_writes import outputs_by_node
from ckpt_cli.history.tasks.write_attribution import WriteAttribution
from ckpt_cli.values.langgraph_values import js_send
from ckpt_cli.values.state import State, TaskWrite


class PossibleNodes:
    """The names that nodes of a namespace may have. They are kept when the writes that showed them are dropped.

    Attributes:
        seen: node to the channels that it has seen, from decoded checkpoints.
    """

    def __init__(self, attribution: WriteAttribution) -> None:
        self._attribution = attribution
        self.seen: dict[str, frozenset[str]] = {}
        self._kept_channels = set[str]()
        self._kept_targets = set[str]()
        self._kept_outputs: dict[str, None] = {}
        self.triggers = attribution.remembered(self._triggers)
        """Gives each node with the channels that trigger it, as far as these channels have writes that were read."""
        self.send_targets = attribution.remembered(self._send_targets)
        """Gives the nodes of all Sends that were read."""

    def learn(self, state: State) -> None:
        """Learn from a decoded checkpoint: nodes that ran before it, and the sources of its joins."""
        known = {source: frozenset[str]() for channel in state.versions for source in channels.sources(channel)}
        for node, versions in state.seen.items():
            if node not in NOT_NODES and not node.endswith(":edges"):
                known[node] = frozenset(versions)
        new = {node: self.seen.get(node, frozenset()) | triggers for node, triggers in known.items()}
        if any(self.seen.get(node) != triggers for node, triggers in new.items()):
            self.seen.update(new)
            self._attribution.fill({}, {})  # forget the names that were computed without these nodes

    def forget(self) -> None:
        """Drop the metadata and writes that were read, but not the names in them."""
        self._kept_channels, self._kept_targets = self._channels(), self.send_targets()
        self._kept_outputs = dict.fromkeys(self.outputs())
        self._attribution.forget()

    def outputs(self) -> Iterable[str]:
        """The nodes and called tasks whose outputs metadata records."""
        outputs = (outputs_by_node(note.outputs, note.source) for note in self._attribution.notes.values())
        return {**self._kept_outputs, **dict.fromkeys(node for output in outputs for node in output)}

    def _channels(self) -> set[str]:
        """The channels of all writes that were read."""
        written = (write.channel for stored in self._attribution.writes.values() for write in stored)
        return self._kept_channels.union(written)

    def _send_targets(self) -> set[str]:
        sends = [w for stored in self._attribution.writes.values() for w in stored if w.channel == TASKS and w.read]
        return self._kept_targets | {send.node for w in sends if (send := js_send(w.value)) is not None}

    def _triggers(self) -> dict[str, set[str]]:
        triggers: dict[str, set[str]] = {}
        for channel in self._channels():
            if (node := channels.any_target(channel)) is not None:
                triggers.setdefault(node, {f"branch:to:{node}"}).add(channel)
        for node, seen in self.seen.items():
            triggers.setdefault(node, {f"branch:to:{node}"}).update(seen)
        return triggers


def called(sends: Iterable[TaskWrite]) -> list[str | None]:
    """The nodes of Sends, None for each whose value was not read."""
    read = [js_send(write.value) if write.read else None for write in sends]
    return [send.node if send is not None else None for send in read]
