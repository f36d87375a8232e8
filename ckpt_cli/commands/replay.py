"""``ckpt replay``: applies a checkpoint's pending writes, or plays recorded steps again, one by one."""

from collections.abc import Collection, Sequence
from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_revision
from ckpt_cli.errors import UsageError
from ckpt_cli.history.diff.diff import differences
from ckpt_cli.history.reducers.names import NamedReducers
from ckpt_cli.history.state.channels import CONTROL_WRITES, END, is_control
from ckpt_cli.history.tasks.passed_over import passed_over
from ckpt_cli.history.tasks.pending_goto import goto_nodes
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task
from ckpt_cli.model import NULL_TASK, CheckpointRow
from ckpt_cli.parameters.metadata_option import MetadataOption, metadata_changes
from ckpt_cli.parameters.options import Ns
from ckpt_cli.parameters.reducers import DeferredOption, ReducerOption, named_reducers, remember
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions
from ckpt_cli.parameters.target import ONE_THREAD, ManyOptions, OneThread, Target, parse_target
from ckpt_cli.plans import replay as plans
from ckpt_cli.plans import update
from ckpt_cli.plans.metadata import UNCHANGED, MetadataChanges
from ckpt_cli.plans.mint import Mint
from ckpt_cli.plans.superstep_writer import Update
from ckpt_cli.queries.update_plans import update_target
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values.state import State
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.plan import PlanView
from ckpt_cli.views.replay import PlayedView, ReplayedTask, ReplayView
from ckpt_cli.views.sends import send_view
from ckpt_cli.views.write_line import WriteLine

_Rev = Annotated[
    str | None,
    typer.Argument(
        metavar="REV",
        help="A checkpoint: @ (the head; the default without --to), an id or its short form, step:5, branch:2.",
        autocompletion=complete_revision,
        show_default=False,
    ),
]
_To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="REV",
        help="Play the recorded steps up to this checkpoint, from REV or from the first one.",
        autocompletion=complete_revision,
        show_default=False,
    ),
]


def replay(
    session: Session,
    thread: OneThread = None,
    rev: _Rev = None,
    to: _To = None,
    commit: Annotated[
        bool, typer.Option("--commit", help="Keep what finished tasks wrote, and abandon the others.")
    ] = False,
    reducer: ReducerOption = None,
    deferred: DeferredOption = None,
    metadata: MetadataOption = None,
    selector: SelectorOptions = NOTHING_TYPED,
    many: ManyOptions = ONE_THREAD,
    ns: Ns = "",
) -> PlanView | BulkView | ReplayView | PlayedView:
    """Apply a checkpoint's pending writes to its state, and show what would run again.

    Nothing is written without --commit, which does what update_state(config, None, as_node=END) does: it keeps what
    finished tasks wrote, and abandons waiting and failed tasks.

    --to plays the recorded steps again, one by one: which task wrote what, which state the channels' reducers make from
    these writes, and whether the recorded state is the same. The reducers are learned from all of these steps, and from
    up to 200 steps before them.

    A reducer that you name counts for this command, with --remember also for later ones, in all threads of this
    database. It is kept beside the operation log, and the database isn't changed: without --commit it never is.

    Examples:
      ckpt replay support-42
      ckpt replay support-42 step:2 --to @
      ckpt replay support-42 --to @ --reducer log=append --remember
      ckpt replay --status failed --commit --skip-refused
      ckpt replay support-42 --commit --reason "the crm is down for good"
    """
    target = parse_target(session, (thread, rev), selector, many, ns=ns, default="@", asks=False)
    _must_fit(to, metadata, target, commit=commit)
    named, thread, rev_or_head = named_reducers(session, reducer, deferred), target.thread, target.rev
    if commit:
        return _commit(session, target, reducer, named, metadata_changes(metadata))
    view: ReplayView | PlayedView
    if to is not None:
        from ckpt_cli.queries.replayed_steps import play

        view = play(session, thread, rev or many.at, to, ns, named)
    else:
        view = session.read(lambda r: run(r, r.resolve(thread, rev_or_head, ns), named))
    session.say_lost_differences()
    if session.options.remember:
        remember(session, reducer, session.read(lambda r: r.resolve(thread, to or rev_or_head, ns)).ref)
    return view


def _must_fit(to: str | None, metadata: Sequence[str] | None, target: Target, *, commit: bool) -> None:
    if target.chosen is not None and not commit:
        raise UsageError("many threads can only be committed: --commit", hint="`ckpt replay THREAD` shows one")
    if metadata and not commit:
        raise UsageError("--metadata belongs to --commit", hint="without it nothing is written")
    if to is not None and commit:
        raise UsageError("--to only shows recorded steps", hint="to keep what is pending, use --commit without --to")


def _commit(
    session: Session,
    target: Target,
    reducer: Sequence[str] | None,
    named: NamedReducers,
    changes: MetadataChanges,
) -> PlanView | BulkView:
    def make_plan(reader: Reader, row: CheckpointRow) -> update.PlannedUpdate:
        mint, end_run = Mint(session.clock), [[Update(None, END)]]
        plan = update.plan(reader, row, mint, end_run, reducers=named, verb="replay", changes=changes)
        if changes == UNCHANGED:
            plans.must_be_pending(reader, row)
        return plan

    return update_target(session, "replay", target, reducer, make_plan)


def run(reader: Reader, row: CheckpointRow, named: NamedReducers) -> ReplayView:
    """The view of a checkpoint after its pending writes are applied; nothing is stored."""
    outcome, state = plans.compute_outcome(reader, row, named), reader.state(row.ref)
    over = [] if outcome.tasks.consumed else passed_over(state)
    return ReplayView(
        row.thread_id,
        row.checkpoint_id,
        reader.short(row.thread_id)(row.checkpoint_id),
        state.step,
        outcome.tasks.consumed,
        [_task(task, state, outcome.tasks, over) for task in outcome.tasks.all_tasks],
        differences(outcome.before, outcome.after),
        list(outcome.evidence),
        dict(outcome.unknown),
        None if outcome.next is None else list(outcome.next),
        list(outcome.tasks.old_answers),
        _command(reader, row, state),
        list(outcome.unfit),
        list(outcome.deferred),
        goto_nodes(reader.writes(row.ref)),
        list(outcome.undecided),
        outcome.unplayed,
        doubt=outcome.doubt,
        unproven=list(outcome.unproven),
        passed_over=over,
        head=bool(row.ns) or row.checkpoint_id == reader.lineage(row.thread_id, row.ns).head,
    )


def _command(reader: Reader, row: CheckpointRow, state: State) -> list[WriteLine]:
    """What an input or a ``Command(update=…)`` wrote to the user's channels at a checkpoint."""
    null = [write for write in reader.writes(row.ref) if write.task_id == NULL_TASK]
    own = [write for write in null if write.channel not in CONTROL_WRITES and not is_control(write.channel, state)]
    return [WriteLine(write.channel, write.value) for write in own]


def _task(task: Task, state: State, snapshot: Snapshot, over: Collection[str]) -> ReplayedTask:
    finished = task.status is Status.FINISHED and task not in snapshot.handlers.values()
    stays = task.status is Status.LEFT or task.id in snapshot.handlers or task.node in over
    writes = [WriteLine(w.channel, w.value) for w in task.writes if not is_control(w.channel, state)]
    return ReplayedTask(
        task.node,
        str(task.status),
        not finished and not snapshot.consumed and not stays,
        task.error,
        [interrupt.value for interrupt in task.interrupts] if task.status is Status.WAITING else [],
        [write for write in writes if write.channel not in CONTROL_WRITES],
        task.answers,
        send_view(task.packet),
        task.by_goto,
    )
