"""Reducers: what they make of writes, and what counts as evidence for one."""

from typing import Any

import pytest

from ckpt_cli.history.reducers.evidence import evidence, learn
from ckpt_cli.history.reducers.reducers import (
    ABSENT,
    APPEND,
    COLLECT,
    LAST,
    MESSAGES,
    REMOVE_ALL,
    UNION,
    ChannelStep,
    Reducer,
    Unfit,
)
from ckpt_cli.values.langgraph_values import message as parse_message
from tests.history.recorded import message


def texts(value: list[Any]) -> list[str]:
    """The texts of messages."""
    return [parsed.text for item in value if (parsed := parse_message(item)) is not None]


@pytest.mark.parametrize(
    ("reducer", "before", "writes", "want"),
    [
        (LAST, 1, [2], 2),
        (APPEND, [1], [[2], [3]], [1, 2, 3]),
        (APPEND, ABSENT, [[2]], [2]),
        (APPEND, "a", ["b"], "ab"),
        (APPEND, 1, [2, 3], 6),
        (COLLECT, [1], [[2], 3], [1, [2], 3]),
        (UNION, {"a": 1}, [{"b": 2}, {"a": 3}], {"a": 3, "b": 2}),
    ],
)
def test_fold(reducer: Reducer, before: Any, writes: list[Any], want: Any) -> None:
    """Each reducer gives what Python's own operators would."""
    assert reducer.fold(before, writes) == want


@pytest.mark.parametrize(
    ("reducer", "before", "writes"),
    [(LAST, 1, [2, 3]), (APPEND, [1], ["a"]), (COLLECT, "a", [1]), (UNION, {}, [[1]]), (MESSAGES, ["hello"], [])],
)
def test_unfit(reducer: Reducer, before: Any, writes: list[Any]) -> None:
    """Values of another kind are refused."""
    with pytest.raises(Unfit):
        reducer.fold(before, writes)


def test_one_overwrite_a_step() -> None:
    """An Overwrite wins over the other writes of its step; LangGraph refuses two of them, and so does a reducer."""
    assert APPEND.step([1], [[2], {"__overwrite__": [3]}, [4]]) == [3]
    with pytest.raises(Unfit):
        APPEND.step([1], [{"__overwrite__": [3]}, {"__overwrite__": [4]}])


def test_messages_merge_by_id() -> None:
    """The same id replaces in place; messages with a new id or none are added."""
    before = [message("one", "1"), message("two", "2")]
    made = MESSAGES.fold(before, [[message("two!", "2"), message("three", "3")], message("no id")])
    assert texts(made) == ["one", "two!", "three", "no id"]


def test_messages_are_removed() -> None:
    """A RemoveMessage removes one message, or all before it; one that is removed and sent again is at the end."""
    before = [message("one", "1"), message("two", "2")]
    assert texts(MESSAGES.fold(before, [[message("", "1", "remove")]])) == ["two"]
    assert texts(MESSAGES.fold(before, [[message("", REMOVE_ALL, "remove"), message("new", "9")]])) == ["new"]
    assert texts(MESSAGES.fold(before, [[message("", "1", "remove")], [message("one", "1")]])) == ["two", "one"]


def test_overwrite() -> None:
    """In one step only an Overwrite counts; over many steps the writes after it count too."""
    writes = [["a"], {"__overwrite__": ["x"]}, ["b"]]
    assert APPEND.step(["old"], writes) == ["x"]
    assert APPEND.replay(["old"], writes) == ["x", "b"]
    assert APPEND.replay(["old"], writes[:2]) == ["x"]
    assert APPEND.step(["old"], [{"type": "__overwrite__", "value": ["x"]}]) == ["x"]


def test_evidence_counts_every_step() -> None:
    """A reducer holds only if it explains all steps."""
    steps = [ChannelStep([1], [[2]], [1, 2]), ChannelStep([1, 2], [[3]], [1, 2, 3])]
    by_name = {item.reducer.name: (item.explained, item.holds) for item in evidence(steps)}
    assert by_name["append"] == (2, True)
    assert by_name["last value"] == (0, False)
    assert learn([*steps, ChannelStep([1], [[2]], [2, 1])]) is None
    assert learn([]) is None


def test_strict_equality() -> None:
    """1 is not 1.0 and not True, so a reducer must give the same type."""
    assert learn([ChannelStep(0, [1.0], 1)], [LAST]) is None
    assert learn([ChannelStep(0, [1], 1)], [LAST]) is not None


def test_message_gets_an_id_in_the_state() -> None:
    """``add_messages`` gives an id to a message that was written without one."""
    step = ChannelStep([message("one", "1")], [[message("two")]], [message("one", "1"), message("two", "made")])
    best = learn([step])
    assert best is not None and best.reducer is MESSAGES
    other = ChannelStep([message("one", "1")], [[message("two")]], [message("one", "1"), message("three", "made")])
    assert learn([other]) is None
