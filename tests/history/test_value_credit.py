"""Which task of a wide step gave which part of a value, and how much work that is."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Overwrite

from ckpt_cli.history.diff.part_moments import ABSENT
from ckpt_cli.history.tasks.value_credit import Writer, Writers, credit
from ckpt_cli.history.tasks.write_signs import Explains, Gives, Takes
from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from tests.work import LINEAR, growth

_SERDE = JsonPlusSerializer()


def _stored(value: Any) -> Any:
    """The value as ckpt reads it from what LangGraph stores."""
    return Codec().decode(Payload(*_SERDE.dumps_typed(value)))


_ELEMENTS = [
    *(1, 1.0, True, None, "1", "a", float("nan"), 0.0, -0.0, b"a", "", [], {}, [1], (1,), {1, 2}, {"a": 1}, {"1": 2}),
    *({1: 2}, {"a": [1]}, {"role": "user", "content": "a"}, ("user", "a"), ["user", "a"], HumanMessage("a")),
    *(HumanMessage("a", id="1"), HumanMessage("a", id="2"), AIMessage("a"), AIMessage("1", id="1")),
]


def test_signs_leave_out_no_task_whose_writes_have_the_part() -> None:
    """Of random writes, those that are found by their signs explain what all of them explain."""
    dice = random.Random(1)
    elements = list(map(_stored, _ELEMENTS))
    lists = [_stored(dice.sample(_ELEMENTS, 2)) for _ in range(40)]
    wrapped = [_stored(Overwrite(one)) for one in [*_ELEMENTS, *(dice.sample(_ELEMENTS, 2) for _ in range(20))]]
    writes = [*elements, *lists, *wrapped]
    writes += writes[::3]  # some tasks wrote the same
    writers = Writers([Writer("node", "n", str(number), [one]) for number, one in enumerate(writes)])
    explained = 0
    for steps in ([0], [1], ["a"], ["1"], [], [0, "a"], ["a", 0]):
        for value in elements:
            for before in (value, dice.choice(elements)):
                explains = Gives(steps, value, before)
                expected = [one for one in writers.all if explains(one.values or ())]
                assert [one for one in writers.possible(explains) if explains(one.values or ())] == expected
                assert writers.fitting(explains).all == expected
                explained += len(expected)
    assert explained > 1000


def test_work_is_linear_in_the_tasks_of_a_step() -> None:
    """Twice as many tasks, each of which gave one element or one key, take twice the work to credit."""

    def prepared(size: int) -> Callable[[], Any]:
        tasks = Writers([Writer("node", f"n{n}", str(n), [[f"text {n}"], {f"k{n}": n}]) for n in range(size)])
        given = [Gives([n], f"text {n}") for n in range(size)] + [Gives([f"k{n}"], n) for n in range(size)]
        unexplained = [Gives([n], f"other {n}") for n in range(size)]
        return lambda: [credit(tasks, one) for one in [*given, *unexplained]]

    assert growth(50, prepared) < LINEAR
    tasks = Writers([Writer("node", "n", str(n), [[n]]) for n in range(3)])
    assert credit(tasks, Gives([5], 2)).task == "2"


def test_work_is_linear_in_tasks_that_wrote_the_same() -> None:
    """Each of as many equal elements may be of any of the tasks."""

    def prepared(size: int) -> Callable[[], Any]:
        tasks = Writers([Writer("node", f"n{n % 2}", str(n), [["yes"]]) for n in range(size)])
        return lambda: [credit(tasks, Gives([n], "yes")) for n in range(size)]

    assert growth(50, prepared) < LINEAR
    tasks = Writers([Writer("node", f"n{n % 2}", str(n), [["yes"]]) for n in range(4)])
    assert credit(tasks, Gives([3], "yes")).candidates == ("n0", "n1")


@pytest.mark.parametrize(
    ("explains", "left", "right", "node"),
    [
        (Takes([0], "x", "y"), ["x"], ["y"], None),  # a toggle, or a list that forgets
        (Takes([0], "x"), ["x"], ["y"], None),
        (Takes([0], {"id": 1, "n": 1}, {"id": 1, "n": 2}), [{"id": 1, "n": 2}], [{"id": 3}], "left"),
        (Takes([0], AIMessage("x", id="1")), [RemoveMessage(id="1")], [AIMessage("y", id="2")], "left"),
        (Takes([0], "x", "y"), Overwrite(["y"]), ["z"], "left"),
        (Takes(["k"], 1), {"k": None}, {"k": 1}, "left"),
        (Takes(["k"], 1), {"k": 1}, {"j": 1}, None),
        (Takes(["k"], 1, 2), {"k": 2}, {"j": 1}, "left"),
        (Gives([], ["y"], ["x"]), ["y"], ["x"], None),
        (Gives(["k"], ["y"], ["x"]), {"k": ["y"]}, {"k": ["x"]}, None),
        (Gives(["k"], ["y"], ["x"]), {"k": ["y"]}, {"j": ["x"]}, "left"),
        (Gives([0], "y"), ["y"], ["x"], "left"),
        (Gives([], "ab", ""), "b", "a", None),
        (Gives([], "b", "a"), "b", "a", "left"),
        (Gives([], 2, 1), 2, -1, None),
        (Gives([], 7, 1), 7, 5, "left"),
    ],
)
def test_a_task_of_two_is_named_only_if_the_other_had_no_part_in_it(
    explains: Explains, left: Any, right: Any, node: str | None
) -> None:
    """Else both are candidates."""
    if isinstance(explains, Takes):
        explains = Takes(explains.steps, _stored(explains.value), _or_absent(explains.after))
    both = Writers([Writer("node", "left", "1", [_stored(left)]), Writer("node", "right", "2", [_stored(right)])])
    found = credit(both, explains)
    assert (found.node, [*found.candidates]) == (node, [] if node else ["left", "right"])


def _or_absent(value: Any) -> Any:
    return value if value is ABSENT else _stored(value)
