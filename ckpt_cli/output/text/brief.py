"""A value in one line of limited width, for tables and summaries: class, quotes, how much is left out.

Text is in “quotes”; plain lists and dicts look like JSON; objects look like ``Person(name=“Ada”, age=36)``. Of a large
value, only the part that fits is read.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from json.encoder import encode_basestring
from typing import Any

from ckpt_cli.output.cells import cell_len, truncate
from ckpt_cli.output.clean import clean
from ckpt_cli.output.quantities import size
from ckpt_cli.output.text import array_text
from ckpt_cli.output.theme import LEADS_TO, MORE, UNREADABLE, quoted
from ckpt_cli.values import langgraph_values
from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.parts import fields, inside, is_leaf, parts, positions

UNCUT = 4000
"""The number of cells for a value if no terminal limits the line."""
_DEEPEST = 6
_BARE = frozenset({"datetime", "date", "time", "timedelta", "UUID"})


def brief(value: Any, cells: int | None = None, *, reveal: bool = False) -> str:
    """A value in one line of at most `cells` cells; None means `UNCUT` cells."""
    room = UNCUT if cells is None else cells
    return truncate(_Brief(reveal).text(value, room, 0), room)


def whole(value: Any, cells: int, *, reveal: bool = False) -> str | None:
    """The same line as `brief` gives, but None if a part had to be left out."""
    writer = _Brief(reveal)
    text = writer.text(value, cells, 0)
    return text if not writer.cut and cell_len(text) <= cells else None


def class_name(node: Node) -> str:
    """The name of an object's class, without its module."""
    return node.name.rpartition(".")[2] or "object"


class _Brief:
    """Renders one value; secrets are shown or masked at every depth.

    Attributes:
        cut: whether a part of the value was left out.
    """

    def __init__(self, reveal: bool) -> None:
        self._reveal = reveal
        self.cut = False

    def text(self, value: Any, cells: int, depth: int, *, inner: bool = False) -> str:
        """The text of any value; `inner` is true inside plain lists and dicts, where strings are written as JSON."""
        value = inside(value)
        if isinstance(value, str):
            return self._json_text(value, cells) if inner else self._quoted(value, cells)
        if isinstance(value, bytes | bytearray):
            return f"bytes {size(len(value))} {value[:8].hex()}{MORE if len(value) > 8 else ''}".rstrip()
        if isinstance(value, Node):
            return self._node(value, cells, depth)
        if isinstance(value, list | tuple):
            return self._list(value, cells, depth, ("[", "]") if isinstance(value, list) else ("(", ")"))
        if isinstance(value, dict):
            return self._dict(value, cells, depth)
        return scalar(value)

    def _node(self, node: Node, cells: int, depth: int) -> str:
        form = node.form
        if form is Form.BROKEN:
            return f"{UNREADABLE} {node.problem or 'cannot be decoded'}"
        if form is Form.OPAQUE:
            return f"opaque {node.name} {size(len(node.raw or b''))}"
        if form is Form.UNDEFINED:
            return "undefined"
        if form is Form.ARRAY and isinstance(node.state, dict):
            return self._array(node.state, cells)
        return self._known(node, cells, depth) or self._object(node, cells, depth)

    def _known(self, node: Node, cells: int, depth: int) -> str | None:
        natural = langgraph_values.text(node, self._reveal)
        if natural is not None:
            return natural if node.name in _BARE else f"{class_name(node)}({self._truncated(natural, cells)})"
        elements = langgraph_values.items(node)
        if elements is not None:
            marks = ("[", "]") if node.name == "deque" else ("{", "}")
            return self._list(elements, cells, depth, (class_name(node).lower() + marks[0], marks[1]))
        if message := langgraph_values.message(node):
            return self._message(message, cells, depth)
        return None

    def _message(self, message: langgraph_values.Message, cells: int, depth: int) -> str:
        if removal := langgraph_values.removal(message):
            return self._truncated(removal, cells)
        head = message.role + (f" {message.name}" if message.name and message.role == "tool" else "")
        words = [self._quoted(message.text, cells - len(head) - 1)] if message.text or not message.tool_calls else []
        calls = [f"{LEADS_TO} {self.call(call, cells, depth)}" for call in message.tool_calls[:3]]
        return self._truncated(" ".join([head, *words, *calls]), cells)

    def call(self, call: dict[str, Any], cells: int, depth: int) -> str:
        """A tool call, as ``lookup(order=“1043”)``."""
        name, args = str(call.get("name") or "?"), call.get("args")
        if not isinstance(args, dict):
            return f"{name}({self.text(args, cells, depth + 1)})"
        return self._fields(name, [], args, cells, depth)

    def _object(self, node: Node, cells: int, depth: int) -> str:
        named_fields = fields(node)
        args = [] if langgraph_values.send(node) else list(positions(node) or ())
        return self._fields(class_name(node), args, named_fields, cells, depth)

    def _fields(self, name: str, args: list[Any], named_fields: dict[Any, Any], cells: int, depth: int) -> str:
        pairs = [("", value) for value in args]
        total = len(args) + len(named_fields)
        pairs += [(f"{key}=", value) for key, value in islice(named_fields.items(), max(cells, 0) // 4 + 1)]
        return self._join_elements((f"{name}(", ")"), pairs, total, "fields", cells, depth, inner=False)

    def _list(self, value: list[Any] | tuple[Any, ...], cells: int, depth: int, marks: tuple[str, str]) -> str:
        pairs = (("", item) for item in value)
        return self._join_elements(marks, pairs, len(value), "items", cells, depth, inner=True)

    def _dict(self, value: dict[Any, Any], cells: int, depth: int) -> str:
        pairs = ((f"{self._key(key)}: ", item) for key, item in value.items())
        return self._join_elements(("{", "}"), pairs, len(value), "keys", cells, depth, inner=True)

    def _key(self, key: Any) -> str:
        return self._json_text(key, 60) if isinstance(key, str) else self.text(key, 60, _DEEPEST - 1)

    def _array(self, state: dict[str, Any], cells: int) -> str:
        head = f"array {array_text.heading(state)}"
        first = array_text.first(state, 12)
        if first is None:
            return head
        numbers, total = first
        self.cut |= total > len(numbers)
        pairs = (("", f) for f in numbers)
        return f"{head} {self._join_elements(('[', ']'), pairs, total, 'items', cells - len(head) - 1, 0, inner=True)}"

    def _join_elements(
        self,
        marks: tuple[str, str],
        pairs: Iterable[tuple[str, Any]],
        total: int,
        noun: str,
        cells: int,
        depth: int,
        *,
        inner: bool,
    ) -> str:
        """The elements that fit, between the marks, followed by the number of elements left out."""
        left = cells - cell_len(marks[0]) - len(marks[1])
        shown: list[str] = []
        for label, value in pairs if depth < _DEEPEST else ():
            rest = total - len(shown) - 1
            tail = len(f", {MORE} {rest} more") if rest else 0
            room = left - tail - (2 if shown else 0)
            part = label + self.text(value, _element_room(room, rest) - cell_len(label), depth + 1, inner=inner)
            used = cell_len(part)
            if used > room or room < 3:
                break
            left -= used + (2 if shown else 0)
            shown.append(part)
        self.cut |= len(shown) < total
        return marks[0] + _join_with_rest(shown, total, noun) + marks[1]

    def _quoted(self, text: str, cells: int) -> str:
        return quoted(self._truncated(text, cells - 2))

    def _json_text(self, text: str, cells: int) -> str:
        shown = encode_basestring(text[: max(cells, 0) + 8])[1:-1]
        return f'"{self._truncated(shown, cells - 2)}"'

    def _truncated(self, text: str, cells: int) -> str:
        shown = truncate(text, max(cells, 1))
        self.cut |= shown is not text and shown != clean(text)
        return shown


def _element_room(room: int, rest: int) -> int:
    """The number of cells that one element may take, so that the elements after it get cells too."""
    return room if not rest else min(room, max(24, room * 2 // 3))


def _join_with_rest(whole: list[str], total: int, noun: str) -> str:
    rest = total - len(whole)
    if not whole:
        return f"{total} {noun if total != 1 else noun.rstrip('s')}" if total else ""
    return ", ".join([*whole, f"{MORE} {rest} more"] if rest else whole)


def scalar(value: Any) -> str:
    """The text of None, a boolean or a number, as JSON writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 4096:
        return f"an integer of {value.bit_length()} bits"
    return str(value)


def elements(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a container, each with its label, to be shown one per line."""
    keyed = isinstance(value, dict)
    for key, item in parts(value):
        plain = isinstance(key, str) and (key.isprintable() or not keyed)
        yield (key if plain else f"[{brief(key, 60)}]"), item


def size_of(value: Any) -> str:
    """The class or size of a value, as a remark for the line above the value."""
    if isinstance(value, str):
        return f"{len(value):,} characters"
    if isinstance(value, Node) and langgraph_values.items(value) is None:
        return class_name(value)
    if is_leaf(value):
        return ""
    if isinstance(value, dict):
        return f"{{{len(value)} {'key' if len(value) == 1 else 'keys'}}}"
    total = len(langgraph_values.items(value) or ()) if isinstance(value, Node) else len(value)
    noun = f"{total} {'item' if total == 1 else 'items'}"
    return f"{class_name(value)} of {noun}" if isinstance(value, Node) else f"[{noun}]"
