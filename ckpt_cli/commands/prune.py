"""``ckpt prune``: removes the checkpoints of threads that no policy keeps; the threads stay, and go on."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from ckpt_cli.bulk_change import Planned, change_many
from ckpt_cli.completion.names import complete_thread
from ckpt_cli.errors import UsageError
from ckpt_cli.model import Plan
from ckpt_cli.parameters.keep_policies import NO_POLICY, KeepOptions, parse_idle, parse_policies
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, ThreadSelection, parse_selector
from ckpt_cli.parameters.target import Target
from ckpt_cli.plans import prune as plans
from ckpt_cli.plans.idle_threads import Idle
from ckpt_cli.plans.retention_policies import Policies
from ckpt_cli.queries.thread_plans import plans_of_threads
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.prune import DecidedCheckpoint, PruneView

_PANEL = "Many threads"


_Threads = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="THREAD",
        help="Full thread ids; - reads them from stdin.",
        autocompletion=complete_thread,
        show_default=False,
    ),
]
_SkipRefused = Annotated[
    bool,
    typer.Option("--skip-refused", help="Change the others if some threads can't be changed.", rich_help_panel=_PANEL),
]
_Limit = Annotated[
    int, typer.Option("--limit", "-n", metavar="N", min=0, help="Take at most N threads.", rich_help_panel=_PANEL)
]


def prune(
    session: Session,
    threads: _Threads = None,
    policies: KeepOptions = NO_POLICY,
    selector: SelectorOptions = NOTHING_TYPED,
    skip_refused: _SkipRefused = False,
    limit: _Limit = 0,
) -> PruneView | BulkView:
    """Remove the checkpoints that no policy keeps. The threads stay and go on; with --idle, idle ones go as a whole.

    Policies add up: a checkpoint stays if one of them keeps it. Always kept: the head, the tips of branches and the
    fork points between them, tagged checkpoints, the subgraphs that a kept checkpoint called, the newest checkpoint of
    a subgraph's own memory, and the ancestors from which a delta channel is rebuilt. So each checkpoint that stays has
    its values, writes, questions and next nodes. Its parent becomes the nearest ancestor that stays.

    Several THREADs, or the options of the selector, choose many threads: each is changed in a transaction of its own;
    all together are one operation, which undo takes back. The operation log keeps what was removed until
    ckpt operations N --prune forgets it.

    Examples:
      ckpt prune support-42 --keep-last 10 --dry-run
      ckpt prune support-42 --keep-within 7d --keep-daily 30 --keep-inputs
      ckpt prune support-42 --keep-tips
      ckpt prune --match 'support-*' --keep-last 5 --keep-within 30d --yes
      ckpt prune --match '*' --keep-last 20 --idle 90d --dry-run
      ckpt prune --status done,failed --idle 365d
    """
    keep = parse_policies(session, policies)
    chosen = parse_selector(session, selector, threads, asks=True)._replace(sure=True)
    idle = parse_idle(session, policies, chosen.statuses.names)
    _check(chosen._replace(idle_since=idle.since if idle and keep.is_empty else None))
    if chosen.named is not None and len(chosen.named) == 1 and not chosen.filtered:
        if skip_refused or limit:
            raise UsageError("--skip-refused and --limit are for many threads")
        return _prune_one(session, next(iter(chosen.named)), keep, idle)
    target = Target("", "@", "", chosen, skip_refused, limit)
    planned = plans_of_threads(session, target, lambda reader, row: _plan_in_short(reader, row.thread_id, keep, idle))
    return change_many(session, "prune", "", _with_changes(session, planned), skip_refused=skip_refused)


def _check(chosen: ThreadSelection) -> None:
    if any((chosen.named or {}).values()):
        raise UsageError("stdin names revisions, and prune takes whole threads", hint="`cut -f1` leaves the ids")
    if chosen.is_everything:
        raise UsageError(
            "which threads?", hint="name them, or use --match, --where, --status, --since, --until or --idle alone"
        )


def _prune_one(session: Session, thread_id: str, policies: Policies, idle: Idle | None) -> PruneView:
    plan, decisions = session.make_plan(lambda reader: plans.plan(reader, thread_id, policies, idle))
    lines = (DecidedCheckpoint(one.ref.ns, one.ref.checkpoint_id, one.stays, one.reasons) for one in decisions)
    return PruneView.of(session.change(plan), lines)


def _plan_in_short(reader: Reader, thread_id: str, policies: Policies, idle: Idle | None) -> Plan:
    """The plan for one of many threads, whose line names the thread and has no room for reasons."""
    plan = plans.plan(reader, thread_id, policies, idle).plan
    notes = () if plan.remove else plan.notes
    return plan._replace(notes=notes, summary=plan.summary.removeprefix(f"of {thread_id} "))


def _with_changes(session: Session, planned: Iterable[Planned]) -> Iterator[Planned]:
    """The threads of which something goes, or that are refused; the number of the others is said, with the reason."""
    unchanged = Counter[str]()
    for thread_id, plan in planned:
        if not isinstance(plan, Plan) or plan.remove:
            yield thread_id, plan
        else:
            unchanged[", ".join(plan.notes)] += 1
    for why, count in unchanged.items():
        session.say(f"nothing to remove in {count:,} of the threads{why and ': '}{why}")
