"""The demo's compiled graphs and tasks; applies the writes of tasks to channels as LangGraph does."""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from ckpt_cli.demo import objects
from ckpt_cli.demo.tape import Tape

Writes = list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Graph:
    """A compiled StateGraph.

    Attributes:
        channels: every channel in the compiler's order.
        appending: the channels whose reducer appends.
        barriers: for each barrier channel, the node that it starts.
    """

    channels: tuple[str, ...]
    appending: frozenset[str] = frozenset()
    barriers: Mapping[str, str] = field(default_factory=dict)

    def triggers(self, node: str) -> list[str]:
        """The channels that start a node, in the order in which the node's task id hashes the channels."""
        if node == "__start__":
            return [node]
        return sorted(
            [f"branch:to:{node}", *(channel for channel, started in self.barriers.items() if started == node)]
        )


@dataclass(frozen=True, slots=True)
class Task:
    """One run of a node: the returned values, and the nodes that run next.

    Attributes:
        then: the nodes that the task starts.
        joins: the barrier channel that the task writes to; "" if there is none.
    """

    node: str
    output: Mapping[str, Any]
    then: Sequence[str] = ()
    joins: str = ""

    @property
    def writes(self) -> Writes:
        """Channels and values, in the order in which LangGraph stores them."""
        barrier = [(self.joins, self.node)] if self.joins else []
        return [*self.output.items(), *((f"branch:to:{node}", None) for node in self.then), *barrier]


class Channels:
    """The channels' values, versions and versions_seen; they change as in langgraph 1.2 ``_algo.py: apply_writes``."""

    def __init__(self, graph: Graph, tape: Tape) -> None:
        self.graph = graph
        self.values: dict[str, Any] = {}
        self.versions: dict[str, str] = {}
        self.seen: dict[str, dict[str, str]] = {}
        self._tape = tape

    def put(self, name: str, writes: Writes) -> list[str]:
        """Apply an input: the writes come from outside the graph and aren't a superstep."""
        self.seen.setdefault(name, {})
        return self._write(writes, self._tape.version(self.versions.values()))

    def step(self, tasks: Iterable[tuple[str, Sequence[str], Writes]]) -> list[str]:
        """Apply one superstep of tasks (node, triggers, writes), and return the written channels, sorted."""
        tasks = sorted(tasks, key=lambda task: task[0])
        for node, triggers, _ in tasks:
            self.seen.setdefault(node, {}).update({c: self.versions[c] for c in triggers if c in self.versions})
        version = self._tape.version(self.versions.values())
        used_barriers = [
            c for _, triggers, _ in tasks for c in triggers if c in self.graph.barriers and c in self.values
        ]
        for channel in used_barriers:
            self.values[channel], self.versions[channel] = objects.names(), version
        trigger_channels = [c for c in self.values if c == "__start__" or c.startswith("branch:to:")]
        written = self._write([write for _, _, writes in tasks for write in writes], version)
        for channel in set(trigger_channels) - set(written):
            del self.values[channel]
            self.versions[channel] = version
        return written

    def see_all(self) -> None:
        """Mark every version as seen, as langgraph does when it continues after an interrupt."""
        present = {c: self.versions[c] for c in self.graph.channels if c in self.versions}
        self.seen.setdefault("__interrupt__", {}).update(present)

    def copy(self) -> "Channels":
        """A copy of the channels, for another branch."""
        other = Channels(self.graph, self._tape)
        other.values, other.versions, other.seen = dict(self.values), dict(self.versions), deepcopy(self.seen)
        return other

    def _write(self, writes: Writes, version: str) -> list[str]:
        grouped: dict[str, list[Any]] = {}
        for channel, value in writes:
            grouped.setdefault(channel, []).append(value)
        for channel, values in grouped.items():
            self.values[channel], self.versions[channel] = self._reduce(channel, values), version
        return sorted(grouped)

    def _reduce(self, channel: str, values: list[Any]) -> Any:
        if channel in self.graph.appending:
            return [*self.values.get(channel, []), *(item for value in values for item in value)]
        return objects.names(*values) if channel in self.graph.barriers else values[-1]
