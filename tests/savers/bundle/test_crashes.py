"""An addition that is cut off anywhere leaves the bundle as it was before, and can be repeated."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.bundle import open_path
from ckpt_cli.savers.bundle.files import UNFINISHED
from tests.savers.bundle.making import contents, make_bundle

FIRST = [checkpoint("a", "1"), write("a", "1"), checkpoint("a", "2", ns="s")]
SECOND = [checkpoint("b", "1"), write("a", "2")]
THIRD = [checkpoint("c", "1"), write("a", "3")]

_ADDS = """
import os, sys
from pathlib import Path
from ckpt_cli.conformance.records import checkpoint
from ckpt_cli.model import Payload
from ckpt_cli.savers.bundle.files import bundle_writer
from tests.savers.bundle.making import ORIGIN
with bundle_writer(Path(sys.argv[1])) as writer:
    writer.begin("big", ORIGIN)
    for n in range(100_000):
        writer.add(checkpoint("big", str(n), body=Payload("bytes", os.urandom(100_000))))
"""


def test_cut_off_anywhere(tmp_path: Path) -> None:
    """However many bytes of an addition are there, the bundle is what it was, and takes another addition."""
    path = make_bundle(tmp_path / "some.ckpt", FIRST)
    first, start = contents(path), path.stat().st_size
    make_bundle(path, SECOND)
    both, data = contents(path), path.read_bytes()
    for end in range(start, len(data)):
        path.write_bytes(data[:end])
        assert contents(path) == first
    assert both != first
    path.write_bytes(data[: len(data) - 1])
    saver = open_path(path)
    assert saver.caveats() and "unfinished" in saver.about().facts
    saver.close()
    make_bundle(path, THIRD)
    other = make_bundle(tmp_path / "other.ckpt", FIRST)
    make_bundle(other, THIRD)
    assert contents(path) == contents(other)


def test_a_first_export_that_is_cut_off_is_no_bundle(tmp_path: Path) -> None:
    """Without a whole index a file is an error, never an empty database."""
    path = make_bundle(tmp_path / "some.ckpt", FIRST)
    data = path.read_bytes()
    for end in range(1, len(data)):
        path.write_bytes(data[:end])
        with pytest.raises(DatabaseUnreachable):
            open_path(path)


def test_a_footer_inside_a_value_is_none(tmp_path: Path) -> None:
    """Values that hold a whole bundle, or its last footer, aren't taken for the end of this one."""
    path = make_bundle(tmp_path / "some.ckpt", FIRST)
    first, start = contents(path), path.stat().st_size
    data = path.read_bytes()
    path.write_bytes(data + os.urandom(start) + data + data[-136:] + os.urandom(2_000_000))
    assert contents(path) == first


@pytest.mark.parametrize("is_new", [False, True])
def test_killed_while_it_adds(tmp_path: Path, is_new: bool) -> None:
    """A process that is killed leaves what was there, and the next one goes on without being asked to mend anything."""
    path = tmp_path / "some.ckpt"
    first = None if is_new else contents(make_bundle(path, FIRST))
    growing = path.with_name(path.name + UNFINISHED) if is_new else path
    process = subprocess.Popen([sys.executable, "-c", _ADDS, path], cwd=Path(__file__).parents[3])
    while not growing.exists() or growing.stat().st_size < 5_000_000:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert path.exists() is not is_new
    assert is_new or contents(path) == first
    make_bundle(path, FIRST if is_new else THIRD)
    assert [one.name for one in tmp_path.iterdir()] == ["some.ckpt"]
    assert path.stat().st_size < 100_000


def test_a_full_disk(tmp_path: Path) -> None:
    """A bundle that can't be written any further is an error with a reason, and what it was."""
    path = make_bundle(tmp_path / "some.ckpt", FIRST)
    first = contents(path)
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4_000_000, 4_000_000))\n{_ADDS}"
    words = [sys.executable, "-c", limited, path]
    process = subprocess.run(words, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert "Failed: the bundle can't be written: File too large; it is what it was" in process.stderr
    assert contents(path) == first
