"""An application's own metadata under the names that LangGraph uses, or used in earlier releases."""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run


class State(TypedDict, total=False):
    """A delta channel, of which a run that stores its checkpoints at its end begins with a stub."""

    log: Annotated[list[str], DeltaChannel(lambda current, writes: [*current, *(i for w in writes for i in w)])]


@pytest.mark.parametrize("own", [{"source": "loop"}, {"source": "input"}, {"source": "webapp"}, {"writes": "often"}])
@pytest.mark.parametrize("durability", ["exit", "sync"])
def test_it_is_no_step_of_the_graph(
    own: dict[str, str], durability: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each row of `log` says what the graph did, and `tree` draws it."""
    path = tmp_path / "t.sqlite"
    graph = StateGraph(State).add_node("work", lambda _: {"log": ["w"]}).add_edge(START, "work")
    config: Any = {"configurable": {"thread_id": "t"}, "metadata": own}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver)
        for _ in range(2):
            app.invoke({"log": ["in"]}, config, durability=durability)
    assert run(["log", "t", "--all", "-d", str(path), "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    changes = [change["text"] for step in steps if step["source"] == "loop" for change in step["changes"] or ()]
    assert changes and not any("often" in text for text in changes)
    assert run(["tree", "t", "-d", str(path)]) == 0
