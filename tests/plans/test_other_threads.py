"""Other threads are read once for the plans of many threads, and each thread has the plan that it has alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from tests.graphs.building import line, on
from tests.work import LINEAR, growth

UPDATE = ["--as-node", "b", "--values", '{"log": ["x"], "n": 2}', "--dry-run", "--json"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def planned(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """The plan of an update, as JSON; if it is refused, why."""
    capsys.readouterr()
    code = run(["update", *words, *UPDATE, "-d", str(path)])
    out, err = capsys.readouterr()
    return json.loads(out) if code == 0 else json.loads(err.splitlines()[-1])["error"]["message"]


def test_as_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also beside copies, whose steps count once, and threads that are too long to be read whole."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        for place in range(12):
            graph = line(saver, "a", "b", *("c" if place % 3 else ""))
            for turn in range(1 + place if place % 5 else 45):
                graph.invoke({"log": [turn], "n": turn % (2 + place)}, on(f"t{place}"))
    for copied in ("t4", "t9"):
        assert run(["fork", copied, "@", "--to", f"{copied}-copy", "-d", str(path), "--yes"]) == 0
    together = planned(path, capsys, "--match", "t*")["threads"]
    assert len(together) == 14
    for one in together:
        alone = planned(path, capsys, one["thread_id"])
        if one["state"] == "refused":
            assert one["problem"].startswith(alone)
        else:
            assert one["notes"] == [note for note in alone["notes"] if "last written" not in note]
            assert [note for note in one["notes"] if note.startswith("reducers")]
    assert {one["state"] for one in together} == {"planned", "refused"}


def test_work_is_linear_in_the_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twice as many threads take twice the work, though each has all others as evidence."""

    def update(size: int) -> Callable[[], Any]:
        path = tmp_path / f"{size}.sqlite"
        with SqliteSaver.from_conn_string(str(path)) as saver:
            for place in range(size):
                line(saver, "a", "b").invoke({"log": [0], "n": 1}, on(f"t{place}"))
        return lambda: planned(path, capsys, "--match", "t*")

    assert growth(9, update) < LINEAR
