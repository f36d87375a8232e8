"""What `replay` says of ``--commit`` is what it does, also for delta channels that the new checkpoint stores whole."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.waiting import until_stored

ON: Any = {"configurable": {"thread_id": "t"}}


def appended(current: list[str], writes: list[list[str]]) -> list[str]:
    return [*current, *(item for write in writes for item in write)]


class State(TypedDict, total=False):
    """Two delta channels, and a list."""

    log: Annotated[list[str], DeltaChannel(appended)]
    tags: Annotated[list[str], DeltaChannel(appended)]
    plain: Annotated[list[str], operator.add]


def test_the_options_that_it_names_are_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the first step nothing proves a delta channel; the line has ``--reducer`` for each that must be stored."""
    path = tmp_path / "t.sqlite"

    def fail(_: State) -> State:
        until_stored(saver)
        raise ValueError("down")

    graph = StateGraph(State).add_node("work", lambda _: {"log": ["w"], "tags": ["a"], "plain": ["w"]})
    graph.add_node("fail", fail).add_edge(START, "work").add_edge(START, "fail")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        with pytest.raises(ValueError, match="down"):
            graph.compile(checkpointer=saver).invoke({"log": ["in"], "plain": ["in"]}, ON)
        assert run(["replay", "t", "-d", str(path), "--json"]) == 0
        view = json.loads(capsys.readouterr().out)
        needed = [*view["unknown"], *view["unproven"]]
        assert "log" in needed
        options = [word for channel in needed for word in ("--reducer", f"{channel}=append")]
        assert run(["replay", "t", "--commit", "--yes", "-d", str(path)]) == (7 if needed else 0)
        assert run(["replay", "t", "--commit", "--yes", "-d", str(path), *options]) == 0
        values = graph.compile(checkpointer=saver).get_state(ON).values
    assert values == {"log": ["in", "w"], "tags": ["a"], "plain": ["in", "w"]}
