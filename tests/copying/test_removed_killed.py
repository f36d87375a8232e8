"""`ckpt export --remove` killed at any time: each thread is whole in the database, or whole in the bundle."""

import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.savers.bundle.saver import BundleSaver
from tests.copying.test_killed import KILLS, THREADS, killed_after
from tests.copying.test_removed import rows
from tests.graphs.building import line, on
from tests.langgraph.places import places


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis"])
def test_killed_on_the_way(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """Once the operation is settled; run again, the command ends, and an import brings all back as it was."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    backend, bundle = places(request, kind)(), tmp_path / "cold.ckpt"
    with backend.official() as saver:
        for thread_id in (*THREADS, "stays"):
            line(saver, "a", "b", "c").invoke({"log": ["go"]}, on(thread_id))
    before = rows(backend.url)
    command = ["export", "-m", "t-*", "-o", str(bundle), "--remove", "--yes", "-d", backend.url]
    chance = random.Random(kind)
    for _ in range(KILLS):
        killed_after(chance.uniform(0.05, 1.5), command)
        assert run(["operations", "--settle", "-d", backend.url]) == 0
        here, there = rows(backend.url), _threads(bundle)
        assert here == {one: before[one] for one in here}
        assert here.keys() | there >= before.keys()
        if here.keys() == {"stays"}:
            break
    assert run(command) in (0, 4), capfd.readouterr().err  # 4: all were removed before the last kill
    assert rows(backend.url) == {"stays": before["stays"]}
    assert run(["import", str(bundle), "--yes", "-d", backend.url]) == 0, capfd.readouterr().err
    assert rows(backend.url) == before


def _threads(bundle: Path) -> set[str]:
    if not bundle.exists():
        return set()
    with closing(BundleSaver(bundle)) as saver:
        return {one.thread_id for one in saver.threads()}
