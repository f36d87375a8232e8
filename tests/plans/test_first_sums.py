"""Updates that are the first write to a sum: LangGraph begins a float's with 0.0, so that 3 becomes 3.0."""

import json
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run

_ON: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 50}


class Floats(TypedDict, total=False):
    turn: int
    total: Annotated[float, operator.add]


class Ints(TypedDict, total=False):
    turn: int
    total: Annotated[int, operator.add]


def _play(saver: SqliteSaver, state: type, written: Sequence[float]) -> Any:
    """A thread in which each step writes one of these numbers."""
    graph = StateGraph(state).add_node("add", lambda s: {"turn": s["turn"] + 1, "total": written[s["turn"]]})
    graph.add_edge(START, "add")
    graph.add_conditional_edges("add", lambda s: "add" if s["turn"] < len(written) else END)
    app = graph.compile(checkpointer=saver)
    app.invoke({"turn": 0}, _ON)
    return app


def _update(path: Path, value: str) -> int:
    words = ["--values", f'{{"total": {value}}}', "--as-node", "add", "--next", "END", "--yes", "--db", str(path)]
    return run(["update", "t", "step:0", *words])


@pytest.mark.parametrize(("state", "sum_"), [(Floats, "3.0"), (Ints, "3")])
def test_the_first_number_gets_the_type_of_the_sum(state: type, sum_: str, tmp_path: Path) -> None:
    """Where a step shows with which 0 the sum begins, an update makes the value that ``update_state`` makes."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver, state, range(2, 12))
        before = next(s for s in app.get_state_history(_ON) if s.metadata["step"] == 0)
        assert _update(path, "3") == 0
        ours = app.get_state(_ON).values["total"]
        app.update_state(before.config, {"total": 3}, as_node="add")
        assert json.dumps(ours) == json.dumps(app.get_state(_ON).values["total"]) == sum_


@pytest.mark.parametrize("state", [Floats, Ints])
def test_a_whole_number_is_refused_where_no_step_shows_the_type(
    state: type, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After 0.5 both sums are floats, and no 0 is stored. 3.0 is the same to both."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver, state, [0.5] * 10)
        assert _update(path, "3") == 7
        assert "3.0 is a float with both" in " ".join(capsys.readouterr().err.split())
        assert _update(path, "3.0") == 0
        assert json.dumps(app.get_state(_ON).values["total"]) == "3.0"
