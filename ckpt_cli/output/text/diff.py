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
from ckpt_cli.values.langgraph_values import message, removal
from ckpt_cli.values.parts import is_leaf
from ckpt_cli.views.diff import DiffView, End

_VERSION = re.compile(r"(\d{32})(\..*)")
_MOST_DIFFERENCES = 30
_MOST_IN_CHANNEL = 10
_LABEL_CELLS = 32
_LONG_TEXT = 32


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
    """The two checkpoints; in one line if they fit, else in one line each."""
    left, right = _side(before), _side(after)
    if (before.thread_id, before.ns, before.database) != (after.thread_id, after.ns, after.database):
        left, right = [*_thread_and_ns(before), *left], [*_thread_and_ns(after), *right]
        title: Line = []
    else:
        title = _thread_and_ns(after)
    arrow = [("muted", f" {LEADS_TO} ")]
    if line_len([*title, *left, *arrow, *right]) <= width:
        yield [*title, *left, *arrow, *right]
        return
    if title:
        yield title[:-1]
    yield [*left, ("muted", f" {LEADS_TO}")] if not title else [*left, *arrow, *right]
    if not title:
        yield right


def _thread_and_ns(end: End) -> Line:
    place = f"{f'  {end.ns}' if end.ns else ''}{f' in {end.database}' if end.database else ''}"
    return [("title", end.thread_id), ("muted", place), ("", "  ")]


def _side(end: End) -> Line:
    return [("id", end.short), ("muted", f" step {end.step}" if end.step is not None else "")]


def difference_lines(
    differences: Sequence[Difference], page: Page, indent: int = 0, *, summary: bool = False
) -> Iterator[Line]:
    """The lines of differences on a terminal, indented by `indent` cells.

    A `summary` has a line for a new text, however long, and only the first differences of each channel, so that a
    channel with many of them doesn't hide the next one.
    """
    screen = _Screen(page, False, most=_MOST_IN_CHANNEL if summary else _MOST_DIFFERENCES, rest="--json has all")
    screen.is_summary = summary
    return screen.channels(differences, indent) if summary else screen.differences(differences, indent)


class _Screen:
    """Renders differences for one page."""

    def __init__(self, page: Page, full: bool, *, most: int = _MOST_DIFFERENCES, rest: str = "--full") -> None:
        self._page = page
        self._full = full
        self._most = most
        self._rest = rest
        self.is_summary = False

    def channels(self, differences: Sequence[Difference], indent: int) -> Iterator[Line]:
        """The lines of the differences of each channel, of which no more than `most` are shown."""
        by_channel = [list(_flat(difference)) for difference in differences]
        shown = [part for parts in by_channel for part in parts[: self._most]]
        column = min(max((cell_len(_label(part, "")) for part in shown), default=0), _LABEL_CELLS)
        for parts in by_channel:
            for part in parts[: self._most]:
                yield from self._difference(part, _label(part, ""), column, indent)
            yield from self._more(len(parts) - self._most, indent)

    def _more(self, count: int, indent: int) -> Iterator[Line]:
        if count > 0:
            yield [("", " " * indent), ("muted", f"{MORE} {count} more differences ({self._rest})")]

    def differences(self, differences: Sequence[Difference], indent: int, base: str = "") -> Iterator[Line]:
        """The lines of all differences; an object that differs is shown as the paths of its differing fields."""
        flat = [part for difference in differences for part in _flat(difference)]
        labels = [_label(difference, base) for difference in flat]
        column = min(max((cell_len(label) for label in labels), default=0), _LABEL_CELLS)
        shown = flat if self._full else flat[: self._most]
        for difference, label in zip(shown, labels, strict=False):
            yield from self._difference(difference, label, column, indent)
        yield from self._more(len(flat) - len(shown), indent)

    def _difference(self, difference: Difference, label: str, column: int, indent: int) -> Iterator[Line]:
        width = max(column, cell_len(label))
        head: Line = [("", " " * indent), _mark(difference), ("key", pad(label, width)), ("", "  ")]
        if difference.who:
            head = [*head[:-2], ("key", label), ("", " "), *_speaker(difference.who), ("", "  ")]
        if difference.counts is not None:
            yield [*head, ("muted", count_text(difference.counts))]
            yield from self.differences(difference.parts, indent + 2, difference.path)
        elif difference.parts:
            yield from self._nested(difference, head, indent)
        else:
            yield from self._leaf(difference, head, indent)

    def _nested(self, difference: Difference, head: Line, indent: int) -> Iterator[Line]:
        """The lines of an element whose fields differ; one line if there is only a single short difference."""
        if difference.kind is DifferenceKind.MOVED:
            head = [*head, ("muted", f"from {difference.was}  ")]
        lines = list(self.differences(difference.parts, indent + 4, difference.path))
        single = sum(1 for part in difference.parts for _ in _flat(part)) == 1
        if single and line_len(head) + line_len(lines[0][2:]) <= self._room(0):
            own = next(_flat(difference.parts[0]))  # the mark of a change is that of its element
            yield [*head, *lines[0][2 if own.kind is DifferenceKind.CHANGED else 1 :]]
            yield from lines[1:]
            return
        yield _bare(head)
        yield from lines

    def _leaf(self, difference: Difference, head: Line, indent: int) -> Iterator[Line]:
        if difference.kind is DifferenceKind.CHANGED:
            yield from self._changed(difference.before, difference.after, head, indent)
        elif difference.kind is DifferenceKind.MOVED:
            yield fit(
                [*head, ("muted", f"from {difference.was}  "), ("value", self._brief(difference.after))],
                self._page.width,
            )
        else:
            value = difference.after if difference.kind is DifferenceKind.ADDED else difference.before
            yield from self._one_sided(
                value, head, indent, "added" if difference.kind is DifferenceKind.ADDED else "removed"
            )

    def _changed(self, before: Any, after: Any, head: Line, indent: int) -> Iterator[Line]:
        if (counters := _versions(before, after)) is not None:
            yield [*head, ("removed", counters[0]), ("muted", f" {LEADS_TO} "), ("added", counters[1])]
            return
        if isinstance(before, str) and isinstance(after, str) and max(len(before), len(after)) > _LONG_TEXT:
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
        yield from self._one_sided(value, [("", " " * indent), (style, f"{mark} ")], indent, style)

    def _one_sided(self, value: Any, head: Line, indent: int, style: str) -> Iterator[Line]:
        """The lines of a value that exists only on one side."""
        version = _VERSION.fullmatch(value) if isinstance(value, str) else None
        value = int(version[1]) if version else value
        as_message = message(value)
        if not self._full and as_message is not None and not as_message.tool_calls:
            value = removal(as_message) or as_message.text
        elif not self._full and as_message is not None and not as_message.text:
            yield fit([*head, (style, self._brief(value).removeprefix(f"{as_message.role} "))], self._page.width)
            return
        line = inline(value, self._page, line_len(head))
        if line is not None:
            yield [*head, (style, line[1])]
        elif self._full or (isinstance(value, str) and not self.is_summary):
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
    """Two channel versions as counters, followed by their random parts only if the counters are equal.

    None if the values aren't channel versions.
    """
    matches = [_VERSION.fullmatch(value) for value in (before, after) if isinstance(value, str)]
    if len(matches) < 2 or matches[0] is None or matches[1] is None:
        return None
    old, new = (str(int(match[1])) for match in matches if match)
    return (old, new) if old != new else (old + matches[0][2], new + matches[1][2])


def _mark(difference: Difference) -> Span:
    look = DIFFERENCES[difference.kind]
    return look.style, f"{look.sign} "


def _flat(difference: Difference) -> Iterator[Difference]:
    """The differences inside an object, in place of the object itself; a message stays one difference."""
    if (
        difference.parts
        and difference.counts is None
        and difference.who is None
        and difference.kind is DifferenceKind.CHANGED
    ):
        for part in difference.parts:
            yield from _flat(part)
    else:
        yield difference


def _label(difference: Difference, base: str) -> str:
    return difference.path.removeprefix(base).removeprefix(".") or difference.path


def _speaker(who: str) -> Line:
    role, _, own = who.partition(" ")
    style = role if role in ROLES else "muted"
    return [(style, role), ("muted", f" {short_id(own)}".rstrip())]


def count_text(counts: Counts) -> str:
    """The counts as text: ``3 kept, 1 changed, 1 added``."""
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
    column = min(max((cell_len(difference.path) for difference in differences), default=0), _LABEL_CELLS)
    for difference in differences:
        yield [
            _mark(difference),
            ("key", pad(difference.path, max(column, cell_len(difference.path)))),
            ("", "  "),
            *_amount(difference),
        ]
    noun = "channel" if len(view.channels) == 1 else "channels"
    yield [("muted", f"{len(view.channels)} {noun} changed, {view.same} the same")]


def _amount(difference: Difference) -> Line:
    if difference.counts is not None:
        return [("", count_text(difference.counts))]
    inner = sum(1 for _ in _flat(difference))
    if difference.parts:
        return [("", f"{inner} {'difference' if inner == 1 else 'differences'} inside")]
    value = difference.before if difference.kind is DifferenceKind.REMOVED else difference.after
    return [("", f"{difference.kind}"), ("muted", f"  {size_of(value)}" if not is_leaf(value) else "")]
