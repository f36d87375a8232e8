"""Updates of channels whose values only rose: `max` and `min` look like a last value, whatever type Python orders."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict
from uuid import UUID

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.errors import Refused
from tests.graphs.waiting import until_stored

_ON: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 50}


@dataclass(order=True)
class Version:
    """An agent's class that Python orders by its fields."""

    major: int
    minor: int


class Score(NamedTuple):
    """A tuple that is stored with the names of its fields."""

    points: float
    by: str


class Level(IntEnum):
    """A member is a number."""

    LOW = 1
    HIGH = 2


def _typed(kind: str, value: str, key: str = "$value") -> str:
    return f'{{"$type": "{kind}", "{key}": {value}}}'


def _greatest(old: Any, new: Any) -> Any:
    return new if old is None else max(old, new)


def _least(old: Any, new: Any) -> Any:
    return new if old is None else min(old, new)


class Kind(NamedTuple):
    """Values that rise; one that is less than all of them, one that is greater, and both as JSON."""

    rising: list[Any]
    low: Any
    low_json: str
    high: Any
    high_json: str


def _kind(rising: list[Any], low: Any, high: Any, json: str, *spelled: str) -> Kind:
    """`json` with the spelling of the low value and of the high one in place of its ``…``."""
    first, last = spelled
    return Kind(rising, low, json.replace("…", first), high, json.replace("…", last))


def _typed(kind: str, key: str = "$value") -> str:
    return f'{{"$type": "{kind}", "{key}": …}}'


TEN = range(2, 12)
KINDS = {
    "texts": _kind([f"2026-01-{n:02}" for n in TEN], "2026-01-01", "2027", "…", '"2026-01-01"', '"2027"'),
    "truth values": _kind([False, False, True, True], False, True, "…", "false", "true"),
    "lists": _kind([[n, f"c{n}"] for n in TEN], [1, "x"], [99, "x"], '[…, "x"]', "1", "99"),
    "pairs with a dict": _kind([[n, {"of": n}] for n in TEN], [1, {}], [99, {}], "[…, {}]", "1", "99"),
    "times of day": _kind(
        [time(9, n) for n in TEN], time(8), time(10), _typed("datetime.time"), '"08:00:00"', '"10:00:00"'
    ),
    "dates": _kind(
        [date(2026, 1, n) for n in TEN],
        date(2025, 1, 1),
        date(2027, 1, 1),
        _typed("datetime.date"),
        '"2025-01-01"',
        '"2027-01-01"',
    ),
    "points in time": _kind(
        [datetime(2026, 1, n, tzinfo=UTC) for n in TEN],
        datetime(2025, 1, 1, tzinfo=UTC),
        datetime(2027, 1, 1, tzinfo=UTC),
        _typed("datetime.datetime"),
        '"2025-01-01T00:00:00+00:00"',
        '"2027-01-01T00:00:00+00:00"',
    ),
    "spans": _kind(
        [timedelta(n) for n in TEN],
        timedelta(1),
        timedelta(99),
        _typed("datetime.timedelta", "$args"),
        "[1, 0, 0]",
        "[99, 0, 0]",
    ),
    "decimals": _kind([Decimal(n) for n in TEN], Decimal(1), Decimal(99), _typed("decimal.Decimal"), '"1"', '"99"'),
    "addresses": _kind(
        [IPv4Address(f"10.0.0.{n}") for n in TEN],
        IPv4Address("9.0.0.1"),
        IPv4Address("99.0.0.1"),
        _typed("ipaddress.IPv4Address"),
        '"9.0.0.1"',
        '"99.0.0.1"',
    ),
    "UUIDs": _kind(
        [UUID(int=n) for n in TEN],
        UUID(int=1),
        UUID(int=99),
        _typed("uuid.UUID"),
        f'"{UUID(int=1)}"',
        f'"{UUID(int=99)}"',
    ),
}
OWN_KINDS = {
    "an ordered dataclass": _kind(
        [Version(1, n) for n in TEN],
        Version(1, 1),
        Version(1, 99),
        f'{{"$type": "{__name__}.Version", "major": 1, "minor": …}}',
        "1",
        "99",
    ),
    "a named tuple": _kind(
        [Score(n / 2, "me") for n in TEN],
        Score(0.5, "me"),
        Score(99.5, "me"),
        f'{{"$type": "{__name__}.Score", "points": …, "by": "me"}}',
        "0.5",
        "99.5",
    ),
    "members of an enum": _kind(
        [Level.LOW, Level.HIGH, Level.HIGH], Level.LOW, Level.HIGH, _typed(f"{__name__}.Level"), "1", "2"
    ),
}
ALL_KINDS = {**KINDS, **OWN_KINDS}


def _greatest(old: Any, new: Any) -> Any:
    return new if old is None else max(old, new)


def _least(old: Any, new: Any) -> Any:
    return new if old is None else min(old, new)


def _play(saver: SqliteSaver, reducer: Callable[[Any, Any], Any] | None, written: list[Any]) -> Any:
    """A thread in which each step writes one of these values."""
    state: Any = TypedDict(
        "state", {"turn": int, "x": Any if reducer is None else Annotated[Any, reducer]}, total=False
    )  # type: ignore[operator]
    graph = StateGraph(state).add_node("note", lambda s: {"turn": s["turn"] + 1, "x": written[s["turn"]]})
    graph.add_edge(START, "note")
    graph.add_conditional_edges("note", lambda s: "note" if s["turn"] < len(written) else END)
    app = graph.compile(checkpointer=saver)
    app.invoke({"turn": 0, "x": None}, _ON)
    return app


def _update(path: Path, value: str, *options: str) -> int:
    words = ["--values", f'{{"x": {value}}}', "--as-node", "note", "--next", "END", *options]
    return run(["update", "t", *words, "--yes", "--db", str(path)])


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("name", ["max", "min"])
def test_values_that_only_rose_or_fell_prove_no_last_value(
    kind: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a `max` or `min` explains all steps and keeps the old value, an update is refused; both are named."""
    of = ALL_KINDS[kind]
    reducer, values = (_greatest, of.rising) if name == "max" else (_least, of.rising[::-1])
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver, reducer, values)
        assert _update(path, of.low_json if name == "max" else of.high_json) == Refused("").exit_code
        assert f"different values here: last value, {name}" in " ".join(capsys.readouterr().err.split())
        assert app.get_state(_ON).values["x"] == values[-1]


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_value_that_both_make_is_taken(kind: str, tmp_path: Path) -> None:
    """A greater value is the same to a last value and to a `max`."""
    of = ALL_KINDS[kind]
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver, _greatest, of.rising[:2])
        assert _update(path, of.high_json) == 0
        assert app.get_state(_ON).values["x"] == of.high


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_values_that_rose_and_fell_prove_a_last_value(kind: str, tmp_path: Path) -> None:
    """Back and forth: no order explains that."""
    of = ALL_KINDS[kind]
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver, None, [of.rising[0], of.rising[-1], of.rising[0], of.rising[-1]])
        assert _update(path, of.low_json) == 0
        assert app.get_state(_ON).values["x"] == of.low


@pytest.mark.parametrize("kind", KINDS)
def test_a_named_max_takes_what_python_orders(kind: str, tmp_path: Path) -> None:
    """`--reducer x=max` keeps the value that `update_state` keeps."""
    of = KINDS[kind]
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver, _greatest, of.rising)
        assert _update(path, of.low_json, "--reducer", "x=max") == 0
        ours = app.get_state(_ON).values["x"]
        app.update_state(_ON, {"x": of.low}, as_node="note")
        assert ours == app.get_state(_ON).values["x"] == of.rising[-1]


@pytest.mark.parametrize("kind", OWN_KINDS)
def test_only_a_class_knows_the_order_of_its_objects(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A named `max` of them is refused: the class may compare them as it likes."""
    of = OWN_KINDS[kind]
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        _play(saver, _greatest, of.rising)
        assert _update(path, of.low_json, "--reducer", "x=max") != 0
        assert "only the class of these objects knows their order" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("value", "other", "typed"), [(False, True, "true"), ("", "a", '"a"')])
def test_a_channel_that_holds_the_least_value_may_get_another(
    value: Any, other: Any, typed: str, tmp_path: Path
) -> None:
    """A flag that was never true is set: a `min` of it could never be anything else, so nobody makes one."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver, None, [value] * 3)
        assert _update(path, typed) == 0
        assert app.get_state(_ON).values["x"] == other


def test_a_few_words_in_the_order_of_the_alphabet_are_a_last_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That happens by chance, and the plan says that few steps show it; of five words it hardly does."""
    words = ["draft", "edited", "review", "sent", "wait"]
    for count in (2, 4, 5):
        path = tmp_path / f"{count}.sqlite"
        with SqliteSaver.from_conn_string(str(path)) as saver:
            app = _play(saver, None, words[:count])
            assert _update(path, '"draft"') == (Refused("").exit_code if count == 5 else 0)
            said = " ".join("".join(capsys.readouterr()).split())
            assert ("last value, max" if count == 5 else "few steps") in said
            assert app.get_state(_ON).values["x"] == (words[-1] if count == 5 else "draft")


@pytest.mark.parametrize("commit", [True, False])
def test_a_replay_says_no_value_that_a_flag_does_not_get(
    commit: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`operator.or_` of truth values looks like a last value until a false one is written over a true one."""

    class State(TypedDict, total=False):
        turn: int
        flag: Annotated[bool, operator.or_]

    def failing(_: State) -> State:
        until_stored(saver)
        raise ValueError("down")

    graph = StateGraph(State).add_node("note", lambda s: {"turn": s["turn"] + 1, "flag": s["turn"] > 3})
    graph.add_node("crm", failing).add_node("last", lambda _: {"flag": False}).add_edge(START, "note")
    graph.add_conditional_edges("note", lambda s: "note" if s["turn"] < 12 else ["crm", "last"])
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = graph.compile(checkpointer=saver)
        with pytest.raises(ValueError, match="down"):
            app.invoke({"turn": 0}, _ON)
        words = ["--commit", "--yes"] if commit else ["--json"]
        assert run(["replay", "t", *words, "-d", str(path)]) == (Refused("").exit_code if commit else 0)
        said = capsys.readouterr()
        assert "different values here: last value, max" in " ".join((said.out + said.err).split())
        assert app.get_state(_ON).values["flag"] is True
