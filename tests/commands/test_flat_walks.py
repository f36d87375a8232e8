"""A command that goes through a long line keeps of each checkpoint what it prints at the end, and no more."""

from collections.abc import Sequence
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

from ckpt_cli.app import run
from tests.bench.bounds import chain, make
from tests.work import held

_FEW = 500
_STEP = 770  # bytes of a checkpoint in the tree of ids, and of its step: when it began, and how long it took
_VALUE = 950  # the same of a checkpoint at which a value became another: note, version and number; and its short id


@pytest.mark.parametrize(
    ("words", "most"),
    [(["trace", "t", "--json"], _STEP), (["blame", "t", "x", "--history"], _VALUE)],
)
def test_a_walk_keeps_little_of_each_checkpoint(words: list[str], most: int, tmp_path: Path) -> None:
    """Three times as many checkpoints are gone through; garbage, which comes and goes as it likes, isn't counted."""
    tiny, short, long = (tmp_path / f"{name}.sqlite" for name in ("tiny", "short", "long"))
    for path, count in {tiny: 5, short: _FEW, long: 3 * _FEW}.items():
        make(path, chain(count))
    _run(tiny, words)  # imports
    few, many = (held(partial(_run, path, words)) for path in (short, long))
    assert many - few < 2 * _FEW * most


def _run(path: Path, words: Sequence[str]) -> None:
    with redirect_stderr(StringIO()):
        assert run([*words, "--db", str(path)]) == 0
