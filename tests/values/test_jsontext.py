"""JSON that people type is read strictly, and an error shows its place."""

import pytest

from ckpt_cli.errors import UsageError
from ckpt_cli.values.jsontext import parse


def test_json_is_read() -> None:
    """Valid JSON is parsed as usual."""
    assert parse('{"a": [1, 2.5, null, true, "é"]}') == {"a": [1, 2.5, None, True, "é"]}


@pytest.mark.parametrize(
    ("text", "word", "shown"),
    [
        ("hello", "no JSON", ["hello", "^"]),
        ('{"a": 1,\n "b": }', "line 2, column 7", [' "b": }', "      ^"]),
        ("", "no JSON", ["", "^"]),
        ('{"a": 1, "a": 2}', "the key 'a' twice", []),
        ("[NaN]", '{"$float": "nan"}', []),
        ("-Infinity", '{"$float": "-inf"}', []),
        ("[" * 100_000, "too deep", []),
        ("9" * 5000, "as JSON", []),
    ],
)
def test_what_is_wrong_is_shown(text: str, word: str, shown: list[str]) -> None:
    """The error has a caret under its place, if it has one."""
    with pytest.raises(UsageError) as caught:
        parse(text, "the value")
    assert word in caught.value.message and "the value" in caught.value.message
    assert list(caught.value.candidates) == shown
