"""Messages as a conversation: who speaks, the text beside, tools called below, ids at the right."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ckpt_cli.output.cells import cell_len, line_len, pad, wrap
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.text.brief import UNCUT, brief, size_of
from ckpt_cli.output.theme import LEADS_TO, MORE, ROLES
from ckpt_cli.values import known
from ckpt_cli.values.node import Node

TEXT_LINES = 8
"""Lines of a text that are shown before it is folded."""
SHOWN = 24
"""Entries of a list or dict that are shown before it is folded."""
FIRST = 3
"""Of which so many are a list's first ones, the others its last."""

_TOLD = frozenset({"content", "id", "tool_calls", "type", "name", "role"})
_EMPTY: Sequence[Any] = (None, "", [], {})


def short_id(own: str) -> str:
    """The id of a message, in short where it is a long random one."""
    return own if len(own) <= 14 else f"{own[:8]}{MORE}"


def folded(total: int, full: bool, first: int = FIRST) -> tuple[range, range]:
    """Which of so many entries are shown: the first few and the last ones, or all."""
    if full or total <= SHOWN:
        return range(total), range(total, total)
    return range(first), range(total - SHOWN + first, total)


class Conversation:
    """Renders messages for one page.

    Args:
        extras: shows what a message has beside what a conversation tells; None leaves it out.
    """

    def __init__(
        self, page: Page, full: bool, extras: Callable[[dict[str, Any], int], Iterator[Line]] | None = None
    ) -> None:
        self._page = page
        self._full = full
        self._extras = extras

    def lines(self, value: list[Any], indent: int) -> Iterator[Line]:
        """Who, what, and the tools called, one after the other."""
        first, last = folded(len(value), self._full)
        said = {at: one for at in (*first, *last) if (one := known.message(value[at])) is not None}
        number = len(str(len(value) - 1)) + 2
        role = max(len(one.role) for one in said.values())
        for at, one in said.items():
            if last and at == last.start:
                yield [("", " " * indent), ("muted", f"{MORE} {last.start - len(first)} more messages")]
            who: Line = [("muted", pad(f"[{at}]", number)), ("", " "), (_speaker(one.role), pad(one.role, role))]
            yield from self._message(one, [("", " " * indent), *who, ("", "  ")], indent + number + role + 3)
            if self._extras is not None and isinstance(value[at], Node):
                rest = {k: v for k, v in (value[at].fields or {}).items() if k not in _TOLD and v not in _EMPTY}
                yield from self._extras(rest, indent + number + role + 3)

    def _message(self, said: known.Message, who: Line, indent: int) -> Iterator[Line]:
        """Who speaks, the text beside it, the tools called below, the id at the right."""
        room = UNCUT if self._page.width is None else max(self._page.width - indent, 20)
        for at, spans in enumerate(self._words(said, room - 1)):
            yield [*(who if at == 0 else [("", " " * indent)]), *spans]

    def _words(self, said: known.Message, room: int) -> Iterator[Line]:
        mark = (said.id or "") if self._full else short_id(said.id or "")
        piped = self._page.width is None
        room -= cell_len(mark) + 2 if mark and not piped else 0
        name: Line = [("node", f"{said.name}  ")] if said.name and said.role == "tool" else []
        lines = [[line] for line in self._paragraphs(said, room - line_len(name))]
        lines += [self._call(call, room) for call in said.tool_calls]
        for at, spans in enumerate(lines):
            first = [*name, *spans] if at == 0 else spans
            gap = 2 if piped else max(room - line_len(first), 0) + 2
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
            if at == TEXT_LINES and not self._full:
                yield ("muted", f"{MORE} {size_of(said.text)} in all")
                return
            yield ("value", line)

    def _call(self, call: dict[str, Any], room: int) -> Line:
        name, args = str(call.get("name")), call.get("args")
        shown = brief(args, None if self._full else room - cell_len(name) - 3, reveal=self._page.reveal)
        return [("muted", f"{LEADS_TO} "), ("node", name), ("value", f" {shown}" if args not in (None, {}) else "")]


def _speaker(role: str) -> str:
    return role if role in ROLES else "system"
