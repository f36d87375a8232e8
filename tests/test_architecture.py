"""ARCHITECTURE.md is true: its files exist, its index is that of the code, its walks pass through what they name.

``CKPT_GOLDEN=write pytest tests/test_architecture.py`` writes the index anew.
"""

import ast
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from ckpt_cli.app import run
from tests.test_layers import MAY_IMPORT

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ckpt_cli"
PAGE = ROOT / "ARCHITECTURE.md"
TEXT, INDEX_TITLE, INDEX = PAGE.read_text("utf-8").partition("\n## Every file in one line\n")

INDEX_WIDTH = 120


@dataclass(frozen=True)
class Walk:
    """Commands, and the functions that they pass through: file and qualified name."""

    title: str
    commands: list[list[str]]
    stations: list[tuple[str, str]]


def walks() -> Iterator[Walk]:
    """The numbered walks of the page."""
    for title, text in re.findall(r"^## (Walk \d.*?)\n(.*?)(?=^## )", TEXT, re.MULTILINE | re.DOTALL):
        commands = [line.split()[1:] for line in re.findall(r"`(ckpt [^`]+)`", text.partition("\n1. ")[0])]
        yield Walk(title, commands, re.findall(r"^\d+\. `([\w/.]+): ([\w.]+)`", text, re.MULTILINE))


@pytest.mark.parametrize("walk", list(walks()), ids=lambda walk: walk.title)
def test_the_walk_is_what_runs(walk: Walk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of a walk passes through the functions that are named, in that order."""
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    named, passed = set(walk.stations), []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(f"{PACKAGE}{os.sep}"):
            station = Path(frame.f_code.co_filename).relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname
            if station in named:
                passed.append(station)

    for command in walk.commands:
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            assert run(command) == 0
        finally:
            sys.setprofile(before)
    rest = iter(passed)
    missed = [station for station in walk.stations if station not in rest]
    assert not missed, f"{missed} not passed through in that order: {passed}"
    assert len(walk.stations) > 5


def test_what_it_names_exists() -> None:
    """Files and folders on the page are in the repository; every part of the package is on it."""
    for name in re.findall(r"`((?:[\w<>]+/)*[\w<>]+(?:\.py|/))(?=[`:])", TEXT):
        if "<" not in name:
            places = (ROOT / name, PACKAGE / name, PACKAGE / "history" / name)
            backends = list(PACKAGE.glob(f"savers/*/{name}"))
            assert any(place.exists() for place in places) or backends, name
    for part in MAY_IMPORT:
        assert re.search(rf"`{part}(\.py|/)`", TEXT), f"{part} isn't on the page"


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, as the page prints it."""
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    paragraph = " ".join(docstring.partition("\n\n")[0].split()).replace("``", "`")
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`])", paragraph)[0].removesuffix(".")


def is_indexed(path: Path, roles: set[str]) -> bool:
    """Whether a file has a line: its role is neither that of a verb's file nor that of a backend's file.

    The files of `savers/sql/` have lines: they divide one saver between them.
    """
    folder = path.parent.relative_to(PACKAGE)
    if path.name == "__init__.py":
        return False
    if folder.as_posix() in ("commands", "views", "output/text"):
        return not (PACKAGE / "commands" / path.name).exists()
    is_in_backend = folder.parts[:1] == ("savers",) and len(folder.parts) > 1 and folder.name != "sql"
    return not (is_in_backend and path.name in roles)


def rooms() -> Iterator[str]:
    """Each folder of the package with its files, a line each."""
    table = TEXT.partition("## The rooms of a backend\n")[2].partition("\n## ")[0]
    roles = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"\w+\.py", row)}
    for folder in sorted({path.parent for path in PACKAGE.rglob("*.py")}):
        files = [path for path in sorted(folder.glob("*.py")) if is_indexed(path, roles)]
        name = "" if folder == PACKAGE else f"{folder.relative_to(PACKAGE).as_posix()}/"
        title = f"### `{name}`\n\n{first_sentence(folder / '__init__.py')}.\n" if name else "### Beside the folders\n"
        if files:
            yield "\n".join([title, *(f"- `{path.name}` – {first_sentence(path)}" for path in files)])


def test_the_index_is_the_first_sentence_of_every_file() -> None:
    """Each file whose role no table gives has a line: the first sentence of its docstring, which fits the line."""
    head = INDEX.partition("\n### ")[0].rstrip("\n")
    index = "\n\n".join([head, *rooms()]) + "\n"
    if os.environ.get("CKPT_GOLDEN") == "write":
        PAGE.write_text(TEXT + INDEX_TITLE + index, encoding="utf-8")
    assert [line for line in index.splitlines() if line.startswith("- ") and len(line) > INDEX_WIDTH] == []
    assert (TEXT + INDEX_TITLE + index) == PAGE.read_text("utf-8"), "CKPT_GOLDEN=write writes the index anew"
