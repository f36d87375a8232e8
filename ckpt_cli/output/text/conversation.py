"""Messages as a conversation: the speaker, the text beside it, tool calls below, the id at the right."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ckpt_cli.output.cells import cell_len, line_len, pad, wrap
from ckpt_cli.output.line import Line, Page
from ckpt_cli.output.text.brief import UNCUT, brief, size_of
from ckpt_cli.output.theme import LEADS_TO, MORE, ROLES
from ckpt_cli.values import langgraph_values
from ckpt_cli.values.node import Node

TEXT_LINES = 8
"""A longer text is folded after so many lines."""
SHOWN = 24
"""A list or dict with more entries is folded to so many."""
FIRST = 3
"""Of a folded list, so many first entries are shown; the other shown entries are its last ones."""

_SHOWN_FIELDS = frozenset({"content", "id", "tool_calls", "type", "name", "role"})
_EMPTY: Sequence[Any] = (None, "", [], {})


def short_id(own: str) -> str:
    """The id of a message; a long id is shortened to its beginning."""
    return own if len(own) <= 14 else f"{own[:8]}{MORE}"


def folded(total: int, full: bool, first: int = FIRST) -> tuple[range, range]:
    """The indices of the entries to show: the first few and the last; or all, and an empty range."""
    if full or total <= SHOWN:
        return range(total), range(total, total)
    return range(first), range(total - SHOWN + first, total)


class Conversation:
    """Renders messages for one page.

    Args:
        extras: shows the other fields of a message; None leaves them out.
    """

    def __init__(
        self, page: Page, full: bool, extras: Callable[[dict[str, Any], int], Iterator[Line]] | None = None
    ) -> None:
        self._page = page
        self._full = full
        self._extras = extras

    def lines(self, value: list[Any], indent: int) -> Iterator[Line]:
        """The lines of all messages, one message after the other."""
        first, last = folded(len(value), self._full)
        messages = {
            index: message
            for index in (*first, *last)
            if (message := langgraph_values.message(value[index])) is not None
        }
        number_cells = len(str(len(value) - 1)) + 2
        role_cells = max(len(message.role) for message in messages.values())
        for index, message in messages.items():
            if last and index == last.start:
                yield [("", " " * indent), ("muted", f"{MORE} {last.start - len(first)} more messages")]
            speaker: Line = [
                ("muted", pad(f"[{index}]", number_cells)),
                ("", " "),
                (_speaker(message.role), pad(message.role, role_cells)),
            ]
            yield from self._message(
                message, [("", " " * indent), *speaker, ("", "  ")], indent + number_cells + role_cells + 3
            )
            if self._extras is not None and isinstance(value[index], Node):
                rest = {
                    k: v for k, v in (value[index].fields or {}).items() if k not in _SHOWN_FIELDS and v not in _EMPTY
                }
                yield from self._extras(rest, indent + number_cells + role_cells + 3)

    def _message(self, message: langgraph_values.Message, speaker: Line, indent: int) -> Iterator[Line]:
        """The speaker, the text beside it, the tool calls below, the id at the right."""
        room = UNCUT if self._page.width is None else max(self._page.width - indent, 20)
        for index, spans in enumerate(self._words(message, room - 1)):
            yield [*(speaker if index == 0 else [("", " " * indent)]), *spans]

    def _words(self, message: langgraph_values.Message, room: int) -> Iterator[Line]:
        shown_id = (message.id or "") if self._full else short_id(message.id or "")
        piped = self._page.width is None
        room -= cell_len(shown_id) + 2 if shown_id and not piped else 0
        name: Line = [("node", f"{message.name}  ")] if message.name and message.role == "tool" else []
        lines = [[line] for line in self._paragraphs(message, room - line_len(name))]
        lines += [self._call(call, room) for call in message.tool_calls]
        for index, spans in enumerate(lines):
            first = [*name, *spans] if index == 0 else spans
            gap = 2 if piped else max(room - line_len(first), 0) + 2
            yield [*first, ("", " " * gap), ("muted", shown_id)] if shown_id and index == 0 else first

    def _paragraphs(self, message: langgraph_values.Message, room: int) -> Iterator[tuple[str, str]]:
        if not message.text:
            if not message.tool_calls:
                yield ("muted", _removal(message) or "(no text)")
            return
        if self._page.width is None:
            yield ("value", message.text)
            return
        for index, line in enumerate(wrap(message.text, max(room, 16))):
            if index == TEXT_LINES and not self._full:
                yield ("muted", f"{MORE} {size_of(message.text)} in all")
                return
            yield ("value", line)

    def _call(self, call: dict[str, Any], room: int) -> Line:
        name, args = str(call.get("name")), call.get("args")
        shown = brief(args, None if self._full else room - cell_len(name) - 3, reveal=self._page.reveal)
        return [("muted", f"{LEADS_TO} "), ("node", name), ("value", f" {shown}" if args not in (None, {}) else "")]


def _removal(message: langgraph_values.Message) -> str | None:
    """What a message without text removes; the id of one message is beside it."""
    removed = "all messages" if message.id == langgraph_values.REMOVE_ALL else "this message"
    return f"(removes {removed})" if message.role == "remove" else None


def _speaker(role: str) -> str:
    return role if role in ROLES else "system"
