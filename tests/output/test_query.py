"""``--query``: work that grows faster than the data is stopped; other expressions are not."""

from collections.abc import Callable
from typing import Any

import pytest

from ckpt_cli.errors import UsageError
from ckpt_cli.output.query import Query
from tests.work import LINEAR, growth

_DOUBLED = 40
_PAIRS = " | ".join(["[@, @]"] * _DOUBLED)


@pytest.mark.parametrize(
    "expression",
    [
        _PAIRS,
        " | ".join(["[@, @][]"] * _DOUBLED),
        f"({_PAIRS}) == ({_PAIRS})",
        f"to_string({_PAIRS})",
        " | ".join(["join('', [@, @])"] * _DOUBLED),
        f"contains([{_PAIRS}], ({_PAIRS}))",
    ],
)
def test_an_expression_that_doubles_again_and_again_is_stopped(expression: str) -> None:
    """Whether it makes long lists, long texts, or few lists that contain each other many times."""
    with pytest.raises(UsageError, match=r"stopped after [\d,]+ steps"):
        Query(expression)("text")


@pytest.mark.parametrize("expression", ["[" * 5000, "!" * 5000 + "a"])
def test_a_deeply_nested_expression_is_refused(expression: str) -> None:
    """An error of usage, not a bug."""
    with pytest.raises(UsageError, match="nested too deeply"):
        Query(expression)({})


def test_an_ordinary_expression_takes_a_few_steps_for_each_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters, projections and functions over much data give JMESPath's own results, in linear time."""
    monkeypatch.setattr("ckpt_cli.output.query._STEPS", 100)
    expression = Query("threads[?status == 'done' && length(next) < `2`].{id: id, next: next} | sort_by(@, &id)")

    def evaluated(size: int) -> Callable[[], Any]:
        threads = [{"id": f"{n:09}", "status": "done", "next": ["a"]} for n in range(size)]
        assert expression({"threads": threads}) == [{"id": one["id"], "next": ["a"]} for one in threads]
        return lambda: expression({"threads": threads})

    assert growth(500, evaluated) < LINEAR
