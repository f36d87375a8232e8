"""A value over as many lines as it needs: fields one a line, texts wrapped, messages as a conversation.

What fits into one line stays there. Long texts and long lists are folded unless all of it is asked for; depth is
bounded, since a hostile payload may nest as deep as it likes.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ckpt_cli.output.cells import cell_len, pad, wrap
from ckpt_cli.output.line import Line, Page, Span
from ckpt_cli.output.text.brief import UNCUT, brief, class_name, elements, size_of, whole
from ckpt_cli.values import known
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.parts import inside, is_leaf

__all__ = ["block", "brief", "folded", "inline", "short_id"]

_TEXT_LINES = 8
_ENTRIES = 24
_FIRST = 3
_LABEL = 24
_DEEPEST = 24


def block(value: Any, page: Page, indent: int = 0, *, full: bool = False) -> Iterator[Line]:
    """A value in full, every line indented by so many cells; a pipe gets all of it, with every text on one line."""
    return _Block(page, full).lines(value, indent, 0)


def inline(value: Any, page: Page, indent: int = 0) -> Span | None:
    """The same in one line behind so many cells, where all of it fits and a line is the way to show it."""
    return _Block(page, False).inline(inside(value), indent)


def short_id(own: str) -> str:
    """The id of a message, in short where it is a long random one."""
    return own if len(own) <= 14 else f"{own[:8]}…"


def folded(total: int, full: bool, first: int = _FIRST) -> tuple[range, range]:
    """Which of so many entries are shown: the first few and the last ones, or all."""
    if full or total <= _ENTRIES:
        return range(total), range(total, total)
    return range(first), range(total - _ENTRIES + first, total)


class _Block:
    """Renders for one page."""

    def __init__(self, page: Page, full: bool) -> None:
        self._page = page
        self._extras = full
        self._full = full or page.width is None

    def lines(self, value: Any, indent: int, depth: int) -> Iterator[Line]:
        """Any value, at the beginning of its own line."""
        value = inside(value)
        line = self._inline(value, self._room(indent), depth)
        if line is not None:
            yield [("", " " * indent), line]
        elif isinstance(value, str):
            yield from self.text(value, indent)
        elif known.is_conversation(value):
            yield from self._messages(value, indent)
        else:
            if isinstance(value, Node):
                yield [("", " " * indent), ("muted", class_name(value))]
                indent += 2
            yield from self._entries(value, indent, depth)

    def text(self, text: str, indent: int) -> Iterator[Line]:
        """A long text between its quotes, one paragraph a line or wrapped to the page."""
        room = self._room(indent) - 1
        lines = wrap(text, room) if self._page.width is not None else iter([text])
        shown = list(islice(lines, None if self._full else _TEXT_LINES + 1))
        more = len(shown) > _TEXT_LINES and not self._full
        if more:
            del shown[_TEXT_LINES:]
        for at, line in enumerate(shown):
            end = "”" if at == len(shown) - 1 and not more else ""
            yield [("", " " * indent), ("value", f"{' ' if at else '“'}{line}{end}")]
        if more:
            yield [("", " " * (indent + 1)), ("muted", f"… {size_of(text)} in all")]

    def _room(self, indent: int) -> int:
        return UNCUT if self._page.width is None else max(self._page.width - indent, 20)

    def inline(self, value: Any, indent: int) -> Span | None:
        """At the end of a line that has something else before it."""
        return self._inline(value, self._room(indent), 0)

    def _inline(self, value: Any, room: int, depth: int) -> Span | None:
        """The value as one span where all of it fits, or where there is no other way to show it."""
        if isinstance(value, str):
            if self._page.width is None:
                return ("value", f"“{value}”")
            fits = "\n" not in value and cell_len(value) + 2 <= room
            return ("value", f"“{value}”") if fits else None
        if depth >= _DEEPEST or is_leaf(value):
            return (_style(value), brief(value, None if _is_bad(value) else room, reveal=self._page.reveal))
        if known.is_conversation(value):
            return None
        text = whole(value, room, reveal=self._page.reveal)
        return None if text is None else ("value", text)

    def _entries(self, value: Any, indent: int, depth: int) -> Iterator[Line]:
        """The parts of a list, dict or object, one below the other."""
        total = _count(value)
        first, last = folded(total, self._full, _ENTRIES if isinstance(value, dict) else _FIRST)
        chosen = _chosen(elements(value), first, last)
        pairs = [(label, inside(item)) for label, item in chosen]
        column = min(max((cell_len(label) for label, _ in pairs), default=0), _LABEL)
        for at, (label, item) in enumerate(pairs):
            if at == len(first):
                yield [("", " " * indent), ("muted", f"… {last.start - len(first)} more")]
            yield from self._entry(label, item, column, indent, depth)
        if not last and total > len(first):
            yield [("", " " * indent), ("muted", f"… {total - len(first)} more")]

    def _entry(self, label: str, item: Any, column: int, indent: int, depth: int) -> Iterator[Line]:
        head: Line = [("", " " * indent), ("key", label)]
        gap = " " * (max(column - cell_len(label), 0) + 2)
        line = self._inline(item, self._room(indent + max(column, cell_len(label)) + 2), depth + 1)
        if line is not None:
            yield [*head, ("", gap), line]
            return
        yield [*head, ("", gap), ("muted", size_of(item))]
        if isinstance(item, Node):
            yield from self._entries(item, indent + 2, depth + 1)
        else:
            yield from self.lines(item, indent + 2, depth + 1)

    def _messages(self, value: list[Any], indent: int) -> Iterator[Line]:
        first, last = folded(len(value), self._full)
        said = {at: one for at in (*first, *last) if (one := known.message(value[at])) is not None}
        number = len(str(len(value) - 1)) + 2
        role = max(len(one.role) for one in said.values())
        for at, one in said.items():
            if last and at == last.start:
                yield [("", " " * indent), ("muted", f"… {last.start - len(first)} more messages")]
            who: Line = [("muted", pad(f"[{at}]", number)), ("", " "), (_speaker(one.role), pad(one.role, role))]
            yield from self._message(one, [("", " " * indent), *who, ("", "  ")], indent + number + role + 3)
            if self._extras and isinstance(value[at], Node):
                yield from self._rest(value[at], indent + number + role + 3)

    def _message(self, said: known.Message, who: Line, indent: int) -> Iterator[Line]:
        """Who speaks, the text beside it, the tools called below, the id at the right."""
        for at, spans in enumerate(self._words(said, self._room(indent) - 1)):
            yield [*(who if at == 0 else [("", " " * indent)]), *spans]

    def _words(self, said: known.Message, room: int) -> Iterator[Line]:
        mark = self._mark(said)
        room -= cell_len(mark) + 2 if mark else 0
        name: Line = [("node", f"{said.name}  ")] if said.name and said.role == "tool" else []
        lines = [[line] for line in self._paragraphs(said, room - sum(cell_len(text) for _, text in name))]
        lines += [self._call(call, room) for call in said.tool_calls]
        for at, spans in enumerate(lines):
            first = [*name, *spans] if at == 0 else spans
            used = sum(cell_len(text) for _, text in first)
            gap = 2 if self._page.width is None else max(room - used, 0) + 2
            yield [*first, ("", " " * gap), ("muted", mark)] if mark and at == 0 else first

    def _paragraphs(self, said: known.Message, room: int) -> Iterator[tuple[str, str]]:
        if not said.text:
            if not said.tool_calls:
                yield ("muted", "(no text)" if said.role != "remove" else "(removes this message)")
            return
        if self._page.width is None:
            yield ("value", said.text)
            return
        for at, line in enumerate(wrap(said.text, max(room, 16))):
            if at == _TEXT_LINES and not self._full:
                yield ("muted", f"… {size_of(said.text)} in all")
                return
            yield ("value", line)

    def _call(self, call: dict[str, Any], room: int) -> Line:
        name, args = str(call.get("name")), call.get("args")
        shown = brief(args, None if self._full else room - cell_len(name) - 3, reveal=self._page.reveal)
        return [("muted", "→ "), ("node", name), ("value", f" {shown}" if args not in (None, {}) else "")]

    def _mark(self, said: known.Message) -> str:
        return (said.id or "") if self._full else short_id(said.id or "")

    def _rest(self, node: Node, indent: int) -> Iterator[Line]:
        """What a message has beside what a conversation shows."""
        rest = {key: item for key, item in (node.fields or {}).items() if key not in _TOLD and item not in _EMPTY}
        if rest:
            yield from self._entries(rest, indent, 1)


_TOLD = frozenset({"content", "id", "tool_calls", "type", "name", "role"})
_EMPTY: Sequence[Any] = (None, "", [], {})


def _is_bad(value: Any) -> bool:
    return isinstance(value, Node) and value.form is Form.BROKEN


def _style(value: Any) -> str:
    return "bad" if _is_bad(value) else "value"


def _speaker(role: str) -> str:
    return role if role in ("human", "ai", "tool", "system") else "system"


def _count(value: Any) -> int:
    if isinstance(value, dict | list | tuple):
        return len(value)
    return sum(1 for _ in elements(value))


def _chosen(pairs: Iterator[tuple[str, Any]], first: range, last: range) -> Iterator[tuple[str, Any]]:
    return (pair for at, pair in enumerate(pairs) if at in first or at in last)
