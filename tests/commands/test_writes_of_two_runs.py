"""Two runs from one checkpoint: their tasks have the same ids, and the writes of both are stored side by side."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.graphs.building import on


class _State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    n: Annotated[int, operator.add]
    room: int


def test_a_write_of_the_second_run_shows_no_reducer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first run's state has 9, and the second run's write of 5: that is no step of a greatest value."""
    path, later = str(tmp_path / "t.sqlite"), list[dict[str, Any]]()

    def plan(_: _State) -> dict[str, Any]:
        return {"log": [interrupt("go on?")], **(later[0] if later else {})}

    with SqliteSaver.from_conn_string(path) as saver:
        builder = StateGraph(_State).add_node("plan", plan).add_node("do", lambda _: {"log": ["done"]})
        app = builder.add_edge(START, "plan").add_edge("plan", "do").compile(saver)
        app.invoke({"room": 9}, on("t"))
        asked = app.get_state(on("t")).config["configurable"]["checkpoint_id"]
        app.invoke(Command(resume="first"), on("t"))
        later.append({"n": 1, "room": 5})
        past = {"configurable": {"thread_id": "t", "checkpoint_id": asked}}
        assert app.invoke(Command(resume="second"), past)["room"] == 5
    assert run(["verify", "t", "-d", path]) in (0, 5)
    assert "max" not in capsys.readouterr().out
    words = ["update", "t", "--as-node", "plan", "--values", '{"room": 3}', "--next", "do", "--dry-run", "-d", path]
    assert run(words) == 7
    assert "room=NAME" in capsys.readouterr().err
