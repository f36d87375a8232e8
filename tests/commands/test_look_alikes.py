"""Reducers that do the same as another one in all recorded steps: ckpt asks, or does what the real library does."""

import json
import sqlite3
from contextlib import closing
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.replay import replay
from tests.commands.asking import at
from tests.graphs.building import on

STEPS = 10


def greater(old: float, new: float) -> float:
    """Keep the greater number."""
    return max(old, new)


def new_only(old: list[Any], new: list[Any]) -> list[Any]:
    """Append what isn't there yet."""
    return old + [item for item in new if item not in old]


class State(TypedDict, total=False):
    """Channels of two reducers each that look alike while numbers rise and items are new."""

    given: int
    last: int
    best: Annotated[float, greater]
    log: Annotated[list[Any], add]
    docs: Annotated[list[Any], new_only]
    note: dict[str, Any] | None


def graph(saver: Any) -> Any:
    """A graph whose node writes its input to each channel."""

    def node(state: State) -> dict[str, Any]:
        n = state["given"]
        return {"last": n, "best": n, "log": [n], "docs": [n], "note": {"n": n}}

    builder = StateGraph(State)
    builder.add_node("a", node)
    builder.add_edge(START, "a")
    return builder.compile(checkpointer=saver)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A thread in which nothing tells the reducers apart."""
    path = tmp_path / "alike.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        for n in range(1, STEPS + 1):
            graph(SqliteSaver(connection)).invoke({"given": n}, on("t"))
    return path


OTHERS = {"last": (3, "last value, max"), "best": (3, "last value, max")}
OTHERS |= {"log": ([3], "append, append if new"), "docs": ([3], "append, append if new")}


def by_the_library(path: Path, values: dict[str, Any]) -> Any:
    """The state after the same update by the real library, in a thread of its own."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        app = graph(SqliteSaver(connection))
        for n in range(1, STEPS + 1):
            app.invoke({"given": n}, on("twin"))
        return app.get_state(app.update_state(on("twin"), values, as_node="a")).values


@pytest.mark.parametrize("channel", OTHERS)
def test_a_value_on_which_they_differ_is_asked_for(
    channel: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing recorded says which of both it is; named, it gives what the library gives."""
    value, names = OTHERS[channel]
    words = ["update", "t", "--as-node", "a", "--values", json.dumps({channel: value}), "-d", str(path), "--yes"]
    assert run(words) == 7
    assert f"fit reducers that give different values here: {names}" in capsys.readouterr().err
    real = {"last": "last", "best": "max", "log": "append", "docs": "new"}[channel]
    assert run([*words, "--reducer", f"{channel}={real}", "--json"]) == 0
    capsys.readouterr()
    assert run(["get", "t", channel, "-d", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == by_the_library(path, {channel: value})[channel]


@pytest.mark.parametrize("channel", OTHERS)
def test_a_value_on_which_they_agree_is_written(channel: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A greater number and a new item are the same for both."""
    value: Any = [99] if channel in ("log", "docs") else 99
    assert (
        run(["update", "t", "--as-node", "a", "--values", json.dumps({channel: value}), "-d", str(path), "--yes"]) == 0
    )
    capsys.readouterr()
    assert run(["get", "t", channel, "-d", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == by_the_library(path, {channel: value})[channel]


def test_one_step_that_tells_them_apart(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From then on each channel's reducer is known: update does what the library does, and no step is suspect."""
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        graph(SqliteSaver(connection)).invoke({"given": 4}, on("t"))
    played = at(path, replay, "t", to="@")
    assert {step.verdict for step in played.steps} == {"agrees"}
    values = {"last": 2, "best": 2, "log": [2], "docs": [2]}
    assert run(["update", "t", "--as-node", "a", "--values", json.dumps(values), "-d", str(path), "--yes"]) == 0
    capsys.readouterr()
    now = {}
    for channel in values:
        assert run(["get", "t", channel, "-d", str(path)]) == 0
        now[channel] = json.loads(capsys.readouterr().out)
    assert (now["last"], now["best"], now["log"][-2:], now["docs"][-1]) == (2, STEPS, [4, 2], STEPS)


def test_null_for_a_last_value_that_was_always_an_object(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A union of objects fits too, and can't take null: it is refused with both names, until one is named."""
    words = ["update", "t", "--as-node", "a", "--values", '{"note": null}', "-d", str(path), "--yes"]
    assert run(words) == 2
    assert "fit last value, and dict union, which can't apply this value" in capsys.readouterr().err
    assert run([*words, "--reducer", "note=last", "--remember"]) == 0
    assert run([*words[:5], '{"note": {"n": 1}}', *words[6:]]) == 0
    assert run(words) == 0  # as it is remembered
    capsys.readouterr()
    assert run(["get", "t", "note", "-d", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) is None
