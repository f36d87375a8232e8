"""On a terminal ``ckpt resume THREAD`` goes question by question, and records the answers with one confirmation."""

import fcntl
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.commands.test_answer_schema import Review
from tests.commands.test_answers import BATCH, THREAD, Asked, asked, request_of
from tests.graphs.human_in_the_loop import BODY, DELETE, MAIL, RAN, agent, asking

__all__ = ["asked"]

PROMPTS = ("open): ", "[y/N] ")
END = "\x04"
SHORT = {"to": "bob@example.org", "body": "Hi"}


def talk(path: Path, lines: Sequence[str], *, early: str = "") -> tuple[int, str]:
    """The exit code of ``ckpt resume`` on a terminal, and what it showed; a line is typed at each prompt.

    `early` is typed before the first prompt.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
    os.write(ours, early.encode())
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm", "PAGER": "cat"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-m", "ckpt_cli", "resume", THREAD, "-d", str(path)]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown, typed = "", list(lines)
    while part := _read(ours):
        shown += part
        if typed and shown.endswith(PROMPTS):
            line = typed.pop(0)
            os.write(ours, line.encode() if line == END else f"{line}\n".encode())
    os.close(ours)
    assert not typed, shown
    return process.wait(timeout=60), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", shown)


def _read(terminal: int) -> str:
    try:
        return os.read(terminal, 65536).decode(errors="replace")
    except OSError:  # Linux says so when the last writer is gone
        return ""


def test_each_question_gets_its_answer(asked: Asked) -> None:
    """Each is shown whole, an answer that isn't allowed is asked for again, and one plan is confirmed at the end."""
    rules = {"delete_user": {"allowed_decisions": ["reject"]}, "send_email": True}
    asked.start(lambda saver: agent(saver, "per_call", rules, [DELETE, MAIL]))
    lines = ["approve", "reject he is on leave", "edit {", f"edit {json.dumps(SHORT)}", "y"]
    code, shown = talk(asked.path, lines)
    assert code == 0
    assert "delete_user: reject TEXT (Enter leaves it open): approve" in shown
    assert "'approve' is not an answer for delete_user: it allows reject" in shown
    assert "the object of arguments is no JSON" in shown
    assert " ".join(BODY.split()) in " ".join(shown.replace("\n", " ").split())
    assert shown.count("Apply? [y/N]") == 1
    asked.go_on()
    assert RAN == [("send_email", SHORT)]


def test_the_colon_of_a_reason_is_no_part_of_the_word(asked: Asked) -> None:
    """``reject: too much`` rejects, and the hint beside a wrong word names an answer that opens the editor."""
    rules = {"delete_user": {"allowed_decisions": ["approve", "reject"]}}
    asked.start(lambda saver: agent(saver, "per_call", rules, [DELETE]))
    code, shown = talk(asked.path, ["@", "reject: too much", "y"])
    assert code == 0
    assert "`reject @` opens your editor" in " ".join(shown.split())
    assert "with reason: too much" in asked.go_on()["messages"][-2].text
    assert RAN == []


def test_a_batch_has_a_prompt_for_each_call(asked: Asked) -> None:
    """One question about several calls is shown once, and each call gets its own decision."""
    asked.start(BATCH)
    code, shown = talk(asked.path, ["approve", "respond done by hand", "y"])
    assert code == 0
    assert shown.count("1. delete_user   ") == 1
    messages = asked.go_on()["messages"]
    assert RAN == [DELETE]
    assert "done by hand" in [one.text for one in messages]


def test_long_answers_come_from_files(asked: Asked, tmp_path: Path) -> None:
    """Arguments and texts of several lines, which a prompt can't take, are read from the file behind an ``@``."""
    rules = {"delete_user": True, "send_email": True}
    (tmp_path / "args.json").write_text(json.dumps(SHORT, indent=2))
    (tmp_path / "why.txt").write_text("he is on leave\nuntil Monday")
    asked.start(lambda saver: agent(saver, "per_call", rules, [DELETE, MAIL]))
    code, shown = talk(asked.path, [f"reject @{tmp_path}/why.txt", f"edit @{tmp_path}/args.json", "y"])
    assert code == 0, shown
    messages = asked.go_on()["messages"]
    assert RAN == [("send_email", SHORT)]
    assert any("until Monday" in one.text for one in messages)


@pytest.mark.parametrize("word", ["reject", "respond"])
def test_a_file_that_cannot_be_read_is_no_text(word: str, asked: Asked, tmp_path: Path) -> None:
    """A mistyped name is asked for again; it never becomes the text that the model gets."""
    asked.start(lambda saver: agent(saver, "per_call", {"delete_user": True}, [DELETE]))
    (tmp_path / "why.txt").write_text("he is on leave")
    code, shown = talk(asked.path, [f"{word} @{tmp_path}/wy.txt", f"{word} @{tmp_path}/why.txt", "y"])
    assert code == 0, shown
    said = " ".join(shown.split())
    assert "wy.txt: No such file or directory" in said
    assert f"hint: @ stands for a file; `{word} @` opens your editor for a text that begins with @" in said
    messages = [one.text for one in asked.go_on()["messages"]]
    assert any("he is on leave" in one for one in messages)
    assert not any("@" in one for one in messages)


def test_long_answers_are_written_in_the_editor(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """`edit` alone opens the call's own arguments, `@` an empty file; a text that is no answer is asked for again."""
    script = (
        "import os, pathlib, sys\nfile = pathlib.Path(sys.argv[1])\ntext = file.read_text()\n"
        "file.write_text(text.replace('bob@', 'eve@') if text else 'he is on leave\\nuntil Monday')"
    )
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, "-c", script]))
    rules = {"delete_user": True, "send_email": True}
    asked.start(lambda saver: agent(saver, "per_call", rules, [DELETE, MAIL]))
    code, shown = talk(asked.path, ["reject @", "edit", "y"])
    assert code == 0, shown
    messages = asked.go_on()["messages"]
    assert any("until Monday" in one.text for one in messages)
    assert [("send_email", {**MAIL[1], "to": "eve@example.org"})] == RAN


def test_a_plain_answer_is_written_in_the_editor(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is JSON, or a text of any number of lines."""
    script = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('yes,\\ntoday')"
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, "-c", script]))
    asked.start(lambda saver: asking(saver, "Ship it?"), {"answers": []})
    code, shown = talk(asked.path, ["@", "y"])
    assert code == 0, shown
    assert asked.go_on()["answers"] == ["yes,\ntoday"]


def test_a_text_behind_approve_is_refused(asked: Asked) -> None:
    """The graph would drop it, so the call isn't approved, and the hint names the answers that take a text."""
    rules = {"delete_user": {"allowed_decisions": ["approve", "reject", "respond"]}}
    asked.start(lambda saver: agent(saver, "per_call", rules, [DELETE]))
    code, shown = talk(asked.path, ["approve but not bob", "approve: yes", "approve @", "reject not bob", "y"])
    assert code == 0, shown
    assert shown.count("approve takes no text, and the graph would drop it") == 3
    assert "hint: reject TEXT and respond TEXT take one" in shown
    assert "with reason: not bob" in asked.go_on()["messages"][-2].text
    assert RAN == []


def test_each_call_of_several_is_asked_for_by_its_number(asked: Asked) -> None:
    """A wrong word for the second call asks for the second again, on lines of its own."""
    asked.start(BATCH)
    code, shown = talk(asked.path, ["approve", "maybe", "respond done by hand", "y"])
    assert code == 0, shown
    assert (shown.count("1. delete_user: "), shown.count("2. send_email: ")) == (1, 2)
    assert "hint: in place of TEXT" in shown and "⏎" not in shown


@pytest.mark.parametrize(
    ("value", "schema", "lines", "answer"),
    [
        ("Ship it?", None, ["None", "yes, today"], "yes, today"),
        ({"question": "Ship it?"}, None, ['{"ok": }', '{"ok": true}'], {"ok": True}),
        ("Review", Review, ['{"nope": 1}', '{"approved": true}'], Review(approved=True)),
        (
            [request_of("accept", "response")],
            None,
            ["response", "response later"],
            [{"type": "response", "args": "later"}],
        ),
        (request_of("accept"), None, ["accept", '{"type": "accept", "args": null}'], {"type": "accept", "args": None}),
    ],
    ids=["plain", "JSON", "schema", "older", "older without its list"],
)
def test_the_wanted_form_is_asked_for(value: Any, schema: Any, lines: list[str], answer: Any, asked: Asked) -> None:
    """A first answer that can't be recorded is refused with the reason, and the second is taken."""
    asked.start(lambda saver: asking(saver, value, schema=schema), {"answers": []})
    code, shown = talk(asked.path, [*lines, "y"])
    assert code == 0, shown
    assert shown.count("Enter leaves it open): ") == 2
    assert asked.go_on()["answers"] == [answer]


@pytest.mark.parametrize(
    ("lines", "code"), [(["", ""], 0), ([END], 7), (["approve", END], 7), (["approve", "", "n"], 7)]
)
def test_what_stays_open(lines: list[str], code: int, asked: Asked) -> None:
    """An empty line leaves a question open; without an answer, or without a yes, no row changes."""
    asked.start(lambda saver: agent(saver, "per_call", {"delete_user": True, "send_email": True}, [DELETE, MAIL]))
    before = asked.rows()
    ended, shown = talk(asked.path, lines)
    assert ended == code, shown
    assert ("no answer was recorded" in shown, "--approve" in shown) == (code == 0, False)
    assert asked.rows() == before
    assert len(asked.ids()) == 2


def test_a_decision_that_is_not_recorded_is_said_to_be_lost(asked: Asked) -> None:
    """A question needs a decision for each call; the command that is offered decides nothing for the person."""
    asked.start(BATCH)
    before = asked.rows()
    code, shown = talk(asked.path, ["reject not him", ""])
    assert code == 0, shown
    after = shown.rpartition("open): ")[2]
    assert "nothing is recorded for this question: it needs a decision for each of its 2 tool calls" in " ".join(
        after.split()
    )
    assert after.endswith(f"no answer was recorded; to be asked again:\n    ckpt resume {THREAD}\n")
    assert asked.rows() == before


def test_one_of_two_is_answered(asked: Asked) -> None:
    """The plan says which question still waits."""
    asked.start(lambda saver: agent(saver, "per_call", {"delete_user": True, "send_email": True}, [DELETE, MAIL]))
    code, shown = talk(asked.path, ["", "approve", "y"])
    assert code == 0
    assert "still waits: tools" in shown
    asked.go_on()
    assert RAN == [MAIL]
    assert len(asked.ids()) == 1


def test_nothing_typed_before_a_question_answers_it(asked: Asked) -> None:
    """What was typed while the question wasn't shown yet is dropped."""
    asked.start(lambda saver: agent(saver, "per_call", {"delete_user": True}, [DELETE]))
    before = asked.rows()
    code, shown = talk(asked.path, [""], early="approve\ny\n")
    assert code == 0, shown
    assert asked.rows() == before
