"""A machine that lacks something says so at the end of a test run."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest
from tests.requiring import missing

@pytest.fixture
def pooler(request):
    missing(request.config, "no pooler here: apt-get install pgbouncer")

@pytest.mark.parametrize("number", range(3))
def test_pooled(pooler, number): ...

@pytest.mark.skip(reason="of its own")
def test_other(): ...

def test_fine(): ...
"""


def run(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """A run of these tests with the project's own hooks."""
    (folder / "test_some.py").write_text(TESTS)
    plugins = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-c", str(folder / "none.ini"), "--rootdir"]
    words = [sys.executable, "-m", "pytest", "-q", *plugins, str(folder), *options, str(folder)]
    return subprocess.run(words, capture_output=True, encoding="utf-8", cwd=ROOT, check=False)


def test_one_line_says_what_was_skipped_and_how_to_have_it(tmp_path: Path) -> None:
    """Also if workers ran the tests; a test that skips for a reason of its own isn't counted."""
    (tmp_path / "none.ini").write_text("[pytest]\n")
    for workers in ("0", "2"):
        done = run(tmp_path, "-n", workers)
        assert done.returncode == 0, done.stdout
        assert "3 tests were skipped: no pooler here: apt-get install pgbouncer\n" in done.stdout


def test_nothing_is_skipped_where_everything_is_required(tmp_path: Path) -> None:
    """``--require`` fails these tests with the same words."""
    (tmp_path / "none.ini").write_text("[pytest]\n")
    done = run(tmp_path, "--require")
    assert done.returncode == 1
    assert "no pooler here: apt-get install pgbouncer (--require)" in done.stdout
    assert "were skipped" not in done.stdout
