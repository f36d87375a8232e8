"""Commands that are suggested can be pasted: a shell reads exactly the words back, and runs nothing out of them."""

import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_cli.app import run
from ckpt_cli.output import printer
from ckpt_cli.output.line import Page
from ckpt_cli.shell_words import WORD, argument, command, unquoted
from tests.requiring import missing

ODD = [
    "plain",
    " spaced ",
    "it's",
    'say "hi"',
    "-dash",
    "--json",
    "$(touch PWN)",
    "`touch PWN`",
    "a;touch PWN",
    "中文 🙂",
    "nl\nand\ttab é\u00a0",
    "\x1b[31mred!\x7f\x85\u202e\U000e0001",
    "=ls",
    "~root",
    "a=~root",
    "!!",
    "\\",
    "'\n'",
]


def read_back(line: str, shell: str, cwd: Path) -> list[str]:
    """The words that a shell takes a command line for."""
    program = f"ckpt() {{ printf '%s\\0' \"$@\"; }}\n{line}\n"
    options = {"bash": ["--norc", "-O", "expand_aliases"], "zsh": ["-f", "-o", "extendedglob"]}[shell]
    done = subprocess.run([shell, *options, "-c", program], capture_output=True, cwd=cwd, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_reads_the_words_back(shell: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Each word of a suggested command is one word of it, whatever it holds; none is taken for an option."""
    if shutil.which(shell) is None:
        missing(pytestconfig, f"{shell} is not installed")
    lines = [command("ckpt show", word, "@", options=("--ns", word)) for word in ODD]
    assert all(line.isprintable() for line in lines)
    got = read_back("\n".join(lines), shell, tmp_path)
    options = [["--ns", word] for word in ODD]
    for word, option in zip(ODD, options, strict=True):
        words = ["show", *option, "--", word, "@"] if word.startswith("-") else ["show", word, "@", *option]
        assert got[: len(words)] == words
        got = got[len(words) :]
    assert got == []
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")), min_size=50, max_size=50))
def test_any_words_are_read_back(words: list[str]) -> None:
    """Bash reads any text back from the word that is suggested for it."""
    assert read_back(" ".join(["ckpt", *map(argument, words)]), "bash", Path("/")) == words


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")))
def test_a_word_is_taken_apart_as_it_was_made(text: str) -> None:
    """Where a hint is shown in JSON, its quotes for the shell are taken away again."""
    word = argument(text)
    assert re.fullmatch(WORD, word) and unquoted(word) == text
    assert re.match(WORD, f"{word} --next 'a b'")[0] == word  # type: ignore[index]


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_cannot_be_typed_names_nothing(text: str) -> None:
    """A NUL ends a word in every shell, which would name another thread: it is left out of commands."""
    assert command("ckpt delete", text) == "ckpt delete …"


def test_a_byte_that_is_no_text(tmp_path: Path) -> None:
    """Bytes that aren't UTF-8 come back as they were."""
    assert read_back(f"ckpt {argument('a' + chr(0xDCFF) + 'b')}", "bash", tmp_path) == ["a\udcffb"]


SHELL = "zz`touch PWN`$(touch PWN);touch PWN 'x"
IDS = (SHELL, f"--yes{SHELL}", f"new\nline{SHELL}")

ASKED = (
    "resume -- {}",
    "threads --status waiting",
    "replay --to step:3 -- {} @",
    "replay --to branch:1 -- {} @",
    "delete --branch @ --yes -- {}",
)
"""Questions whose answers suggest a command with the thread's id; at the last one it has a single branch."""


def suggested(text: str) -> list[str]:
    """The commands in what ckpt says: between backquotes, and alone on their lines."""
    lines = re.sub(r" \\\\\n\s+", " ", text)
    return re.findall(r"`(ckpt .*)`", lines) + re.findall(r"^ +(ckpt .*)$", lines, re.MULTILINE)


@pytest.mark.parametrize("thread_id", IDS, ids=["special", "dash", "newline"])
def test_suggested_commands_can_be_pasted(
    thread_id: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command that is suggested for a thread has its id as one word; pasting it runs nothing else."""
    path = tmp_path / "demo.sqlite"
    assert run(["demo", str(path)]) == 0
    monkeypatch.setattr(printer, "Page", lambda width, *more: Page(400, *more))
    at = "support-42"
    for line in ASKED:
        with closing(sqlite3.connect(path)) as db, db:
            wanted = "support-41" if "--branch" in line.split() else "support-42"
            for table in ("checkpoints", "writes"):
                db.execute(f"DELETE FROM {table} WHERE thread_id = ? AND ? <> ?", (thread_id, at, wanted))
                db.execute(f"UPDATE {table} SET thread_id = ? WHERE thread_id = ?", (thread_id, wanted))
            at = wanted
        capsys.readouterr()
        verb, *words = [thread_id if word == "{}" else word for word in line.split()]
        run([verb, "-d", str(path), *words])
        commands = suggested("".join(capsys.readouterr()))
        assert commands, line
        for one in commands:
            read = read_back(one, "bash", tmp_path)
            assert thread_id in read, one
            assert "--" in read[: read.index(thread_id)] or not thread_id.startswith("-")
    assert not list(tmp_path.glob("*PWN*"))
