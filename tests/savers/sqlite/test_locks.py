"""A database in use is read correctly even where the system can't say whether a process has it open."""

import subprocess
import sys
from pathlib import Path

from tests.savers.sqlite.writer import Writer, folder

_ELSEWHERE = """
import os, sys
del os.uname
sys.modules["fcntl"] = None  # importing it fails, as on Windows
from pathlib import Path
from tests.savers.sqlite.writer import read
print(*read(Path(sys.argv[1])))
"""


def read_elsewhere(path: Path) -> list[str]:
    """The checkpoints that a process without ``os.uname`` and ``fcntl`` sees."""
    command = [sys.executable, "-c", _ELSEWHERE, str(path)]
    root = Path(__file__).parents[3]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True, cwd=root).stdout.split()


def test_a_live_writer_without_fcntl(path: Path, writer: Writer) -> None:
    """What a running process has saved is read from its log, as if the process had gone, and no file changes."""
    before = folder(path.parent)
    assert read_elsewhere(path) == ["1", "2"]
    assert folder(path.parent) == before
    writer.add("3")
    assert read_elsewhere(path) == ["1", "2", "3"]


def test_no_writer_without_fcntl(path: Path) -> None:
    """A file that no process has open is read without a new file appearing beside it."""
    assert read_elsewhere(path) == ["1"]
    assert list(folder(path.parent)) == ["x.sqlite"]
