"""Strict equality: type, sign and spelling count; the order of keys and of sets doesn't."""

from typing import Any

import pytest
from langgraph.checkpoint.redis.jsonplus_redis import JsonPlusRedisSerializer

from ckpt_cli.history.diff.element_keys import digest
from ckpt_cli.serde import redisjson
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.same import alike, same
from tests.serde.samples import VALUES, payload


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (float("nan"), float("nan")),
        ([1, {"a": float("nan")}], [1, {"a": float("nan")}]),
        ({float("nan"): 1}, {float("nan"): 1}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({(1, 2.0): 1}, {(1, 2.0): 1}),
        (b"x", b"x"),
    ],
)
def test_the_same(a: Any, b: Any) -> None:
    """Equal types and contents are the same."""
    assert same(a, b) and same(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (None, False),
        ("1", 1),
        (b"x", "x"),
        ([1], [1, 2]),
        ([], {}),
        ({1: "a"}, {True: "a"}),
        ({1: "a"}, {1.0: "a"}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"b": 1}),
        ({(1, 2): 1}, {(1, True): 1}),
        ([1, [2, [3]]], [1, [2, [4]]]),
    ],
)
def test_not_the_same(a: Any, b: Any) -> None:
    """Values that Python calls equal may differ."""
    assert not same(a, b) and not same(b, a)


def uuid(digits: str) -> Node:
    return Node(Opened("uuid", "UUID", Form.VALUE, digits))


def test_objects_are_the_same_by_what_they_hold() -> None:
    """Class, form and state count; if the bytes are equal, nothing is decoded."""
    assert same(uuid("a"), uuid("a")) and not same(uuid("a"), uuid("b"))
    assert not same(uuid("a"), Node(Opened("uuid", "UUID", Form.ARGS, "a")))

    def never(_: bytes) -> Opened:
        raise AssertionError("decoded")

    assert same(Node(encoding="e", raw=b"x", load=never), Node(encoding="e", raw=b"x", load=never))


def test_the_order_of_a_set_is_no_difference() -> None:
    """A set of texts is stored in another order by every process; its elements are compared."""

    def stored(name: str, *items: Any) -> Node:
        return Node(Opened("builtins", name, Form.VALUE, list(items)))

    assert same(stored("set", "a", "b"), stored("set", "b", "a"))
    assert same(stored("frozenset", 1, [2]), stored("frozenset", [2], 1))
    assert not same(stored("set", "a", "b"), stored("set", "a", "c"))
    assert not same(stored("set", 1), stored("set", True))
    assert not same(stored("set", "a"), stored("frozenset", "a"))


@pytest.mark.parametrize("name", VALUES)
def test_decoding_twice_gives_the_same(name: str) -> None:
    """Two readers of one payload see the same value."""
    assert same(Codec().decode(payload(VALUES[name])), Codec().decode(payload(VALUES[name])))


def test_alike_is_the_same_or_equal_for_python_at_any_depth() -> None:
    """1 and True are alike, and so are nan and nan; deep values are compared without recursion."""
    deep: list[list[Any]] = [[], []]
    for _ in range(100_000):
        deep = [[deep[0]], [deep[1]]]
    assert alike({"a": [1]}, {"a": [True]}) and alike([float("nan")], [float("nan")]) and alike(*deep)
    assert not alike([1], [2]) and not alike(deep[0], [deep[1]])


def test_depth_is_free() -> None:
    """Values nested far beyond Python's recursion limit can be compared."""
    a: Any = 1
    b: Any = 1
    for _ in range(100_000):
        a, b = [a], [b]
    assert same(a, b)
    while isinstance(a, list):  # Python frees nested lists recursively
        a = a[0]
    while isinstance(b, list):
        b = b[0]


def test_nodes_compare_and_print_at_any_depth() -> None:
    """``==`` and ``repr`` work for objects nested beyond Python's recursion limit."""
    a = b = Node(Opened("m", "C", Form.VALUE, 1))
    for _ in range(5_000):
        a, b = (Node(Opened("m", "C", Form.VALUE, inner)) for inner in (a, b))
    assert a == b
    assert "m.C" in repr(a)


def test_sets_of_langgraphs_redis_serializer_have_no_order() -> None:
    """Its JSON records a set as a call with a list; other elements make another set, in the digest too."""
    first, second, other = (
        redisjson.decode(JsonPlusRedisSerializer().dumps_typed({"tags": set(order)})[1])
        for order in ((8, 0, 16), (16, 8, 0), (8, 0, 24))
    )
    assert first["tags"].form is Form.LC2 and first["tags"].state != second["tags"].state
    assert same(first, second) and digest(first, raw=False) == digest(second, raw=False)
    assert not same(first, other)


def test_sets_nested_beyond_the_stack_have_a_digest() -> None:
    """Equal ones have an equal digest, and none runs out of stack."""
    nested: Any = 1
    for _ in range(5000):
        nested = Node(Opened("builtins", "frozenset", Form.VALUE, [nested]))
    assert isinstance(digest(nested, raw=False), int)
