"""`--reject` and `--respond` read a text from the file or the stdin behind an ``@``, as `--value` and `--edit` do."""

import io
from pathlib import Path

import pytest

from tests.commands.test_answers import Asked, asked
from tests.graphs.human_in_the_loop import ASK, DELETE, agent

__all__ = ["asked"]


@pytest.mark.parametrize("option", ["--reject", "--respond"])
def test_a_text_comes_from_a_file(option: str, asked: Asked, tmp_path: Path) -> None:
    """The model gets the lines of the file, without the end of its last line."""
    (tmp_path / "why.txt").write_text("he is on leave\nuntil Monday\n")
    asked.start(lambda saver: agent(saver, "per_call", {"delete_user": True}, [DELETE]))
    asked.answer(option, f"@{tmp_path}/why.txt")
    assert asked.go_on()["messages"][2].text.endswith("he is on leave\nuntil Monday")


def test_a_text_comes_from_stdin(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """``@-`` is stdin."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("von Jörg\n".encode())))
    asked.start(lambda saver: agent(saver, "per_call", {"delete_user": ASK}, [DELETE]))
    asked.answer("--respond", "@-")
    assert asked.go_on()["messages"][2].text == "von Jörg"


@pytest.mark.parametrize("words", [["--reject"], ["--respond"], ["--respond", "--answer-all"]], ids=" ".join)
def test_a_file_that_cannot_be_read_is_no_text(words: list[str], asked: Asked, tmp_path: Path) -> None:
    """A mistyped name is an error, and no row changes."""
    asked.start(lambda saver: agent(saver, "per_call", {"delete_user": True}, [DELETE]))
    before = asked.rows()
    option, *others = words
    error = asked.ckpt(option, f"@{tmp_path}/wy.txt", *others, "--yes", code=2)
    assert "wy.txt: No such file or directory" in error["message"]
    assert "--value takes an answer with a text that begins with @" in error["hint"]
    assert asked.rows() == before


def test_a_text_that_begins_with_an_at_sign_goes_into_the_value(asked: Asked) -> None:
    """What the hint says works."""
    asked.start(lambda saver: agent(saver, "per_call", {"delete_user": ASK}, [DELETE]))
    asked.answer("--value", '{"type": "respond", "message": "@ada knows"}')
    assert asked.go_on()["messages"][2].text == "@ada knows"
