"""`ckpt prune` killed at any time: each thread is whole or pruned, the rest follows, and undo brings all back."""

import os
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ckpt_cli.app import run
from tests.copying.test_killed import killed_after
from tests.cross.backend import Backend
from tests.cross.pruned import nearest
from tests.cross.travel import contents, contents_of
from tests.graphs.building import line, on
from tests.graphs.recent import Deltas
from tests.langgraph.places import places
from tests.pruning.reading import Seen, look

KILLS = int(os.environ.get("CKPT_KILLS", "3"))
THREADS = [f"t-{number}" for number in range(6)]


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "redis"])
def test_killed_and_run_again(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """Where transactions are, no thread is half pruned; what was done before the crash is undone, from the bundle."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    backend = places(request, kind)()
    with backend.official() as official:
        graph = line(official, *"abc", schema=Deltas)
        for thread_id in THREADS:
            for turn in range(3):
                graph.invoke({"log": [turn]}, on(thread_id))
        graphs = dict.fromkeys(THREADS, graph)
        before, was = contents(backend), look(backend, official, graphs)
        whole = {thread_id: contents_of(backend, thread_id) for thread_id in THREADS}
        words = ["--keep-tips", "--snapshot", "--export", str(tmp_path / "cold.ckpt")]
        command = ["prune", "--match", "*", *words, "-d", backend.url, "--yes"]
        chance = Random(kind)
        for _ in range(KILLS):
            killed_after(chance.uniform(0.05, 2.5), command)
            assert run(["operations", "--settle", "-d", backend.url]) == 0, capfd.readouterr().err
            _check_left(backend, whole, was, look(backend, official, graphs))
        assert run(command) == 0, capfd.readouterr().err
        _check_left(backend, {}, was, look(backend, official, graphs))
        capfd.readouterr()
        for operation in sorted(backend.ckpt("operations", capsys=capfd)["operations"], key=lambda one: -one["number"]):
            if operation["state"] == "done":
                words = ["undo", str(operation["number"]), "-d", backend.url, "--yes"]
                assert run(words) == 0, capfd.readouterr().err
        assert contents(backend) == before


def _check_left(backend: Backend, whole: dict[str, Any], was: Seen, now: Seen) -> None:
    """Each thread is whole or as small as it gets, and what is left of it is what it was."""
    kept = now.parents.keys()
    for before, after in zip(was[:3], now[:3], strict=True):
        assert after == {ref: before[ref] for ref in kept}
    for thread_id in THREADS:
        left = [ref for ref in kept if ref.thread_id == thread_id]
        own = {ref: parent for ref, parent in was.parents.items() if ref.thread_id == thread_id}
        if len(left) == len(own):
            assert thread_id not in whole or contents_of(backend, thread_id) == whole[thread_id]
        else:
            assert {ref: now.parents[ref] for ref in left} == nearest(own, left)
