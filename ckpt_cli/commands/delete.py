"""``ckpt delete``: deletes threads, or a part of one thread, with everything that belongs to it and nothing else."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ckpt_cli.completion.names import complete_revision, complete_status, complete_thread
from ckpt_cli.errors import NotFound, UsageError
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.typed_times import moment
from ckpt_cli.history.state.filters import Filter
from ckpt_cli.model import Plan, Thread
from ckpt_cli.parameters.json_input import file_or_stdin
from ckpt_cli.parameters.options import MATCH, AnyCheckpoint, Ns, matcher
from ckpt_cli.parameters.statuses import ANY_STATUS, STATUS, STUCK_AFTER, Statuses, parse_statuses
from ckpt_cli.parameters.where_option import parse_filter
from ckpt_cli.plans import delete as plans
from ckpt_cli.plans.delete import OrphanAction
from ckpt_cli.queries.metadata_filter import OlderMatches, UnreadMetadata, threads_that_fit
from ckpt_cli.queries.thread_status import ThreadStatus, prefetch_threads
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.views.plan import PlanView

if TYPE_CHECKING:
    from ckpt_cli.operations.survey import Survey


@dataclass(frozen=True, slots=True)
class ThreadSelection:
    """Selects the threads to delete. If any are named, only these can be selected; all other conditions must fit too.

    Attributes:
        named: the thread ids; None if no threads were named; empty if stdin named none.
        any_checkpoint: if True, `where` tests the metadata of every checkpoint; if False, it tests only the head.
        before: chooses only threads without activity since this time, in seconds since 1970.
    """

    named: tuple[str, ...] | None = None
    match: str | None = None
    where: Filter | None = None
    any_checkpoint: bool = False
    statuses: Statuses = ANY_STATUS
    before: float | None = None

    @property
    def filtered(self) -> bool:
        """Whether there is any condition besides the names."""
        return bool(self.match or self.where or self.statuses or self.before is not None)

    def threads(
        self, reader: Reader, unread: UnreadMetadata, on_misfit: Callable[[str], None] = lambda _: None
    ) -> Iterator[Thread]:
        """The chosen threads: named threads in the order of their names, otherwise the most recently active first.

        Args:
            reader: reads the database.
            unread: collects the threads that don't fit `where`, but have metadata that can't be read.
            on_misfit: is called with the id of each thread whose head doesn't fit `where`.
        """
        every = self.named is None
        candidates = reader.saver.threads() if every else map(reader.thread, dict.fromkeys(self.named or ()))
        named: Iterator[Thread] = (thread for thread in candidates if self._is_candidate(thread))
        if self.where is not None and self.any_checkpoint:
            named = threads_that_fit(reader, named, self.where, unread)
        if not self.statuses and (self.where is None or self.any_checkpoint):
            return named
        return (thread for thread in prefetch_threads(reader, named) if self._fits(reader, thread, unread, on_misfit))

    def _is_candidate(self, thread: Thread) -> bool:
        return matcher(self.match)(thread.thread_id) and self._is_idle(thread)

    def _fits(self, reader: Reader, thread: Thread, unread: UnreadMetadata, on_misfit: Callable[[str], None]) -> bool:
        one = ThreadStatus(reader, thread)
        if self.statuses and not self.statuses.fit(one.statuses, one.updated):
            return False
        if self.where is None or self.any_checkpoint or one.fits(self.where):
            return True
        unread.add(thread.thread_id, one.problem or one.metadata_problem)
        on_misfit(thread.thread_id)
        return False

    def _is_idle(self, thread: Thread) -> bool:
        """Whether the thread had no activity since `before`; a thread whose ids contain no time is never idle."""
        when = ids.unix_time(thread.head.checkpoint_id)
        return self.before is None or (when is not None and when < self.before)


@dataclass(frozen=True, slots=True)
class ThreadPart:
    """The part of a thread that is to be deleted; at most one of the options is set."""

    branch: str | None = None
    runs: tuple[str, ...] = ()
    after: str | None = None

    @property
    def options(self) -> list[str]:
        """The names of the options that are set."""
        words = {"--branch": self.branch is not None, "--run": bool(self.runs), "--after": self.after is not None}
        return [word for word, is_set in words.items() if is_set]


def _threads_option(*names: str, metavar: str | None, text: str, **more: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, rich_help_panel="Which threads", **more)


def _part_option(name: str, metavar: str | None, text: str, **more: Any) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel="A part of one thread", **more)


_Threads = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="THREAD",
        help="Full thread ids; - reads them from stdin.",
        autocompletion=complete_thread,
        show_default=False,
    ),
]
_Match = Annotated[str | None, _threads_option("--match", "-m", metavar="TEXT", text=MATCH)]
_Where = Annotated[
    str | None,
    _threads_option(
        "--where", "-w", metavar="EXPRESSION", text="A Python expression over the head's metadata and state."
    ),
]
_Status = Annotated[
    list[str] | None,
    _threads_option("--status", "-s", metavar="STATUS", text=STATUS, autocompletion=complete_status),
]
_StuckAfter = Annotated[str, _threads_option("--stuck-after", metavar="TIME", text=STUCK_AFTER)]
_Idle = Annotated[
    str | None, _threads_option("--idle", metavar="TIME", text="Only threads without activity for so long: 30d, 12h.")
]
_Branch = Annotated[
    str | None,
    _part_option(
        "--branch",
        "TIP",
        "Delete one branch, back to where it left another: branch:2 or its tip.",
        autocompletion=complete_revision,
    ),
]
_Run = Annotated[list[str] | None, _part_option("--run", "RUN_ID", "Delete what a run wrote; may be repeated.")]
_After = Annotated[
    str | None,
    _part_option("--after", "REV", "Delete everything after a checkpoint.", autocompletion=complete_revision),
]
_WithChildren = Annotated[bool, _part_option("--with-children", None, "Also delete what continues from it.")]
_Reparent = Annotated[
    bool, _part_option("--reparent", None, "Keep what continues from it, under an ancestor that stays.")
]
_Forget = Annotated[
    bool,
    typer.Option(
        "--forget", help="Keep nothing for undo: wipe the threads from the operation log too.", rich_help_panel="Change"
    ),
]


def delete(
    session: Session,
    threads: _Threads = None,
    match: _Match = None,
    where: _Where = None,
    any_: AnyCheckpoint = False,
    status: _Status = None,
    stuck_after: _StuckAfter = "10m",
    idle: _Idle = None,
    branch: _Branch = None,
    run_id: _Run = None,
    after: _After = None,
    ns: Ns = "",
    with_children: _WithChildren = False,
    reparent: _Reparent = False,
    forget: _Forget = False,
) -> PlanView:
    """Delete threads, or a part of one: checkpoints with their writes and the subgraphs they called, nothing else.

    THREAD may be - to read ids from stdin, one per line. --after takes a turn back: the named checkpoint becomes
    what it was when it was made, and its tasks are due again. If other checkpoints continue from a deleted one, the
    command is refused unless --with-children deletes them or --reparent keeps them. ckpt undo brings all back.

    To make undo possible, the operation log keeps the deleted rows until ckpt operations N --prune forgets them.
    --forget keeps no rows, and also wipes what earlier operations on these threads kept in the log; ckpt asks for this
    separately. Threads that were deleted before are wiped too, if you name their ids. Copies (fork --to) are listed;
    name them to delete them.

    Examples:
      ckpt delete support-42
      ckpt delete --match 'test-*' --idle 30d --dry-run
      ckpt delete --where 'user_id == "u-112"' --any
      ckpt threads --status failed --limit 0 | cut -f1 | ckpt delete - --yes
      ckpt delete support-42 --after step:7 --reason "wrong question"
      ckpt delete support-42 --branch branch:2
      ckpt delete support-42 --run 1f1e5786-50cb-6a2c-8000-6d2f6d3a1b11 --with-children
      ckpt delete support-42 support-42-copy --forget
    """
    part, orphans = ThreadPart(branch, tuple(run_id or ()), after), _orphan_action(with_children, reparent)
    statuses = parse_statuses(status or (), stuck_after, session.clock())
    since = None if idle is None else moment(idle, session.clock())
    chosen = ThreadSelection(_named(threads), match, parse_filter(where, any_checkpoint=any_), any_, statuses, since)
    _check_options(chosen, part, orphans, ns)
    if forget:
        plan, survey = _plan_forgetting(session, chosen, part, where)
    else:
        plan, survey = _make_plan(session, chosen, part, ns, orphans), None
    if chosen.where is not None and chosen.where.complaint:
        session.say(chosen.where.complaint)
    return session.change(plan, forget=survey)


def _plan_forgetting(
    session: Session, chosen: ThreadSelection, part: ThreadPart, where: str | None
) -> "tuple[Plan, Survey]":
    from ckpt_cli.queries.forget_plan import Selection, plan_erasure

    if part.options:
        hint = f"delete with {part.options[0]}; then `ckpt operations N --prune` forgets what it removed"
        raise UsageError("--forget deletes whole threads only", hint=hint)
    others = chosen.named is not None or chosen.where is not None or chosen.statuses or chosen.before is not None
    words = [word for word in (chosen.match, where) if word]
    choose = partial(_choose, chosen=chosen)
    selection = Selection(choose, None if others else chosen.match, chosen.filtered, words)
    return plan_erasure(session, selection)


def run(reader: Reader, chosen: ThreadSelection) -> Plan:
    """The plan that deletes whole threads."""
    thread_ids, notes = _choose(reader, chosen)
    plan = plans.threads(reader, dict.fromkeys(thread_ids))
    return plan._replace(notes=(*plan.notes, *notes))


def _choose(reader: Reader, chosen: ThreadSelection) -> tuple[list[str], list[str]]:
    """The ids of the threads to delete, and notes about other threads that the user may have meant.

    The notes are about threads where only an older checkpoint fits, and about threads whose metadata can't be read.
    """
    if chosen.named is not None and not chosen.filtered:
        return [*chosen.named], []
    older, unread = OlderMatches(reader, chosen.where), UnreadMetadata()
    thread_ids = [thread.thread_id for thread in chosen.threads(reader, unread, older.add_misfit)]
    if chosen.where is not None and not unread.problems:
        chosen.where.must_have_worked()
    notes = [note for note in (unread.note, older.note()) if note]
    if not thread_ids and notes:
        raise NotFound("no thread's head fits; nothing to delete", hint="; ".join(notes))
    return thread_ids, notes


def _make_plan(session: Session, chosen: ThreadSelection, part: ThreadPart, ns: str, orphans: OrphanAction) -> Plan:
    if part.options:
        return session.make_plan(lambda reader: _plan_part(reader, (chosen.named or ())[0], part, ns, orphans))
    return session.make_plan(lambda reader: run(reader, chosen))


def _plan_part(reader: Reader, thread: str, part: ThreadPart, ns: str, orphans: OrphanAction) -> Plan:
    if part.branch is not None:
        return plans.branch(reader, reader.resolve(thread, part.branch, ns), orphans)
    if part.after is not None:
        return plans.after(reader, reader.resolve(thread, part.after, ns), orphans)
    reader.thread(thread)
    return plans.run(reader, thread, part.runs, orphans)


def _named(threads: list[str] | None) -> tuple[str, ...] | None:
    """The ids on the command line, where the lines of stdin replace ``-``; None if the user named no thread."""
    if not threads:
        return None
    names = (file_or_stdin("-").splitlines() if name == "-" else [name] for name in threads)
    return tuple(name for lines in names for name in lines if name)


def _orphan_action(with_children: bool, reparent: bool) -> OrphanAction:
    if with_children and reparent:
        raise UsageError("--with-children and --reparent exclude each other")
    return OrphanAction.DELETE if with_children else OrphanAction.REPARENT if reparent else OrphanAction.NOTHING


def _check_options(chosen: ThreadSelection, part: ThreadPart, orphans: OrphanAction, ns: str) -> None:
    options = part.options
    if chosen.match == "":  # every id contains "", and an unset variable in a script must not delete all threads
        raise UsageError("--match is empty", hint="--match '*' means every thread")
    if len(options) > 1:
        raise UsageError(f"{' and '.join(options)} exclude each other")
    if options and (len(chosen.named or ()) != 1 or chosen.filtered):
        raise UsageError(f"{options[0]} needs exactly one THREAD", hint=f"ckpt delete THREAD {options[0]} …")
    if orphans is not OrphanAction.NOTHING and not options:
        raise UsageError("--with-children and --reparent belong to --branch, --run and --after")
    if ns and options in ([], ["--run"]):
        raise UsageError("--ns belongs to --branch and --after", hint="whole threads and runs include their subgraphs")
    if chosen.named is None and not chosen.filtered:
        raise UsageError("which threads?", hint="name them, or use --match, --where, --status or --idle")
