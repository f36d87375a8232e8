"""Views as JSON: fields go by their names, values out of the state take the typed form of `values.jsonform`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ckpt_cli.errors import UsageError
from ckpt_cli.views.base import Json, View

_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]")


class Query:
    """A JMESPath expression, compiled before any database is opened."""

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
        """What the expression picks out of JSON data."""
        try:
            return self._compiled.search(data)
        except self._errors as error:
            raise UsageError(f"--query: {_first_line(error)}", hint="see https://jmespath.org") from error


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def document(view: View, query: Query | None, *, reveal: bool) -> str:
    """A whole view, indented by two everywhere so that one form is all there is."""
    data = form(view, reveal)
    return text(query(data) if query else data, indent=2)


def rows(view: View, query: Query | None, *, reveal: bool) -> Iterator[str]:
    """The rows of a list, one object a line, as they come."""
    for row in getattr(view, view.rows_field):
        data = form(row, reveal)
        yield text(query(data) if query else data, indent=None)


def text(data: Any, *, indent: int | None) -> str:
    """JSON text that is safe on a terminal: what it would obey is escaped, which JSON allows inside strings."""
    import json

    encoded = json.dumps(data, ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", encoded) if _UNSAFE.search(encoded) else encoded


def form(value: Any, reveal: bool) -> Any:
    """A view, a part of one, or a value in it as JSON data."""
    from ckpt_cli.values.jsonform import to_json

    if isinstance(value, Json):
        return value.data
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: form(getattr(value, field.name), reveal) for field in fields(value)}
    if isinstance(value, list | tuple | set | frozenset | Iterator):
        return [form(item, reveal) for item in value]
    if isinstance(value, Mapping) and _is_structure(value):
        return {str(key): form(item, reveal) for key, item in value.items()}
    return to_json(value, reveal=reveal)


def _is_structure(value: Mapping[Any, Any]) -> bool:
    """Whether a mapping is a part of the view (its values are) and no value out of the state."""
    return any(
        is_dataclass(item) or (isinstance(item, list | tuple) and any(map(is_dataclass, item)))
        for item in value.values()
    )
