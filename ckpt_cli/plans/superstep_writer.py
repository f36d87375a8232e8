"""The records of an update, step by step: task ids, writes; refuses unknown channels, reducers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any
from uuid import UUID, uuid5

from ckpt_cli.errors import UsageError
from ckpt_cli.history.reducers.names import names
from ckpt_cli.history.reducers.reducers import ABSENT
from ckpt_cli.history.state.channels import END, INTERRUPT, ROOT, START
from ckpt_cli.history.tasks.snapshot import Snapshot, snapshot
from ckpt_cli.history.tasks.task_names import task_names
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Checkpoint, Record, Write
from ckpt_cli.plans.known_nodes import KnownNodes
from ckpt_cli.plans.messages import as_messages
from ckpt_cli.plans.metadata import MetadataChanges
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import encode_write, make_origin
from ckpt_cli.plans.next_nodes import Hop, choose_route, describe_doubt, joins_beside
from ckpt_cli.plans.pending_writes import Finished, steps_before_update
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.plans.replay import end_tasks
from ckpt_cli.plans.step_start import StepStart
from ckpt_cli.plans.successor import StepInfo, make_successor
from ckpt_cli.plans.superstep import TaskOutput
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument
from ckpt_cli.values.decisions import spell_value
from ckpt_cli.values.langgraph_values import overwrite

_LEFT_BEHIND = "as input, which no run takes in, as another superstep follows it"
INPUT = "__input__"


@dataclass(frozen=True, slots=True)
class Update:
    """One update of a superstep.

    Attributes:
        values: channel to the value that is written to it; None writes nothing.
        as_node: the node that counts as the writer; None infers it; ``__input__`` and ``__end__`` as in the library.
        next: a function that gives the nodes that run after this node, and calls its argument to find out whether a
            node is known; None takes the route of the node's recorded runs.
    """

    values: Mapping[str, Any] | None
    as_node: str | None = None
    next: Callable[[Callable[[str], bool]], Sequence[Hop]] | None = None


@dataclass(frozen=True, slots=True)
class UpdateRules:
    """The settings that all supersteps of one update share.

    Attributes:
        finished: a person's choice for pending writes of finished tasks; with None, the thread's langgraph decides.
        follows_langgraph_0_6: writes are recorded in the old way, which `pending_writes.follows_old_update` describes.
        new_id: makes an id for a message that has none.
        changes: changes of the application's metadata.
    """

    reader: Reader
    mint: Mint
    reducers: Reducers
    finished: Finished | None
    follows_langgraph_0_6: bool
    new_id: Callable[[], str]
    changes: MetadataChanges


class SuperstepWriter:
    """Makes one superstep after another; each starts at the checkpoint that the previous superstep made.

    Args:
        rules: the settings that the supersteps share.
        at: the start of the first superstep.
        head_id: the head of the namespace.

    Attributes:
        at: the start of the next superstep.
        records: the checkpoints and writes made so far.
        notes: lines for the plan.
        ignored: the keys that no update writes, since the graph's input schema doesn't have them.
        joins: the joins that the last superstep wrote beside the next nodes that a person named.
        joined: all joins that it wrote.
    """

    def __init__(self, rules: UpdateRules, at: StepStart, head_id: str) -> None:
        self.rules = rules
        self.at = at
        self.records: list[Record] = []
        self.notes: list[str] = []
        self.ignored: set[str] = set()
        self.joins: set[str] = set()
        self.joined: set[str] = set()
        self._head_id = head_id
        self._is_superseded = head_id != at.origin.ref.checkpoint_id
        self._is_first = True

    def run(self, updates: Sequence[Update], *, is_last: bool) -> None:
        """Make one superstep; no run takes in an input that isn't the last one.

        Raises:
            UsageError, Refused.
        """
        only = updates[0]
        self.joins.clear()
        self.joined.clear()
        if only.values is None and only.as_node == END:
            _must_be_only(updates)
            _, step = end_tasks(self.rules.reader, self.at, self.rules.mint)
            self._add_checkpoint(step)
        elif only.as_node == INPUT:
            _must_be_only(updates)
            self._write_input(only, is_last=is_last)
        else:
            self._write_nodes(updates)
        self._is_first = False

    def _write_input(self, update: Update, *, is_last: bool) -> None:
        values = dict(update.values or {})
        given = values[ROOT] if values.keys() == {ROOT} else values
        if not values or given is None:
            raise UsageError("an input needs values")
        for channel in values:
            self._must_be_known(channel)
        task_id, writes = str(uuid5(UUID(self.at.origin.ref.checkpoint_id), INPUT)), [(START, given)]
        if not self.rules.follows_langgraph_0_6:
            self._store(task_id, "", writes)
        place, left_out = len(self.notes), KnownNodes(self.rules.reducers, self.at.tasks).describe_keys_of_run(values)
        self.notes += [] if values.keys() == {ROOT} else left_out
        if START in self.at.channels.values:
            self.notes.append(f"it replaces the input that waited: {spell_value(self.at.channels.values[START])}")
        updated = self.at.channels.apply([TaskOutput("", INPUT, writes)], self._next_version)
        step = self.at.origin.step + 1
        stored_whole = self.at.written_deltas if self._is_first else ()
        self._add_checkpoint(StepInfo("input", step, step, updated, stored_whole))
        if self.rules.follows_langgraph_0_6:
            self._store(task_id, "", writes)
        self.notes.insert(place, self._describe_input() if is_last else _LEFT_BEHIND)

    def _describe_input(self) -> str:
        others = task_names(task for task in self.at.tasks.tasks if task.node != START)
        taken = "as input, which graph.invoke(None, config) takes into the state"
        if not others:
            return taken
        beside = f"in the step in which {', '.join(others)} {'runs' if len(others) == 1 else 'run'}"
        return f"{taken}, {beside}; it may raise InvalidUpdateError where a channel is written twice"

    def _write_nodes(self, updates: Sequence[Update]) -> None:
        if self._is_first:
            self._apply_pending()
        outputs = self._node_outputs(updates)
        written = {channel for _, task in outputs for channel, _ in task.writes}
        stored_whole = self._channels_stored_whole([task for _, task in outputs], written)
        for task_id, task in outputs:
            self._store(task_id, task.path, task.writes)
        self.at.channels.apply([task for _, task in outputs], self._next_version)
        step = self.at.origin.step + 1
        self._add_checkpoint(StepInfo("update", step, step, written, stored_whole))

    def _apply_pending(self) -> None:
        steps, names = steps_before_update(self.rules.reader, self.at, self.rules.finished)
        for step in steps:
            self.at.channels.apply(step, self._next_version)
        if names:
            self.notes.append(f"kept: the results of {', '.join(names)}")

    def _node_outputs(self, updates: Sequence[Update]) -> list[tuple[str, TaskOutput]]:
        """Task id and output of each update. If the node is about to run, the update gets the id of the node's task."""
        nodes = KnownNodes(self.rules.reducers, self.at.tasks)
        free = [(task.node, task.id) for task in self.at.tasks.tasks]
        outputs: list[tuple[str, TaskOutput]] = []
        for place, update in enumerate(updates):
            node = nodes.choose(update.as_node, self.at.channels.seen, alone=len(updates) == 1)
            task_id = next((i for name, i in free if name == node and i), None)
            if task_id is not None:
                free.remove((node, task_id))
            ignored = nodes.ignored_keys(node, update.values or ())
            self.ignored.update(ignored)
            values = {channel: value for channel, value in (update.values or {}).items() if channel not in ignored}
            writes = [(channel, self._value(channel, value)) for channel, value in values.items()]
            hops = None if update.next is None else update.next(nodes.is_node)
            route, why = choose_route(self.rules.reducers, node, hops)
            self.notes += [f"as {node}: {why}", *describe_doubt(node, route, hops)]
            self.joins.update(joins_beside(route, hops))
            self.joined.update(channel for channel, _ in route if channel.startswith("join:"))
            self.notes += nodes.describe_unknown(hops or ())
            self.notes += nodes.describe_input_keys(node, update.values or (), ignored)
            task = TaskOutput(f"~{INTERRUPT}, {place:010d}", node, [*writes, *route], [INTERRUPT])
            task_id = task_id or self._task_id(place)
            if lost := self._lost_channels(task_id, task):
                places = chain([place], count(len(updates)))  # a deleted update may have left its writes
                task_id = next(one for n in places if not self._is_stored(one := self._update_id(n)))
                self.notes.append(
                    f"stored beside the results of {node}: LangGraph's own update_state would lose what is written to "
                    f"{', '.join(lost)}"
                )
            outputs.append((task_id, task))
        return outputs

    def _lost_channels(self, task_id: str, task: TaskOutput) -> list[str]:
        """The delta channels that the new checkpoint would have without the task's writes to them.

        Such a channel is rebuilt from the stored writes, and a write isn't stored if another one is stored for the same
        task and `idx`: a saver's ``put_writes`` keeps that one (``INSERT OR IGNORE``), and so does `_store`.
        """
        if self._is_first and self._is_superseded:
            return []
        taken = {c for idx, (c, _) in enumerate(task.writes) if (task_id, idx) in self.at.stored_writes}
        rebuilt = taken & self.rules.reducers.history.deltas.keys()
        return sorted(rebuilt - self._channels_stored_whole([task], rebuilt))

    def _is_stored(self, task_id: str) -> bool:
        return any(task_id == stored for stored, _ in self.at.stored_writes)

    def _channels_stored_whole(self, tasks: Sequence[TaskOutput], written: set[str]) -> set[str]:
        """The delta channels that the new checkpoint stores whole."""
        deltas = written & self.rules.reducers.history.deltas.keys()
        whole = set(self.at.written_deltas) if self._is_first else set()
        whole |= {c for task in tasks for c, value in task.writes if c in deltas and overwrite(value) is not None}
        return whole | deltas if self._is_first and self._is_superseded else whole

    def _value(self, channel: str, value: Any) -> Any:
        self._must_be_known(channel)
        before = self.at.channels.values.get(channel, ABSENT)
        is_message = self.rules.reducers.holds_messages(channel, before, value)
        return as_messages(value, before, self.rules.new_id, is_typed=True) if is_message else value

    def _must_be_known(self, channel: str) -> None:
        reducers = self.rules.reducers
        if reducers.is_known(channel):
            return
        option, known = f"--reducer {argument(channel + '=NAME')}", f"NAME is one of {', '.join(names())}"
        if channel in reducers.channel_names():
            why = "no step of this thread, or of one known to be of its graph, shows it"
            raise UsageError(
                f"the reducer of channel {channel!r} is unknown: {why}", hint=reducers.ways_without_proof(channel)
            )
        names_known = reducers.channel_names()
        where = ("call of the subgraph" if reducers.is_subgraph else "thread") + ("; these are:" if names_known else "")
        raise UsageError(
            f"no channel {channel!r} is known in this {where}",
            hint=f"{option} writes to it anyway; {known}",
            candidates=names_known,
        )

    def _task_id(self, place: int) -> str:
        return self._update_id(0 if self.rules.follows_langgraph_0_6 else place)

    def _update_id(self, place: int) -> str:
        name = f"{INTERRUPT}:{place}" if place else INTERRUPT
        return str(uuid5(UUID(self.at.origin.ref.checkpoint_id), name))

    def _store(self, task_id: str, path: str, writes: Sequence[tuple[str, Any]]) -> None:
        """Record the writes of a task on the updated checkpoint, except writes that are already stored there."""
        if self._is_first and self._is_superseded and not self.rules.follows_langgraph_0_6:
            return
        ref = self.at.origin.ref
        new = {
            (r.task_id, r.idx) for r in self.records if isinstance(r, Write) and r.checkpoint_id == ref.checkpoint_id
        }
        existing = self.at.stored_writes | new
        for idx, (channel, value) in enumerate(writes):
            if (task_id, idx) not in existing:
                payload = encode_write(self.rules.reader, self.at.origin, value)
                self.records.append(
                    Write(ref.thread_id, ref.ns, ref.checkpoint_id, task_id, idx, channel, path, payload)
                )

    def _next_version(self, highest: Any) -> Any:
        return self.rules.mint.version(highest, highest)

    def _add_checkpoint(self, step: StepInfo) -> None:
        rules, channels = self.rules, self.at.channels
        deltas = rules.reducers.history.deltas
        made = make_successor(
            rules.reader, rules.mint, self.at.origin, channels, step, deltas, self._head_id, rules.changes
        )
        self.records.append(made)
        self._head_id = made.row.checkpoint_id
        if channels.undecided:
            self.notes.append(f"unless it is deferred, {', '.join(channels.undecided)} runs next too: nothing shows it")
        origin = make_origin(made, rules.reader.decode(made), rules.reader)
        channels.versions = dict(origin.state.versions)  # includes versions that only a snapshot raised
        channels.seen = {node: dict(seen) for node, seen in origin.state.seen.items()}
        self.at = StepStart(origin, channels, _tasks_after(rules.reader, made), frozenset(), frozenset())


def _must_be_only(updates: Sequence[Update]) -> None:
    if len(updates) > 1:
        raise UsageError("an update as END or as input must be the only one of its superstep")


def _tasks_after(reader: Reader, made: Checkpoint) -> Snapshot:
    state = reader.decode(made)
    return snapshot(state, (), history=Inspection(reader, reader.head(state.ref.thread_id, state.ref.ns).ref).others)
