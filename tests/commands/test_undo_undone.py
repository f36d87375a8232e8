"""What an undo took back is taken back again, on every backend; a thread that went on is never said to be another."""

import re
import shlex
from pathlib import Path
from typing import Any

import bson
import pytest

from ckpt_cli.app import run
from tests.copying.test_removed import rows
from tests.cross.backend import Backend
from tests.graphs import Graph
from tests.graphs.building import line, on
from tests.langgraph.places import PLACES, places

Captured = pytest.CaptureFixture[str]
THREADS = ("t", "t2")
VERBS = {
    "prune": ["prune", "t", "--keep-last", "1"],
    "prune to the middle": ["prune", "t", "--keep-last", "1", "--keep-inputs"],
    "prune of two": ["prune", "--match", "t", "--keep-last", "2"],
    "a run between two": ["delete", "t", "--run", "r1", "--reparent"],
    "edit": ["edit", "t", "--set", 'log=["x"]'],
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def turns(graph: Graph) -> None:
    """Three runs of two nodes, in each thread."""
    for thread_id in THREADS:
        for run_id in ("r0", "r1", "r2"):
            config = on(thread_id, run_id=run_id)
            config["configurable"]["run_id"] = run_id  # from where Redis' saver takes it
            graph.invoke({"log": [f"in {run_id}"]}, config)


def stored(url: str) -> dict[str, dict[str, Any]]:
    """Every row; of a document the fields, as MongoDB moves ``_id`` to the front of one that is written again."""
    return {
        thread_id: {key: bson.decode(row["bson"]) if row and "bson" in row else row for key, row in own.items()}
        for thread_id, own in rows(url).items()
    }


def ckpt(at: Backend, *words: str, code: int = 0, capsys: Captured) -> str:
    """What a command prints, in one line."""
    capsys.readouterr()
    assert run([*words, "-d", at.url, "--yes"]) == code, capsys.readouterr()
    return " ".join(capsys.readouterr()).replace("\n", " ")


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("verb", VERBS)
def test_back_and_forth(request: pytest.FixtureRequest, kind: str, verb: str, capsys: Captured) -> None:
    """Each undo restores every row, and the agent goes on."""
    at = places(request, kind)()
    with at.official() as saver:
        turns(line(saver, "a", "b"))
    before = stored(at.url)
    ckpt(at, *VERBS[verb], capsys=capsys)
    after = stored(at.url)
    for number, expected in ((1, before), (2, after), (3, before), (4, after)):
        ckpt(at, "undo", str(number), capsys=capsys)
        assert stored(at.url) == expected
    with at.official() as saver:
        assert line(saver, "a", "b").invoke({"log": ["more"]}, on("t"))["log"][-3:] == ["more", "a", "b"]


def test_what_went_on_from_the_head_stays(request: pytest.FixtureRequest, capsys: Captured) -> None:
    """The prune takes nothing of it, so it can be had again; and taken back again."""
    at = places(request, "sqlite")()
    with at.official() as saver:
        turns(line(saver, "a", "b"))
        ckpt(at, "prune", "t", "--keep-last", "1", capsys=capsys)
        pruned = stored(at.url)["t"]
        ckpt(at, "undo", capsys=capsys)
        line(saver, "a", "b").invoke({"log": ["more"]}, on("t"))
    before = stored(at.url)
    ckpt(at, "undo", "2", capsys=capsys)
    now = stored(at.url)["t"]
    assert now.keys() > pruned.keys() and {key: now[key] for key in pruned} == pruned
    ckpt(at, "undo", "3", capsys=capsys)
    assert stored(at.url) == before


def test_what_went_on_from_what_came_back(request: pytest.FixtureRequest, capsys: Captured) -> None:
    """It is named, and with it gone the prune can be had again."""
    at = places(request, "sqlite")()
    with at.official() as saver:
        graph = line(saver, "a", "b")
        turns(graph)
        ckpt(at, "prune", "t", "--keep-last", "1", capsys=capsys)
        after = stored(at.url)
        ckpt(at, "undo", capsys=capsys)
        older = list(graph.get_state_history(on("t")))[1].config
        graph.invoke({"log": ["elsewhere"]}, older)
        went_on = [one.config["configurable"]["checkpoint_id"] for one in graph.get_state_history(on("t"))]
    said = ckpt(at, "undo", "2", code=7, capsys=capsys)
    [to] = re.findall(r"thread 't' continued from what it brought back \((.*?)\)", said)
    assert to in went_on[:4]
    [delete, undo] = re.findall("`ckpt ([^`]*)`", said.partition("hint: ")[2])
    assert delete == f"delete t --branch {went_on[0]}" and undo == "undo 2"
    for words in (delete, undo):
        ckpt(at, *shlex.split(words), capsys=capsys)
    assert stored(at.url) == after


def test_each_part_of_an_undo_is_named(request: pytest.FixtureRequest, capsys: Captured) -> None:
    """What two undos took back, two bring back."""
    at = places(request, "sqlite")()
    with at.official() as saver:
        turns(line(saver, "a", "b"))
    ckpt(at, "edit", "--match", "t", "--set", 'log=["x"]', capsys=capsys)
    after = stored(at.url)
    ckpt(at, "undo", "1", "--thread", "t", capsys=capsys)
    ckpt(at, "undo", "1", capsys=capsys)
    said = ckpt(at, "undo", "1", code=7, capsys=capsys)
    for words in re.findall("`ckpt ([^`]*)`", said.partition("hint: ")[2]):
        ckpt(at, *shlex.split(words), capsys=capsys)
    assert stored(at.url) == after


def test_only_undos_are_left(request: pytest.FixtureRequest, capsys: Captured) -> None:
    """An undo is taken back by its number alone; the newest is named, also before what was forgotten."""
    at = places(request, "sqlite")()
    with at.official() as saver:
        turns(line(saver, "a", "b"))
    ckpt(at, "edit", "t", "--set", 'log=["x"]', capsys=capsys)
    ckpt(at, "undo", capsys=capsys)
    said = ckpt(at, "undo", code=4, capsys=capsys)
    assert "nothing but undos is left to undo" in said and "`ckpt undo 2` takes back the newest undo" in said
    ckpt(at, "delete", "t2", "--forget", capsys=capsys)
    said = ckpt(at, "undo", code=7, capsys=capsys)
    assert "its rows were forgotten" in said and "`ckpt undo 2` takes back an earlier undo" in said
    ckpt(at, "undo", "2", capsys=capsys)
