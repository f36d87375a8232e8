"""Wide fan-outs: a step of many tasks costs work in proportion to the tasks, whatever the command shows of them."""

import operator
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

from ckpt_cli.app import run
from tests.work import LINEAR, growth

_SENDS = 30


class _State(TypedDict):
    n: int
    out: Annotated[list[int], operator.add]


def _finish(state: _State) -> dict[str, Any]:
    return {"out": [state["n"]]}


def _ask(state: _State) -> dict[str, Any]:
    return {"out": [interrupt(state["n"])]}


def _graph(node: Callable[[_State], Any], size: int, *, nested: bool) -> Any:
    graph = StateGraph(_State)
    graph.add_node("plan", lambda _: {"n": 0})
    if nested:
        graph.add_node("work", StateGraph(_State).add_node("inner", node).add_edge(START, "inner").compile())
    else:
        graph.add_node("work", node)
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", lambda _: [Send("work", {"n": n, "out": []}) for n in range(size)], ["work"])
    return graph


def _database(folder: Path, size: int, kind: str) -> str:
    path = folder / f"{size}.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        node = _finish if kind == "finished" else _ask
        graph = _graph(node, size, nested=kind == "subgraphs").compile(checkpointer=SqliteSaver(connection))
        graph.invoke({"n": 0, "out": []}, {"configurable": {"thread_id": "t"}, "max_concurrency": 1})
        if kind == "without paths":
            connection.execute("UPDATE writes SET task_path = ''")
        connection.commit()
    return str(path)


@pytest.mark.parametrize(
    "kind, words",
    [
        ("finished", ["show", "t", "step:1"]),
        ("finished", ["log", "t"]),
        ("waiting", ["threads"]),
        ("waiting", ["resume", "t"]),
        ("without paths", ["log", "t"]),
        ("subgraphs", ["resume", "t"]),
        ("subgraphs", ["tree", "t", "--full"]),
        ("subgraphs", ["delete", "t", "--after", "step:0", "--dry-run"]),
    ],
)
def test_work_is_linear_in_the_tasks_of_a_step(
    kind: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twice as many Sends from one step take twice the work."""

    def prepared(size: int) -> Callable[[], Any]:
        path = _database(tmp_path, size, kind)
        return lambda: run([*words, "--db", path])

    assert growth(_SENDS, prepared) < LINEAR
    assert capsys.readouterr().out
