"""The checkpoints that `log` lists, and their lines; a long list is read a page at a time."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.lineage.revisions import between, split_range
from ckpt_cli.history.lineage.typed_times import ALWAYS, Period
from ckpt_cli.history.tasks.step_changes import ChangeKind
from ckpt_cli.queries.step_lines import StepLines
from ckpt_cli.reading import Reader
from ckpt_cli.savers.paging import pages
from ckpt_cli.session import Session
from ckpt_cli.views.log import LogView, RailView
from ckpt_cli.views.steps import StepView

_AT_ONCE = 500  # the metadata and writes of this many checkpoints are read together


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


def run(reader: Reader, thread_id: str, request: LogRequest, ns: str = "", *, graph: bool = False) -> LogView:
    """The view of a line of ancestors, or of all checkpoints, with the list of its steps.

    Raises:
        ThreadNotFound, CheckpointNotFound, ChannelNotFound, AmbiguousRevision, UsageError.
    """
    listing = _Listing(reader, thread_id, request, ns)
    view = listing.view(graph=graph)
    listing.read_all(view, graph=graph)
    return view


def stream(session: Session, thread_id: str, request: LogRequest, ns: str = "", *, graph: bool = False) -> LogView:
    """The same view. The steps of a long log are an iterator: each page is read in a moment of its own.

    All pages show the tree as it was read first. A checkpoint that was deleted meanwhile is left out.
    """

    def look(reader: Reader) -> tuple[LogView, _Listing | None]:
        reader.pin(thread_id)
        listing = _Listing(reader, thread_id, request, ns)
        view = listing.view(graph=graph)
        if listing.is_streamed(graph=graph):
            return view, listing
        listing.read_all(view, graph=graph)
        return view, None

    view, listing = session.read(look)
    if listing is not None:
        view.steps = islice(_steps(session, listing), request.limit or None)
    return view


def _steps(session: Session, listing: "_Listing") -> Iterator[StepView]:
    for page in pages(listing.shown, _AT_ONCE):
        yield from session.read(partial(listing.read_page_again, page))


class _Listing:
    """The checkpoints that may be shown, and how a page of them is read.

    Attributes:
        candidates: the ids of the checkpoints from which the user's limit takes the first.
        shown: those of them that are shown or, if that depends on their metadata or changes, all.
    """

    def __init__(self, reader: Reader, thread_id: str, request: LogRequest, ns: str) -> None:
        reader.thread(thread_id)
        ns = reader.head(thread_id, reader.namespace(thread_id, ns)).ns
        self._request = request
        self._lines = StepLines(reader, thread_id, ns)
        self._candidates = _candidates(reader, self._lines, request)
        self.shown = self._candidates[: request.limit or None] if request.plain else self._candidates

    def view(self, *, graph: bool) -> LogView:
        """The view without its steps."""
        lines, lineage, request = self._lines, self._lines.lineage, self._request
        return LogView(
            thread_id=lines.thread_id,
            ns=lines.ns,
            checkpoints=len(lineage),
            steps=[],
            omitted=len(self._candidates) - len(self.shown) if request.plain else None,
            other_branches=0 if request.everything or not self.shown else _others(lineage, self.shown[0]),
            rails=_rails(lineage, self.shown) if graph and request.plain else [],
            branches=len(lineage.branches),
        )

    def is_streamed(self, *, graph: bool) -> bool:
        """Whether the log is long, no error can follow a printed step, and no drawing depends on what the steps are."""
        if len(self.shown) <= _AT_ONCE or (graph and not self._request.plain):
            return False
        if not self._request.channels:
            return True
        known = self._known_channels()
        return known is not None and known.issuperset(self._request.channels)

    def read_all(self, view: LogView, *, graph: bool) -> None:
        """Add the list of steps to the view."""
        steps = (step for page in pages(self.shown, self._page) for step in self.read_page(page))
        view.steps = list(islice(steps, self._request.limit or None))
        if self._request.channels:
            self._refuse_unknown(view.steps)
        if graph and not self._request.plain:
            view.rails = _rails(self._lines.lineage, [step.checkpoint_id for step in view.steps])

    @property
    def _page(self) -> int:
        """The number of checkpoints that are read together."""
        return min(_AT_ONCE, self._request.limit or _AT_ONCE) if self._request.plain else _AT_ONCE

    def read_page_again(self, checkpoint_ids: Sequence[str], _: Reader) -> list[StepView]:
        """The same as `read_page` in another moment than the tree: a checkpoint may have been deleted since."""
        self._lines.forget()
        return self.read_page(self._lines.existing(checkpoint_ids))

    def read_page(self, checkpoint_ids: Sequence[str]) -> list[StepView]:
        """The steps of these checkpoints that the user asked for; what was read for the page before is dropped."""
        self._lines.forget()
        steps = self._lines.views(checkpoint_ids)
        return [_narrowed(step, self._request) for step in steps if _fits(step, self._request)]

    def _refuse_unknown(self, steps: Sequence[StepView]) -> None:
        """Refuse a channel that changed in none of the steps and that the namespace doesn't have."""
        changed = {change.channel for step in steps for change in step.changes or ()}
        missing = [name for name in self._request.channels if name not in changed]
        if not missing:
            return
        from ckpt_cli.queries.not_found import no_channel

        known = self._known_channels()
        for name in missing:
            if known is not None and name not in known:
                raise no_channel(name, known, f"{self._lines.thread_id!r}")

    def _known_channels(self) -> set[str] | None:
        from ckpt_cli.queries.not_found import read_channels

        return read_channels(self._lines.reader, self._lines.thread_id, self._lines.ns)


def _rails(lineage: Lineage, checkpoint_ids: Sequence[str]) -> list[RailView]:
    from ckpt_cli.history.lineage.rails import rails

    return [RailView(rail.joins, rail.lanes) for rail in rails(lineage, checkpoint_ids)]


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
