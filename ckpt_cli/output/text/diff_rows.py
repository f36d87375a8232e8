"""Writes differences into a pipe, one tab-separated row each."""

from collections.abc import Iterator, Sequence

from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.theme import DIFFERENCES
from ckpt_cli.values.difference import Counts, Difference, DifferenceKind
from ckpt_cli.views.diff import DiffView


def rows(view: DiffView, page: Page) -> Iterator[Line]:
    """One row for each difference: kind, path, the value before and the value after."""
    for difference in _leaves([*view.channels, *view.meta]):
        before = (
            brief(difference.before, reveal=page.reveal)
            if difference.kind in (DifferenceKind.CHANGED, DifferenceKind.REMOVED)
            else difference.was or ""
        )
        after = brief(difference.after, reveal=page.reveal) if difference.kind is not DifferenceKind.REMOVED else ""
        yield row([_kind(difference), [("key", difference.path)], [("removed", before)], [("added", after)]])


def _leaves(differences: Sequence[Difference]) -> Iterator[Difference]:
    for difference in differences:
        if difference.parts:
            yield from _leaves(difference.parts)
        else:
            yield difference


def stat_rows(view: DiffView) -> Iterator[Line]:
    """One row for each channel: kind, channel, and the number of kept, changed, moved, removed and added elements."""
    for difference in [*view.channels, *view.meta]:
        counts = difference.counts or Counts()
        numbers = (counts.kept, counts.changed, counts.moved, counts.removed, counts.added)
        yield row(
            [
                _kind(difference),
                [("key", difference.path)],
                *([("", str(n) if difference.counts else "")] for n in numbers),
            ]
        )


def _kind(difference: Difference) -> Line:
    style = "" if difference.kind is DifferenceKind.MOVED else DIFFERENCES[difference.kind].style
    return [(style, str(difference.kind))]
