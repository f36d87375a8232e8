"""A command that goes through a long line keeps of each checkpoint what it prints at the end, and no more."""

import os
import shutil
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

import pytest

from ckpt_cli.app import run
from tests.bench.bounds import chain, make
from tests.work import peak

_FEW = 500
_STEP = 800  # bytes of a checkpoint in the tree of ids, and of its step: when it began, and how long it took
_TABLES = 60  # bytes of the interpreter's table of names, which may grow in each of the longer runs
_VALUE = 900  # the same of a checkpoint at which a value became another: note, version and number; and its short id


@pytest.mark.parametrize(
    ("words", "most"),
    [(["trace", "t", "--json"], _STEP), (["blame", "t", "x", "--history"], _VALUE)],
)
def test_a_walk_keeps_little_of_each_checkpoint(words: list[str], most: int, tmp_path: Path) -> None:
    """Three times as many checkpoints are gone through."""
    make(tmp_path / "tiny.sqlite", chain(5))
    _run(tmp_path / "tiny.sqlite", words)  # imports
    few, many = (_twice(tmp_path / f"{count}.sqlite", count) for count in (_FEW, 3 * _FEW))
    taken = [min(peak(partial(_run, path, words)) for path in paths) for paths in (few, many)]
    assert taken[1] - taken[0] < 2 * _FEW * (most + _TABLES)


def _run(path: Path, words: Sequence[str]) -> None:
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        assert run([*words, "--db", str(path)]) == 0


def _twice(path: Path, count: int) -> tuple[Path, Path]:
    """Two files of one content: the interpreter's own tables grow now and then, in one of two runs at most."""
    make(path, chain(count))
    return path, Path(shutil.copy(path, path.with_suffix(".again")))
