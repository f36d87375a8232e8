"""The tasks of Sends: every command shows their number and argument, and says how many are due."""

import json
import operator
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from pydantic import SecretStr

from ckpt_cli.app import run
from ckpt_cli.output.line import Page
from ckpt_cli.output.printer import render
from ckpt_cli.output.text.sends import argument_lines
from ckpt_cli.views.sends import SendView
from tests.graphs.building import on
from tests.graphs.waiting import until_all_stored

_DOCUMENTS = ["a", "bad-one", "ask-me", "b", "bad-two"]
_LONG = "x" * 300


class _State(TypedDict):
    documents: list[str]
    out: Annotated[list[str], operator.add]


def _summarise(given: dict[str, Any]) -> dict[str, Any]:
    if given["doc"].startswith("bad"):
        raise ValueError(f"can't read {given['doc']}")
    return {"out": [interrupt("sure?") if given["doc"].startswith("ask") else given["doc"].upper()]}


def fan_out(saver: SqliteSaver) -> Any:
    """A graph that sends each document to a node of its own, and all of them to another node."""

    def sends(state: _State) -> list[Send]:
        each = [Send("summarise", {"doc": doc}) for doc in state["documents"]]
        return [*each, Send("audit", {"key": SecretStr("hunter2"), "note": _LONG})]

    builder = StateGraph(_State)
    builder.add_node("plan", lambda _: {})
    builder.add_node("summarise", _summarise)
    builder.add_node("audit", lambda _: {"out": ["audited"]})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", sends, ["summarise", "audit"])
    return builder.compile(checkpointer=saver)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database whose thread ``t`` stopped in a fan-out: two tasks failed, and one asks."""
    path = tmp_path_factory.mktemp("sends") / "sends.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection, suppress(ValueError):
        saver, given = SqliteSaver(connection), {"documents": _DOCUMENTS, "out": []}
        config = {**on("t"), "max_concurrency": 1}
        for chunk in fan_out(saver).stream(given, config, stream_mode="updates", durability="sync"):
            if "plan" not in chunk:
                until_all_stored(saver, on("t"), len(_DOCUMENTS) + 1)
    yield str(path)


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    run(list(words))
    said = capsys.readouterr()
    return said.out + said.err


@pytest.mark.parametrize("verb", ["show", "writes", "log", "tree", "replay"])
def test_json_has_number_and_argument(verb: str, stopped: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The task of the second Send says so, with its argument whole; the secret in another one is masked."""
    said = _said(capsys, verb, "t", "-d", stopped, "--json")
    tasks = [task for task in _tasks(json.loads(said)) if task["node"] == "summarise"]
    expected = [{"number": at, "of": 5, "argument": {"doc": doc}} for at, doc in enumerate(_DOCUMENTS, 1)]
    assert [task["send"] for task in tasks] == [one for one in expected if one in [t["send"] for t in tasks]]
    assert {"number": 2, "of": 5, "argument": {"doc": "bad-one"}} in [task["send"] for task in tasks]
    assert _LONG in said and "hunter2" not in said


def _tasks(document: Any) -> Iterator[dict[str, Any]]:
    """All tasks in a JSON document, wherever they are."""
    if isinstance(document, dict):
        yield from (task for task in document.get("tasks") or [])
    for part in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from _tasks(part) if not (isinstance(document, dict) and part is document.get("tasks")) else ()


@pytest.mark.parametrize("verb", ["show", "writes", "replay", "tree"])
def test_rows_have_number_and_argument(verb: str, stopped: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each task's number and argument are in its line, or in its row in a pipe; the secret is in none."""
    said = _said(capsys, verb, "t", "-d", stopped)
    for at, doc in enumerate(_DOCUMENTS, 1):
        assert f"{at}/5" in said and f'{{"doc": "{doc}"}}' in said
    assert "hunter2" not in said


def test_due_tasks_are_counted(stopped: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`next` names a node once, with the number of its tasks; the tasks beside it are named by their numbers."""
    assert "next  summarise ×3" in _said(capsys, "show", "t", "-d", stopped)
    assert "✗ summarise ×2" in _said(capsys, "log", "t", "-d", stopped)
    assert "failed: summarise ×2" in _said(capsys, "tree", "t", "-d", stopped)


def test_refusals_and_questions_name_the_task(stopped: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What would run again, what is abandoned and what waits is named with its number."""
    refused = _said(capsys, "edit", "t", "--set", 'out=["x"]', "-d", stopped, "--dry-run")
    assert "summarise [1, 4 of 5], audit finished" in refused
    left = _said(capsys, "replay", "t", "--commit", "--reducer", "out=append", "-d", stopped, "--dry-run")
    assert "summarise [2, 5 of 5] (failed)" in left and "summarise [3/5] (waiting)" in left
    waits = json.loads(_said(capsys, "resume", "t", "-d", stopped, "--json"))
    assert [one["send"]["argument"] for one in waits["questions"]] == [{"doc": "ask-me"}]
    answer = _said(capsys, "resume", "t", "--value", "yes", "-d", stopped, "--dry-run")
    assert "summarise [3/5] (" in answer


@pytest.mark.parametrize("status", ["failed", "due", "answered", "finished"])
def test_an_argument_is_whole_as_long_as_it_matters(status: str) -> None:
    """What is to run again is shown whole on a narrow terminal; what has finished is folded, unless --full."""
    send = SendView(1, 1, {"note": [f"line {n}" for n in range(60)]})
    lines = ["".join(text for _, text in line) for line in argument_lines(send, status, Page(80, 0.0), 5)]
    assert any("line 33" in line for line in lines) == (status != "finished")


def test_threads_show_the_failed_send(stopped: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In the blocks of `threads --status failed`, each task has its number, and its argument in a line of its own."""
    from tests.commands.asking import at
    from tests.commands.listing import threads

    view = at(Path(stopped), threads, status=["failed"])
    lines = ["".join(text for _, text in line) for line in render(view, Page(80, 0.0))]
    first = next(number for number, line in enumerate(lines) if "summarise [2/5]" in line)
    assert '{"doc": "bad-one"}' in lines[first] and "can't read bad-one" in lines[first + 1]
