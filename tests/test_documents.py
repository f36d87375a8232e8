"""Everything the README and `docs/` show is executed, and what they say a command prints is what it prints."""

import fcntl
import os
import pty
import re
import sqlite3
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from tests.databases import unpacked

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]

AS_READ = {page: page.read_text("utf-8") for page in PAGES}

INSTALLS = ("pip install . && ckpt demo", "pip install -e '.[test]' && pytest -n auto")
"""What cannot be run inside the tests; `.ci/run` runs both from a clean clone."""

COLUMNS = 100

QUESTION = "Apply? [y/N] "

_IDS = (
    (r"1f[0-9a-f]{6}-[0-9a-f]{4}-6[0-9a-f]{3}-", "TIME-"),  # the time in a checkpoint id; its last groups are fixed
    (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "TASK"),
    (r"\b[0-9a-f]{32}\b", "INTERRUPT"),
)

_CHANCE = (
    (r"(?<=\.ckpt has )[\d.]+(?= kB)", "N"),  # times and ids compress by chance
    (r"\S*/log\.sqlite", "LOG"),
    (r"\S+@\S+, ckpt [\d.]+", "WHO"),
    (r"(rows?, )[\d.]+ k?B", r"\1SIZE"),  # packed, so that chance and the clock tell on the size
    (r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?)?( (UTC|[+-]\d\d:\d\d))?", "DATE"),
    (r"\d{4},\s+\d{1,2},\s+\d{1,2}\b", "DATE"),
    (r"\b\d\d:\d\d(:\d\d)?\b", "DATE"),
    (r"\b\d+ ?(s|m|h|d|min|hours?|minutes?|days?)( ago)?\b", "AGE"),
    (r"\b(DATE|AGE)(\s+(DATE|AGE))*", "WHEN"),
    (r"[ \t]+", " "),
)


@dataclass(frozen=True)
class Step:
    """One command line of a page, what was exported before it, and the lines that are shown under it."""

    page: Path
    line: int
    command: str
    shown: str
    exported: dict[str, str]

    @property
    def answer(self) -> str:
        """What somebody types at the question, if it is asked."""
        return self.shown.partition(QUESTION)[2].partition("\n")[0]


def blocks(page: Path, kind: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of one kind, with the line they begin at."""
    text = page.read_text("utf-8")
    for found in re.finditer(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text[: found.start()].count("\n") + 2, found[1]


def steps(page: Path) -> Iterator[Step]:
    """The ``$`` lines of every console block of a page."""
    exported: dict[str, str] = {}
    for start, text in blocks(page, "console"):
        position = start
        for part in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
            command, _, shown = part.partition("\n")
            if found := re.fullmatch(r"\$ export (\w+)=(\S+)", command):
                exported = {**exported, found[1]: found[2]}
            elif command:
                yield Step(page, position, command.removeprefix("$ "), shown, exported)
            position += part.count("\n")


def settled(text: str, demo: AbstractSet[str]) -> str:
    """Text without what chance and the clock put in it.

    The ids of the demo's checkpoints end as they always do; one that a command made is called by its place in the text.
    """
    made: dict[str, str] = {}

    def called(found: re.Match[str]) -> str:
        return found[0] if found[1] in demo else made.setdefault(found[1], f"MADE-{len(made) + 1}")

    for pattern, name in _IDS:
        text = re.sub(pattern, name, text)
    text = re.sub(r"(?<![.\w])([0-9a-f]{6})(?:[0-9a-f]{6})?\b", called, text)
    for pattern, name in _CHANCE:
        text = re.sub(pattern, name, text)
    return "\n".join(line.strip() for line in text.strip().splitlines())


def printed(command: str, folder: Path, exported: Mapping[str, str], answer: str = "") -> str:
    """What a shell shows for a command line on a terminal of 100 columns, and its exit code where it isn't 0.

    The terminal is interactive only if there is an answer, which is typed at the question.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    zone = f"DAY{datetime.now(UTC).hour - 14:+}"  # two in the afternoon, so that no day begins in the story
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TERM": "xterm", "NO_COLOR": "1", "TZ": zone, "PAGER": "cat", **exported}
    environment["XDG_STATE_HOME"] = str(folder / "state")
    stdin = theirs if answer else subprocess.DEVNULL
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=folder, env=environment, stdin=stdin, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = _conversation(ours, answer)
    os.close(ours)
    code = process.wait()
    lasting = re.sub(r"\r\x1b\[K[^\r\n]*(?=\r\x1b\[K)", "", shown.decode())  # on a slow machine, lines of progress
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", lasting)
    return text + (f"(exit {code})\n" if code else "")


def _conversation(terminal: int, answer: str) -> bytes:
    shown = b""
    while part := _read(terminal):
        shown += part
        if answer and shown.endswith(QUESTION.encode()):
            os.write(terminal, f"{answer}\n".encode())
            answer = ""
    return shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the last writer is gone
        return b""


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], tuple[Path, set[str]]]:
    """For each page a folder in which somebody just ran ``ckpt demo``, and has an encrypted database and one of agents.

    With it come the last groups of the ids of the demo's own checkpoints, shortened, before anything is changed.
    """

    @cache
    def made(page: Path) -> tuple[Path, set[str]]:
        folder = tmp_path_factory.mktemp(page.stem)
        assert "wrote ckpt-demo.sqlite" in printed("ckpt demo", folder, {})
        (folder / "encrypted.sqlite").write_bytes(unpacked("encrypted"))
        (folder / "agents.sqlite").write_bytes(unpacked("hitl"))
        with closing(sqlite3.connect(folder / "ckpt-demo.sqlite")) as database:
            ids = [name for (name,) in database.execute("SELECT checkpoint_id FROM checkpoints")]
        return folder, {name.rpartition("-")[2][:6] for name in ids}

    return made


def test_the_installs_are_those_that_ci_runs() -> None:
    """The README has these two start commands, and .ci/run runs the same."""
    ci = (ROOT / ".ci/run").read_text()
    assert [line for _, text in blocks(README, "sh") for line in text.splitlines()] == list(INSTALLS)
    for command in (" install --quiet --disable-pip-version-check .", "ckpt demo", "-e '.[test]'", "\npytest"):
        assert command in ci


@pytest.mark.parametrize(
    "step",
    [step for page in PAGES for step in steps(page)],
    ids=lambda step: f"{step.page.stem} line {step.line}: {step.command}",
)
def test_it_prints_what_the_page_shows(step: Step, folder_of: Callable[[Path], tuple[Path, set[str]]]) -> None:
    """A command line of a page prints what is shown below it, ids and times aside, in the order of the page.

    ``CKPT_GOLDEN=write`` writes what it prints into the page; the difference is then read in version control. With
    ``CKPT_GOLDEN=page`` it does so everywhere, so that ids and times are those of one afternoon.
    """
    folder, demo = folder_of(step.page)
    real, golden = printed(step.command, folder, step.exported, step.answer), os.environ.get("CKPT_GOLDEN")
    if golden == "page" or (golden == "write" and settled(real, demo) != settled(step.shown, demo)):
        line = f"$ {step.command}\n"
        place = AS_READ[step.page].splitlines(keepends=True)[: step.line].count(line)
        parts = step.page.read_text("utf-8").split(line)
        after = line.join(parts[place:]).removeprefix(step.shown)
        step.page.write_text(line.join([*parts[:place], real + after]), "utf-8")
    else:
        assert settled(real, demo) == settled(step.shown, demo)


def test_every_command_is_shown() -> None:
    """The README and `docs/` show each verb at work."""
    from ckpt_cli.app import VERBS

    lines = [*(step.command for page in PAGES for step in steps(page)), *INSTALLS]
    assert set(VERBS) <= {words[at + 1] for line in lines for words in [line.split()] for at in _commands(words)}


def _commands(words: list[str]) -> list[int]:
    return [at for at, word in enumerate(words[:-1]) if word == "ckpt"]
