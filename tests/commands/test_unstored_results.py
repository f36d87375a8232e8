"""Steps that a run with ``durability="exit"`` ended: of tasks that had asked, failed or been killed, nothing is stored.

LangGraph gives the same state with each durability; each node writes its own name, so the state shows who wrote what.
"""

import json
import operator
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from tests.graphs.building import on
from tests.graphs.waiting import until_stored

_THREAD = "t"
_ENDS = {
    "asked": ("asks", {"resume": "yes"}),
    "failed": ("fails", None),
    "killed": ("dies", None),
}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    total: Annotated[int, operator.add]


def _has_early(path: str) -> bool:
    """Whether what the other node wrote is stored."""
    with closing(sqlite3.connect(path)) as connection:
        [(tasks,)] = connection.execute(
            "SELECT count(DISTINCT task_id) FROM writes WHERE task_path LIKE '%early' AND checkpoint_id ="
            " (SELECT max(checkpoint_id) FROM checkpoints)"
        )
    return bool(tasks)


def late(how: str) -> Any:
    """The node that ends only in the second run."""

    def node(_: State) -> Any:
        if how == "asks":
            interrupt("really?")
        elif how != "":
            while not _has_early(os.environ["CKPT_TEST_FIRST"]):
                time.sleep(0.01)
            if how == "dies":
                os._exit(9)
            raise ValueError(how)
        return {"log": ["late"], "total": 10}

    return node


def made(saver: SqliteSaver, how: str) -> Any:
    """A graph in which `early` and `late` run in one step."""
    graph = StateGraph(State).add_node("plan", lambda _: {"log": ["plan"], "total": 1})
    graph.add_node("early", lambda _: {"log": ["early"], "total": 1}).add_node("late", late(how))
    graph.add_edge(START, "plan").add_edge("plan", "early").add_edge("plan", "late")
    return graph.compile(checkpointer=saver)


def turns(path: str, how: str, given: Any, durability: Any, *, count: int = 1) -> None:
    """Bring the thread on, in a process that may be killed."""
    with SqliteSaver.from_conn_string(path) as saver:
        for _ in range(count):
            try:
                made(saver, how).invoke(given, on(_THREAD), durability=durability)
            except ValueError:
                return


def play(path: Path, how: str) -> dict[str, Any]:
    """Eight honest turns, one that ends in the middle of a step, and one that ends this step; gives the state."""
    turns(str(path), "", {"log": ["go"]}, "sync", count=8)
    node, resume = _ENDS[how]
    script = f"from {__name__} import turns; turns({str(path)!r}, {node!r}, {{'log': ['go']}}, 'sync')"
    environment = os.environ | {"CKPT_TEST_FIRST": str(path)}
    ended = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, env=environment)
    assert ended.returncode == (9 if how == "killed" else 0), ended.stderr
    turns(str(path), "asks" if how == "asked" else "", None if resume is None else Command(**resume), "exit")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        state: dict[str, Any] = made(saver, "").get_state(on(_THREAD)).values
    assert state["log"][-2:] == ["early", "late"] and state["total"] == 9 * 12
    return state


@pytest.fixture(scope="module", params=list(_ENDS))
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    path = tmp_path_factory.mktemp("unstored") / f"{request.param}.sqlite"
    play(path, request.param)
    yield request.param, path


def asked(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    """What a command prints as JSON."""
    capsys.readouterr()
    assert run([*words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_both_nodes_made_the_step(ended: tuple[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """`log`, `tree` and `show` name the node of which nothing is stored."""
    where = ("-d", str(ended[1]))
    assert asked(capsys, "log", _THREAD, "-n", "1", *where)["steps"][0]["nodes"] == {"early": 1, "late": 1}
    assert asked(capsys, "show", _THREAD, *where)["nodes"] == {"early": 1, "late": 1}
    assert run(["tree", _THREAD, "--full", *where]) == 0
    assert "early, late" in capsys.readouterr().out.splitlines()[-1]


def test_nobody_else_is_blamed(ended: tuple[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Who may have written what the stored writes don't have: the late node is among them, and no reason is wrong."""
    for at, path in (("log[-1]", "log"), ("total", "total")):
        line = asked(capsys, "blame", _THREAD, path, "-d", str(ended[1]))["lines"][-1]["since"]
        assert line["by"] == "" and "late" in line["candidates"], at
        assert line["why"] == "late ran there, and its results aren't all stored" or ended[0] != "killed"
        assert "altered" not in line["why"]
    [early] = [one["since"] for one in asked(capsys, "blame", _THREAD, "log[-2]", "-d", str(ended[1]))["lines"]]
    assert early["node"] == "early"


def test_the_graph_says_that_a_run_is_missing(ended: tuple[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """The node finished nine times; eight of its results are stored. What was killed left nothing to count."""
    [graph] = asked(capsys, "graph", _THREAD, "-d", str(ended[1]))["graphs"]
    [late_node] = [node for node in graph["nodes"] if node["name"] == "late"]
    assert late_node["runs"] == 8
    said = any("not all results are stored of late 1×" in note for note in graph["notes"])
    assert said == (ended[0] != "killed")


def test_the_step_is_not_called_wrong(ended: tuple[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """`verify` and `replay` don't judge it, whether the reducer was given or learned; the other steps stay proved."""
    where = ("-d", str(ended[1]))
    for options in ((), ("--strict",), ("--reducer", "log=append")):
        [thread] = asked(capsys, "verify", _THREAD, *options, *where)["threads"]
        assert thread["verdicts"] == {"agrees": thread["steps"] - 1, "unknown": 1}, thread
    for word in ("log=append", "total=sum"):
        asked(capsys, "replay", _THREAD, "@^", "--to", "@", "--reducer", word, *where)


def _collected(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*old, *(one for some in writes for one in some)]


class Delta(TypedDict, total=False):
    log: Annotated[list[str], DeltaChannel(_collected, snapshot_frequency=50)]
    seen: Annotated[list[str], operator.add]
    number: int


@pytest.mark.parametrize("kind", ["one", "beside", "sends"])
def test_a_task_whose_writes_to_delta_channels_are_stored_counts_once(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exit run ends its step and fails in the next one: the step has as many tasks as ran."""
    ran, broken = list[str](), {"w1"}

    def node(name: str) -> Any:
        def work(state: Delta) -> Any:
            own = f"{name}{state['number']}" if name == "w" else name
            if own in broken:
                if name == "w":
                    until_stored(saver, others=2)
                raise ValueError(own)
            if name == "ask":
                interrupt("really?")
            ran.append(name)
            return {"log": [own], "seen": [own]}

        return work

    graph = StateGraph(Delta)
    for name in ("ask", "beside", "w", "plan", "next"):
        graph.add_node(name, node(name))
    started = {"one": ["ask"], "beside": ["ask", "beside"], "sends": ["plan"]}[kind]
    for name in started:
        graph.add_edge(START, name)
    if kind == "sends":
        graph.add_conditional_edges("plan", lambda _: [Send("w", {"number": n}) for n in range(3)], ["w"])
    graph.add_edge(["w"] if kind == "sends" else started, "next")
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        agent = graph.compile(checkpointer=saver)
        with suppress(ValueError):
            agent.invoke({"number": 1}, on(_THREAD), durability="sync")
        broken.clear()
        broken.add("next")
        with suppress(ValueError):
            agent.invoke(None if kind == "sends" else Command(resume="yes"), on(_THREAD), durability="exit")
    steps = asked(capsys, "log", _THREAD, "-d", str(path))["steps"]
    counted = Counter[str]()
    for step in steps:
        counted.update(step["nodes"])
    assert counted == Counter(["__start__", *ran])


def test_a_node_whose_result_is_not_stored_may_have_led_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`graph` names it beside the node that seems to end, if what it led to failed."""
    path = str(tmp_path / "t.sqlite")

    def fails(_: State) -> Any:
        raise ValueError("after")

    graph = StateGraph(State).add_node("plan", lambda _: {}).add_node("ends", lambda _: {"log": ["ends"]})
    graph.add_node("asks", late("asks")).add_node("after", fails)
    graph.add_edge(START, "plan").add_edge("plan", "ends").add_edge("plan", "asks").add_edge("asks", "after")
    with SqliteSaver.from_conn_string(path) as saver:
        compiled = graph.compile(checkpointer=saver)
        compiled.invoke({"log": []}, on(_THREAD), durability="exit")
        with suppress(ValueError):
            compiled.invoke(Command(resume="yes"), on(_THREAD), durability="exit")
    assert run(["graph", _THREAD, "--json", "-d", path]) == 0
    [part] = json.loads(capsys.readouterr().out)["graphs"]
    assert [(one["source"], one["candidates"]) for one in part["edges"] if one["target"] == "after"] == [
        (None, ["asks", "ends"])
    ]
