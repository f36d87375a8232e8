"""Questions about tool calls that agents ask in a fan-out: whose they are, and how an answer names them."""

import json
import operator
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.resume import run as read_questions
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text.resume import render
from ckpt_cli.parameters.interview import interview
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from ckpt_cli.views.resume import QuestionLine
from tests.commands.test_taken_back import asking
from tests.graphs import human_in_the_loop
from tests.graphs.building import on

Said = Callable[..., str]


class Job(TypedDict, total=False):
    """What a worker is given, and what all leave."""

    job: str
    log: Annotated[list[Any], operator.add]


def team(saver: Any) -> Any:
    """Two workers, each with an agent that asks before it calls its tool."""

    def ask(state: Job) -> Job:
        call = {"name": "refund", "args": {"order": state["job"]}, "description": "Tool execution requires approval"}
        rules = [{"action_name": "refund", "allowed_decisions": ["approve", "reject"]}]
        return {"log": [interrupt({"action_requests": [call], "review_configs": rules})["decisions"][0]["type"]]}

    agent = StateGraph(Job).add_node("ask", ask).add_edge(START, "ask").compile()
    builder = StateGraph(Job).add_node("worker", lambda state: {"log": agent.invoke(state)["log"]})
    sends = [Send("worker", {"job": name}) for name in ("lamp", "desk")]
    return builder.add_conditional_edges(START, lambda _: sends, ["worker"]).compile(checkpointer=saver)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The database in which both workers wait."""
    path = tmp_path / "team.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        team(SqliteSaver(connection)).invoke({"log": []}, on("t"))
    return path


@pytest.fixture
def said(path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs a command line and gives what it printed."""

    def go(*words: str, code: int = 0) -> str:
        assert run([*words, "-d", str(path)]) == code
        printed = capsys.readouterr()
        return printed.out + printed.err

    return go


@pytest.fixture
def reader(path: Path) -> Iterator[Reader]:
    """The database, opened."""
    reader = Reader(open_file(path), Codec())
    yield reader
    reader.saver.close()


def test_the_job_of_each_worker_is_shown(said: Said, reader: Reader) -> None:
    """A Send that isn't the tool call itself is shown beside the question, and the heading is that of the plan."""
    assert {'given  {"job": "lamp"}', 'given  {"job": "desk"}'} <= {
        line.strip() for line in said("show", "t").split("\n")
    }
    shown = [plain(line) for line in render(read_questions(reader, "t"), Page(80, 0))]
    assert [line.split("  ")[0] for line in shown if line.startswith("⏸")] == [
        "⏸ worker [1/2] › ask",
        "⏸ worker [2/2] › ask",
    ]
    assert '    given  {"job": "lamp"}' in shown


@pytest.mark.parametrize("first", ["worker [1/2]", "worker[1/2]", "worker[1]", "worker [1/2] › ask", "worker[1] › ask"])
def test_the_number_of_a_send_names_its_question(first: str, said: Said, path: Path) -> None:
    """As it is listed, or as in `edit --task`; a name that fits both is refused, and the answers are taken."""
    assert "fits 2 questions" in said("resume", "t", "-i", "worker=approve", code=2)
    said("resume", "t", "-i", f"{first}=reject", "-i", "worker[2]=approve", "--yes")
    assert "worker [1/2] has the answer" in said("resume", "t")
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        assert team(SqliteSaver(connection)).invoke(None, on("t"))["log"] == ["reject", "approve"]


def test_a_wrong_answer_is_explained_line_by_line(reader: Reader) -> None:
    """The mark under the text that is no JSON stays under it."""
    typed, lines = iter(["{amount: 5}", ""]), list[str]()
    view = read_questions(reader, "t")
    view.questions[:] = [QuestionLine("0" * 32, "ask", "", "how much?", 0)]
    assert interview(view, lambda *_: next(typed), lines.append) == []
    assert not any("\n" in line for line in lines)
    [at] = [number for number, line in enumerate(lines) if line.strip() == "^"]
    assert "{amount: 5}"[lines[at].index("^") - lines[at - 1].index("{")] in "a{"


def test_a_free_name_is_offered_with_the_options_given(said: Said) -> None:
    """The command in the hint does what was asked for, only under another name."""
    said("fork", "t", "@", "--to", "copy", "--with-pending", "--yes")
    hint = said("fork", "t", "@", "--to", "copy", "--with-pending", "--yes", code=7)
    assert "--to copy-2 --with-pending`" in hint
    said("fork", "t", "@", "--to", "copy-2", "--with-pending", "--yes")
    assert len(json.loads(said("resume", "copy-2", "--json"))["questions"]) == 2


def test_a_worker_inside_a_subgraph_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A task that a Send started in a subgraph: the plan names its node, not the one that called the subgraph."""
    path, thread = tmp_path / "t.sqlite", on("t")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = asking(saver, inside=True)
        app.invoke({"out": []}, thread)
        [question] = [one for one in app.get_state(thread).interrupts if one.value == "q0"]
    assert run(["resume", "t", "-i", f"{question.id}=yes", "-d", str(path), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert f"recorded for sub › ask ({question.id})" in said and 'ask asks "q0"' in said
    assert said.count("still waits: sub › ask (") == 2


def test_the_calls_of_an_agent_in_a_subgraph_are_its_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """LangChain's middleware that asks once per call: `tools` asks, not the node that called the agent."""
    path, thread, rules = tmp_path / "t.sqlite", on("t"), {"delete_user": True, "send_email": True}
    agent = human_in_the_loop.agent(None, "per_call", rules, [human_in_the_loop.DELETE, human_in_the_loop.MAIL])
    graph = StateGraph(human_in_the_loop.Messages).add_node("mailer", agent).add_edge(START, "mailer")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph.compile(checkpointer=saver)
        app.invoke({"messages": [("user", "go")]}, thread)
        asked = app.get_state(thread).interrupts  # in any order
        first, second = sorted(asked, key=lambda one: "send_email" in str(one.value))
        assert run(["resume", "t", "-i", "tools=approve", "-d", str(path), "--yes"]) == 2
        said = capsys.readouterr().err
        assert said.count("  mailer › tools (") == 2 and "'tools' fits 2 questions" in said
        assert run(["resume", "t", "-i", f"{first.id}=reject", "-d", str(path), "--yes"]) == 0
        app.invoke(None, thread)
        assert [one.id for one in app.get_state(thread).interrupts] == [second.id]
        human_in_the_loop.RAN.clear()
        assert run(["resume", "t", "-i", "tools=approve", "-d", str(path), "--yes"]) == 0
        app.invoke(None, thread)
        assert [name for name, _ in human_in_the_loop.RAN] == ["send_email"]
