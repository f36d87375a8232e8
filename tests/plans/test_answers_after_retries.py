"""A question of a later call of a subgraph: the next run begins with the first call, and still takes the answer."""

import operator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy, interrupt

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """What each node says."""

    log: Annotated[list[str], operator.add]


def agent(saver: SqliteSaver, *, by_retry: bool, flaky: bool) -> Any:
    """A node calls a subgraph of two nodes again after its first node failed; the second one asks."""
    calls = 0

    def load(_: State) -> State:
        nonlocal calls
        calls += 1
        if flaky and calls % 2:
            raise TimeoutError("backend")
        return {"log": ["load"]}

    inner = StateGraph(State).add_node("load", load).add_node("ask", lambda _: {"log": [interrupt("send it?")]})
    sub: Any = inner.add_edge(START, "load").add_edge("load", "ask").compile()

    def calls_twice(state: State) -> Any:
        with suppress(TimeoutError):
            return sub.invoke(state)
        return sub.invoke(state)

    retry = RetryPolicy(max_attempts=2, initial_interval=0.01, retry_on=TimeoutError) if by_retry else None
    outer = StateGraph(State).add_node("sub", sub if by_retry else calls_twice, retry_policy=retry)
    return outer.add_edge(START, "sub").compile(checkpointer=saver)


@pytest.mark.parametrize("flaky", [True, False], ids=["it fails again", "it fails no more"])
@pytest.mark.parametrize("by_retry", [True, False], ids=["a retry", "a second call"])
def test_the_answer_is_taken(by_retry: bool, flaky: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan says that the first question of the next run gets the answer, and it does; a retry may ask once more."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        agent(saver, by_retry=by_retry, flaky=True).invoke({"log": []}, ON)
    assert run(["resume", "t", "--value", '"yes"', "--yes", "-d", str(path)]) == 0
    assert "the first question of that run gets this answer" in " ".join(capsys.readouterr().out.split())
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver, by_retry=by_retry, flaky=flaky)
        assert app.invoke(None, ON)["log"][-2:] == ["load", "yes"]
        assert app.get_state(ON).next == ()
