"""``ckpt resume`` lists the questions that wait, and the command that it suggests answers them."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.commands.resume import resume
from ckpt_cli.output.line import Page, plain
from ckpt_cli.output.text.resume import render
from ckpt_cli.views.resume import QuestionLine, QuestionsView
from tests import golden
from tests.commands.asking import look

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


def test_questions_of_one_node_are_named_by_id() -> None:
    """As much of the id as tells them apart; a question that takes no answer is not in the command."""
    ids = ["0123456789abcdef", "0123456780abcdef", "placeholder-id"]
    view = QuestionsView("a b", [QuestionLine(one, "ask", "", "?", 0) for one in ids], "sub:1")
    last = plain(list(render(view, Page(200, 0)))[-1])
    assert last == "    ckpt resume 'a b' -i 0123456789=JSON -i 0123456780=JSON --ns sub:1"
