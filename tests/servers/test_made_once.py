"""What tests download is there once and whole, however many processes want it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.made_once import made_once

MAKER = """
import sys, time
from pathlib import Path
from tests.servers.made_once import made_once

home, seconds = Path(sys.argv[1]), float(sys.argv[2])

def make(folder):
    with (home / "made").open("a") as made:
        made.write("x")
    for number in range(20):
        (folder / f"{number}").write_text("whole")
        time.sleep(seconds / 20)
    return True

found = made_once(home / "thing", make)
print(len(list(found.iterdir())))
"""


def started(home: Path, seconds: float) -> "subprocess.Popen[str]":
    """A process that wants the folder."""
    words = [sys.executable, "-c", MAKER, str(home), str(seconds)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, encoding="utf-8", cwd=Path(__file__).parents[2])


def test_one_of_many_processes_makes_it(tmp_path: Path) -> None:
    """Eight processes at once: one makes the folder, and each finds it whole."""
    several = [started(tmp_path, 0.2) for _ in range(8)]
    assert [one.communicate()[0].strip() for one in several] == ["20"] * 8
    assert (tmp_path / "made").read_text() == "x"


def test_a_killed_process_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    """After a kill in the middle the next process makes the folder anew."""
    first = started(tmp_path, 60)
    while not list(tmp_path.glob("thing.*/3")):
        assert first.poll() is None
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert not (tmp_path / "thing").exists()
    assert started(tmp_path, 0).communicate()[0].strip() == "20"


def test_what_cannot_be_made_is_tried_again(tmp_path: Path) -> None:
    """Without a network there is no folder and nothing is left; the next call tries again."""
    assert made_once(tmp_path / "thing", lambda _: False) is None
    with pytest.raises(OSError, match="no network"):
        made_once(tmp_path / "thing", lambda _: raise_error())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thing.lock"]
    assert made_once(tmp_path / "thing", lambda _: True) == tmp_path / "thing"


def raise_error() -> bool:
    """As pip might."""
    raise OSError("no network")
