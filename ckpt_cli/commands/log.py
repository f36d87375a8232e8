"""``ckpt log``: lists the checkpoints of a thread, newest first, one line each."""

from collections.abc import Collection, Iterable, Iterator
from typing import Annotated

import typer

from ckpt_cli.completion.names import complete_revision, complete_source
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.options import Channels, Limit, Ns, Since, Thread, Until
from ckpt_cli.parameters.period import parse_period
from ckpt_cli.queries.checkpoint_list import LogRequest, stream
from ckpt_cli.session import Session
from ckpt_cli.views.log import LogView
from ckpt_cli.views.steps import StepView

_MOST = 10_000  # without --limit, at most this many checkpoints are listed
_SOURCES = ("input", "loop", "update", "fork")


def run(session: Session, thread_id: str, request: LogRequest, ns: str = "", *, graph: bool = False) -> LogView:
    """The view of a log. The steps of a long one are read while they are printed."""
    view = stream(session, thread_id, request, ns, graph=graph)
    session.say_lost_differences()
    steps = _with_remark(session, view.steps)
    view.steps = list(steps) if isinstance(view.steps, list) else steps
    return view


_Source = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="SOURCE",
        help="Only input, loop, update or fork; may be repeated.",
        autocompletion=complete_source,
    ),
]


_AllSteps = Annotated[
    bool, typer.Option("--all-steps", help="Show an input and the step that takes it in as two rows.")
]


def log(
    session: Session,
    thread: Thread,
    rev: Annotated[
        str,
        typer.Argument(
            metavar="REV | A..B",
            help="Start here (default: the head), or only the steps after A up to B.",
            autocompletion=complete_revision,
            show_default=False,
        ),
    ] = "@",
    limit: Limit = _MOST,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Include every branch, sorted by id.")] = False,
    graph: Annotated[bool, typer.Option("--graph", "-g", help="Draw how branches connect; implies --all.")] = False,
    channel: Channels = None,
    source: _Source = None,
    since: Since = None,
    until: Until = None,
    oneline: Annotated[bool, typer.Option("--oneline", help="Show only id, node and changes.")] = False,
    all_steps: _AllSteps = False,
    ns: Ns = "",
) -> LogView:
    """List the checkpoints of a thread, newest first: which node made each, and what it changed.

    The list follows the ancestors of the head; --all includes the other branches. A row says how the state changed:
    `count 3→4`, `messages +1`, or the value of a channel that held none before. "unchanged" means that the write left
    the value the same. "wrote" means that the state was not read: the row shows what was written.

    Examples:
      ckpt log support-42
      ckpt log support-42 -n 5 --channel messages
      ckpt log support-42 @~10..@
      ckpt log support-42 --graph
      ckpt log support-42 --source update --json
      ckpt log support-42 --since 2026-11-01T10:00 --until 2026-11-01T12:00
    """
    request = LogRequest(
        rev=rev,
        everything=everything or (graph and rev == "@"),
        limit=limit,
        channels=tuple(channel or ()),
        sources=_known(source or ()),
        period=parse_period(session, since, until),
    )
    view = run(session, thread, request, ns, graph=graph)
    view.oneline, view.all_steps = oneline, all_steps
    if view.omitted and limit == _MOST:
        session.say(f"{view.omitted:,} more checkpoints are not shown: -n 0 shows all")
    return view


def _with_remark(session: Session, steps: Iterable[StepView]) -> Iterator[StepView]:
    """The same steps, and then a remark about those that can't be read."""
    first, count = None, 0
    for step in steps:
        if step.problem:
            first, count = first or step, count + 1
        yield step
    if first is not None:
        more = f" (and {count - 1:,} more)" if count > 1 else ""
        session.say(f"not all of {first.short}{more} can be read: {first.problem}")


def _known(sources: Collection[str]) -> tuple[str, ...]:
    unknown = sorted(set(sources) - set(_SOURCES))
    if unknown:
        raise UsageError(f"no source {unknown[0]!r}", hint=f"one of {', '.join(_SOURCES)}")
    return tuple(sources)
