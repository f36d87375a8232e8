"""``ckpt resume`` lists the questions that wait, and the command that it suggests answers them."""

import json
import re
import shlex
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import ormsgpack
import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import NodeInterrupt
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.resume import resume
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text.resume import render
from ckpt_cli.views.resume import QuestionLine, QuestionsView
from tests import golden
from tests.commands.asking import look
from tests.graphs.building import Log, on

Database = Callable[[str], Path]
WAITING = {"one": "interrupt-single", "several": "interrupt-multi", "below": "subgraph-interrupted"}


@pytest.mark.parametrize("name", [*WAITING, "none"])
def test_looks(name: str, database: Database) -> None:
    """The questions with the command that answers them, on every kind of output."""
    view, _ = look(database("real"), lambda session: resume(session, WAITING.get(name, "chat-linear")))
    golden.check(f"resume/{name}", view)


@pytest.mark.parametrize("name", WAITING)
@pytest.mark.parametrize("width", [40, 200])
def test_the_command_answers(name: str, width: int, database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """Pasted with answers, the command records one for each question; pasted unchanged, it is refused."""
    path = database("real")
    view, _ = look(path, lambda session: resume(session, WAITING[name]))
    text = "\n".join(plain(line) for line in render(view, Page(width, 0)))
    words = shlex.split(text[text.index("    ckpt resume") :].replace("\\\n", ""))[1:]
    ends = ["-d", str(path), "--dry-run"]
    assert run([*words, *ends]) == 2
    assert run([re.sub("JSON$", "true", word) for word in words] + ends) == 0
    assert "answers\n" not in capsys.readouterr().out
    assert len(view.questions) == sum(word.endswith("JSON") for word in words)


@pytest.mark.parametrize("name", ["py-0.2.28", "py-0.2.76", "py-0.5.4", "py-0.6.11", "js-0.2.41", "js-1.4.17"])
def test_a_node_interrupt_takes_no_answer(name: str, database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """It stores no id before langgraph 0.6; no answer is promised, and the command that is named instead works."""
    path = database(f"legacy/{name}")
    thread = ["node-intr", "-d", str(path)]
    assert run(["resume", *thread, "--value", "1"]) == 7
    said = capsys.readouterr().err
    assert "raised NodeInterrupt, which takes no answer" in said
    assert "`ckpt edit node-intr @ --set PATH=JSON` changes the state that it reads" in said
    view, _ = look(path, lambda session: resume(session, "node-intr"))
    text = [plain(line) for line in render(view, Page(100, 0))]
    assert text[-1] == "    ckpt edit node-intr @ --set PATH=JSON"
    assert not [line for line in text if "ckpt resume" in line]
    assert run(["edit", "node-intr", "@", "--set", 'x=["q"]', *thread[1:], "--dry-run"]) == 0


@pytest.mark.filterwarnings("ignore:NodeInterrupt is deprecated")
def test_a_node_interrupt_in_a_subgraph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command that is named changes the subgraph's state; one that changes the root's would be refused."""

    def gate(state: Log) -> Log:
        if "open" not in state["log"]:
            raise NodeInterrupt("closed")
        return {"log": ["through"]}

    path = tmp_path / "t.sqlite"
    inner = StateGraph(Log).add_node("gate", gate).add_edge(START, "gate").compile()
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = StateGraph(Log).add_node("sub", inner).add_edge(START, "sub").compile(saver)
        app.invoke({"log": ["in"]}, on("t"))
        view, _ = look(path, lambda session: resume(session, "t"))
        hint = plain(list(render(view, Page(200, 0)))[-1]).strip()
        assert run(["resume", "t", "--value", "1", "-d", str(path)]) == 7
        assert f"`{hint}` changes the state" in capsys.readouterr().err
        words = shlex.split(hint.replace("PATH=JSON", """'log=["open"]'"""))[1:]
        assert run([*words, "-d", str(path), "--yes"]) == 0
        assert app.invoke(None, on("t"))["log"][-1] == "through"


def test_several_node_interrupts_are_refused_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No answer to one of them is suggested: one value, one by one, and all at once are refused for the true reason."""
    path = tmp_path / "old.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(Log)
        for node in ("desk", "vault"):
            builder.add_node(node, lambda _, node=node: interrupt(f"{node}?")).add_edge(START, node)
        builder.compile(checkpointer=saver).invoke({"log": []}, on("loan"))
    with closing(sqlite3.connect(path)) as connection, connection:  # as langgraph 0.2.39 stored them
        for node in ("desk", "vault"):
            fields = ("langgraph.types", "Interrupt", {"value": f"{node}?", "when": "during"})
            data = ormsgpack.packb(ormsgpack.Ext(2, ormsgpack.packb(fields)))
            asked = (data, f"%pregel_pull, {node}")
            connection.execute(
                "UPDATE writes SET value = ? WHERE task_path LIKE ? AND channel = '__interrupt__'", asked
            )
        connection.execute("UPDATE writes SET task_path = ''")
    for words in (
        ["--value", "1"],
        ["-i", "desk=1"],
        ["-i", "desk=1", "-i", "vault=2"],
        ["--value", "1", "--answer-all"],
    ):
        assert run(["resume", "loan", *words, "-d", str(path)]) == 7
        assert "raised NodeInterrupt, which takes no answer" in capsys.readouterr().err


def test_questions_of_one_node_are_named_by_id() -> None:
    """As much of the id as tells them apart; a question that takes no answer is not in the command."""
    ids = ["0123456789abcdef", "0123456780abcdef", "placeholder-id"]
    view = QuestionsView("a b", [QuestionLine(one, "ask", "", "?", 0) for one in ids], "sub:1")
    last = plain(list(render(view, Page(200, 0)))[-1])
    assert last == "    ckpt resume 'a b' -i 0123456789=JSON -i 0123456780=JSON --ns sub:1"


def test_many_questions_are_not_all_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An ambiguous answer and a plan name some of them and how many more wait; JSON has all that might be meant."""
    path = tmp_path / "many.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        builder = StateGraph(Log)
        builder.add_node("ask", lambda number: {"log": [interrupt(number)]})
        builder.add_conditional_edges(START, lambda _: [Send("ask", number) for number in range(60)], ["ask"])
        builder.compile(checkpointer=SqliteSaver(connection)).invoke({"log": []}, on("t"))
    ends = ["-d", str(path), "--dry-run"]
    assert run(["resume", "t", "-i", "ask=1", *ends]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "ckpt: 'ask' fits 60 questions"
    assert lines[20].startswith("  ask [")
    assert lines[21] == "  … and 40 more (--json lists all)"
    assert run(["resume", "t", "-i", "ask=1", *ends, "--json"]) == 2
    candidates = json.loads(capsys.readouterr().err)["error"]["candidates"]
    assert len({re.sub(r"ask .* \((.*)\)", r"\1", one) for one in candidates}) == 60
    chosen = candidates[0].partition("(")[2].removesuffix(")")
    assert run(["resume", "t", "-i", f"{chosen}=1", *ends, "--json"]) == 0
    notes = [note for note in json.loads(capsys.readouterr().out)["notes"] if "wait" in note]
    assert len(notes) == 11
    assert notes[-1] == "49 more still wait"
