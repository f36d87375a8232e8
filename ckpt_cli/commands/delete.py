"""``ckpt delete``: deletes threads, or a part of one thread, with everything that belongs to it and nothing else."""

from typing import Annotated, Any

import typer

from ckpt_cli.completion.names import complete_revision, complete_thread
from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage.typed_times import moment
from ckpt_cli.model import Plan
from ckpt_cli.parameters.options import Ns
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, ThreadSelection, parse_selector
from ckpt_cli.plans.delete import OrphanAction
from ckpt_cli.queries.deletion_plan import ThreadPart, plan_forgetting, plan_part, plan_threads
from ckpt_cli.session import Session
from ckpt_cli.views.plan import PlanView


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
    selector: SelectorOptions = NOTHING_TYPED,
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
    what it was when it was made, and its tasks are due again. Results that edit --task or fork --with-pending stored
    with it stay if this user's operation log shows them, as the plan says; otherwise these tasks run again too. If
    other checkpoints continue from a deleted one, the command is refused unless --with-children deletes them or
    --reparent keeps them. ckpt undo brings all back.

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
    idle_since = None if idle is None else moment(idle, session.clock())
    chosen = parse_selector(session, selector, threads, asks=True)._replace(idle_since=idle_since, sure=True)
    _check_options(chosen, part, orphans, ns)
    if forget:
        plan, survey = plan_forgetting(session, chosen, part, selector.where)
    else:
        plan, survey = _make_plan(session, chosen, part, ns, orphans), None
    if chosen.where is not None and chosen.where.complaint:
        session.say(chosen.where.complaint)
    return session.change(plan, forget=survey)


def _make_plan(session: Session, chosen: ThreadSelection, part: ThreadPart, ns: str, orphans: OrphanAction) -> Plan:
    if part.options:
        return plan_part(session, next(iter(chosen.named or ())), part, ns, orphans)
    return session.make_plan(lambda reader: plan_threads(reader, chosen))


def _orphan_action(with_children: bool, reparent: bool) -> OrphanAction:
    if with_children and reparent:
        raise UsageError("--with-children and --reparent exclude each other")
    return OrphanAction.DELETE if with_children else OrphanAction.REPARENT if reparent else OrphanAction.NOTHING


def _check_options(chosen: ThreadSelection, part: ThreadPart, orphans: OrphanAction, ns: str) -> None:
    options = part.options
    if any((chosen.named or {}).values()):
        raise UsageError("stdin names revisions, and delete takes whole threads", hint="`cut -f1` leaves the ids")
    if len(options) > 1:
        raise UsageError(f"{' and '.join(options)} exclude each other")
    if options and (len(chosen.named or ()) != 1 or chosen.filtered):
        raise UsageError(f"{options[0]} needs exactly one THREAD", hint=f"ckpt delete THREAD {options[0]} …")
    if orphans is not OrphanAction.NOTHING and not options:
        raise UsageError("--with-children and --reparent belong to --branch, --run and --after")
    if ns and options in ([], ["--run"]):
        raise UsageError("--ns belongs to --branch and --after", hint="whole threads and runs include their subgraphs")
    if chosen.is_everything:
        raise UsageError("which threads?", hint="name them, or use --match, --where, --status, --since or --idle")
