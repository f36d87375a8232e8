"""The bytes that the plan of ``ckpt prune --snapshot`` promises are those that are stored afterwards."""

import re
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.graph import START, StateGraph

from tests.copying.test_removed import said
from tests.graphs import Graph
from tests.graphs.building import on
from tests.langgraph.places import places

SNAPSHOT = ("--snapshot", "--reducer", "takes=append", "--reducer", "a longer name=append")


def _appended(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*old, *(item for write in writes for item in write)]


Takes = TypedDict(
    "Takes",
    {
        "takes": Annotated[list[str], DeltaChannel(_appended)],
        "a longer name": Annotated[list[str], DeltaChannel(_appended)],
        "n": int,
    },
    total=False,
)


def _film(saver: Any) -> Graph:
    def shoot(state: Any) -> dict[str, Any]:
        more = {"a longer name": ["x" * 300]} if state["n"] % 2 else {}
        return {"takes": [f"take {state['n']}"], **more}

    builder = StateGraph(Takes)
    builder.add_node("shoot", shoot)
    return builder.add_edge(START, "shoot").compile(checkpointer=saver)


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mysql", "mongodb", "redis"])
def test_the_plan_says_what_is_stored(
    request: pytest.FixtureRequest,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """To the byte; where the engine compresses headers or counts memory, it says "about". `--max-bytes` holds too."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    here = places(request, kind)()
    with here.official() as saver:
        graph = _film(saver)
        for turn in range(4):
            graph.invoke({"n": turn}, on("t"))
    db = ["-d", here.url, "--yes"]
    for words in (["--keep-inputs"], ["--max-bytes", "4kB"], ["--keep-last", "3"], ["--keep-tips"]):
        plan = said("prune", "t", *words, *SNAPSHOT, *db, capsys=capsys)
        assert plan["applied"], plan["summary"]
        again = said("prune", "t", "--keep-last", "99", *db, capsys=capsys)
        promised, stored = (_size(one["summary"]) for one in (plan, again))
        if kind in ("postgres", "redis"):
            assert "about" in plan["summary"]
            assert promised == pytest.approx(stored, rel=0.2)
        else:
            assert promised == stored and "about" not in plan["summary"]
            assert words[0] != "--max-bytes" or stored <= 4_000
        said("undo", *db, capsys=capsys)


def _size(summary: str) -> int:
    found = re.search(r"checkpoints?(?: stays?)?, (?:about )?([0-9,]+) bytes", summary)
    assert found, summary
    return int(found[1].replace(",", ""))
