"""Views as JSON text: ``--json``, ``--jsonl``, ``--query``; any depth, control characters escaped.

Each field is written under its name; values of the state get the typed form of `values.jsonform`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from ckpt_cli.output.clean import hostile
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.views.base import Json, Rows, View

if TYPE_CHECKING:
    from ckpt_cli.output.query import Query

_SCALARS = frozenset({str, int, bool})
_SEARCHED_LEVELS = 3  # this many levels of plain lists and dicts are searched for parts of a view


def document(view: View, query: "Query | None", *, reveal: bool) -> str:
    """A whole view as JSON text, always indented by two blanks."""
    return "\n".join(document_lines(view, query, reveal=reveal))


def document_lines(view: View, query: "Query | None", *, reveal: bool) -> Iterator[str]:
    """The same text, piece by piece; each piece is one or several lines.

    Rows are written one by one, so that their data isn't in memory at once; only a query needs the whole view.
    """
    if query is not None:
        data = form(view, reveal)
        yield text(query(data[view.query_field] if view.query_field else data), indent=2)
    elif any(_is_streamed(getattr(view, name)) for name in _part_names(view)):
        yield from _streamed(view, reveal)
    else:
        yield text(form(view, reveal), indent=2)


def _streamed(view: View, reveal: bool) -> Iterator[str]:
    """The same text as of the whole view, row by row. Fields after the rows are read when these have been taken."""
    names = _part_names(view)
    yield "{"
    for name in names:
        end, value = "" if name == names[-1] else ",", getattr(view, name)
        if not _is_streamed(value):
            yield f'  "{name}": {_indented(form(value, reveal), 2)}{end}'
            continue
        before = None
        for row in value:
            yield f'  "{name}": [' if before is None else f"{before},"
            before = f"    {_indented(form(row, reveal), 4)}"
        yield from (f'  "{name}": []{end}',) if before is None else (before, f"  ]{end}")
    yield "}"


def _is_streamed(value: Any) -> bool:
    return isinstance(value, Iterator | Rows) or (isinstance(value, list) and bool(value and _part_names(value[0])))


def _indented(data: Any, blanks: int) -> str:
    return text(data, indent=2).replace("\n", "\n" + " " * blanks)


def rows(view: View, query: "Query | None", *, reveal: bool) -> Iterator[str]:
    """The rows of a list, one JSON text for each; rows are read one by one, and the query applies to each row."""
    for row in getattr(view, view.rows_field):
        data = form(row, reveal)
        yield text(query(data) if query else data, indent=None)


def text(data: Any, *, indent: int | None) -> str:
    """JSON text that is safe on a terminal: control characters in strings are written as JSON escapes."""
    try:
        encoded = json.dumps(data, ensure_ascii=False, indent=indent)
    except RecursionError:  # Python's encoder fails at about 1000 levels, which a hostile value may have
        encoded = "".join(_encode_deep(data))
    if encoded.isascii() and "\x7f" not in encoded:  # the encoder escapes the other ASCII controls itself
        return encoded
    return hostile(but="\n").sub(lambda match: f"\\u{ord(match[0]):04x}", encoded)


def form(value: Any, reveal: bool) -> Any:
    """JSON data for a view, for a part of a view, or for a value in it."""
    if value is None or type(value) in _SCALARS:
        return value
    if isinstance(value, Json):
        return value.data(reveal) if callable(value.data) else value.data
    if isinstance(value, Enum):
        return value.value
    if names := _part_names(value):
        return {name: form(getattr(value, name), reveal) for name in names}
    if isinstance(value, tuple | set | frozenset | Iterator | Rows):
        return [form(item, reveal) for item in value]
    if _holds_parts(value, _SEARCHED_LEVELS):
        if isinstance(value, Mapping):
            return {str(key): form(item, reveal) for key, item in value.items()}
        return [form(item, reveal) for item in value]
    return to_json(value, reveal=reveal)


def _part_names(value: Any) -> Sequence[str]:
    """The field names of a view or of a part of it; empty for a decoded value, which has no such class."""
    if isinstance(value, tuple):
        return getattr(value, "_fields", ())
    return [field.name for field in fields(value)] if is_dataclass(value) and not isinstance(value, type) else ()


def _holds_parts(value: Any, depth: int) -> bool:
    """Whether a list or dict contains parts of a view; if not, it is a value of the state."""
    if not isinstance(value, list | Mapping) or depth == 0:
        return False
    items = value.values() if isinstance(value, Mapping) else value
    return any(_part_names(i) or isinstance(i, Enum | tuple | frozenset) or _holds_parts(i, depth - 1) for i in items)


def _encode_deep(data: Any) -> Iterator[str]:
    """The pieces of a JSON text, without indentation; the data may be nested to any depth."""
    pending: list[Any] = [data]  # a tuple contains text that is written as it is

    while pending:
        item = pending.pop()
        if isinstance(item, tuple):
            yield item[0]
        elif isinstance(item, list | dict) and item:
            keyed = isinstance(item, dict)
            pending.append(("}" if keyed else "]",))
            for number, key in reversed(list(enumerate(item))):
                comma = ", " if number else ""
                pending.append(item[key] if keyed else key)
                pending.append((f"{comma}{json.dumps(key, ensure_ascii=False)}: " if keyed else comma,))
            yield "{" if keyed else "["
        else:
            yield json.dumps(item, ensure_ascii=False)
