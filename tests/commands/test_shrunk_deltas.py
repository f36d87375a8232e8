"""A delta channel that an ``Overwrite`` made smaller: what was shown before proves nothing of what is written then."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Overwrite, interrupt

from ckpt_cli.app import run
from tests.graphs.building import on

Fold = Callable[[Any, Any], Any]


def _sorted(old: list[str], new: list[str]) -> list[str]:
    return sorted({*old, *new})


def _stock(old: dict[str, int], new: dict[str, int]) -> dict[str, int]:
    return {**old, **{name: max(old.get(name, 0) + count, 0) for name, count in new.items()}}


def _merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = {row["id"]: row for row in [*old, *new]}
    return [row for row in rows.values() if "gone" not in row]


SHRINKING: dict[str, tuple[type, Fold, list[Any]]] = {
    "sorted": (list, _sorted, [["a"], ["b"], ["c"], ["d"], Overwrite(["m"]), ["a"]]),
    "stock": (dict, _stock, [{"k": 3}, {"l": 2}, {"m": 1}, {"n": 1}, Overwrite({"u": 1}), {"q": -2}]),
    "merged": (list, _merged, [*([{"id": i}] for i in "abcd"), Overwrite([{"id": "m"}]), [{"id": "z", "gone": 1}]]),
}


def agent(saver: SqliteSaver, kind: type, fold: Fold, writes: list[Any], *, asks_at: int = -1) -> Any:
    """A loop that makes these writes, and perhaps asks before one of them."""

    def reducer(value: Any, written: list[Any]) -> Any:
        for one in written:
            value = fold(value, one)
        return value

    state: Any = TypedDict(  # type: ignore[misc]
        "state", {"n": int, "ch": Annotated[kind, DeltaChannel(reducer, kind, snapshot_frequency=4)]}, total=False
    )

    def write(now: Any) -> Any:
        number = now.get("n", 0)
        if number == asks_at:
            interrupt("go on?")
        return {"n": number + 1, "ch": writes[number]}

    graph = StateGraph(state).add_node("write", write).add_edge(START, "write")
    graph.add_conditional_edges("write", lambda now: "write" if now["n"] < len(writes) else END)
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("name", SHRINKING)
def test_no_value_is_proven_by_what_was_larger(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`get` says that it isn't proven, and neither a prune nor an edit stores it: the library reads what it read."""
    path = str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = agent(saver, *SHRINKING[name])
        graph.invoke({"n": 0}, on("t"))
        before = graph.get_state(on("t")).values["ch"]
        assert run(["get", "t", "ch", "-d", path, "--json"]) == 0
        [note] = json.loads(capsys.readouterr().out)["notes"]
        assert "the largest has 4 elements, and these writes go on from fewer, so it isn't proven" in note
        assert run(["show", "t", "-d", path]) == 0
        assert "shown by 1 value of up to 4 elements" in capsys.readouterr().out
        part = ["--append", 'ch="q"'] if isinstance(before, list) else ["--set", "ch.q=9"]
        assert run(["edit", "t", *part, "-d", path, "--yes"]) in (2, 7)
        assert run(["prune", "t", "--keep-last", "1", "--snapshot", "-d", path, "--yes"]) == 0
        assert graph.get_state(on("t")).values["ch"] == before


def test_one_element_is_said_in_the_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the largest stored value has one."""
    path = str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        agent(saver, list, _sorted, [["a"], [], [], [], Overwrite([]), ["d"]]).invoke({"n": 0}, on("t"))
    assert run(["get", "t", "ch", "-d", path, "--json"]) == 0
    [note] = json.loads(capsys.readouterr().out)["notes"]
    assert "the largest has 1 element, and these writes go on from fewer" in note
    assert run(["show", "t", "-d", path]) == 0
    shown = capsys.readouterr().out
    assert "shown by 1 value of up to 1 element" in shown and "1 elements" not in shown


@pytest.mark.parametrize("name", ["sorted", "stock"])
def test_an_update_of_what_an_overwrite_made_small_is_left_to_the_library(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan says no value that it would have, and the library makes of the stored write what its reducer makes."""
    path = str(tmp_path / "t.sqlite")
    kind, fold, writes = SHRINKING[name]
    with SqliteSaver.from_conn_string(path) as saver:
        graph = agent(saver, kind, fold, writes[:-1])
        graph.invoke({"n": 0}, on("t"))
        before = graph.get_state(on("t")).values["ch"]
        given = ["--as-node", "write", "--next", "END", "--values", json.dumps({"ch": writes[-1]})]
        assert run(["update", "t", *given, "-d", path, "--yes"]) == 0
        assert "so LangGraph alone applies this" in capsys.readouterr().out
        assert graph.get_state(on("t")).values["ch"] == fold(before, writes[-1])


@pytest.mark.parametrize("asks_at", [-1, 1])
def test_an_answer_on_the_way_excuses_no_reducer(
    asks_at: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The only task of a step that asked has written once, so the stored value refutes a reducer that is named."""
    path = str(tmp_path / "t.sqlite")
    writes = [[{"id": f"x{number % 2}", "n": number}] for number in range(6)]
    with SqliteSaver.from_conn_string(path) as saver:
        graph = agent(saver, list, _merged, writes, asks_at=asks_at)
        graph.invoke({"n": 0}, on("t"))
        if asks_at >= 0:
            graph.invoke(Command(resume="yes"), on("t"))
        before = graph.get_state(on("t")).values["ch"]
        named = ["--snapshot", "--reducer", "ch=append"]
        assert run(["prune", "t", "--keep-last", "1", *named, "-d", path, "--yes"]) == 0
        assert "your reducer isn't used where stored values contradict it" in capsys.readouterr().out
        assert graph.get_state(on("t")).values["ch"] == before
