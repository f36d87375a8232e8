"""The time of ``ckpt trace`` grows with the tasks of a step, not with their square."""

import operator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from ckpt_cli.commands.trace import trace
from ckpt_cli.history.tasks import task_runs
from tests.commands.asking import at
from tests.graphs.building import on

_TASKS = 60


class _State(TypedDict, total=False):
    verdicts: Annotated[list[Any], operator.add]


def test_each_task_is_looked_at_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although each is asked for the tasks and subgraphs that it called, as its message equals those of the others."""
    usage = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
    graph = StateGraph(_State).add_node("begin", lambda _: {}).add_edge(START, "begin")
    graph.add_node("ask", lambda _: {"verdicts": [AIMessage("relevant", usage_metadata=usage)]})
    graph.add_conditional_edges("begin", lambda _: [Send("ask", {}) for _ in range(_TASKS)], ["ask"])
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        graph.compile(checkpointer=saver).invoke({}, on("t"))
    paths, found = task_runs.path, list[str]()

    def path(write: Any) -> str:
        found.append(write.task_id)
        return paths(write)

    monkeypatch.setattr(task_runs, "path", path)
    assert at(tmp_path / "t.sqlite", trace, "t").sums.input_tokens == 10 * _TASKS
    assert _TASKS < len(found) < 20 * _TASKS
