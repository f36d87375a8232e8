"""A join's names are stored a step too early: its node is due by its version, and no run from there starts it."""

import operator
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.show import show
from tests.commands.asking import at
from tests.commands.test_left_alone import drawn

SAYS = "the next run doesn't start wait, though it is due and get_state lists it: updated_channels lacks its join"
JOIN = "join:left+right:wait"


def on(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


class State(TypedDict, total=False):
    n: int
    log: Annotated[list[str], operator.add]


class Waiting(SqliteSaver):
    """Stores the checkpoint in which two nodes are due when both have run, as a busy database may do."""

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: Any, versions: Any) -> RunnableConfig:
        until = time.monotonic() + 20
        while metadata["step"] == 4 and not self.is_complete(checkpoint) and time.monotonic() < until:
            time.sleep(0.005)
        return super().put(config, checkpoint, metadata, versions)

    @staticmethod
    def is_complete(checkpoint: Checkpoint) -> bool:
        """Whether the join has the names of both nodes."""
        return len(checkpoint["channel_values"].get(JOIN, ())) == 2


def agent(saver: SqliteSaver, ran: list[str]) -> Any:
    """A loop over two nodes side by side and one that waits for both."""

    def node(name: str) -> Any:
        def runs(state: State) -> State:
            ran.append(name)
            return {"log": [name], **({"n": state.get("n", 0) + 1} if name == "wait" else {})}  # type: ignore[typeddict-item]

        return runs

    graph = StateGraph(State)
    for name in ("begin", "left", "right", "wait"):
        graph.add_node(name, node(name))
    graph.add_edge(START, "begin").add_edge("begin", "left").add_edge("begin", "right").add_edge(
        ["left", "right"], "wait"
    )
    graph.add_conditional_edges("wait", lambda state: "begin" if state["n"] < 3 else END, ["begin", END])
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("words", [["fork", "t", "step:4", "--to", "copy"], ["delete", "t", "--after", "step:4"]])
def test_the_plan_and_show_say_so(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`next` has what ``get_state`` lists; the run from there leaves the node out, as the plan said."""
    path, ran = tmp_path / "t.sqlite", list[str]()
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        agent(Waiting(connection), ran).invoke({"n": 0}, on("t"), durability="async")
    assert run([*words, "--yes", "-d", str(path)]) == 0
    assert SAYS in " ".join(capsys.readouterr().out.split())
    thread_id = "copy" if "--to" in words else "t"
    view = at(path, show, thread_id)
    assert (view.next, view.passed_over) == (["left", "right", "wait"], ["wait"])
    assert SAYS in " ".join(" ".join(drawn(view)).split())
    replayed = at(path, replay, thread_id)
    assert [task.node for task in replayed.tasks if task.again] == ["left", "right"]
    assert SAYS.removeprefix("t") in " ".join(" ".join(drawn(replayed)).split())
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver, ran)
        assert app.get_state(on(thread_id)).next == ("left", "right", "wait")
        ran.clear()
        app.invoke(None, on(thread_id))
        assert sorted(ran) == ["left", "right"]
