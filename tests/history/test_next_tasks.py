"""The tasks due at a checkpoint, from its channels and the versions that each node has seen."""

from typing import Any

import pytest

from ckpt_cli.history.tasks.next_tasks import Due, Wiring, due_tasks, is_settled, ready
from ckpt_cli.values.state import State
from tests.history.recorded import sent, state
from tests.work import LINEAR, growth


def nodes(at: State, *others: State) -> list[str | None]:
    """The due nodes, with what is learned from other checkpoints."""
    wiring = Wiring(at, lambda: others)
    wiring.learn_until(lambda: is_settled(at, wiring))
    return [one.node for one in due_tasks(at, wiring)]


def settles(at: State, *others: State) -> bool:
    """Whether the other checkpoints show what every channel triggers."""
    wiring = Wiring(at, lambda: others)
    return wiring.learn_until(lambda: is_settled(at, wiring))


def test_a_set_channel_that_the_node_has_not_seen() -> None:
    """``branch:to:X`` makes X due while its version is above the one that X saw."""
    values = {"branch:to:a": None, "branch:to:b": None, "branch:to:c": None}
    seen = {"a": {"branch:to:a": 1}, "b": {"branch:to:b": 2}}
    assert nodes(state(values=values, seen=seen)) == ["a", "c"]


def test_a_version_without_a_value_triggers_nothing() -> None:
    """An empty channel keeps its version."""
    assert nodes(state(versions={"branch:to:a": 5})) == []


@pytest.mark.parametrize(
    ("channel", "value", "want"),
    [
        ("branch:to:a", None, True),
        ("branch:to:a", [None, False], False),
        ("branch:to:a", [None, True], True),
        ("join:a+b:c", ["a"], False),
        ("join:a+b:c", ["b", "a"], True),
        ("join:a+b:c", [], False),
        ("join:a+b:c", [["a", "b"], False], False),
        ("join:a+b:c", [["a", "b"], True], True),
    ],
)
def test_ready(channel: str, value: Any, want: bool) -> None:
    """A deferred node waits for its flag, a join for every name."""
    assert ready(channel, value) is want


def test_sends_come_first_and_in_their_order() -> None:
    """There is one task a Send, before the nodes; Sends of v < 4 are stored apart."""
    now = state(values={"__pregel_tasks": [sent("w"), sent("v")], "branch:to:a": None})
    assert nodes(now) == ["w", "v", "a"]
    old = state(values={"branch:to:a": None}, v=3, sends=[sent("w"), {"node": "js", "args": 1}])
    assert nodes(old) == ["w", "js", "a"]


def test_sends_of_javascript() -> None:
    """LangGraph.js up to 1.0 keeps what it has seen before the Sends themselves."""
    assert nodes(state(values={"__pregel_tasks": [[], [{"node": "w", "args": {}}]]})) == ["w"]
    assert nodes(state(values={"__pregel_tasks": []})) == []


def test_plain_edges_are_learned() -> None:
    """Before v 3 an edge is named after its source; ``versions_seen`` shows its listeners."""
    now = state(values={"a": "a"}, versions={"a": 5}, seen={"a": {"start:a": 4}, "b": {"a": 3}}, v=1)
    assert nodes(now) == ["b"]
    assert is_settled(now, Wiring(now))


def test_plain_edges_that_nobody_took_are_open() -> None:
    """A node that never ran can't be known, and is not guessed."""
    now = state(values={"a": "a"}, seen={"a": {"start:a": 1}}, v=1)
    assert not settles(now, now)
    assert nodes(now, now) == []


def test_a_finished_step_proves_an_end() -> None:
    """If no node had listened when the next input came, the node before it was the last."""
    seen = {"a": {"start:a": 1}}
    end = state(1, values={"a": "a"}, seen=seen, v=1)
    after = state(2, values={"__start__": {}}, seen=seen, v=1, source="input", parent=1)
    edited = state(2, values={}, seen=seen, v=1, source="update", parent=1)
    again = state(7, values={"a": "a"}, seen=seen, v=1)
    assert settles(again, end, after)
    assert settles(again, after, end)
    assert not settles(again, end, edited)
    assert nodes(again, end, after) == nodes(again, end, edited) == []


def test_history_is_asked_only_while_something_is_open() -> None:
    """For a checkpoint of today no other is read."""

    def never() -> Any:
        raise AssertionError("other checkpoints were read")

    now = state(values={"branch:to:a": None})
    assert Wiring(now, never).learn_until(lambda: is_settled(now, Wiring(now)))


def test_input_waits_for_a_node_that_the_name_does_not_tell() -> None:
    """``__start__`` is for a StateGraph's node or an entrypoint; the one that took it before takes it again."""
    fresh = state(-1, values={"__start__": 1}, source="input")
    assert due_tasks(fresh, Wiring(fresh)) == [Due(None, ("__start__",), frozenset({"__start__"}))]
    assert nodes(state(3, values={"__start__": 1}, seen={"flow": {"__start__": 1}})) == ["flow"]


def test_bare_pregel_nodes_are_learned_too() -> None:
    """A graph without ``__start__`` triggers by channels of any name."""
    seen = {"one": {"a": 1}}
    assert nodes(state(values={"a": "x"}, seen=seen)) == ["one"]


@pytest.mark.parametrize("bare", [False, True], ids=["state graph", "bare nodes"])
@pytest.mark.parametrize("v", [1, 4])
def test_work_is_linear_in_channels_and_nodes(v: int, bare: bool) -> None:
    """Twice as many channels, each with a node that listens to it, take twice the work."""

    def due(size: int) -> Any:
        names = [f"c{n}" if bare else f"branch:to:n{n}" for n in range(size)]
        values = {name: name for name in names}
        now = state(values=values, seen={f"n{n}": {name: 1} for n, name in enumerate(names)}, v=v)
        return lambda: nodes(now)

    assert growth(200, due) < LINEAR
