"""Whether a value has only parts of others."""

from typing import Any

import pytest

from ckpt_cli.history.reducers.compositions import is_composed
from tests.history.recorded import message

COMPOSED: list[tuple[Any, list[Any]]] = [
    ([], [[1]]),
    (None, ["x"]),
    ([3, 1], [[1, 2], [3]]),
    ([{"id": 1, "n": 2}], [[{"id": 1, "n": 1}], [{"id": 1, "n": 2}]]),
    ({"a": 1}, [{"a": 2, "b": 1}, {"a": 1}]),
    ("hello", [" Hello world "]),
    (2.5, [-2.51]),
    (3, [3.0]),
    ([message("hi", "new")], [message("hi")]),
]
FOREIGN: list[tuple[Any, list[Any]]] = [
    ([1, 9], [[1, 2], [3]]),
    ({"a": 1}, [{"a": 2, "b": 1}]),
    ({"c": 1}, [{"a": 1}]),
    ("forged", ["hello"]),
    (99, [3, 14.5]),
    (True, [False]),
    (1.5, [float("nan"), float("inf")]),
    ([message("forged", "1")], [[message("hi", "1")]]),
]


@pytest.mark.parametrize(("value", "parts"), COMPOSED)
def test_a_value_of_parts(value: Any, parts: list[Any]) -> None:
    """Chosen, cut, sorted, merged by a key, rounded, emptied, or with a new id."""
    assert is_composed(value, parts)


@pytest.mark.parametrize(("value", "parts"), FOREIGN)
def test_a_value_with_another_part(value: Any, parts: list[Any]) -> None:
    """A new element, another key's value, a text or a number from nowhere."""
    assert not is_composed(value, parts)


def test_a_long_list_of_long_values() -> None:
    """Each element is compared with all others at once."""
    items = [{"id": n, "text": "x" * 100} for n in range(5000)]
    assert is_composed([dict(one) for one in items[::-1]], [items])
    assert not is_composed([*items, "forged"], [items])
