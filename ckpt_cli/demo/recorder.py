"""`Line`: plays the demo's runs of one namespace, and saves at each step what langgraph would have saved.

The release is langgraph 1.2.22. Even the order of keys is LangGraph's. So the library can continue from the demo's
checkpoints, and the demo shows only what a real database would show.
"""

from collections.abc import Mapping, Sequence
from json import dumps
from typing import Any

from ckpt_cli.demo import objects
from ckpt_cli.demo.graph import Channels, Graph, Task, Writes
from ckpt_cli.demo.tape import Tape
from ckpt_cli.history.tasks.task_ids import Place, interrupt_id
from ckpt_cli.model import NULL, NULL_TASK, Checkpoint, CheckpointRow, Payload, Write
from ckpt_cli.serde.codec import Codec

_FIXED_INDEXES = {"__error__": -1, "__interrupt__": -3, "__resume__": -4}
_CODEC = Codec()
_LIKE = Payload("msgpack", b"\xc0")


class Line:
    """One branch of a namespace in progress: its channels and its latest checkpoint.

    Args:
        tags: the metadata that the caller's config adds.
        ns: the namespace of a subgraph.
        parents: the checkpoints that the subgraph was called from, by namespace.
    """

    def __init__(
        self, graph: Graph, tape: Tape, thread_id: str, tags: Mapping[str, Any], ns: str = "", **parents: str
    ) -> None:
        self.graph = graph
        self.tape = tape
        self.channels = Channels(graph, tape)
        self._thread_id = thread_id
        self._ns = ns
        self._tags = tags
        self._parents = parents
        self._head = ""
        self._step = -2
        self._answered = ""

    @property
    def values(self) -> dict[str, Any]:
        """The state by channel."""
        return self.channels.values

    def ask(self, values: Mapping[str, Any], first: str) -> None:
        """Play ``invoke(values)``: save the input, then the step of ``__start__``."""
        self._save("input", self.channels.put("__input__", [("__start__", dict(values))]))
        own_values = {channel: value for channel, value in values.items() if channel in self.graph.channels}
        self.run(Task("__start__", own_values, then=[first]))

    def run(self, *tasks: Task) -> None:
        """Play one superstep in which all tasks finish."""
        self.leave(*tasks)
        self._save("loop", self.channels.step((t.node, self.graph.triggers(t.node), t.writes) for t in tasks))

    def leave(self, *tasks: Task) -> None:
        """Save only the writes of these tasks, which finish although their superstep doesn't."""
        for task in tasks:
            self._write(task.node, task.writes, first=1 if task.node == self._answered else 0)
        self._answered = ""

    def fail(self, node: str, error: str) -> None:
        """Play a task that raises an exception; the ``repr`` of the exception is saved."""
        self._write(node, [("__error__", error)])

    def pause(self, node: str, value: Any) -> None:
        """Play a task that calls ``interrupt(value)``."""
        self._write(node, [("__interrupt__", [objects.interrupt(value, interrupt_id(self._inside(node)))])])

    def answer(self, node: str, value: Any) -> None:
        """Play ``Command(resume=value)``."""
        self._add(NULL_TASK, "", 0, "__resume__", value)
        self._write(node, [("__resume__", [value])])
        self._answered = node
        self.channels.see_all()

    def update(self, node: str, values: Mapping[str, Any], then: Sequence[str]) -> None:
        """Play ``update_state`` with the checkpoint's own config and ``as_node=node``, and then ``invoke(None)``."""
        self.channels.step([(node, ["__interrupt__"], Task(node, values, then).writes)])
        self._save("update", None)
        self.channels.see_all()

    def call(self, node: str, graph: Graph) -> "Line":
        """The subgraph that `node` runs, in its own namespace."""
        parents = {**self._parents, self._ns: self._head}
        return Line(graph, self.tape, self._thread_id, self._tags, self._inside(node), **parents)

    def here(self) -> "Line":
        """A copy of the line at its latest checkpoint, from which another branch can start later."""
        other = Line(self.graph, self.tape, self._thread_id, self._tags, self._ns, **self._parents)
        other.channels = self.channels.copy()
        other._head, other._step = self._head, self._step
        return other

    def _inside(self, node: str) -> str:
        name = f"{self._ns}|{node}" if self._ns else node
        return f"{name}:{self._task_id(node)}"

    def _task_id(self, node: str) -> str:
        return next(Place(self._head, self._ns, self._step + 1, v=4).pull(node, self.graph.triggers(node)))

    def _save(self, source: str, updated: list[str] | None) -> None:
        self._step = self._step + 1 if self._head else -1
        ts, checkpoint_id = self.tape.stamp(self._step)
        channels = self.channels
        body = {
            "v": 4,
            "ts": ts,
            "id": checkpoint_id,
            "channel_values": {c: channels.values[c] for c in self.graph.channels if c in channels.values},
            "channel_versions": channels.versions,
            "versions_seen": channels.seen,
            "updated_channels": updated,
        }
        tags = {} if source == "update" else self._tags
        metadata = dumps({"source": source, "step": self._step, "parents": self._parents, **tags}).encode()
        row = CheckpointRow(self._thread_id, self._ns, checkpoint_id, self._head or None)
        self.tape.records.append(Checkpoint(row, _payload(body), Payload("json", metadata)))
        self._head = checkpoint_id

    def _write(self, node: str, writes: Writes, first: int = 0) -> None:
        for idx, (channel, value) in enumerate(writes, first):
            self._add(self._task_id(node), f"~__pregel_pull, {node}", idx, channel, value)

    def _add(self, task_id: str, path: str, idx: int, channel: str, value: Any) -> None:
        idx = _FIXED_INDEXES.get(channel, idx)
        row = Write(self._thread_id, self._ns, self._head, task_id, idx, channel, path, _payload(value))
        self.tape.records.append(row)


def _payload(value: Any) -> Payload:
    return NULL if value is None else _CODEC.encode(value, _LIKE)
