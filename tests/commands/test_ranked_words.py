"""A reducer that ranks a few words in an order of its own looks like ``max`` or ``min`` until other words come."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import on


class Severity(Enum):
    """Members that Python doesn't order."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


RANKS = ["low", "medium", "high"]


def worst(old: Any, new: Any) -> Any:
    """The worse of two, by rank."""
    return max(old, new, key=lambda one: RANKS.index(one.value if isinstance(one, Enum) else one)) if old else new


def later(old: str, new: str) -> str:
    """The name that comes later in the alphabet."""
    return max(old, new)


class State(TypedDict, total=False):
    """The worst so far: as a word, and as a member of an Enum."""

    given: str
    word: Annotated[str, worst]
    member: Annotated[Severity | None, worst]


def recorded(path: Path, words: Sequence[str]) -> Any:
    """The graph, once it got these words one after the other."""
    builder = StateGraph(State)
    builder.add_node("a", lambda state: {"word": state["given"], "member": Severity(state["given"])})
    builder.add_edge(START, "a")
    app = builder.compile(checkpointer=SqliteSaver(sqlite3.connect(path, check_same_thread=False)))
    for word in words:
        app.invoke({"given": word}, on("t"))
    return app


def update(path: Path, channel: str, value: Any, *more: str) -> int:
    """The exit code of an update of one channel."""
    words = ["update", "t", "--as-node", "a", "--next", "__end__", "--values", json.dumps({channel: value})]
    return run([*words, *more, "-d", str(path), "--yes"])


@pytest.mark.parametrize("channel", ["word", "member"])
def test_words_that_no_step_compared_are_asked_for(
    channel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten steps fit ``min`` by the alphabet; LangGraph keeps another of the two words that none of them compared."""
    path, value = tmp_path / "t.sqlite", "medium"
    app = recorded(path, ["low", "high", *["low", "high"] * 4])
    with closing(app.checkpointer.conn):
        made = app.update_state(on("t"), {"word": "low", "member": Severity.LOW}, as_node="a")
        assert app.get_state(made).values["word"] == "high"
    name = {"$type": f"{__name__}.Severity", "$value": value}
    assert update(path, channel, value if channel == "word" else name) == 7
    said = capsys.readouterr().err
    why = "these two texts, of which it keeps one" if channel == "word" else "only the class of these objects knows"
    assert why in said and "--reducer" in said
    assert update(path, "word", "low") == 0  # high and low were compared
    capsys.readouterr()
    assert run(["get", "t", "word", "-d", str(path)]) == 0
    assert capsys.readouterr().out.strip() == "high"


def test_a_max_by_the_alphabet_is_known_by_many_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where all of many pairs of texts are in the order of the alphabet, a new text is compared by it too."""
    path = tmp_path / "t.sqlite"

    class Names(TypedDict, total=False):
        given: str
        last: Annotated[str, later]

    builder = StateGraph(Names)
    builder.add_node("a", lambda state: {"last": state["given"]})
    builder.add_edge(START, "a")
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        app = builder.compile(checkpointer=SqliteSaver(connection))
        for name in ["kim", "ann", "max", "bob", "eve", "zoe", "amy", "tom", "ida", "leo", "pat"]:
            app.invoke({"given": name}, on("t"))
    assert update(path, "last", "new") == 0
    assert run(["get", "t", "last", "-d", str(path)]) == 0
    assert "zoe" in capsys.readouterr().out


class Shared(TypedDict, total=False):
    """A word that two nodes write in one step; the last of both stays."""

    word: Annotated[str, lambda _, new: new]


@pytest.mark.parametrize("rounds", [1, 10])
def test_the_last_of_several_writes_is_no_least_one(
    rounds: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A word and an empty text: ``min`` explains it too, and isn't believed where a reducer may just keep the last."""
    path = tmp_path / "t.sqlite"
    builder = StateGraph(Shared).add_node("a", lambda _: {"word": "ok"}).add_node("b", lambda _: {"word": ""})
    builder.add_edge(START, "a").add_edge(START, "b")
    app = builder.compile(checkpointer=SqliteSaver(sqlite3.connect(path, check_same_thread=False)))
    with closing(app.checkpointer.conn):
        for _ in range(rounds):
            app.invoke({}, on("t"))
        assert app.get_state(on("t")).values == {"word": ""}
        code = update(path, "word", "y")
        assert "min" not in capsys.readouterr().out
        assert app.get_state(on("t")).values == {"word": "" if code else "y"}


def _both_write(path: Path, channel: Any, rounds: Sequence[tuple[Any, Any]]) -> Any:
    """A graph whose nodes a and b write in one step, once it ran these rounds."""

    class Numbers(TypedDict, total=False):
        value: Annotated[int, channel]
        n: int

    saver = SqliteSaver(sqlite3.connect(path, check_same_thread=False))
    given: dict[str, Any] = {}
    builder = StateGraph(Numbers).add_node("a", lambda _: {"value": given["a"]})
    builder.add_node("b", lambda _: {"value": given["b"]}).add_node("end", lambda _: {"n": 1})
    builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "end")
    app = builder.compile(checkpointer=saver)
    for given["a"], given["b"] in rounds:
        app.invoke({"n": 0}, on("t"))
    return app


@pytest.mark.parametrize("reducer", [lambda old, new: max(old or 0, new), lambda _, new: new])
def test_a_max_and_the_last_of_several_writes_are_told_apart(
    reducer: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where each last write is the greatest, both fit: `verify` counts the steps, `update` of a smaller one refuses."""
    path = tmp_path / "t.sqlite"
    words = ["update", "t", "--as-node", "a", "--next", "__end__", "-d", str(path), "--yes", "--values"]
    app = _both_write(path, reducer, [(1, 2), (3, 5)])
    with closing(app.checkpointer.conn):
        assert run(["verify", "t", "-d", str(path)]) == 0
        assert "max" in capsys.readouterr().out
        assert run([*words, json.dumps({"value": 4})]) == 7
        assert "a last write that isn't the greatest" in capsys.readouterr().err
        for value, stored in ((6, 6), ({"__overwrite__": 2}, 2)):
            assert run([*words, json.dumps({"value": value})]) == 0
            assert app.get_state(on("t")).values["value"] == stored


def test_a_step_whose_last_write_is_not_the_greatest_shows_a_max(tmp_path: Path) -> None:
    """Then an update keeps the greatest value, as LangGraph does."""
    path = tmp_path / "t.sqlite"
    words = ["update", "t", "--as-node", "a", "--next", "__end__", "-d", str(path), "--yes", "--values"]
    app = _both_write(path, lambda old, new: max(old or 0, new), [(3, 1), (2, 5)])
    with closing(app.checkpointer.conn):
        assert run([*words, json.dumps({"value": 4})]) == 0
        assert app.get_state(on("t")).values["value"] == 5
