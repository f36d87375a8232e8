"""No line of log, tree, show, diff, replay, blame or verify contradicts what the real library says of a history."""

import os
from pathlib import Path

import pytest

from tests.truth_words.comparing import findings
from tests.truth_words.histories import history
from tests.truth_words.random_kinds import KINDS

HISTORIES = 12
"""Random plain histories that are compared in the quick part."""
OF_A_KIND = 3
"""The same of each other kind."""
MANY = int(os.environ.get("CKPT_HISTORIES", "60"))
"""Histories of each kind that are compared in the slow part; ``CKPT_HISTORIES`` says how many."""


def _compare(kind: str, seed: int, path: Path) -> None:
    with history(kind, seed, path) as (app, truth):
        assert sum(map(len, truth.values())) > 0
        assert list(findings(app, path, truth)) == []


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_no_line_contradicts_the_library(seed: int, tmp_path: Path) -> None:
    """Random graphs with reducers that ckpt doesn't know, subgraphs, Sends, overwrites, questions, edits and forks."""
    _compare("plain", seed, tmp_path / "random.sqlite")


@pytest.mark.parametrize("seed", range(OF_A_KIND))
@pytest.mark.parametrize("kind", KINDS)
def test_no_line_about_another_kind_of_graph_contradicts_it(kind: str, seed: int, tmp_path: Path) -> None:
    """Handlers, retries, special channels, subgraphs with a memory, models and dataclasses as state, entrypoints."""
    _compare(kind, seed, tmp_path / "random.sqlite")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 100 + MANY))
@pytest.mark.parametrize("kind", ["plain", *KINDS])
def test_no_line_about_many_histories_contradicts_it(kind: str, seed: int, tmp_path: Path) -> None:
    """The same for many more histories."""
    _compare(kind, seed, tmp_path / "random.sqlite")
