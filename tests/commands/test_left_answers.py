"""A task of a subgraph that failed with the answer of a ``Command(resume=value)``, which stays stored at the root."""

import re
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """Who was called."""

    called: str


def agent(saver: SqliteSaver) -> Any:
    """A node of a subgraph that asks and fails with a bad answer."""

    def ask(_: State) -> State:
        if (who := interrupt("who?")) == "nobody":
            raise RuntimeError("nobody on call")
        return {"called": who}

    inner = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()
    return StateGraph(State).add_node("desk", inner).add_edge(START, "desk").compile(checkpointer=saver)


def goes_on(path: Path) -> list[str]:
    """The questions that the next run asks."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver)
        with suppress(RuntimeError):
            return [one.value for one in app.invoke(None, ON).get("__interrupt__", ())]
        return []


def failed(path: Path) -> str:
    """Make a thread whose subgraph failed with a bad answer; the namespace of the subgraph."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver)
        app.invoke({"called": ""}, ON)
        with suppress(RuntimeError):
            app.invoke(Command(resume="nobody"), ON)
        (ns,) = {one.config["configurable"]["checkpoint_ns"] for one in saver.list(ON)} - {""}
    return ns


@pytest.mark.parametrize(
    "change",
    [
        ["fork", "t", "@"],
        ["rollback", "t", "@"],
        ["edit", "t", "--set", 'called="new"'],
        ["delete", "t", "--after", "@"],
        ["update", "t", "--values", '{"called": "new"}', "--as-node", "__start__", "--reducer", "called=last"],
    ],
)
def test_every_change_of_the_subgraph_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str]
) -> None:
    """The next run's first question takes the answer at the root, however the subgraph's new head was made."""
    path = tmp_path / "t.sqlite"
    ns = failed(path)
    assert run([*change, "--ns", ns, "--yes", "-d", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert 'left the answer "nobody": the first interrupt() without an answer in the next step takes it' in said
    assert "asked again" not in said
    assert goes_on(path) == []


def test_the_plan_says_who_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The task that starts again in the subgraph takes it and fails; the command that the plan names lets it ask."""
    path = tmp_path / "t.sqlite"
    ns = failed(path)
    assert run(["edit", "t", "--task", "ask", "--again", "--ns", ns, "--yes", "-d", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    line = (
        'Command(resume=…) left the answer "nobody": the first interrupt() without an answer in the next step takes it'
    )
    assert said.count(line) == 1
    assert goes_on(path) == []
    named = re.search(r"`ckpt (edit t [^`]+)` starts the call of this subgraph again", said)
    assert named is not None
    assert run([*shlex.split(named[1]), "--yes", "-d", str(path)]) == 0
    assert goes_on(path) == ["who?"]


def test_no_answer_is_named_where_the_call_is_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No run continues a call that has returned, so nothing takes the answer that its `Command` left at the root."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = agent(saver)
        app.invoke({"called": ""}, ON)
        app.invoke(Command(resume="ada"), ON)
        (ns,) = {one.config["configurable"]["checkpoint_ns"] for one in saver.list(ON)} - {""}
    for change in (["delete", "t", "--after", "step:0"], ["edit", "t", "step:0", "--task", "ask", "--again"]):
        assert run([*change, "--ns", ns, "--dry-run", "-d", str(path)]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "left the answer" not in said and "without that answer" not in said
    assert goes_on(path) == []
