"""Tool calls without results in databases of three releases: `repair` mends each, and each release's graph goes on."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from tests.history.tool_call_shapes import SHAPES
from tests.requiring import missing
from tests.twins import older
from tests.twins.tool_call_threads import ANSWER, ANSWERED, LEFT_ALONE

RELEASES = {"installed": (), "0.6": older.REQUIREMENTS, "0.2": older.OLDEST}


class Shop:
    """The database of a release, and that release.

    Attributes:
        path: the database's file.
        lists: what the threads' messages were at first.
    """

    def __init__(self, interpreter: str, path: Path, lists: Any = None) -> None:
        self._interpreter, self.path, self.lists = interpreter, path, lists

    def copy(self, path: Path) -> "Shop":
        """The same threads in another file."""
        return Shop(self._interpreter, Path(shutil.copy(self.path, path)), self.lists)

    def ask(self, what: str) -> Any:
        """What the release answers."""
        words = [self._interpreter, "-W", "ignore", "-m", "tests.twins.tool_call_threads", what, str(self.path)]
        ended = subprocess.run(words, check=False, capture_output=True, cwd=older.ROOT, text=True)
        assert ended.returncode == 0, ended.stderr[-3000:]
        return json.loads(ended.stdout)

    def ckpt(self, *words: str, capsys: pytest.CaptureFixture[str]) -> Any:
        """What a command prints as JSON."""
        capsys.readouterr()
        ended = run([*words, "-d", str(self.path), "--json"])
        printed = capsys.readouterr()
        assert ended == 0, printed.err
        return json.loads(printed.out)


@pytest.fixture(scope="module", params=RELEASES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A database with every shape, which a release made."""
    requirements = RELEASES[request.param]
    interpreter = older.python(requirements) if requirements else sys.executable
    if interpreter is None:
        missing(request.config, f"pip can't install {', '.join(requirements)}")
    shop = Shop(str(interpreter), tmp_path_factory.mktemp(request.param) / "made.sqlite")
    shop.ask("make")
    shop.lists = shop.ask("lists")
    return shop


@pytest.fixture
def shop(made: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shop:
    """A copy of it, and an operation log of its own; a question is answered."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    copy = made.copy(tmp_path / "copy.sqlite")
    copy.ckpt("resume", ANSWERED, "--value", "true", "--yes", capsys=capsys)
    return copy


def test_what_ckpt_finds_is_what_the_release_refuses(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """Every thread with a fault fails in its next run, and no other; those whose results may come are left alone."""
    listed = {one["thread_id"]: one for one in shop.ckpt("repair", capsys=capsys)["threads"]}
    kinds = {name: [fault["kind"] for fault in listed[name]["faults"]] for name in listed.keys() & SHAPES.keys()}
    assert kinds == {name: shape.kinds for name, shape in SHAPES.items() if shape.kinds}
    assert {name for name, line in listed.items() if line["left_alone"]} == {*LEFT_ALONE}
    refused = {name for name, end in shop.ask("go-on").items() if end != "ok"}
    assert refused == kinds.keys()


@pytest.mark.parametrize("how", [["--answer", ANSWER], ["--drop-calls"], ["--rollback"]], ids=lambda how: how[0])
def test_every_shape_goes_on(how: list[str], shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """Mended, each thread's next run ends right in the release that made it; undone, its lists are as before."""
    broken = {name for name, shape in SHAPES.items() if shape.kinds}
    done = shop.ckpt("repair", *how, "--yes", capsys=capsys)
    assert {one["thread_id"] for one in done["threads"] if one["state"] == "applied"} == broken
    after = shop.ask("lists")
    assert {name for name in SHAPES if after[name] != shop.lists[name]} == broken
    assert set(shop.copy(shop.path.with_name("ended.sqlite")).ask("go-on").values()) == {"ok"}
    shop.ckpt("undo", "--yes", capsys=capsys)
    assert shop.ask("lists") == shop.lists
