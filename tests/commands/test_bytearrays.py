"""A bytearray, which a write keeps and a checkpoint stores as bytes: the step is honest, and updates follow it."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import on
from tests.graphs.waiting import until_stored


class State(TypedDict, total=False):
    """A slot that holds bytes of either kind."""

    round: int
    slot: Any


def agent(saver: SqliteSaver) -> Any:
    """Twelve rounds, each of which writes other bytes; then a failure beside another write."""

    def save(state: State) -> State:
        number = state.get("round", 0)
        kind = bytearray if number % 3 else bytes
        return {"slot": kind(b"slot %d" % number), "round": number + 1}

    def fail(_: State) -> State:
        until_stored(saver)
        raise ValueError("fail")

    graph = StateGraph(State).add_node("save", save).add_node("last", lambda _: {"slot": bytearray(b"last")})
    graph.add_node("fail", fail).add_edge(START, "save")
    graph.add_conditional_edges("save", lambda state: "save" if state["round"] < 12 else ["last", "fail"])
    return graph.add_edge("last", END).compile(checkpointer=saver)


@pytest.fixture
def thread(tmp_path: Path) -> Iterator[tuple[str, Any]]:
    """A database with the thread ``t``, and its agent."""
    path = str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        app = agent(saver)
        with suppress(ValueError):
            app.invoke({}, on("t"))
        yield path, app


def test_verify_blame_and_replay_take_both_for_the_same(
    thread: tuple[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """No step differs, also by a named reducer; blame names the node; the commit stores what the library would."""
    path, app = thread
    for named in ([], ["--reducer", "slot=last"]):
        assert run(["verify", "t", *named, "--strict", "-d", path, "--json"]) == 0
        verified = json.loads(capsys.readouterr().out)
        assert verified["verdicts"] == {"agrees": verified["steps"]}
    assert run(["blame", "t", "slot", "-d", path]) == 0
    assert "\tnode\tsave\t" in capsys.readouterr().out
    assert run(["replay", "t", "--commit", "--yes", "-d", path]) == 0
    committed = app.get_state(on("t")).values["slot"]
    assert (committed, type(committed)) == (b"last", bytes)


def test_an_edit_stores_what_it_shows(thread: tuple[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """A bytearray that is typed as JSON is stored as one, and the plan says so."""
    path, app = thread
    typed = 'slot={"$type": "builtins.bytearray", "$value": {"$bytes": "cQ=="}}'
    assert run(["edit", "t", "--set", typed, "--rerun", "--yes", "-d", path]) == 0
    assert "slot was bytes and is a builtins.bytearray now" in capsys.readouterr().out
    slot = app.get_state(on("t")).values["slot"]
    assert (slot, type(slot)) == (b"q", bytearray)


def test_bytes_in_place_of_a_bytearray_are_a_change(
    thread: tuple[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two states with the same bytes of another kind are read as different ones: both edits are stored and shown."""
    path, app = thread
    packed = '{"$type": "builtins.bytearray", "$value": {"$bytes": "cQ=="}}'
    for words in ([f'slot={{"a": {packed}, "n": 1}}'], ['slot.a={"$bytes": "cQ=="}', "slot.n=2"], [f"slot.a={packed}"]):
        sets = [part for word in words for part in ("--set", word)]
        assert run(["edit", "t", *sets, "--rerun", "--yes", "-d", path]) == 0
    values = [one.values["slot"] for one in app.get_state_history(on("t"), limit=3)]
    assert [(type(one["a"]), one["n"]) for one in values] == [(bytearray, 2), (bytes, 2), (bytearray, 1)]
    capsys.readouterr()
    assert run(["diff", "t", "@^", "@", "-d", path]) == 0
    assert "slot.a" in capsys.readouterr().out
