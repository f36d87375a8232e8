"""Wide fan-outs: a step of many tasks costs work in proportion to the tasks, whatever the command shows of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from tests.bench.fan_out import make
from tests.work import LINEAR, growth

_SENDS = 90


@pytest.mark.parametrize(
    "kind, words",
    [
        ("finished", ["show", "t", "step:1"]),
        ("finished", ["log", "t"]),
        ("finished", ["blame", "t", "out"]),
        ("finished", ["verify", "t"]),
        ("finished", ["trace", "t"]),
        ("finished", ["graph", "t"]),
        ("waiting", ["threads"]),
        ("waiting", ["resume", "t"]),
        ("without paths", ["log", "t"]),
        ("subgraphs", ["resume", "t"]),
        ("subgraphs", ["tree", "t", "--full"]),
        ("subgraphs", ["delete", "t", "--after", "step:0", "--dry-run"]),
    ],
)
def test_work_is_linear_in_the_tasks_of_a_step(
    kind: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twice as many Sends from one step take twice the work."""

    def prepared(size: int) -> Callable[[], Any]:
        path = tmp_path / f"{size}.sqlite"
        make(path, size, kind)
        return lambda: run([*words, "--db", str(path)])

    assert growth(_SENDS, prepared) < LINEAR
    assert capsys.readouterr().out
