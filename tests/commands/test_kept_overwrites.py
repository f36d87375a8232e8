"""An ``Overwrite`` replaces the value only in a channel with a reducer: any other channel keeps it itself."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite

from ckpt_cli.app import run
from tests.graphs.waiting import until_stored

ON: Any = {"configurable": {"thread_id": "t"}}
OTHER: Any = {"configurable": {"thread_id": "other"}}


class State(TypedDict, total=False):
    """A channel without a reducer, which always holds dicts, and a list that grows."""

    plain: Any
    grown: Annotated[list[int], operator.add]
    n: int


def agent(saver: SqliteSaver) -> Any:
    """A node that writes to both, as an ``Overwrite`` in the ninth run, beside one that then fails."""

    def write(state: State) -> State:
        wrap: Any = Overwrite if state["n"] == 9 else lambda value: value
        return {"plain": wrap({"q": state["n"]}), "grown": wrap([state["n"]])}

    def fail(state: State) -> None:
        if state["n"] == 9:
            until_stored(saver)
            raise RuntimeError("down")

    graph = StateGraph(State)
    graph.add_node("write", write)
    graph.add_node("fail", fail)
    graph.add_edge(START, "write")
    graph.add_edge(START, "fail")
    return graph.compile(checkpointer=saver)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two threads of nine runs each; one of them also has the run that fails."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        app = agent(saver)
        for n in range(9):
            app.invoke({"n": n}, ON)
            app.invoke({"n": n}, OTHER)
        with pytest.raises(RuntimeError):
            app.invoke({"n": 9}, ON)
    return tmp_path / "t.sqlite"


def test_replay_doesnt_replace_by_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What last value and dict union make of it differs, so the value is not known; that of the list is."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        state = agent(saver).get_state(ON).values
    assert state["plain"] == Overwrite({"q": 9}) and state["grown"] == [9]
    assert run(["replay", "t", "-d", str(path), "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert list(view["unknown"]) == ["plain"]
    assert {change["path"] for change in view["changes"]} == {"grown"}


def test_a_named_last_value_keeps_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As ``update_state`` does at the same place."""
    assert run(["replay", "t", "-d", str(path), "--commit", "--yes", "--reducer", "plain=last"]) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver)
        committed = app.get_state(ON)
        app.update_state(committed.parent_config, None, as_node=END)
        assert app.get_state(ON).values == committed.values
    capsys.readouterr()


def test_update_refuses_it_where_it_isnt_known(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two reducers that explain every step give different values for it; for a dict they don't."""
    ends = ["-d", str(path), "--as-node", "write", "--dry-run"]
    assert run(["update", "other", "--values", '{"plain": {"__overwrite__": 5}}', *ends]) == 7
    assert "fit reducers that give different values here: last value, dict union" in capsys.readouterr().err
    assert run(["update", "other", "--values", '{"grown": {"__overwrite__": [5]}}', *ends]) == 0
