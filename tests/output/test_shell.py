"""Commands that are suggested can be pasted."""

import shutil
import subprocess

import pytest

from ckpt_cli.output.shell import command, visible

ODD = [
    "plain",
    " spaced ",
    "it's",
    'say "hi"',
    "-dash",
    "--json",
    "$(date)",
    "a;b",
    "中文 🙂",
    "nl\nand\ttab",
    "\x1b[31mred",
]


@pytest.mark.parametrize("word", ODD)
def test_bash_reads_the_word_back(word: str) -> None:
    """A suggested command gives the shell exactly the thread id, and nothing that it would take for an option."""
    bash = shutil.which("bash")
    assert bash is not None
    line = command("printf %s", word)
    done = subprocess.run([bash, "-c", line.replace("%s -- ", "-- %s ")], capture_output=True, check=True)
    assert done.stdout.decode() == word
    assert command("ckpt show", word).startswith("ckpt show -- ") is word.startswith("-")
    assert command("ckpt show", word).isprintable()


def test_names_that_could_not_be_seen() -> None:
    """Blank ends and empty names stand between quotes, and no others."""
    assert [visible(name) for name in ("", " a", "a ", "a b")] == ["''", "' a'", "'a '", "a b"]
