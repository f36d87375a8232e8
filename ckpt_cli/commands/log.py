"""``ckpt log``: lists the checkpoints of a thread, newest first, one line each."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Annotated, NamedTuple

import typer

from ckpt_cli.completion.names import complete_revision, complete_source
from ckpt_cli.errors import UsageError
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.revisions import between, split_range
from ckpt_cli.history.lineage.typed_times import ALWAYS, Period
from ckpt_cli.history.tasks.step_changes import ChangeKind
from ckpt_cli.parameters.options import Channels, Limit, Ns, Since, Thread, Until
from ckpt_cli.parameters.period import parse_period
from ckpt_cli.queries.step_lines import StepLines
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.views.log import LogView, RailView
from ckpt_cli.views.steps import StepView

_MOST = 10_000  # without --limit, at most this many checkpoints are listed
_AT_ONCE = 500  # the metadata and writes of this many checkpoints are read together
_SOURCES = ("input", "loop", "update", "fork")


class LogRequest(NamedTuple):
    """The checkpoints that the user asked for.

    Attributes:
        rev: where to start, or a range ``A..B``.
        everything: whether to take all branches, sorted by id.
        limit: the largest number of checkpoints to show; 0 for all.
        period: only checkpoints made in this period are shown.
    """

    rev: str = "@"
    everything: bool = False
    limit: int = 0
    channels: Collection[str] = ()
    sources: Collection[str] = ()
    period: Period = ALWAYS

    @property
    def plain(self) -> bool:
        """Whether the wanted checkpoints can be chosen by their ids alone."""
        return not self.channels and not self.sources


def run(
    reader: Reader,
    thread_id: str,
    request: LogRequest,
    ns: str = "",
    *,
    graph: bool = False,
    oneline: bool = False,
    all_steps: bool = False,
) -> LogView:
    """The view of a line of ancestors, or of all checkpoints. Metadata and writes are read page by page.

    Raises:
        ThreadNotFound, CheckpointNotFound, ChannelNotFound, AmbiguousRevision, UsageError.
    """
    reader.thread(thread_id)
    ns = reader.head(thread_id, reader.namespace(thread_id, ns)).ns
    lines = StepLines(reader, thread_id, ns)
    if request.channels:
        lines.compare_all()
    candidates = _candidates(reader, lines, request)
    steps = list(islice(_matching(lines, candidates, request), request.limit or None))
    lineage = lines.lineage
    if request.channels:
        _refuse_unknown(lines, steps, request.channels)
    return LogView(
        thread_id=thread_id,
        ns=ns,
        checkpoints=len(lineage),
        steps=steps,
        omitted=len(candidates) - len(steps) if request.plain else None,
        other_branches=0 if request.everything or not candidates else _others(lineage, candidates[0]),
        rails=_rails(lineage, steps) if graph else [],
        oneline=oneline,
        all_steps=all_steps,
    )


def _rails(lineage: Lineage, steps: Sequence[StepView]) -> list[RailView]:
    from ckpt_cli.history.lineage.rails import rails

    return [RailView(rail.joins, rail.lanes) for rail in rails(lineage, [step.checkpoint_id for step in steps])]


def _refuse_unknown(lines: StepLines, steps: Sequence[StepView], names: Collection[str]) -> None:
    """Refuse a channel that changed in none of the steps and that the namespace doesn't have."""
    changed = {change.channel for step in steps for change in step.changes or ()}
    missing = [name for name in names if name not in changed]
    if not missing:
        return
    from ckpt_cli.queries.not_found import no_channel, read_channels

    known = read_channels(lines.reader, lines.thread_id, lines.ns)
    for name in missing:
        if known is not None and name not in known:
            raise no_channel(name, known, f"{lines.thread_id!r}")


def _others(lineage: Lineage, start: str) -> int:
    """The number of branches besides the one that the log follows."""
    line = set(lineage.line(start))
    if any(branch.tip in line for branch in lineage.branches):
        return sum(1 for branch in lineage.branches if branch.tip not in line)
    return len(lineage.branches) - 1


def _candidates(reader: Reader, lines: StepLines, request: LogRequest) -> list[str]:
    """The ids of the checkpoints that may be shown, newest first."""
    lineage, thread_id, ns = lines.lineage, lines.thread_id, lines.ns
    ends = split_range(request.rev)
    if ends is not None:
        older, newer = (reader.resolve(thread_id, end, ns).checkpoint_id for end in ends)
        candidates = between(lineage, older, newer)
    elif request.everything:
        candidates = sorted(lineage.rows, reverse=True)
    else:
        candidates = list(lineage.line(reader.resolve(thread_id, request.rev, ns).checkpoint_id))
    if request.period != ALWAYS:
        candidates = [i for i in candidates if request.period.holds(ids.unix_time(i))]
    return candidates


def _matching(lines: StepLines, candidates: list[str], request: LogRequest) -> Iterator[StepView]:
    size = min(_AT_ONCE, request.limit or _AT_ONCE) if request.plain else _AT_ONCE
    for start in range(0, len(candidates), size):
        page = candidates[start : start + size]
        yield from (_narrowed(step, request) for step in lines.views(page) if _fits(step, request))


def _fits(step: StepView, request: LogRequest) -> bool:
    if request.sources and step.source not in request.sources:
        return False
    touched = {change.channel for change in step.changes or () if change.kind != ChangeKind.SAME}
    return not request.channels or not touched.isdisjoint(request.channels)


def _narrowed(step: StepView, request: LogRequest) -> StepView:
    """The step with its changes of the wanted channels only."""
    if request.channels and step.changes is not None:
        return step._replace(changes=[change for change in step.changes if change.channel in request.channels])
    return step


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
    shape = {"graph": graph, "oneline": oneline, "all_steps": all_steps}
    view = session.read(lambda reader: run(reader, thread, request, ns, **shape))
    for remark in _remarks(view, limit):
        session.say(remark)
    return view


def _remarks(view: LogView, limit: int) -> Iterator[str]:
    if view.omitted and limit == _MOST:
        yield f"{view.omitted:,} more checkpoints are not shown: -n 0 shows all"
    bad = [step for step in view.steps if step.problem]
    if bad:
        more = f" (and {len(bad) - 1:,} more)" if len(bad) > 1 else ""
        yield f"not all of {bad[0].short}{more} can be read: {bad[0].problem}"


def _known(sources: Collection[str]) -> tuple[str, ...]:
    unknown = sorted(set(sources) - set(_SOURCES))
    if unknown:
        raise UsageError(f"no source {unknown[0]!r}", hint=f"one of {', '.join(_SOURCES)}")
    return tuple(sources)
