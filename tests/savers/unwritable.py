"""The answers of a database that may not be written, the same on every backend."""

from contextlib import closing
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.resume import resume
from ckpt_cli.session import Session
from ckpt_cli.views.resume import QuestionsView


def refused_before_planning(
    url: str, thread: str, words: str, capsys: pytest.CaptureFixture[str], *, shown: bool = True
) -> None:
    """``info``, a dry run (both only if `shown`) and a change before planning show `words`."""
    capsys.readouterr()
    assert run(["log", thread, "-d", url]) == 0
    capsys.readouterr()
    assert run(["info", "-d", url]) == 0
    facts = " ".join(capsys.readouterr().out.split())
    assert (words in facts) is shown
    assert "writing" not in facts.rpartition("supports")[2] or not shown
    assert run(["delete", thread, "-d", url, "--dry-run"]) == 0
    assert (words in capsys.readouterr().err) is shown
    for named in (thread, "nobody's"):  # who looks for the thread first would say that there is none
        assert run(["delete", named, "-d", url, "--yes"]) == 7
        assert words in capsys.readouterr().err
    assert run(["delete", thread, "-d", url]) == 7
    stderr = capsys.readouterr().err
    assert words in stderr and "not confirmed" not in stderr
    assert run(["operations", "-d", url, "--json"]) == 0
    assert '"operations": []' in capsys.readouterr().out


class State(TypedDict, total=False):
    """What a person said."""

    said: str


def waiting(saver: BaseCheckpointSaver[Any], thread: str) -> None:
    """A thread that waits for an answer."""
    graph = StateGraph(State)
    graph.add_node("ask", lambda _: {"said": interrupt("really?")})
    graph.add_edge(START, "ask")
    graph.compile(checkpointer=saver).invoke({"said": ""}, {"configurable": {"thread_id": thread}})


def asked_nothing(url: str, thread: str, words: str) -> None:
    """`resume` on a terminal shows the question and says why no answer can be recorded, before a person types one."""
    asked, said = list[str](), list[str]()

    def ask(_: object, prompt: str) -> str:
        asked.append(prompt)
        return "yes"

    session = Session(url, ask_line=ask, say=said.append)
    with closing(session):
        view = resume(session, thread)
    assert isinstance(view, QuestionsView) and [one.value for one in view.questions] == ["really?"]
    assert not asked
    assert any("no answer can be recorded here" in one and words in one for one in said)
