"""A plan keeps little more of a row than its name, however many rows it changes."""

import os
import shutil
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from ckpt_cli.app import run
from ckpt_cli.operations.row_lines import RowLines
from ckpt_cli.views.plan import RowLine
from tests.bench.bounds import chain, make
from tests.work import peak

_FEW = 500
_NAMES = 1_150
"""Bytes of a checkpoint and its write: its row in the tree, its short id, and both names in the plan."""


@pytest.fixture(autouse=True)
def few_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few lines stay in memory, so that few rows show what many take."""
    monkeypatch.setattr("ckpt_cli.operations.row_lines._IN_MEMORY", 10)


def _run(path: Path, words: Sequence[str]) -> None:
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        assert run([*words, "--db", str(path)]) == 0


@pytest.mark.parametrize(
    "commands",
    [
        [["delete", "t", "--after", "step:2", "--dry-run"]],
        [["delete", "t", "--after", "step:2", "--dry-run", "--json"]],
        [["delete", "t", "--dry-run", "--json"]],
        [["prune", "t", "--keep-last", "10", "--dry-run", "--json"]],
        [["delete", "t", "--after", "step:2", "--yes", "--json"], ["undo", "--dry-run", "--json"], ["undo", "--yes"]],
    ],
)
def test_a_plan_keeps_no_more_of_a_row_than_its_name(commands: list[list[str]], tmp_path: Path) -> None:
    """Three times as many checkpoints are deleted, pruned and restored; only their names grow."""
    make(tmp_path / "tiny.sqlite", chain(5))
    few, many = (_twice(tmp_path / f"{count}.sqlite", count) for count in (_FEW, 3 * _FEW))
    for words in commands:
        _run(tmp_path / "tiny.sqlite", words)  # imports
        taken = [min(peak(partial(_run, path, words)) for path in paths) for paths in (few, many)]
        assert taken[1] - taken[0] < 2 * _FEW * _NAMES, words


def _twice(path: Path, count: int) -> tuple[Path, Path]:
    """Two files of one content: the interpreter's own tables grow now and then, in one of two runs at most."""
    make(path, chain(count))
    return path, Path(shutil.copy(path, path.with_suffix(".again")))


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 25])
def test_lines_in_a_file_are_those_that_were_given(count: int) -> None:
    """All of them, in their order, as often as they are read and by several readers in turns; any text comes back."""
    line = RowLine("remove", "writes", "odd \ud800 “t”\n", "a|b:1", None, None, None, 7, 0)
    given = [replace(line, task_id=f"{n}\x00", idx=n if n % 2 else f"{n}") for n in range(count)]
    lines = RowLines(iter(given))
    assert (list(lines), list(zip(lines, lines, strict=True))) == (given, [(one, one) for one in given])
    assert (len(lines), bool(lines)) == (count, count > 0)
