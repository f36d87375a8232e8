"""Conditions about numbers, which `stats --check` and `watch --alert` share."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.conditions import NAMES, Unit, parse_condition, spell_number

OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("waiting == 0", 0),
        ("checkpoints<1_000_000", 1e6),
        ("bytes < 10GB", 1e10),
        ("bytes < 10 gb", 1e10),
        ("bytes < 1.5GiB", 1.5 * 2**30),
        ("bytes < 512", 512),
        ("oldest_waiting < 2h", 7200),
        ("oldest_waiting <= 1d12h", 36 * 3600),
        ("idle < 90", 90),
        ("rate > 1/m", 60),
        ("rate > 0.5/s", 1800),
        ("rate < 2400/d", 100),
        ("rate < 100", 100),
    ],
)
def test_limits_have_the_units_of_the_number(text: str, limit: float) -> None:
    """Sizes are in bytes, times in seconds and rates in checkpoints an hour, however they are typed."""
    assert parse_condition(text).limit == pytest.approx(limit)


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1_183_500, Unit.SECONDS, "13d16h"),
        (0.2, Unit.SECONDS, "0s"),
        (12_000_000, Unit.BYTES, "12 MB"),
        (2400, Unit.RATE, "2,400/h"),
        (1000, Unit.COUNT, "1,000"),
    ],
)
def test_a_number_is_said_in_the_unit_in_which_its_limit_is_typed(value: float, unit: Unit, words: str) -> None:
    """A mail of cron says how many days, not how many seconds."""
    assert spell_number(value, unit) == words


@given(st.sampled_from(sorted(OPERATORS)), st.integers(0, 99), st.integers(0, 99))
def test_a_condition_compares_as_its_sign_says(sign: str, value: int, limit: int) -> None:
    """Every sign means the same as in Python, with and without spaces."""
    for text in (f"threads {sign} {limit}", f" threads{sign}{limit} "):
        condition = parse_condition(text)
        assert condition.text == f"threads {sign} {limit}"
        assert condition.holds(value) is OPERATORS[sign](value, limit)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("waiting", "no condition"),
        ("waiting = 0", "no condition"),
        ("0 == waiting", "no condition"),
        ("waiting == ", "no condition"),
        ("waitin == 0", "no number is called 'waitin'"),
        ("waiting == 2h", "no limit for waiting"),
        ("waiting == -1", "no limit for waiting"),
        ("bytes < 2h", "no limit for bytes"),
        ("bytes < 10XB", "no limit for bytes"),
        ("oldest_waiting < 10GB", "no limit for oldest_waiting"),
        ("rate < 1/y", "no limit for rate"),
        ("threads < nan", "no limit for threads"),
        ("threads < 1e9", "no limit for threads"),
    ],
)
def test_what_is_no_condition_is_a_usage_error_with_an_example(text: str, reason: str) -> None:
    """The hint shows how such a condition or limit is written, or the nearest name."""
    with pytest.raises(UsageError, match=reason) as raised:
        parse_condition(text)
    assert raised.value.hint


def test_a_command_can_allow_some_names_only() -> None:
    """A name that another command has is an error, with the names that this one has."""
    with pytest.raises(UsageError, match="no number is called 'bytes'") as raised:
        parse_condition("bytes < 1", {"rate": NAMES["rate"]})
    assert raised.value.hint == "one of rate"
    assert {name.unit for name in NAMES.values()} == set(Unit)
