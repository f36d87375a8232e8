"""Writes views as JSON: fields under their names, values of the state in the typed form of `values.jsonform`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.output.clean import hostile
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.views.base import Json, View

_LOOK = 3  # levels of plain lists and dicts that are searched for parts of a view


class Query:
    """A JMESPath expression; it is compiled, and refused, before any database is opened."""

    def __init__(self, expression: str) -> None:
        import jmespath  # type: ignore[import-untyped]
        from jmespath.exceptions import JMESPathError  # type: ignore[import-untyped]

        self._errors = JMESPathError
        try:
            self._compiled = jmespath.compile(expression)
        except JMESPathError as error:
            raise UsageError(
                f"--query {expression!r}: {_first_line(error)}", hint="see https://jmespath.org"
            ) from error

    def __call__(self, data: Any) -> Any:
        """The result of the expression on JSON data."""
        try:
            return self._compiled.search(data)
        except self._errors as error:
            raise UsageError(f"--query: {_first_line(error)}", hint="see https://jmespath.org") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(":")


def document(view: View, query: Query | None, *, reveal: bool) -> str:
    """A whole view as text, always indented by two, so that there is only one form."""
    data = form(view, reveal)
    if query is None:
        return text(data, indent=2)
    return text(query(data[view.query_field] if view.query_field else data), indent=2)


def rows(view: View, query: Query | None, *, reveal: bool) -> Iterator[str]:
    """The rows of a list, one JSON object per line, as they come; the query applies to each row."""
    for row in getattr(view, view.rows_field):
        data = form(row, reveal)
        yield text(query(data) if query else data, indent=None)


def text(data: Any, *, indent: int | None) -> str:
    """JSON text that is safe on a terminal: control characters are escaped, which JSON allows inside strings."""
    try:
        encoded = json.dumps(data, ensure_ascii=False, indent=indent)
    except RecursionError:  # Python's encoder fails at about 1000 levels, which a hostile value may have
        encoded = "".join(_deep(data))
    if encoded.isascii() and "\x7f" not in encoded:  # the encoder escapes the other ASCII controls itself
        return encoded
    return hostile(but="\n").sub(lambda match: f"\\u{ord(match[0]):04x}", encoded)


def form(value: Any, reveal: bool) -> Any:
    """A view, a part of one, or a value in it as JSON data."""
    if isinstance(value, Json):
        return value.data(reveal) if callable(value.data) else value.data
    if isinstance(value, Enum):
        return value.value
    if names := _part_names(value):
        return {name: form(getattr(value, name), reveal) for name in names}
    if isinstance(value, tuple | set | frozenset | Iterator):
        return [form(item, reveal) for item in value]
    if _holds_parts(value, _LOOK):
        if isinstance(value, Mapping):
            return {str(key): form(item, reveal) for key, item in value.items()}
        return [form(item, reveal) for item in value]
    return to_json(value, reveal=reveal)


def _part_names(value: Any) -> Sequence[str]:
    """The fields of a view or of a part of one; decoded values are neither dataclasses nor named tuples."""
    if isinstance(value, tuple):
        return getattr(value, "_fields", ())
    return [field.name for field in fields(value)] if is_dataclass(value) and not isinstance(value, type) else ()


def _holds_parts(value: Any, depth: int) -> bool:
    """Whether a list or dict belongs to the view's structure; else it is a value out of the state."""
    if not isinstance(value, list | Mapping) or depth == 0:
        return False
    items = value.values() if isinstance(value, Mapping) else value
    return any(_part_names(i) or isinstance(i, Enum | tuple | frozenset) or _holds_parts(i, depth - 1) for i in items)


def _deep(data: Any) -> Iterator[str]:
    """The pieces of a JSON text of any depth, without indentation."""
    todo: list[Any] = [data]  # a tuple holds text to be written as it is

    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            yield item[0]
        elif isinstance(item, list | dict) and item:
            keyed = isinstance(item, dict)
            todo.append(("}" if keyed else "]",))
            for number, key in reversed(list(enumerate(item))):
                comma = ", " if number else ""
                todo.append(item[key] if keyed else key)
                todo.append((f"{comma}{json.dumps(key, ensure_ascii=False)}: " if keyed else comma,))
            yield "{" if keyed else "["
        else:
            yield json.dumps(item, ensure_ascii=False)
