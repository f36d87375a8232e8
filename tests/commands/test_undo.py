"""`ckpt undo`: what a refused undo names."""

from pathlib import Path

import pytest

from ckpt_cli.app import run


def test_undo_names_the_operation_that_stands_on_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be taken back because of a later operation says which; its own words tell what is undone."""
    ends = ["--db", str(path), "--yes"]
    assert run(["fork", "forks", "@^", *ends]) == 0
    assert run(["update", "forks", "--as-node", "__end__", *ends]) == 0
    capsys.readouterr()
    assert run(["undo", "1", *ends]) == 7
    assert "hint: `ckpt undo 2` first, then `ckpt undo 1`" in capsys.readouterr().err
    assert run(["undo", "2", *ends]) == 0
    assert capsys.readouterr().out.startswith("undo of operation 2 (update ")
    assert run(["undo", "1", *ends]) == 0
