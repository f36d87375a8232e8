"""Views as JSON: a contract that scripts rely on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import pytest

from ckpt_cli.errors import UsageError
from ckpt_cli.output.json import document, document_lines, form, rows, text
from ckpt_cli.output.query import Query
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.views.base import Json, View


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Item:
    name: str
    value: Any


@dataclass
class Items(View):
    verb: ClassVar[str] = "items"
    rows_field: ClassVar[str] = "items"

    items: Any
    more: Any = None


def test_fields_go_by_their_names() -> None:
    """A view is an object of its fields, dataclasses inside it too, in lists, tuples and dicts."""
    view = Items([Item("a", 1)], {"x": Item("b", (1, Colour.RED))})
    assert json.loads(document(view, None, reveal=False)) == {
        "items": [{"name": "a", "value": 1}],
        "more": {"x": {"name": "b", "value": [1, "red"]}},
    }


def test_values_are_typed_and_escaped() -> None:
    """A value of the state takes the typed form; a user's own ``$`` keys are escaped."""
    node = Node(Opened("app.models", "Order", Form.KWARGS, {"id": 7}))
    data = form(Items([], {"order": node, "$type": "mine"}), reveal=False)
    assert data["more"] == {"order": {"$type": "app.models.Order", "id": 7}, "$$type": "mine"}


def test_json_that_is_json_already_is_left_alone() -> None:
    """What was encoded before isn't escaped again."""
    assert form(Items([], Json([{"op": "add", "value": {"$type": "a.B"}}])), reveal=False)["more"] == [
        {"op": "add", "value": {"$type": "a.B"}}
    ]


@pytest.mark.parametrize("hostile", ["\x1b[31m", "\x9b31m", "\u202e", "\u2028", "\x7f", "\ud83d", "\x00"])
def test_json_is_safe_on_a_terminal_and_lossless(hostile: str) -> None:
    """JSON text holds no control characters, and reads back the same."""
    encoded = text({hostile: hostile}, indent=2)
    assert hostile not in encoded
    assert json.loads(encoded) == {hostile: hostile}


def test_text_of_any_script_is_readable() -> None:
    """Text isn't turned into ASCII escapes."""
    assert text("中文 👩‍👩‍👧", indent=None) == '"中文 👩‍👩‍👧"'


def test_depth_is_no_limit() -> None:
    """A value nested deeper than Python's own encoder goes is printed all the same."""
    deep: Any = {"end": True, "list": [1, "x"], "empty": []}
    for _ in range(5000):
        deep = [deep]
    encoded = document(Items([], deep), None, reveal=False)
    assert '[{"end": true, "list": [1, "x"], "empty": []}]' in encoded


def test_rows_are_streamed() -> None:
    """A line is given before the next row is made."""
    made: list[int] = []

    def items() -> Iterator[Item]:
        for number in range(3):
            made.append(number)
            yield Item("a\nb", number)

    lines = rows(Items(items()), None, reveal=False)
    assert next(lines) == '{"name": "a\\nb", "value": 0}'
    assert made == [0]


def test_a_list_of_parts_is_written_row_by_row() -> None:
    """The data of all rows is never in memory at once; the text is that of the whole view."""
    view = Items([Item("a", [1, {"x": "\n"}]), Item("b", [])], {"x": 1})
    pieces = list(document_lines(view, None, reveal=False))
    assert len(pieces) > len(view.items)
    assert "\n".join(pieces) == text(form(view, reveal=False), indent=2)


def test_a_query_picks() -> None:
    """JMESPath works on the whole document, and on each row where rows are streamed."""
    view = Items([Item("a", 1), Item("b", 2)])
    assert json.loads(document(view, Query("items[?value > `1`].name"), reveal=False)) == ["b"]
    assert list(rows(view, Query("name"), reveal=False)) == ['"a"', '"b"']


@pytest.mark.parametrize("expression", ["items[", "nosuch(@)", ""])
def test_a_bad_query_is_a_usage_error(expression: str) -> None:
    """An expression that JMESPath can't parse or evaluate is a usage error."""
    with pytest.raises(UsageError, match="--query"):
        document(Items([]), Query(expression), reveal=False)
