"""Shows differences: `+` added, `-` removed, `~` changed, `↕` moved; in a pipe one row for each difference."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ckpt_cli.output.cells import cell_len, fit, line_len, pad
from ckpt_cli.output.line import Line, Page, Span
from ckpt_cli.output.text.brief import brief, size_of
from ckpt_cli.output.text.diff_rows import rows, stat_rows
from ckpt_cli.output.text.values import block, inline, short_id
from ckpt_cli.output.text.word_diff import word_diff_lines
from ckpt_cli.output.theme import DIFFERENCES, LEADS_TO, MORE, ROLES
from ckpt_cli.values.difference import Counts, Difference, DifferenceKind, RoughCounts
from ckpt_cli.values.known import message
from ckpt_cli.values.parts import is_leaf
from ckpt_cli.views.diff import DiffView, End

_VERSION = re.compile(r"(\d{32})(\..*)")
_MOST = 30
_COLUMN = 32
_LONG = 32


def render(view: DiffView, page: Page) -> Iterator[Line]:
    """All differences on a terminal, or tab-separated rows in a pipe."""
    if page.width is None:
        yield from stat_rows(view) if view.stat else rows(view, page)
        return
    yield from side_lines(view.before, view.after, page.width)
    if view.equal:
        yield [("muted", "no difference")]
    elif view.stat:
        yield from _stat(view)
    else:
        screen = _Screen(page, view.full)
        yield from screen.differences(view.channels, 0)
        if view.meta:
            yield [("muted", "metadata and versions")]
            yield from screen.differences(view.meta, 2)


def side_lines(before: End, after: End, width: int) -> Iterator[Line]:
    """The two checkpoints, in one line or, if their names are long, one line each."""
    left, right = _side(before), _side(after)
    if (before.thread_id, before.ns) != (after.thread_id, after.ns):
        left, right = [*_where(before), *left], [*_where(after), *right]
        title: Line = []
    else:
        title = _where(after)
    arrow = [("muted", f" {LEADS_TO} ")]
    if line_len([*title, *left, *arrow, *right]) <= width:
        yield [*title, *left, *arrow, *right]
        return
    if title:
        yield title[:-1]
    yield [*left, ("muted", f" {LEADS_TO}")] if not title else [*left, *arrow, *right]
    if not title:
        yield right


def _where(end: End) -> Line:
    return [("title", end.thread_id), ("muted", f"  {end.ns}" if end.ns else ""), ("", "  ")]


def _side(end: End) -> Line:
    return [("id", end.short), ("muted", f" step {end.step}" if end.step is not None else "")]


def difference_lines(differences: Sequence[Difference], page: Page, indent: int = 0) -> Iterator[Line]:
    """Differences on a terminal, indented by so many cells."""
    return _Screen(page, False).differences(differences, indent)


class _Screen:
    """Renders differences for one page."""

    def __init__(self, page: Page, full: bool) -> None:
        self._page = page
        self._full = full

    def differences(self, differences: Sequence[Difference], indent: int, base: str = "") -> Iterator[Line]:
        """The lines of all differences; for an object, the paths of its differing fields."""
        flat = [part for one in differences for part in _flat(one)]
        labels = [_label(one, base) for one in flat]
        column = min(max((cell_len(label) for label in labels), default=0), _COLUMN)
        shown = flat if self._full else flat[:_MOST]
        for one, label in zip(shown, labels, strict=False):
            yield from self._one(one, label, column, indent)
        if len(shown) < len(flat):
            yield [("", " " * indent), ("muted", f"{MORE} {len(flat) - len(shown)} more differences (--full)")]

    def _one(self, one: Difference, label: str, column: int, indent: int) -> Iterator[Line]:
        width = max(column, cell_len(label))
        head: Line = [("", " " * indent), _mark(one), ("key", pad(label, width)), ("", "  ")]
        if one.who:
            head = [*head[:-2], ("key", label), ("", " "), *_speaker(one.who), ("", "  ")]
        if one.counts is not None:
            yield [*head, ("muted", counted(one.counts))]
            yield from self.differences(one.parts, indent + 2, one.path)
        elif one.parts:
            yield from self._inside(one, head, indent)
        else:
            yield from self._leaf(one, head, indent)

    def _inside(self, one: Difference, head: Line, indent: int) -> Iterator[Line]:
        """An element that differs in its fields; in one line if there is a single short difference."""
        if one.kind is DifferenceKind.MOVED:
            head = [*head, ("muted", f"from {one.was}  ")]
        lines = list(self.differences(one.parts, indent + 4, one.path))
        single = sum(1 for part in one.parts for _ in _flat(part)) == 1
        if single and line_len(head) + line_len(lines[0][2:]) <= self._room(0):
            yield [*head, *lines[0][2:]]
            yield from lines[1:]
            return
        yield _bare(head)
        yield from lines

    def _leaf(self, one: Difference, head: Line, indent: int) -> Iterator[Line]:
        if one.kind is DifferenceKind.CHANGED:
            yield from self._changed(one.before, one.after, head, indent)
        elif one.kind is DifferenceKind.MOVED:
            yield fit([*head, ("muted", f"from {one.was}  "), ("value", self._brief(one.after))], self._page.width)
        else:
            value = one.after if one.kind is DifferenceKind.ADDED else one.before
            yield from self._whole(value, head, indent, "added" if one.kind is DifferenceKind.ADDED else "removed")

    def _changed(self, before: Any, after: Any, head: Line, indent: int) -> Iterator[Line]:
        if (counters := _versions(before, after)) is not None:
            yield [*head, ("removed", counters[0]), ("muted", f" {LEADS_TO} "), ("added", counters[1])]
            return
        if isinstance(before, str) and isinstance(after, str) and max(len(before), len(after)) > _LONG:
            lines = list(word_diff_lines(before, after, self._room(indent + 4), full=self._full))
            if len(lines) == 1 and line_len(head) + line_len(lines[0]) <= self._room(0):
                yield [*head, *lines[0]]
                return
            yield _bare(head)
            yield from ([("", " " * (indent + 4)), *line] for line in lines)
            return
        old, new = inline(before, self._page, line_len(head)), inline(after, self._page, line_len(head))
        if old and new and cell_len(old[1]) + cell_len(new[1]) + 3 <= self._room(line_len(head)):
            yield [*head, ("removed", old[1]), ("muted", f" {LEADS_TO} "), ("added", new[1])]
            return
        yield _bare([*head, ("muted", f"{size_of(before)} {LEADS_TO} {size_of(after)}".strip(f" {LEADS_TO}"))])
        yield from self._side("-", before, indent + 4, "removed")
        yield from self._side("+", after, indent + 4, "added")

    def _side(self, mark: str, value: Any, indent: int, style: str) -> Iterator[Line]:
        yield from self._whole(value, [("", " " * indent), (style, f"{mark} ")], indent, style)

    def _whole(self, value: Any, head: Line, indent: int, style: str) -> Iterator[Line]:
        """A value that exists on one side only."""
        version = _VERSION.fullmatch(value) if isinstance(value, str) else None
        value = int(version[1]) if version else value
        as_message = message(value)
        if not self._full and as_message is not None and not as_message.tool_calls:
            value = as_message.text
        elif not self._full and as_message is not None and not as_message.text:
            yield fit([*head, (style, self._brief(value).removeprefix(f"{as_message.role} "))], self._page.width)
            return
        line = inline(value, self._page, line_len(head))
        if line is not None:
            yield [*head, (style, line[1])]
        elif self._full or isinstance(value, str):
            yield [*head, ("muted", size_of(value))]
            yield from block(value, self._page, indent + 4, full=self._full)
        else:
            yield [*head, (style, self._brief(value, line_len(head)))]

    def _brief(self, value: Any, used: int = 0) -> str:
        return brief(value, self._room(used), reveal=self._page.reveal)

    def _room(self, used: int) -> int:
        return max((self._page.width or 0) - used, 20)


def _bare(line: Line) -> Line:
    """The line without blanks at its end."""
    while line and not line[-1][1].strip():
        line = line[:-1]
    return [*line[:-1], (line[-1][0], line[-1][1].rstrip())] if line else line


def _versions(before: Any, after: Any) -> tuple[str, str] | None:
    """Two channel versions as counters, with their random tails only if the counters are equal."""
    matches = [_VERSION.fullmatch(value) for value in (before, after) if isinstance(value, str)]
    if len(matches) < 2 or matches[0] is None or matches[1] is None:
        return None
    old, new = (str(int(one[1])) for one in matches if one)
    return (old, new) if old != new else (old + matches[0][2], new + matches[1][2])


def _mark(one: Difference) -> Span:
    look = DIFFERENCES[one.kind]
    return look.style, f"{look.sign} "


def _flat(one: Difference) -> Iterator[Difference]:
    """The differences inside an object in its place, unless the object is a message."""
    if one.parts and one.counts is None and one.who is None and one.kind is DifferenceKind.CHANGED:
        for part in one.parts:
            yield from _flat(part)
    else:
        yield one


def _label(one: Difference, base: str) -> str:
    return one.path.removeprefix(base).removeprefix(".") or one.path


def _speaker(who: str) -> Line:
    role, _, own = who.partition(" ")
    style = role if role in ROLES else "muted"
    return [(style, role), ("muted", f" {short_id(own)}".rstrip())]


def counted(counts: Counts) -> str:
    """``3 kept, 1 changed, 1 added``."""
    counts_by_name = {
        "kept": counts.kept,
        "changed": counts.changed,
        "moved": counts.moved,
        "removed": counts.removed,
        "added": counts.added,
    }
    words = [f"{count} {what}" for what, count in counts_by_name.items() if count]
    if isinstance(counts, RoughCounts):
        words.append("too many repeated elements to match: some were compared by position")
    return ", ".join(words)


def _stat(view: DiffView) -> Iterator[Line]:
    differences = [*view.channels, *view.meta]
    column = min(max((cell_len(one.path) for one in differences), default=0), _COLUMN)
    for one in differences:
        yield [_mark(one), ("key", pad(one.path, max(column, cell_len(one.path)))), ("", "  "), *_amount(one)]
    noun = "channel" if len(view.channels) == 1 else "channels"
    yield [("muted", f"{len(view.channels)} {noun} changed, {view.same} the same")]


def _amount(one: Difference) -> Line:
    if one.counts is not None:
        return [("", counted(one.counts))]
    inner = sum(1 for _ in _flat(one))
    if one.parts:
        return [("", f"{inner} {'difference' if inner == 1 else 'differences'} inside")]
    value = one.before if one.kind is DifferenceKind.REMOVED else one.after
    return [("", f"{one.kind}"), ("muted", f"  {size_of(value)}" if not is_leaf(value) else "")]
