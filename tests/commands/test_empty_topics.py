"""A node writes an empty list to a Topic: an empty one gets neither a value nor a version."""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import Topic
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run

REDUCERS = ["--reducer", "alerts=topic", "--reducer", "notes=accumulating topic"]


class State(TypedDict, total=False):
    """A Topic that every step empties, and one that keeps its items."""

    n: int
    alerts: Annotated[list[str], Topic(str)]
    notes: Annotated[list[str], Topic(str, accumulate=True)]


def on(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


def agent(saver: SqliteSaver) -> Any:
    """Three nodes in a row, of which two write nothing into a Topic, at least sometimes."""

    def check(state: State) -> State:
        odd = ["odd"] if state["n"] % 2 else []
        return {"alerts": odd, "notes": odd}

    graph = StateGraph(State)
    graph.add_node("count", lambda state: {"n": state["n"] + 1, "alerts": []})
    graph.add_node("check", check)
    graph.add_edge(START, "count").add_edge("count", "check").add_node("end", lambda _: {})
    return graph.add_edge("check", "end").compile(checkpointer=saver)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A thread of some runs; the Topics hold something after some of their steps."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        for n in (1, 1, 2, 1, 1, 2, 1):
            agent(saver).invoke({"n": n}, on("t"))
    return tmp_path / "t.sqlite"


@pytest.mark.parametrize("named", [True, False])
def test_verify_agrees(named: bool, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step is what the Topics make of the writes, by the reducers that a person names, and by those learned."""
    assert run(["verify", "t", "-d", str(path), "--json", *(REDUCERS if named else [])]) == 0
    (thread,) = json.loads(capsys.readouterr().out)["threads"]
    assert thread["verdicts"] == {"agrees": thread["steps"]}


@pytest.mark.parametrize("started_with", [1, 2], ids=["they are empty", "they hold an item"])
@pytest.mark.parametrize("written", [[], ["again"]])
def test_update_stores_what_the_library_stores(written: list[str], started_with: int, path: Path) -> None:
    """The same values and versions as ``update_state``, for each Topic, empty or not."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver)
        for thread_id in ("mine", "hers"):
            app.invoke({"n": started_with}, on(thread_id))
        app.update_state(on("hers"), {"alerts": written, "notes": written}, as_node="check")
    words = ["--values", json.dumps({"alerts": written, "notes": written}), "--as-node", "check", *REDUCERS]
    assert run(["update", "mine", *words, "-d", str(path), "--yes"]) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        mine, hers = (saver.get_tuple(on(thread_id)) for thread_id in ("mine", "hers"))
        assert mine is not None and hers is not None
        assert mine.checkpoint["channel_values"] == hers.checkpoint["channel_values"]
        counts = [
            {c: str(v).partition(".")[0] for c, v in one.checkpoint["channel_versions"].items()} for one in (mine, hers)
        ]
        assert counts[0] == counts[1]
