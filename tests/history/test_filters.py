"""Filters: what fits, what is refused, and that an expression sees plain data only."""

from collections.abc import Callable
from typing import Any

import pytest

from ckpt_cli.errors import UsageError
from ckpt_cli.history.state.filters import Filter, plain
from ckpt_cli.values.node import Form, Node, Opened
from tests.work import LINEAR, growth

STATE: dict[str, Any] = {
    "step": 7,
    "source": "update",
    "messages": [Node(Opened("langchain_core.messages", "HumanMessage", Form.PYDANTIC, {"content": "Hi", "id": "1"}))],
    "user": Node(Opened("app", "User", Form.KWARGS, {"name": "Ada", "tags": ["x"]})),
    "budget": None,
    "paid": Node(Opened("decimal", "Decimal", Form.VALUE, "40.00")),
    "deep": {"a": [{"b": 1}]},
    "berth": Node(Opened("app", "Berth", Form.VALUE, 2)),
    "berths": [Node(Opened("app", "Berth", Form.VALUE, 2))],
    "kind": Node(Opened("app", "Kind", Form.VALUE, "urgent")),
    "problem": Node(Opened("builtins", "ValueError", Form.PICKLE, {"args": ["no"]})),
    "key": Node(Opened("pydantic.types", "SecretStr", Form.VALUE, "s3cret")),
    "rate": Node(Opened("app", "Rate", Form.VALUE, 0.5)),
}


def matches(expression: str) -> bool:
    """Whether the state above fits."""
    return Filter(expression).matches(STATE.__getitem__)


@pytest.mark.parametrize(
    "expression",
    [
        'step >= 5 and source == "update" and len(messages) == 1',
        "source in ('update', 'fork')",
        'user.name == "Ada" and "x" in user.tags',
        'user["name"] == "Ada"',
        "deep.a[0].b == 1",
        "paid > 30 and paid + 1 == 41",
        "berth == 2 and berth > 1 and not (berth == '2') and 2 in berths",
        "kind == 'urgent' and rate == 0.5",
        """problem == "ValueError('no')" and key != 's3cret'""",
        'messages[-1].role == "human" and messages[-1].content == "Hi"',
        'any(m.role == "human" for m in messages)',
        'contains(source, "UPD") and lower("A") == "a"',
        "budget is None and not (step % 2 == 0)",
        "max([1, step]) == 7 and -step < 0",
        "(1 if step > 5 else 0) == 1",
    ],
)
def test_expressions_fit(expression: str) -> None:
    """Comparisons, and/or/not, steps into objects, lists and mappings, short list of functions."""
    assert matches(expression)


@pytest.mark.parametrize(
    "expression", ["step < 5", "budget < 0", "nothing == 1", "user.age > 3", "len(step) > 1", "1 / 0", "deep.a[9]"]
)
def test_a_record_that_has_no_such_thing_does_not_fit(expression: str) -> None:
    """A missing name, another type or an impossible calculation is no match and no failure."""
    assert not matches(expression)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("step >= ", "at its end"),
        ("step = 5", "column 6"),
        ("", "where"),
        ("lambda: 1", "Lambda is not allowed at column 1"),
        ("__import__('os')", "no function '__import__' at column 1"),
        ("source.upper()", "methods can't be called at column 1"),
        ("f'{step}'", "JoinedStr is not allowed"),
        ("len(x := 1)", "NamedExpr is not allowed at column 5"),
        ("2 ** 9999999", "Pow is not allowed"),
        ("max(messages, key=1)", "no named arguments at column 1"),
        ("x" * 3000, "characters"),
        ("(" * 500, "where"),
    ],
)
def test_what_is_refused_says_where(expression: str, problem: str) -> None:
    """A typing error or a trick is a usage error with its place, before any record is read."""
    with pytest.raises(UsageError, match="--where") as error:
        Filter(expression)
    assert problem in error.value.message


@pytest.mark.parametrize(
    "expression", ["user.__class__", "deep.keys", "messages.append", "'%0999999999d' % step", "[0] * 999999999 == 1"]
)
def test_tricks_reach_nothing(expression: str) -> None:
    """A dot never leads to an attribute of a live object, and no text or list of any length is made."""
    assert not matches(expression)


def test_a_name_that_no_record_has_is_complained_about() -> None:
    """A filter that decided no record says why; one that decided some is silent about its failures."""
    slip = Filter("stpe > 1")
    assert not slip.matches(STATE.__getitem__)
    assert slip.complaint == "--where: no thread has 'stpe'"
    mixed = Filter("source > 1")
    assert not mixed.matches(STATE.__getitem__)
    assert not mixed.matches({}.__getitem__)
    with pytest.raises(UsageError, match=r"fails on every thread: .* not supported between"):
        mixed.must_have_worked()
    indexed = Filter("some[0] == 1")
    assert not indexed.matches({"some": Node(Opened("builtins", "set", Form.VALUE, [1, 2]))}.__getitem__)
    with pytest.raises(UsageError, match=r"fails on every thread: 'set' object is not subscriptable"):
        indexed.must_have_worked()
    fine = Filter("step > 99")
    assert not fine.matches(STATE.__getitem__)
    assert not fine.matches({"step": "x"}.__getitem__)
    fine.must_have_worked()
    assert fine.complaint is None


def test_values_become_plain_data() -> None:
    """Objects are dicts of their fields, dates their text, sets stay sets, at any depth; endless nesting ends."""
    date = Node(Opened("datetime", "date", Form.ARGS, [2024, 2, 29]))
    assert plain({"when": date, "some": Node(Opened("builtins", "set", Form.VALUE, [1, 2]))}) == {
        "when": "2024-02-29",
        "some": {1, 2},
    }
    bomb: Any = []
    for _ in range(5000):
        bomb = [bomb]
    assert plain(bomb) is not None


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("+".join(["1"] * 900), "more than 150 levels"),
        ("[c * c for c in [b * b for b in [" + "9" * 900 + "]]]", "bits"),
        ("[[[1] * 9999] * 9999] * 9999 == 1", "parts"),
        ("[{(1,) * 9999}] * 9999 == 1", "parts"),
        ("[[[1] * 9999] * 9999] * 9999 == [[[1] * 9999] * 9999] * 9999", "parts"),
        ("str([l for l in [[k for k in [[many for _ in many]] for _ in many]] for _ in many]) == ''", "parts"),
        ("len([text for _ in many for n in [1, 2, 3, 4]]) > 1", "parts"),
    ],
)
def test_an_expression_that_explodes_is_refused(expression: str, problem: str) -> None:
    """Long sums, repeated squares and lists of lists of one list stop at a bound, which the error names."""
    with pytest.raises(UsageError, match=problem):
        Filter(expression).matches({"many": list(range(1000)), "text": "a" * 1_000_000}.__getitem__)


def test_work_is_linear_in_the_mentions_of_a_value() -> None:
    """A name that is used for each element of a list is decoded and counted once."""

    def prepared(size: int) -> Callable[[], Any]:
        record = {"many": [{"n": n} for n in range(size)]}
        return lambda: Filter("sum([len(many) for one in many]) > 1").matches(record.__getitem__)

    assert growth(200, prepared) < LINEAR


@pytest.mark.parametrize(
    "expression", ["best == 50 or lvl > 3", "lvl > 3 or best == 50", "lvl > 3 and (best > 1 or 1)"]
)
def test_one_side_of_an_or_is_enough(expression: str) -> None:
    """A name that a record lacks makes only its own side untrue."""
    assert Filter(expression).matches({"lvl": 9}.__getitem__)
    assert not Filter("best == 50 or lvl > 10").matches({"lvl": 9}.__getitem__)
    assert not Filter("not best == 50").matches({"lvl": 9}.__getitem__)
