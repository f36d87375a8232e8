"""Paths inside state: grammar, the parts they lead to, and the errors when they lead nowhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.errors import PathNotFound, UsageError
from ckpt_cli.history.state.paths import follow, parse, spell
from ckpt_cli.values.node import Form, Node, Opened

PERSON = Node(Opened("agent", "Person", Form.PYDANTIC, {"name": "Ada", "tags": ["x", "y"]}))
TAGS = Node(Opened("builtins", "set", Form.VALUE, ["red", "blue"]))
SEND = Node(Opened("langgraph.types", "Send", Form.ARGS, ["work", {"i": 1}]))
SNAPSHOT = Node(Opened("", "_DeltaSnapshot", Form.SNAPSHOT, [1, 2, 3]))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("messages", ["messages"]),
        ("messages[-1].content", ["messages", -1, "content"]),
        ('files["a b"].size', ["files", "a b", "size"]),
        ("files['it\\'s \"x\"']", ["files", 'it\'s "x"']),
        ('["odd.channel"][0]', ["odd.channel", 0]),
        ("branch:to:node", ["branch:to:node"]),
        ("会话[0].内容", ["会话", 0, "内容"]),
        ("map[1.5][true][null]", ["map", 1.5, True, None]),
        ('a["\\u00e9\\n"]', ["a", "é\n"]),
        ("a[ 3 ]", ["a", 3]),
    ],
)
def test_parse_reads_every_kind_of_step(text: str, steps: list[object]) -> None:
    """Names, positions, quoted keys and other plain keys are steps of their own types."""
    assert parse(text) == steps


@pytest.mark.parametrize(
    ("text", "column"), [("a..b", 2), ("a[", 1), ("a[x]", 1), ("a.", 2), ("a[0]b", 4), ('a["x]', 1), (" a", 0)]
)
def test_an_unreadable_path_is_marked_where_it_goes_wrong(text: str, column: int) -> None:
    """A caret marks the first character that cannot be read."""
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert caught.value.exit_code == 2
    assert caught.value.candidates == (text, " " * column + "^")


@pytest.mark.parametrize("text", ["items[-2:]", "items[:3]", "items[ 1 : 2]"])
def test_a_range_of_a_list_is_asked_for_otherwise(text: str) -> None:
    """The hint names what takes a part of a list."""
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert "--query 'value[-2:]'" in caught.value.hint


def test_an_empty_path_is_a_usage_error() -> None:
    """A path has at least one step."""
    with pytest.raises(UsageError):
        parse("")


@given(st.lists(st.one_of(st.text(), st.integers(-(10**9), 10**9), st.booleans(), st.none()), min_size=1))
def test_a_spelled_path_is_read_back(steps: list[object]) -> None:
    """`spell` writes what `parse` reads, whatever the keys are."""
    read = parse(spell(steps))
    assert [(type(s), s) for s in read] == [(type(s), s) for s in steps]


@pytest.mark.parametrize(
    ("value", "path", "expected"),
    [
        ({"a": {"b c": [1, 2]}}, 'a["b c"][-1]', 2),
        ({"p": PERSON}, "p.tags[0]", "x"),
        ({"t": TAGS}, "t[1]", "blue"),
        ({"s": SEND}, "s.arg.i", 1),
        ({"d": SNAPSHOT}, "d[2]", 3),
        ({"m": {1: "int", "1": "text"}}, "m[1]", "int"),
        ({"m": {1: "int", "1": "text"}}, 'm["1"]', "text"),
        ({"m": {"1": "text"}}, "m[1]", "text"),
        ({"m": {7: "int"}}, "m.7", "int"),
        ({"m": {(1, 2): "pair"}}, 'm["(1, 2)"]', "pair"),
        ({"t": (1, 2)}, "t[0]", 1),
    ],
)
def test_follow_goes_through_dicts_lists_and_objects(value: object, path: str, expected: object) -> None:
    """Fields of recorded objects and elements of recorded sets are steps like any other."""
    assert follow(value, parse(path)) == expected


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("p.nam", "no p.nam: p is a Person without it", "did you mean p.name?"),
        ("l[3]", "no l[3]: l has 2 items", "l[0] to l[1]; [-1] is the last"),
        ("l[0].x", "no l[0].x: l[0] is a number", ""),
        ("empty[0]", "no empty[0]: empty has 0 items", "empty is empty"),
        ("nested[1]", "no nested[1]: nested has 1 item", "nested[0] is the only one"),
        ("p.tags.zzz", "no p.tags.zzz: p.tags is a list", ""),
    ],
)
def test_a_lost_path_names_the_deepest_part_that_exists(path: str, message: str, hint: str) -> None:
    """The error says what that part has, with the nearest name."""
    state = {"p": PERSON, "l": [1, 2], "empty": [], "nested": [1]}
    with pytest.raises(PathNotFound) as caught:
        follow(state, parse(path))
    assert (caught.value.exit_code, caught.value.message, caught.value.hint) == (4, message, hint)
