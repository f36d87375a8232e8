"""Sets of the state: ``--where`` compares them as Python does; ``get --each --group`` counts equal ones as one."""

import json
import uuid
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.history.state.filters import Filter
from ckpt_cli.values.node import Form, Node, Opened
from tests.graphs.building import on

_ORDERS = {"s1": (8, 0, 16), "s2": (16, 8, 0)}  # small numbers of one hash bucket: stored in the order of insertion
_ID = "12345678123456781234567812345678"


class _Tagged(TypedDict, total=False):
    tags: set[int]
    deep: dict[str, Any]
    frozen: frozenset[int]
    pairs: set[tuple[int, int]]
    listed: list[int]
    number: float


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two threads with equal sets that are stored in another order; their numbers are 1 and 1.0."""
    path = tmp_path / "t.sqlite"
    builder = StateGraph(_Tagged)
    builder.add_node("a", lambda _: {})
    builder.add_edge(START, "a")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        for (thread_id, order), number in zip(_ORDERS.items(), (1, 1.0), strict=True):
            tags = set(order)
            assert tuple(tags) == order
            state = {"tags": tags, "deep": {"in": [tags]}, "frozen": frozenset(tags), "pairs": {(1, 2), (3, 4)}}
            graph.invoke({**state, "listed": [0, 8, 16], "number": number}, on(thread_id))
            assert graph.get_state(on(thread_id)).values["tags"] == {0, 8, 16}
    return path


def _threads(path: Path, capsys: pytest.CaptureFixture[str], where: str, *words: str) -> list[str]:
    capsys.readouterr()
    assert run(["threads", "--where", where, *words, "-d", str(path), "--jsonl"]) in (0, 1)
    return sorted(json.loads(line)["thread_id"] for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    "where",
    [
        "tags == {0, 8, 16}",
        "not tags != {16, 0, 8}",
        "tags == frozen and frozen == {8, 0, 16} and values.tags == tags",
        "tags in [{0, 8, 16}] and 8 in tags and 9 not in tags",
        "tags <= {0, 1, 8, 16} and {0, 8} < tags and not tags < {0, 8, 16}",
        "deep == {'in': [{0, 8, 16}]} and deep['in'][0] == tags",
        "len(tags) == 3 and sum(tags) == 24 and sorted(tags) == listed and len(tags - {8}) == 2",
        "(1, 2) in pairs and pairs == {(3, 4), (1, 2)}",
        "tags != listed and tags != [8, 0, 16] and tags != [16, 8, 0]",
        "str(tags) == '{0, 16, 8}' and not contains(frozen, 'set')",
    ],
)
def test_sets_are_compared_as_in_python(path: Path, capsys: pytest.CaptureFixture[str], where: str) -> None:
    """A set equals a set or frozenset with equal elements, in any order, also in dicts and lists; never a list."""
    assert _threads(path, capsys, where) == ["s1", "s2"]
    assert _threads(path, capsys, f"not ({where})") == []


@pytest.mark.parametrize("where", ["tags == [8, 0, 16]", "tags == {0, 8}", "tags == 'x'", "[1, 2] in pairs"])
def test_what_is_no_equal_set_does_not_fit(path: Path, where: str) -> None:
    """A list, another set, a text; to look for a list in a set is an error, as in Python."""
    assert run(["threads", "--where", where, "-d", str(path)]) == (2 if where.startswith("[") else 0)


def test_no_thread_is_deleted_for_the_order_of_a_set(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No thread has another set, so nothing would be deleted; both have this one."""
    run(["delete", "--where", "tags != {0, 8, 16}", "--dry-run", "-d", str(path)])
    assert "s1" not in capsys.readouterr().out
    assert run(["delete", "--where", "tags == {0, 8, 16}", "--dry-run", "-d", str(path)]) == 0
    assert "2 threads" in capsys.readouterr().out


@pytest.mark.parametrize("value_path", ["tags", "deep", "deep.in", "frozen"])
def test_equal_sets_are_one_group(path: Path, capsys: pytest.CaptureFixture[str], value_path: str) -> None:
    """In any order, alone or in dicts and lists."""
    [group] = _groups(path, capsys, value_path)
    assert group["threads"] == 2


def test_other_numbers_are_other_groups(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1 and 1.0 aren't the same value."""
    assert [group["threads"] for group in _groups(path, capsys, "number")] == [1, 1]


def _groups(path: Path, capsys: pytest.CaptureFixture[str], value_path: str) -> list[dict[str, Any]]:
    assert run(["get", "--each", value_path, "--group", "-d", str(path), "--jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_bisect_finds_where_a_set_became_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The set that LangGraph stored in another order is the same state; the larger one isn't."""
    path = tmp_path / "t.sqlite"
    states = [*map(set, _ORDERS.values()), {0, 8, 16, 24}]
    builder = StateGraph(_Tagged)
    builder.add_node("a", lambda _: {})
    builder.add_edge(START, "a")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        for tags in states:
            graph.invoke({"tags": tags}, on("t"))
        history = list(graph.get_state_history(on("t")))
    other = [at.metadata["step"] for at in history if 24 in at.values.get("tags", ())]
    words = ["bisect", "t", "--good", "step:0", "--where", "tags != {0, 8, 16}", "-d", str(path), "--json"]
    assert run(words) == 0
    assert json.loads(capsys.readouterr().out)["first_bad"][0]["step"] == min(other)


def _set(*elements: Any, name: str = "set", module: str = "builtins") -> Node:
    return Node(Opened(module, name, Form.VALUE, list(elements)))


def _point(x: int) -> Node:
    return Node(Opened("app", "Point", Form.KWARGS, {"x": x, "at": [1]}))


def test_objects_are_elements() -> None:
    """Objects in a set have their fields, without fields they stay different ones; a UUID is its text."""
    opaque = [Node(Opened("app", "Mode", Form.VALUE, [n])) for n in range(2)]
    ids = _set(Node(Opened("uuid", "UUID", Form.VALUE, _ID)))
    state = {"points": _set(_point(1), _point(2)), "modes": _set(*opaque), "ids": ids}
    for where in (
        '{"x": 1, "at": [1]} in points and any(point.x == 2 for point in points)',
        "len(points) == 2 and len(modes) == 2 and points != modes",
        f'ids == {{"{uuid.UUID(_ID)}"}}',
    ):
        assert Filter(where).matches(state.__getitem__), where


@pytest.mark.parametrize(
    "node",
    [
        _set(Node(Opened("uuid", "UUID", Form.VALUE, _ID)), str(uuid.UUID(_ID))),
        _set({"a": 1}, {"a": 1}, name="Set", module=""),
        Node(Opened("builtins", "set", Form.VALUE, 7)),
    ],
)
@pytest.mark.parametrize("where", ["tags == {1}", "tags != {1}", "len(tags) == 1"])
def test_a_set_that_has_no_true_form_fits_nothing(node: Node, where: str) -> None:
    """Elements that look alike would be one; content that is no list is unreadable: an error, neither yes nor no."""
    tested = Filter(where)
    assert not tested.matches({"tags": node}.__getitem__)
    assert "a set has" in next(iter(tested.failed))
