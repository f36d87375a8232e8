"""``ckpt repair``: finds what breaks the next run of threads, and mends it."""

from typing import Annotated, Any, NamedTuple

import typer

from ckpt_cli.bulk_change import change_many
from ckpt_cli.completion.names import complete_repair
from ckpt_cli.errors import UsageError
from ckpt_cli.history.messages.mended_messages import Mend
from ckpt_cli.parameters.options import Channels, Ns, Threads
from ckpt_cli.parameters.selector import NOTHING_TYPED, SelectorOptions, parse_selector
from ckpt_cli.parameters.target import Target
from ckpt_cli.queries.broken_threads import How, Request, planned, run
from ckpt_cli.session import Session
from ckpt_cli.views.bulk import BulkView
from ckpt_cli.views.repair import RepairView

TOOL_CALLS = "tool-calls"
_HOW = "How to mend"
_WORDS = {
    "--answer": "calls without a result get an error",
    "--drop-calls": "calls without a result are taken out",
    "--rollback": "back to the state before them",
}


_Only = Annotated[
    str,
    typer.Option(
        "--only",
        metavar="KIND",
        help="What to look for: tool-calls (message lists that every model call refuses).",
        autocompletion=complete_repair,
    ),
]


def _option(name: str, metavar: str | None, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, show_default=False, rich_help_panel=_HOW)


class HowOptions(NamedTuple):
    """The options that say how to mend, as typed; at most one can be set."""

    answer: Annotated[
        str | None,
        _option("--answer", "TEXT", "Answer each call that has no result with this error, right behind the call."),
    ] = None
    drop_calls: Annotated[
        bool, _option("--drop-calls", None, "Take out calls without a result, and messages that are then empty.")
    ] = False
    rollback: Annotated[bool, _option("--rollback", None, "Go back to the newest state that models take.")] = False


class FewOptions(NamedTuple):
    """The options for a change that doesn't reach every broken thread."""

    skip_refused: Annotated[
        bool,
        typer.Option("--skip-refused", help="Mend the others if some threads can't be mended.", rich_help_panel=_HOW),
    ] = False
    limit: Annotated[
        int,
        typer.Option("--limit", "-n", metavar="N", min=0, help="Take at most N broken threads.", rich_help_panel=_HOW),
    ] = 0
    all: Annotated[
        bool, typer.Option("--all", help="List threads too that are left alone, because a result may still come.")
    ] = False


_NOT_AT_ALL = HowOptions()
_EVERY_BROKEN_ONE = FewOptions()


def repair(
    session: Session,
    threads: Threads = None,
    only: _Only = TOOL_CALLS,
    options: HowOptions = _NOT_AT_ALL,
    selector: SelectorOptions = NOTHING_TYPED,
    few: FewOptions = _EVERY_BROKEN_ONE,
    channels: Channels = None,
    ns: Ns = "",
) -> RepairView | BulkView:
    """Find threads whose next run must fail, and mend them; without --yes, only list them.

    --only tool-calls: every model call refuses a list of messages in which a tool call has no result ("tool_calls must
    be followed by tool messages"), or two, or a result isn't right behind its call. A cancelled run, a timeout, or a
    new question instead of the tool's result leave such lists behind.

    --answer gives each such call an error as its result, --drop-calls takes these calls out, --rollback goes back to
    the state before them. The first two move results that are only in the wrong place, and take out those that
    nothing asked for. Threads that wait for an answer, or whose next node may still give the results, are left alone:
    they are counted, and --all lists them.

    Examples:
      ckpt repair --only tool-calls
      ckpt repair --only tool-calls --answer "cancelled" --limit 3
      ckpt repair --only tool-calls --answer "cancelled" --yes
      ckpt repair support-42 --drop-calls --dry-run
      ckpt repair --status failed --since 2h --rollback --yes --skip-refused
    """
    if only != TOOL_CALLS:
        raise UsageError(f"repair knows no {only!r}", hint=f"--only {TOOL_CALLS}")
    how, option = _parse_how(options)
    target = Target("", "@", ns, parse_selector(session, selector, threads), few.skip_refused, few.limit)
    request, view = Request(target, how, frozenset(channels or ())), RepairView(only, option=option)
    view.lists_all = few.all or bool(threads)
    if how is None and session.options.yes:
        raise UsageError("how to mend?", hint="--answer TEXT, --drop-calls or --rollback")
    if how is None or not (session.options.yes or session.options.dry_run):
        return run(session, view, request)
    summary = f"with tool calls that models refuse: {_WORDS[option]}"
    return change_many(session, "repair", summary, planned(session, view, request), skip_refused=few.skip_refused)


def _parse_how(options: HowOptions) -> tuple[How | None, str]:
    """How to mend, and the option that says so."""
    if (options.answer is not None) + options.drop_calls + options.rollback > 1:
        raise UsageError("--answer, --drop-calls and --rollback exclude each other")
    if options.answer is not None:
        if not options.answer.strip():
            raise UsageError("--answer is empty", hint="models refuse an error without a text")
        return How(Mend.ANSWER, options.answer), "--answer"
    if options.drop_calls:
        return How(Mend.DROP), "--drop-calls"
    return (How(None), "--rollback") if options.rollback else (None, "")
