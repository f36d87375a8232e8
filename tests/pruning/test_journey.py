"""A waiting thread is pruned to the least, moved to a bundle and back, and copied; then LangGraph ends it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from tests.copying.test_removed import rows, said
from tests.graphs import Graph
from tests.graphs.building import on
from tests.graphs.recent import Deltas
from tests.langgraph.places import places

TURNS = 3
ASKED = ("ask0", "ask1", "ask2", "inner")


def _asks(ran: list[str], name: str) -> Callable[[Any], dict[str, Any]]:
    def node(_: Any) -> dict[str, Any]:
        ran.append(name)
        return {"log": [f"{name} {interrupt(f'{name}?')}"]}

    return node


def asking(saver: Any, ran: list[str]) -> Graph:
    """Three tasks that ask, one in a subgraph that asks too, and one that has finished; a delta channel for all."""
    inner = StateGraph(Deltas)
    inner.add_node("first", lambda _: {"log": ["first"]})
    inner.add_node("inner", _asks(ran, "inner"))
    inner.add_edge(START, "first")
    inner.add_edge("first", "inner")
    builder = StateGraph(Deltas)
    builder.add_node("start", lambda _: {"log": ["start"]})
    builder.add_edge(START, "start")
    for name in ("ask0", "ask1", "ask2"):
        builder.add_node(name, _asks(ran, name))
    builder.add_node("sub", inner.compile())
    builder.add_node("good", lambda _: ran.append("good") or {"log": ["good"]})
    together = ["ask0", "ask1", "ask2", "sub", "good"]
    for name in together:
        builder.add_edge("start", name)
    builder.add_node("end", lambda state: {"log": ["end"], "n": len(state["log"])})
    builder.add_edge(together, "end")
    return builder.compile(checkpointer=saver)


def _answer(graph: Graph, names: tuple[str, ...]) -> None:
    questions = graph.get_state(on("t"), subgraphs=True).interrupts
    given = {one.id: "yes" for one in questions if one.value.rstrip("?") in names}
    assert len(given) == len(names)
    graph.invoke(Command(resume=given), on("t"))


@pytest.mark.parametrize(
    ("kind", "other", "words"),
    [
        ("sqlite", "postgres", ["--keep-tips", "--snapshot", "--reducer", "log=append"]),
        ("postgres", "redis", ["--keep-tips", "--snapshot", "--reducer", "log=append"]),
        ("redis", "sqlite", ["--keep-tips", "--snapshot", "--reducer", "log=append"]),
        ("sqlite", "redis", ["--keep-tips"]),
    ],
    ids=["sqlite", "postgres", "redis", "without snapshots"],
)
def test_to_the_right_end(
    request: pytest.FixtureRequest,
    kind: str,
    other: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Like its twin, which nobody touched: the same values, and no finished task runs again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    here, there, twin = (places(request, one)() for one in (kind, other, "sqlite"))
    ran: dict[str, list[str]] = {"mine": [], "twin": []}
    with here.official() as one, twin.official() as two:
        for graph in (asking(one, ran["mine"]), asking(two, ran["twin"])):
            for turn in range(TURNS):
                graph.invoke({"log": [f"in {turn}"]}, on("t"))
                _answer(graph, ASKED)
            graph.invoke({"log": ["last"]}, on("t"))
            _answer(graph, ("ask1",))
    cold, db = str(tmp_path / "cold.ckpt"), ["-d", here.url, "--yes"]
    pruned = said("prune", "t", *words, *db, capsys=capsys)
    stay = [row for row in pruned["checkpoints"] if row["stays"] and not row["ns"]]
    assert len(stay) == 1 if "--snapshot" in words else pruned["applied"]
    packed = rows(here.url)
    said("export", "t", "-o", cold, "--remove", *db, capsys=capsys)
    assert rows(here.url) == {}
    said("import", cold, *db, capsys=capsys)
    assert rows(here.url) == packed
    said("copy", here.url, there.url, "t", "--yes", capsys=capsys)
    ends = []
    for backend, notes in ((here, "mine"), (there, "mine"), (twin, "twin")):
        ran[notes].clear()
        with backend.official() as saver:
            graph = asking(saver, ran[notes])
            _answer(graph, ("ask0", "ask2", "inner"))
            state = graph.get_state(on("t"))
            ends.append((state.next, state.values["n"], sorted(map(str, state.values["log"])), sorted(ran[notes])))
    assert ends[0] == ends[1] == ends[2]
    assert ends[0][0] == () and ends[0][2].count("end") > TURNS and "good" not in ends[0][3]
