"""ARCHITECTURE.md is true: its files exist, and its walks pass through the functions that they name, in order."""

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
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


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
