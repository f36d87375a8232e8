"""A write that LangGraph replaced in the source is replaced by the next copy, and undo brings the old one back."""

import json
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.copying.official import records
from tests.graphs.building import on
from tests.langgraph.places import places


class _State(TypedDict, total=False):
    answers: list[str]


def _asking(saver: Any) -> Any:
    """A graph whose only node asks twice."""
    graph = StateGraph(_State)
    graph.add_node("ask", lambda _: {"answers": [interrupt("first?"), interrupt("second?")]})
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis"])
def test_the_next_question(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path, monkeypatch: Any, capfd: Any
) -> None:
    """The second question replaces the first in the copy; undo brings that back; copied again, the agent goes on."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    source, target = places(request, "sqlite")(), places(request, kind)()
    copy = ["copy", source.url, target.url, "--yes", "--json"]
    with source.official() as here, target.official() as there:
        agent, other = _asking(here), _asking(there)
        agent.invoke({}, on("t"))
        assert run(copy) == 0
        before = records(there, "t", "")
        agent.invoke(Command(resume="one"), on("t"))
        capfd.readouterr()
        assert run(copy) == 0, capfd.readouterr()
        [thread] = json.loads(capfd.readouterr().out)["threads"]
        assert thread["summary"].endswith("; 1 write replaced")
        assert records(there, "t", "") == records(here, "t", "") != before
        assert run(["undo", "-d", target.url, "--yes"]) == 0, capfd.readouterr()
        assert records(there, "t", "") == before
        assert run(copy) == 0
        assert other.invoke(Command(resume="two"), on("t")) == agent.invoke(Command(resume="two"), on("t"))


def test_a_copy_that_went_on(tmp_path: Path, monkeypatch: Any, capfd: Any) -> None:
    """What the copy's own agent asked or answered is never replaced: the thread is refused."""
    monkeypatch.chdir(tmp_path)
    copy = ["copy", "one.sqlite", "two.sqlite", "--yes"]
    with SqliteSaver.from_conn_string("one.sqlite") as here:
        _asking(here).invoke({}, on("t"))
        assert run(copy) == 0
        with SqliteSaver.from_conn_string("two.sqlite") as there:
            _asking(there).invoke(Command(resume="other"), on("t"))
            before = records(there, "t", "")
            assert run(copy) == 7
            assert "with other contents" in capfd.readouterr().out
            assert records(there, "t", "") == before
