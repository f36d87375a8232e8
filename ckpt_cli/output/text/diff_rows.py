"""Writes differences into a pipe, one tab-separated row each."""

from collections.abc import Iterator, Sequence

from ckpt_cli.output.line import Line, Page, row
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.theme import DIFFERENCES
from ckpt_cli.values.difference import Counts, Difference, DifferenceKind
from ckpt_cli.views.diff import DiffView


def rows(view: DiffView, page: Page) -> Iterator[Line]:
    """Kind, path, before and after."""
    for one in _leaves([*view.channels, *view.meta]):
        before = (
            brief(one.before, reveal=page.reveal)
            if one.kind in (DifferenceKind.CHANGED, DifferenceKind.REMOVED)
            else one.was or ""
        )
        after = brief(one.after, reveal=page.reveal) if one.kind is not DifferenceKind.REMOVED else ""
        yield row([_kind(one), [("key", one.path)], [("removed", before)], [("added", after)]])


def _leaves(found: Sequence[Difference]) -> Iterator[Difference]:
    for one in found:
        if one.parts:
            yield from _leaves(one.parts)
        else:
            yield one


def stat_rows(view: DiffView) -> Iterator[Line]:
    """Kind, channel, and how many elements were kept, changed, moved, removed, added."""
    for one in [*view.channels, *view.meta]:
        counts = one.counts or Counts()
        numbers = (counts.kept, counts.changed, counts.moved, counts.removed, counts.added)
        yield row([_kind(one), [("key", one.path)], *([("", str(n) if one.counts else "")] for n in numbers)])


def _kind(one: Difference) -> Line:
    style = "" if one.kind is DifferenceKind.MOVED else DIFFERENCES[one.kind].style
    return [(style, str(one.kind))]
