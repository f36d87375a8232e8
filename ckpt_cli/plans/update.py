"""The plan of ``ckpt update``: what ``graph.update_state`` writes, without the graph.

As langgraph 1.2 does it, and where a database is older or a person says so, as 0.6 did (`plans.pending`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any
from uuid import UUID, uuid4, uuid5

from ckpt_cli.errors import UsageError
from ckpt_cli.history.reducers import learning
from ckpt_cli.history.reducers.reducers import ABSENT, Reducer
from ckpt_cli.history.state.channels import END, INTERRUPT, START
from ckpt_cli.history.tasks.snapshot import Snapshot, snapshot
from ckpt_cli.inspection import Around
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Record, Write
from ckpt_cli.operations.apply import basis_of, basis_of_heads
from ckpt_cli.plans.child import make_origin, read_origin
from ckpt_cli.plans.messages import as_messages
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges, describe_changes
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.pending import Finished, follows_old_update, steps_before_update
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.plans.replay import end_tasks
from ckpt_cli.plans.reruns import finished_calls
from ckpt_cli.plans.routing import Hop, choose_route, infer_node
from ckpt_cli.plans.step_start import StepStart, read_step_start
from ckpt_cli.plans.successor import StepInfo, make_successor, must_allow_steps
from ckpt_cli.plans.superstep import TaskOutput
from ckpt_cli.plans.wording import (
    describe_cleared,
    describe_end,
    describe_new_head,
    describe_next,
    recently_written,
    short_ids,
)
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument
from ckpt_cli.values.known import Send, overwrite

INPUT = "__input__"


@dataclass(frozen=True, slots=True)
class Update:
    """One update of a superstep.

    Attributes:
        values: channel to what is written to it; None writes nothing.
        as_node: who is said to have written; None infers it; ``__input__`` and ``__end__`` as in the library.
        next: where the node sends the run on; None as it always did.
    """

    values: Mapping[str, Any] | None
    as_node: str | None = None
    next: Sequence[Hop] | None = None


@dataclass
class _Writer:
    """Makes one superstep after another, each on the one before."""

    reader: Reader
    mint: Mint
    reducers: Reducers
    at: StepStart
    head_id: str
    superseded: bool
    new_id: Callable[[], str]
    records: list[Record]
    said: list[str]
    finished: Finished | None
    older: bool
    changes: MetadataChanges
    first: bool = True

    def run(self, updates: Sequence[Update]) -> None:
        """One superstep.

        Raises:
            UsageError, Refused.
        """
        only = updates[0]
        if only.values is None and only.as_node == END:
            self._alone(updates)
            self._put(*end_tasks(self.reader, self.at, self.mint))
        elif only.as_node == INPUT:
            self._alone(updates)
            self._input(only)
        else:
            self._nodes(updates)
        self.first = False

    def _alone(self, updates: Sequence[Update]) -> None:
        if len(updates) > 1:
            raise UsageError("an update as END or as input stands alone in its superstep")

    def _input(self, update: Update) -> None:
        if not update.values:
            raise UsageError("an input has values")
        for channel in update.values:
            self._must_know(channel)
        task_id, writes = str(uuid5(UUID(self.at.origin.ref.checkpoint_id), INPUT)), [(START, dict(update.values))]
        if not self.older:
            self._store(task_id, "", writes)
        board = self.at.channels
        updated = board.apply([TaskOutput("", INPUT, writes)], self._after)
        step = self.at.origin.step + 1
        self.said.append("as input")
        self._put(updated, StepInfo("input", step, step, updated, self.at.written_deltas if self.first else ()))
        if self.older:
            self._store(task_id, "", writes)

    def _nodes(self, updates: Sequence[Update]) -> None:
        if self.first:
            self._take_over()
        free = [(task.node, task.id) for task in self.at.tasks.tasks]
        acting: list[tuple[str, TaskOutput]] = []
        for place, update in enumerate(updates):
            node = self._who(update, alone=len(updates) == 1)
            task_id = next((i for name, i in free if name == node and i), None)
            if task_id is not None:
                free.remove((node, task_id))
            writes = [(c, self._given(c, value)) for c, value in (update.values or {}).items()]
            route, why = choose_route(self.reducers, node, update.next)
            self.said += [f"as {node}: {why}", *self._doubted(update.next or ())]
            task = TaskOutput(f"~{INTERRUPT}, {place:010d}", node, [*writes, *route], [INTERRUPT])
            acting.append((task_id or self._task_id(place), task))
        written = {channel for _, task in acting for channel, _ in task.writes}
        forced = set(self.at.written_deltas) if self.first else set()
        deltas = written & self.reducers.history.deltas.keys()
        forced |= {c for _, t in acting for c, v in t.writes if c in deltas and overwrite(v) is not None}
        if self.first and self.superseded:
            forced |= deltas
        for task_id, task in acting:
            self._store(task_id, task.path, task.writes)
        self.at.channels.apply([task for _, task in acting], self._after)
        step = self.at.origin.step + 1
        self._put(written, StepInfo("update", step, step, written, forced))

    def _take_over(self) -> None:
        steps, names = steps_before_update(self.reader, self.at, self.finished)
        for step in steps:
            self.at.channels.apply(step, self._after)
        if names:
            self.said.append(f"taken over: what {', '.join(names)} had finished")

    def _who(self, update: Update, *, alone: bool) -> str:
        if update.as_node is None and not alone:
            raise UsageError("where a superstep has several updates, each needs its node")
        known = self._known
        node = update.as_node or infer_node(self.at.channels.seen, known)
        if self._is_new(node):
            near = get_close_matches(node, known, n=3, cutoff=0.5)
            others = sorted(known - {*near}, key=lambda name: (name.startswith("__"), name))
            hint = f"did you mean {near[0]}?" if near else "these have run, or were about to"
            raise UsageError(f"no node {node!r} is known of this thread", hint=hint, candidates=[*near, *others])
        return node

    @property
    def _known(self) -> set[str]:
        return {*self.reducers.history.nodes, *(t.node for t in self.at.tasks.tasks if t.node), START}

    def _is_new(self, node: str) -> bool:
        """Whether neither this thread nor one of the same graph knows a node."""
        return node not in self._known and node not in {n for kin in self.reducers.related for n in kin.nodes}

    def _doubted(self, hops: Sequence[Hop]) -> Iterator[str]:
        """One line about each node to go on with that nobody has seen: the library passes over a wrong name."""
        for name in dict.fromkeys(hop.node if isinstance(hop, Send) else hop for hop in hops):
            if self._is_new(name):
                near = get_close_matches(name, self._known, n=1, cutoff=0.5)
                meant = f"; did you mean {near[0]}?" if near else ""
                yield f"{name} has never run here: a graph without such a node goes on without it{meant}"

    def _given(self, channel: str, value: Any) -> Any:
        self._must_know(channel)
        before = self.at.channels.values.get(channel, ABSENT)
        return (
            as_messages(value, before, self.new_id) if self.reducers.holds_messages(channel, before, value) else value
        )

    def _must_know(self, channel: str) -> None:
        if not self.reducers.is_known(channel):
            names = f"NAME is one of {', '.join(learning.names())}"
            if channel in self.at.channels.values:
                raise UsageError(
                    f"the reducer of channel {channel!r} can't be told: no recorded step wrote to it",
                    hint=f"--reducer {argument(channel + '=NAME')} says it; {names}",
                )
            raise UsageError(
                f"no channel {channel!r} is known of this thread",
                hint=f"--reducer {argument(channel + '=NAME')} writes to it anyway; {names}",
                candidates=self.reducers.channel_names(),
            )

    def _task_id(self, place: int) -> str:
        name = INTERRUPT if place == 0 or self.older else f"{INTERRUPT}:{place}"
        return str(uuid5(UUID(self.at.origin.ref.checkpoint_id), name))

    def _store(self, task_id: str, path: str, writes: Sequence[tuple[str, Any]]) -> None:
        """Record what was written on the checkpoint that is updated, as far as the task left no writes there before."""
        if self.first and self.superseded and not self.older:
            return
        ref, like = self.at.origin.ref, self.at.origin.stored.body
        taken = {
            (r.task_id, r.idx) for r in self.records if isinstance(r, Write) and r.checkpoint_id == ref.checkpoint_id
        }
        for idx, (channel, value) in enumerate(writes):
            if (task_id, idx) not in self.at.stored_writes | taken:
                payload = Payload("null", b"") if value is None else self.reader.codec.encode(value, like=like)
                self.records.append(
                    Write(ref.thread_id, ref.ns, ref.checkpoint_id, task_id, idx, channel, path, payload)
                )

    def _after(self, highest: Any) -> Any:
        return self.mint.version(highest, highest)

    def _put(self, _updated: Any, step: StepInfo) -> None:
        deltas = self.reducers.history.deltas
        made = make_successor(
            self.reader, self.mint, self.at.origin, self.at.channels, step, deltas, self.head_id, self.changes
        )
        self.records.append(made)
        self.head_id = made.row.checkpoint_id
        origin = make_origin(made, self.reader.decode(made), self.reader)
        self.at.channels.versions = dict(origin.state.versions)  # with those that only a snapshot moved
        self.at.channels.seen = {node: dict(seen) for node, seen in origin.state.seen.items()}
        self.at = StepStart(origin, self.at.channels, _ahead(self.reader, made), frozenset(), frozenset())


def plan(
    reader: Reader,
    row: CheckpointRow,
    mint: Mint,
    supersteps: Sequence[Sequence[Update]],
    *,
    reducers: Mapping[str, Reducer] | None = None,
    finished: Finished | None = None,
    new_id: Callable[[], str] = lambda: str(uuid4()),
    verb: str = "update",
    changes: MetadataChanges = UNCHANGED,
) -> Plan:
    """What the real call would write, one checkpoint a superstep.

    Each has the application's metadata of the one before, with `changes`, as where the graph's config has these keys.
    What is `finished` at the checkpoint is taken over or not as in the database's own generation, or as said.

    Raises:
        UsageError, Refused: saying what a person must tell.
        NotSupported: threads of other kinds of graphs.
    """
    if not supersteps or not all(supersteps):
        raise UsageError("there is nothing to update")
    origin = read_origin(reader, row.ref)
    learned = Reducers(reader, row.ref, reducers or {}, new_id)
    must_allow_steps(origin, of_state_graph=learned.history.of_state_graph and learned.history.started)
    at, now = read_step_start(reader, origin, learned), reader.head(row.thread_id, row.ns).checkpoint_id
    older = follows_old_update(reader, at, finished)
    writer = _Writer(reader, mint, learned, at, now, now != row.checkpoint_id, new_id, [], [], finished, older, changes)
    for updates in supersteps:
        writer.run(updates)
    made = [record for record in writer.records if isinstance(record, Checkpoint)]
    short = short_ids(reader, row.ref, *(one.row.checkpoint_id for one in made))
    return Plan(
        reason="",
        add=tuple(writer.records),
        basis=(*basis_of_heads(reader.saver, row.thread_id, row.ns), basis_of(reader.saver, row.ref)),
        recent=recently_written(reader, reader.rows(row.thread_id)),
        verb=verb,
        summary=f"of {short(row.checkpoint_id)} (step {origin.step}): new checkpoint "
        f"{short(made[-1].row.checkpoint_id)}, source {writer.at.origin.state.source}, step {writer.at.origin.step}; "
        f"{describe_next(writer.at.tasks)}",
        notes=(
            *_notes(writer, supersteps, at.tasks),
            *(f"what {calls} had finished is not taken over" for calls in finished_calls(reader, at.tasks, row)),
            *describe_new_head(reader, row, short),
            *describe_changes(origin.metadata, changes),
        ),
        result=made[-1].row.ref,
    )


def _notes(writer: _Writer, supersteps: Sequence[Sequence[Update]], before: Snapshot) -> list[str]:
    return [*writer.said, *_reduced(writer.reducers), *_gone(supersteps, before, writer)]


def _reduced(reducers: Reducers) -> list[str]:
    told = [f"{channel} {words}" for channel, words in reducers.used.items()]
    return [f"reducers: {', '.join(told)}"] if told else []


def _gone(supersteps: Sequence[Sequence[Update]], before: Snapshot, writer: _Writer) -> list[str]:
    first = supersteps[0][0].as_node
    if first == INPUT:
        return []
    if len(supersteps) == 1 and first == END:
        return describe_end(before)
    return describe_cleared(before, writer.at.tasks, kept=writer.finished is Finished.KEEP)


def _ahead(reader: Reader, made: Checkpoint) -> Snapshot:
    state = reader.decode(made)
    return snapshot(state, (), history=Around(reader, reader.head(state.ref.thread_id, state.ref.ns).ref).others)
