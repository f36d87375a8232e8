"""Applies pending writes of finished tasks, for ``ckpt replay`` and ``--commit``; channels of unknown reducer.

The result is that of ``update_state(config, None, as_node=END)`` (langgraph 1.2 ``pregel/main.py``): the writes of
finished tasks are applied, and waiting and failed tasks are abandoned.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ckpt_cli.errors import NotSupported, Refused, UsageError
from ckpt_cli.history.reducers.names import NamedReducers
from ckpt_cli.history.reducers.rebuilt import is_unproven
from ckpt_cli.history.reducers.reducer import PartlyUnfit
from ckpt_cli.history.state.channels import is_control
from ckpt_cli.history.tasks.pending_goto import goto_nodes
from ckpt_cli.history.tasks.snapshot import Snapshot, snapshot
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.new_checkpoint import read_origin
from ckpt_cli.plans.pending_writes import command_values, must_know_goto, task_outputs
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.plans.step_start import StepStart, read_step_start
from ckpt_cli.plans.successor import StepInfo, make_successor, must_allow_steps
from ckpt_cli.plans.superstep import Fold
from ckpt_cli.reading import Reader


def end_tasks(reader: Reader, at: StepStart, mint: Mint) -> tuple[set[str], StepInfo]:
    """Apply the writes of finished tasks to `at.channels`; gives the updated channels, and the step to record.

    Raises:
        Refused: not all tasks are known.
        NotSupported: the thread isn't a StateGraph's.
    """
    step, updated = at.origin.step, set[str]()

    def after(highest: Any) -> Any:
        return mint.version(highest, highest)

    tasks, command = [one for _, one in task_outputs(at)], command_values(reader, at)
    must_know_goto(at, command)
    for outputs in (command, tasks):
        if outputs:
            updated |= at.channels.apply(outputs, after)
    return updated, StepInfo("update", step + 1, step, updated, at.written_deltas)


def must_be_pending(reader: Reader, row: CheckpointRow) -> None:
    """Check that a run has something to end at a head: another checkpoint after it would only repeat its state.

    Raises:
        Refused: no task is due there, and nothing has left a write.
    """
    if reader.head(row.thread_id, row.ns) != row:
        return  # its state becomes current again
    tasks = Inspection(reader, row.ref).snapshot()
    if tasks.complete and not tasks.tasks and not reader.writes(row.ref, values=0):
        short = reader.short(row.thread_id)(row.checkpoint_id)
        raise Refused(f"no task is due at {short}, and nothing is pending there: there is nothing to commit")


def apply_as_run(reader: Reader, at: StepStart, tasks: Snapshot) -> None:
    """Apply to `at.channels` what the next run does: the pending Command's writes, then those of finished tasks.

    `tasks` are those that the run finds, also those that the Command's goto starts.
    """
    mint = Mint()
    if command := command_values(reader, at):
        at.channels.apply(command, lambda highest: mint.version(highest, highest))
    if outputs := [one for _, one in task_outputs(replace(at, tasks=tasks))]:
        at.channels.apply(outputs, lambda highest: mint.version(highest, highest))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state that the pending writes of a checkpoint would give; nothing is written.

    Attributes:
        tasks: the tasks that the next run finds, also those that a Command's pending ``goto`` starts.
        before: the user's channels now.
        after: the user's channels with the writes of the Command and of all finished tasks applied.
        evidence: each reducer that was used, and its evidence.
        unknown: channel to the reason why its new value is unknown; such a channel is in neither `before` nor `after`.
        unfit: those of them whose reducer, as far as recorded steps show it, can't take the writes.
        next: the nodes that would run next after ``--commit``; None if these nodes can't be known.
        deferred: the nodes of which ``--commit`` needs to know whether they are deferred.
        undecided: the nodes that a Command's pending ``goto`` starts unless they are deferred; this thread doesn't show
            whether they are.
        unplayed: why ckpt can't compute the state after the step; "" if it can. Then only `tasks` is known.
        doubt: a sentence about the channels whose reducers are learned; "" if there are none.
        unproven: the delta channels that ``--commit`` stores whole and whose value nothing proves.
    """

    tasks: Snapshot
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    evidence: Sequence[str]
    unknown: Mapping[str, str]
    unfit: Sequence[str]
    next: Sequence[str] | None
    deferred: Sequence[str]
    undecided: Sequence[str]
    unplayed: str = ""
    doubt: str = ""
    unproven: Sequence[str] = ()


def compute_outcome(reader: Reader, row: CheckpointRow, named: NamedReducers) -> Outcome:
    """What the pending writes of a checkpoint make of its state; only its tasks if ckpt can't make that step."""
    try:
        return _played(reader, row, named)
    except (NotSupported, Refused) as error:
        tasks = Inspection(reader, row.ref).snapshot()
        why = error.message if tasks.tasks or not tasks.complete else ""
        return Outcome(tasks, {}, {}, (), {}, (), None, (), tasks.undecided, why)


def _played(reader: Reader, row: CheckpointRow, named: NamedReducers) -> Outcome:
    """The outcome of the writes of the Command and of all finished tasks.

    Raises:
        Refused: not all tasks are known.
        NotSupported: ckpt can't make steps in this kind of thread.
    """
    mint, origin = Mint(), read_origin(reader, row.ref)
    learned = Reducers(reader, row.ref, named, lambda: "(new id)")
    must_allow_steps(origin, of_state_graph=learned.of_state_graph)
    at, resumed = read_step_start(reader, origin, learned), read_step_start(reader, origin, learned)
    before, unknown, unfit = dict(at.channels.values), dict[str, str](), list[str]()
    for one in (at, resumed):
        one.channels.fold = _as_far_as_known(learned.fold, named.reducers, unknown, unfit)
        one.channels.is_preview = True
    tasks = Inspection(reader, row.ref).snapshot()
    apply_as_run(reader, resumed, tasks if tasks.complete else at.tasks)
    _, step = end_tasks(reader, at, mint)
    deltas = learned.history.deltas
    triggers = replace(at.channels, values={c: v for c, v in at.channels.values.items() if c not in deltas})
    unproven = [c for c in sorted(step.stored_whole) if is_unproven(at.channels.values.get(c)) and c not in unknown]
    made = make_successor(reader, mint, origin, triggers, replace(step, stored_whole=()), {}, row.checkpoint_id)
    state = reader.decode(made)
    snapshot_after = snapshot(state, (), history=Inspection(reader, row.ref).others)
    known = (channel for channel in {**before, **resumed.channels.values} if channel not in unknown)
    own = [channel for channel in known if not is_control(channel, state)]
    return Outcome(
        tasks if tasks.complete or tasks.undecided else at.tasks,
        {c: before[c] for c in own if c in before},
        {c: resumed.channels.values[c] for c in own if c in resumed.channels.values},
        [*learned.words, *learned.kept],
        unknown,
        unfit,
        snapshot_after.next if at.channels.unnamed.isdisjoint(goto_nodes(reader.writes(row.ref))) else None,
        sorted(at.channels.unnamed),
        [node for node in tasks.undecided if learned.is_deferred(node) is not True],
        doubt=learned.doubt(),
        unproven=unproven,
    )


def _as_far_as_known(fold: Fold, chosen: Collection[str], unknown: dict[str, str], unfit: list[str]) -> Fold:
    """A fold that leaves a channel unchanged if no reducer is proven, and adds the reason to `unknown`.

    It adds to `unfit` a channel of which none of the reducers that fit the steps can take the writes.
    """

    def folded(channel: str, before: Any, writes: Sequence[Any]) -> Any:
        try:
            return fold(channel, before, writes)
        except (Refused, UsageError) as error:
            if channel in chosen:
                raise
            unknown[channel] = error.message
            is_sure = isinstance(error, UsageError) and not isinstance(error.__cause__, PartlyUnfit)
            unfit.extend([channel] if is_sure and channel not in unfit else [])
            return before

    return folded
