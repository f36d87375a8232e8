"""The plan of ``ckpt update`` as a whole: summary, notes, basis; its records come from `superstep_writer`.

The records are those that ``graph.update_state`` writes. The plan follows langgraph 1.2, or langgraph 0.6 if the thread
is that old or if a person says so (`plans.pending_writes`).
"""

from collections.abc import Callable, Iterator, Sequence
from uuid import uuid4

from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.reducers.names import NOTHING_NAMED, NamedReducers
from ckpt_cli.history.state.channels import END
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.model import Checkpoint, CheckpointRow, Plan
from ckpt_cli.operations.apply import basis_of, basis_of_heads
from ckpt_cli.plans.continued_calls import why_not_continued
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges, describe_changes
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import read_origin
from ckpt_cli.plans.pending_writes import Finished, follows_old_update
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.plans.reruns import finished_calls
from ckpt_cli.plans.step_start import read_step_start
from ckpt_cli.plans.successor import must_allow_steps
from ckpt_cli.plans.superstep_writer import INPUT, SuperstepWriter, Update, UpdateRules
from ckpt_cli.plans.wording import (
    describe_cleared,
    describe_end,
    describe_new_head,
    describe_next,
    recently_written,
    short_ids,
)
from ckpt_cli.reading import Reader


def plan(
    reader: Reader,
    row: CheckpointRow,
    mint: Mint,
    supersteps: Sequence[Sequence[Update]],
    *,
    reducers: NamedReducers = NOTHING_NAMED,
    finished: Finished | None = None,
    new_id: Callable[[], str] = lambda: str(uuid4()),
    verb: str = "update",
    changes: MetadataChanges = UNCHANGED,
) -> Plan:
    """The plan that adds the checkpoints and writes that the real call would make: one checkpoint for each superstep.

    Each new checkpoint takes over the application's own metadata keys from the previous checkpoint, then `changes` are
    applied. The library does the same if the graph's config has those keys. `finished` says whether pending writes of
    finished tasks are applied; with None, the version of the thread's langgraph decides.

    Raises:
        UsageError, Refused: the message says which option a person must add.
        NotSupported: ckpt can't make steps in this kind of thread.
    """
    if not supersteps or not all(supersteps):
        raise UsageError("there is nothing to update")
    origin = read_origin(reader, row.ref)
    learned = Reducers(reader, row.ref, reducers, new_id)
    must_allow_steps(origin, of_state_graph=learned.history.of_state_graph and learned.history.started)
    start, head_id = read_step_start(reader, origin, learned), reader.head(row.thread_id, row.ns).checkpoint_id
    follows_langgraph_0_6 = follows_old_update(reader, start, finished)
    rules = UpdateRules(reader, mint, learned, finished, follows_langgraph_0_6, new_id, changes)
    writer = SuperstepWriter(rules, start, head_id)
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
        summary=f"of {short(row.checkpoint_id)} (step {origin.step}): {_describe_last(writer, short)}",
        notes=(
            *writer.notes,
            *_notes(supersteps, start.tasks, writer, finished_calls(reader, start.tasks, row)),
            *describe_new_head(reader, row, short),
            *describe_changes(origin.metadata, changes),
        ),
        result=made[-1].row.ref,
    )


def _describe_last(writer: SuperstepWriter, short: ShortIds) -> str:
    last = writer.at.origin
    made = f"new checkpoint {short(last.ref.checkpoint_id)}, source {last.state.source}, step {last.step}"
    is_continued = why_not_continued(writer.rules.reader, last.ref) is None
    return f"{made}; {describe_next(writer.at.tasks if is_continued else Snapshot([]))}"


def _notes(
    supersteps: Sequence[Sequence[Update]], before: Snapshot, writer: SuperstepWriter, calls: Sequence[str]
) -> Iterator[str]:
    used = [f"{channel} {words}" for channel, words in writer.rules.reducers.used.items()]
    if used:
        yield f"reducers: {', '.join(used)}"
    first = supersteps[0][0].as_node
    if len(supersteps) == 1 and first == END:
        yield from describe_end(before)
    elif first != INPUT:
        yield from describe_cleared(before, writer.at.tasks, kept=writer.rules.finished is Finished.KEEP)
    yield from (f"dropped: the results of {call}" for call in calls)
