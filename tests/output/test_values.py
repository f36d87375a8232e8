"""Values as text: in one line, and over as many as they need."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.output.cells import cell_len
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text.values import block, brief, inline, value_after
from ckpt_cli.values.node import Form, Node, Opened, broken, opaque
from tests.history.nested import VALUES


def node(module: str, name: str, form: Form, state: object) -> Node:
    """An object."""
    return Node(Opened(module, name, form, state))


def said(content: object, kind: str = "ai", **more: object) -> Node:
    """A message."""
    fields = {"content": content, "type": kind, "id": "m1", **more}
    return node("langchain_core.messages.ai", f"{kind.title()}Message".replace("Ai", "AI"), Form.PYDANTIC, fields)


PERSON = node("agent", "Person", Form.PYDANTIC, {"name": "Ada", "age": 36})
CALL = {"name": "lookup", "args": {"order": "1043"}, "id": "call_1"}

IN_ONE_LINE = [
    ("hi", "“hi”"),
    ("two\nlines", "“two⏎lines”"),
    (None, "null"),
    (True, "true"),
    (1.0, "1.0"),
    (float("nan"), "nan"),
    (b"\x00\x01", "bytes 2 B 0001"),
    ({"amount": 40, "who": "Ada"}, '{"amount": 40, "who": "Ada"}'),
    ([1, [2], {}], "[1, [2], {}]"),
    ({1: "x", (1, 2): None}, '{1: "x", (1, 2): null}'),
    (PERSON, "Person(name=“Ada”, age=36)"),
    (node("builtins", "set", Form.VALUE, [1, 2]), "set{1, 2}"),
    (node("m", "Color", Form.VALUE, "red"), "Color(red)"),
    (node("datetime", "datetime", Form.METHOD, "2026-11-01T10:00:00"), "2026-11-01T10:00:00"),
    (node("decimal", "Decimal", Form.VALUE, "1.50"), "Decimal(1.50)"),
    (node("pydantic", "SecretStr", Form.VALUE, "hush"), "SecretStr(**********)"),
    (node("langgraph.types", "Send", Form.ARGS, ["work", {"i": 1}]), 'Send(node=“work”, arg={"i": 1})'),
    (node("", "_DeltaSnapshot", Form.SNAPSHOT, [1]), "[1]"),
    (node("", "", Form.UNDEFINED, None), "undefined"),
    (broken("truncated @ $[2]"), "⚠ truncated @ $[2]"),
    (opaque("myserde", b"abc"), "opaque myserde 3 B"),
    (said("Hello"), "ai “Hello”"),
    (said("", tool_calls=[CALL]), "ai → lookup(order=“1043”)"),
    (said("found", "tool", name="lookup"), "tool lookup “found”"),
    (1 << 5000, "an integer of 5001 bits"),
    (
        node("numpy", "ndarray", Form.ARRAY, {"dtype": "<f4", "shape": [2, 1], "order": "C", "data": b"\0\0\x80?" * 2}),
        "array float32[2×1] [1.0, 1.0]",
    ),
    (
        node("numpy", "ndarray", Form.ARRAY, {"dtype": "<U3", "shape": [1], "order": "C", "data": bytes(12)}),
        "array <U3[1]",
    ),
]


@pytest.mark.parametrize(("value", "text"), IN_ONE_LINE, ids=lambda value: str(value)[:20])
def test_every_kind_of_value_reads_naturally_in_one_line(value: object, text: str) -> None:
    """Text in quotes, JSON as JSON, objects as calls, secrets masked, damage visible."""
    assert brief(value) == text


@pytest.mark.parametrize(
    ("value", "cells", "text"),
    [
        ("a long text", 8, "“a lon…”"),
        (list(range(100)), 20, "[0, 1, … 98 more]"),
        ({"amount": 40, "who": "Ada"}, 12, "{2 keys}"),
        ([{"a": 1}, {"b": 2}], 12, "[2 items]"),
        ("你好，世界", 8, "“你好…”"),
    ],
)
def test_what_has_no_room_is_counted(value: object, cells: int, text: str) -> None:
    """No text has more cells than the limit."""
    assert brief(value, cells) == text


@given(VALUES, st.integers(8, 120))
def test_a_line_never_takes_more_cells_than_it_has(value: object, cells: int) -> None:
    """Whatever the value."""
    assert cell_len(brief(value, cells)) <= cells


@given(VALUES, st.sampled_from([20, 40, 80, 200]), st.booleans())
def test_a_block_is_made_of_lines(value: object, width: int, full: bool) -> None:
    """On a terminal no span holds a line break, and something is always shown."""
    lines = list(block(value, Page(width, 0), 2, full=full))
    assert lines
    assert all("\n" not in plain(line) for line in lines)


def lines_of(value: object, width: int | None = 40, *, full: bool = False) -> list[str]:
    """The lines of a block."""
    return [plain(line) for line in block(value, Page(width, 0), full=full)]


def test_fields_stand_one_below_the_other_where_they_do_not_fit() -> None:
    """Labels are aligned; what fits stays in its line."""
    value = {"name": "Ada Lovelace", "at": {"street": "1 Main Street", "city": "London", "zip": None}}
    assert lines_of(value, 34) == [
        "name  “Ada Lovelace”",
        "at    {3 keys}",
        "  street  “1 Main Street”",
        "  city    “London”",
        "  zip     null",
    ]


def test_a_conversation_names_who_speaks() -> None:
    """Text is beside the role, calls are below, ids at the right; removed and empty messages are named."""
    messages = [
        said("My order 1043 is late", "human"),
        said("", tool_calls=[CALL]),
        said("shipped", "tool", name="lookup", tool_call_id="call_1"),
        said(""),
        node(
            "langchain_core.messages.modifier",
            "RemoveMessage",
            Form.PYDANTIC,
            {"id": "m1", "type": "remove", "content": ""},
        ),
    ]
    assert lines_of(messages, 60) == [
        "[0] human   My order 1043 is late                        m1",
        '[1] ai      → lookup {"order": "1043"}                   m1',
        "[2] tool    lookup  shipped                              m1",
        "[3] ai      (no text)                                    m1",
        "[4] remove  (removes this message)                       m1",
    ]


def test_long_texts_and_lists_are_folded_on_a_screen_only() -> None:
    """All of it is there in full, and in a pipe, where what has no message in it is one line."""
    text, numbers = "word " * 200, [f"entry number {n}" for n in range(60)]
    assert lines_of(text)[-1].strip() == "… 1,000 characters in all"
    assert (len(lines_of(text)), len(lines_of(text, None))) == (9, 1)
    assert "… 36 more" in lines_of(numbers)
    assert (len(lines_of(numbers)), len(lines_of(numbers, full=True)), len(lines_of(numbers, None))) == (25, 60, 1)


def test_nesting_without_end_is_cut() -> None:
    """A hostile payload may nest as deep as it likes."""
    value: object = "x" * 500
    for _ in range(400):
        value = {"deeper": value}
    assert 20 < len(lines_of(value)) < 40


def test_inline_is_given_only_where_all_fits() -> None:
    """Else the value needs a block."""
    page = Page(40, 0)
    assert inline([1, 2], page) == ("value", "[1, 2]")
    assert inline("x" * 60, page) is None
    assert inline([said("hi")], page) is None


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (60, ["order  Person(name=“Ada”, age=36)"]),
        (32, ["order", "  Person(name=“Ada”, age=36)"]),
        (24, ["order  Person", "  name  “Ada”", "  age   36"]),
    ],
)
def test_a_class_is_named_once(width: int, shown: list[str]) -> None:
    """Behind a name, below it, or as a heading of its fields."""
    lines = value_after([("key", "order")], PERSON, Page(width, 0), 2)
    assert [plain(line) for line in lines] == shown
