"""A value in as many lines as it needs: one field per line, texts wrapped, folded unless ``--full``.

Messages are shown as a conversation. A value that fits into one line is shown in one. Long texts and long lists are
folded, unless `full` is set. The depth is limited, because a hostile payload may be nested to any depth.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ckpt_cli.output.cells import cell_len, fit, line_len, wrap
from ckpt_cli.output.line import Line, Lines, Page, Span
from ckpt_cli.output.text.brief import UNCUT, brief, class_name, elements, size_of, whole
from ckpt_cli.output.text.conversation import FIRST, SHOWN, TEXT_LINES, Conversation, folded, short_id
from ckpt_cli.output.theme import CLOSE_QUOTE, MORE, OPEN_QUOTE, quoted
from ckpt_cli.values.langgraph_values import is_conversation
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.parts import inside, is_leaf

__all__ = ["block", "brief", "entries", "inline", "short_id", "value_after"]

_LABEL = 24
_DEEPEST = 24
_HUGE = 20_000  # characters; of a longer text only `_HUGE_LINES` are shown
_HUGE_LINES = 2


def block(value: Any, page: Page, indent: int = 0, *, full: bool = False) -> Iterator[Line]:
    """The lines of a value, indented by `indent` cells. A pipe gets the whole value, with each text on one line."""
    return _Block(page, full).lines(value, indent, 0)


def entries(value: Any, page: Page, indent: int = 0, *, full: bool = False) -> Iterator[Line]:
    """The lines of a list, dict or object, with each part on a line of its own even if all would fit into one."""
    return _Block(page, full).entries(value, indent, 0)


def inline(value: Any, page: Page, indent: int = 0) -> Span | None:
    """The value as one span, after `indent` used cells of the line; None if it doesn't fit into the line."""
    return _Block(page, False).inline(inside(value), indent)


def value_after(
    head: Line, value: Any, page: Page, indent: int, *, full: bool = False, note: Line | None = None
) -> Lines:
    """A value at the end of the line `head`; indented below this line if it doesn't fit or if there is a `note`."""
    return _Block(page, full).value_after(head, inside(value), indent, note or [])


class _Block:
    """Renders values for one page."""

    def __init__(self, page: Page, full: bool) -> None:
        self._page = page
        self._extras = full
        self._full = full or page.width is None
        self._known_talks: dict[int, bool] = {}

    def lines(self, value: Any, indent: int, depth: int) -> Iterator[Line]:
        """The lines of any value, which begins on its own line."""
        value = inside(value)
        line = self._inline(value, self._room(indent), depth)
        if line is not None:
            yield [("", " " * indent), line]
        elif isinstance(value, str):
            yield from self.text(value, indent)
        elif self._is_conversation(value):
            yield from Conversation(self._page, self._full, self._extra_fields if self._extras else None).lines(
                value, indent
            )
        else:
            if isinstance(value, Node):
                yield [("", " " * indent), ("muted", class_name(value))]
                indent += 2
            yield from self.entries(value, indent, depth)

    def text(self, text: str, indent: int) -> Iterator[Line]:
        """The lines of a long text in quotes: wrapped to the page, or in one line for a pipe."""
        room = self._room(indent) - 1
        lines = wrap(text, room) if self._page.width is not None else iter([text])
        most = _HUGE_LINES if len(text) > _HUGE else TEXT_LINES
        shown = list(islice(lines, None if self._full else most + 1))
        more = len(shown) > most and not self._full
        if more:
            del shown[most:]
        for at, line in enumerate(shown):
            end = CLOSE_QUOTE if at == len(shown) - 1 and not more else ""
            yield [("", " " * indent), ("value", f"{' ' if at else OPEN_QUOTE}{line}{end}")]
        if more:
            yield [("", " " * (indent + 1)), ("muted", f"{MORE} {size_of(text)} in all")]

    def _room(self, indent: int) -> int:
        return UNCUT if self._page.width is None else max(self._page.width - indent, 20)

    def value_after(self, head: Line, value: Any, indent: int, note: Line) -> Iterator[Line]:
        """See the function `value_after`; the class of an object is shown only once."""
        line = None if note else self.inline(value, line_len(head) + 2 if self._page.width is not None else 0)
        if line is not None:
            yield [*head, ("", "  "), line]
            return
        below = self._inline(value, self._room(indent), 0)
        named = isinstance(value, Node) and below is not None  # the line below shows the class
        size = "" if named else size_of(value)
        remarks: Line = [*([("muted", size)] if size else []), *note]
        if remarks:
            yield fit([*head, ("", "  "), *remarks], self._page.width)
        else:
            yield fit([*head[:-1], (head[-1][0], head[-1][1].rstrip())], self._page.width)
        is_object = isinstance(value, Node) and below is None and not self._is_conversation(value)
        yield from self.entries(value, indent, 0) if is_object else self.lines(value, indent, 0)

    def _is_conversation(self, value: Any) -> bool:
        cached = self._known_talks.get(id(value))
        if cached is None:
            cached = self._known_talks[id(value)] = is_conversation(value)
        return cached

    def _extra_fields(self, fields: dict[str, Any], indent: int) -> Iterator[Line]:
        return self.entries(fields, indent, 1)

    def inline(self, value: Any, indent: int) -> Span | None:
        """See the function `inline`."""
        return self._inline(value, self._room(indent), 0)

    def _inline(self, value: Any, room: int, depth: int) -> Span | None:
        """The value as one span; None if a part doesn't fit and the value can be shown in several lines instead."""
        if isinstance(value, str):
            if self._page.width is None:
                return ("value", quoted(value))
            fits = "\n" not in value and cell_len(value) + 2 <= room
            return ("value", quoted(value)) if fits else None
        if depth >= _DEEPEST or is_leaf(value):
            return (_style(value), brief(value, None if _is_bad(value) else room, reveal=self._page.reveal))
        if self._is_conversation(value):
            return None
        text = whole(value, room, reveal=self._page.reveal)
        return None if text is None else ("value", text)

    def entries(self, value: Any, indent: int, depth: int) -> Iterator[Line]:
        """The lines of a list, dict or object: each part begins its own line."""
        total = _count(value)
        first, last = folded(total, self._full, SHOWN if isinstance(value, dict) else FIRST)
        chosen = _in_ranges(elements(value), first, last)
        pairs = [(label, inside(item)) for label, item in chosen]
        column = min(max((cell_len(label) for label, _ in pairs), default=0), _LABEL)
        for at, (label, item) in enumerate(pairs):
            if at == len(first):
                yield [("", " " * indent), ("muted", f"{MORE} {last.start - len(first)} more")]
            yield from self._entry(label, item, column, indent, depth)
        if not last and total > len(first):
            yield [("", " " * indent), ("muted", f"{MORE} {total - len(first)} more")]

    def _entry(self, label: str, item: Any, column: int, indent: int, depth: int) -> Iterator[Line]:
        head: Line = [("", " " * indent), ("key", label)]
        gap = " " * (max(column - cell_len(label), 0) + 2)
        line = self._inline(item, self._room(indent + max(column, cell_len(label)) + 2), depth + 1)
        if line is not None:
            yield [*head, ("", gap), line]
            return
        yield [*head, ("", gap), ("muted", size_of(item))]
        if isinstance(item, Node):
            yield from self.entries(item, indent + 2, depth + 1)
        else:
            yield from self.lines(item, indent + 2, depth + 1)


def _is_bad(value: Any) -> bool:
    return isinstance(value, Node) and value.form is Form.BROKEN


def _style(value: Any) -> str:
    return "bad" if _is_bad(value) else "value"


def _count(value: Any) -> int:
    if isinstance(value, dict | list | tuple):
        return len(value)
    return sum(1 for _ in elements(value))


def _in_ranges(pairs: Iterator[tuple[str, Any]], first: range, last: range) -> Iterator[tuple[str, Any]]:
    return (pair for at, pair in enumerate(pairs) if at in first or at in last)
