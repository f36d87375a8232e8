"""``ckpt prune``: removes the checkpoints of threads that no policy keeps; the threads stay, and go on."""

from pathlib import Path
from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_thread
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.keep_policies import NO_POLICY, KeepOptions, parse_rules
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, ThreadSelection, parse_selector
from ckpt_cli.parameters.target import Target
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.prune import PruneView

_PANEL = "Many threads"
_AFTER = "What goes"


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
_Export = Annotated[
    str | None,
    typer.Option(
        "--export",
        metavar="FILE.ckpt",
        help="Pack what goes in this bundle first; undo takes it from there, and the log stays small.",
        show_default=False,
        rich_help_panel=_AFTER,
    ),
]
_Vacuum = Annotated[
    bool,
    typer.Option(
        "--vacuum",
        help="Then give the space back: VACUUM on SQLite (if no other program has the file open) and on Postgres. "
        "On other databases the plan says what happens by itself.",
        rich_help_panel=_AFTER,
    ),
]


def prune(
    session: Session,
    threads: _Threads = None,
    policies: KeepOptions = NO_POLICY,
    selector: SelectorOptions = NOTHING_TYPED,
    export: _Export = None,
    vacuum: _Vacuum = False,
    skip_refused: _SkipRefused = False,
    limit: _Limit = 0,
) -> PruneView | BulkView:
    """Remove the checkpoints that no policy keeps. The threads stay and go on; with --idle, idle ones go as a whole.

    Policies add up: a checkpoint stays if one of them keeps it. Always kept: the head, the tips of branches and the
    fork points between them, tagged checkpoints, the subgraphs that a kept checkpoint called, the newest checkpoint of
    a subgraph's own memory, and the ancestors from which a delta channel is rebuilt (or, with --snapshot, its value).
    So each checkpoint that stays has its values, writes, questions and next nodes. Its parent becomes the nearest
    ancestor that stays.

    --max-bytes is such a policy too: it keeps the newest checkpoints as long as the thread fits. Alone it removes the
    oldest until the thread fits; with --keep-last 10 it keeps more than these ten if there is room for more.

    Several THREADs, or the options of the selector, choose many threads: each is changed in a transaction of its own;
    all together are one operation, which undo takes back. The operation log keeps what was removed until
    ckpt operations N --prune forgets it; with --export, the bundle keeps it.

    Examples:
      ckpt prune support-42 --keep-last 10 --dry-run
      ckpt prune support-42 --keep-within 7d --keep-daily 30 --keep-inputs
      ckpt prune support-42 --keep-tips --snapshot
      ckpt prune --match 'support-*' --max-bytes 20MB --keep-inputs --yes
      ckpt prune --match '*' --policy nightly --export archive.ckpt --yes
      ckpt prune --match '*' --keep-last 20 --idle 90d --dry-run
      ckpt prune --status done,failed --idle 365d --vacuum
    """
    chosen = parse_selector(session, selector, threads, asks=True)._replace(sure=True)
    rules = parse_rules(session, policies, chosen.statuses.names)
    idle, path = rules.idle, Path(export) if export else None
    _check(chosen._replace(idle_since=idle.since if idle and rules.policies.is_empty else None))
    from ckpt_cli.queries import pruning

    only = _only(chosen, threads, are_many=skip_refused or bool(limit))
    if only is not None:
        view: PruneView | BulkView = pruning.prune_one(session, only, rules, path, vacuum=vacuum)
    else:
        target = Target("", "@", "", chosen, skip_refused, limit)
        view = pruning.prune_many(session, target, rules, path, vacuum=vacuum)
    if vacuum and view.applied:
        pruning.run_vacuum(session)
    return view


def _check(chosen: ThreadSelection) -> None:
    if any((chosen.named or {}).values()):
        raise UsageError("stdin names revisions, and prune takes whole threads", hint="`cut -f1` leaves the ids")
    if chosen.is_everything:
        raise UsageError(
            "which threads?", hint="name them, or use --match, --where, --status, --since, --until or --idle alone"
        )


def _only(chosen: ThreadSelection, threads: list[str] | None, *, are_many: bool) -> str | None:
    """The one thread that is named; None if the options choose many, or are for many and stdin names one."""
    named = list(chosen.named or ())
    if len(named) != 1 or chosen.filtered:
        return None
    if threads and are_many:
        raise UsageError("--skip-refused and --limit are for many threads")
    return None if are_many else named[0]
