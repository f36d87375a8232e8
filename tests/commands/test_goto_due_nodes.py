"""A Command's goto where tasks wait: to a node that is due already, and to Sends in the place of those that wait."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from tests.graphs.building import on


class _State(TypedDict, total=False):
    n: Annotated[int, operator.add]


class _Animals(TypedDict):
    log: Annotated[list[str], operator.add]


def _asked(fails: list[bool]) -> Any:
    if fails:
        raise ValueError(fails.pop())
    return {"n": interrupt("how many?")}


@pytest.mark.parametrize("kind", ["asked", "failed", "stopped"])
def test_its_writes_count(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether it asked, failed or was stopped: `log` names it, `verify` and `update` know the reducer of all steps."""
    path, fails = str(tmp_path / "t.sqlite"), [True] if kind == "failed" else []
    builder = StateGraph(_State).add_node("load", lambda _: _asked(fails) if kind != "stopped" else {"n": 5})
    builder.add_node("beside", lambda _: {"n": 10}).add_edge(START, "load").add_edge(START, "beside")
    with SqliteSaver.from_conn_string(path) as saver:
        app = builder.compile(saver, interrupt_before=["load"] if kind == "stopped" else [])
        if kind == "failed":
            with pytest.raises(ValueError, match="True"):
                app.invoke({"n": 1}, on("t"))
            app.invoke(Command(goto="load"), on("t"))
        else:
            app.invoke({"n": 1}, on("t"))
        answer = {} if kind == "stopped" else {"resume": 5}
        assert app.invoke(Command(goto="load", **answer), on("t"))["n"] == 16
    assert run(["log", "t", "-n", "1", "--json", "-d", path]) == 0
    [row] = json.loads(capsys.readouterr().out)["steps"]
    assert row["nodes"] == {"load": 1, "beside": 1}
    assert run(["verify", "t", "--reducer", "n=sum", "--strict", "-d", path]) == 0
    assert "3 agrees\n" in capsys.readouterr().out
    assert run(["update", "t", "--as-node", "load", "--values", '{"n": 3}', "--dry-run", "-d", path]) == 0
    assert "n sum (2 of 2 steps)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("goto", "nodes"),
    [
        ([("feed", "ape")], {"edgy": 1, "feed": 1}),
        ([("edgy", "elk"), ("vet", "yak")], {"edgy": 2, "vet": 1}),
        ([("vet", "yak")], {"edgy": 1, "vet": 1}),
    ],
    ids=["other", "same number", "same task"],
)
def test_sends_of_a_command_replace_those_that_wait(
    goto: list[tuple[str, str]], nodes: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a replaced Send's task had written is dropped; a new one with its node and number takes its result."""
    path = str(tmp_path / "t.sqlite")
    builder = StateGraph(_Animals).add_node("begin", lambda _: {"log": ["begin"]})
    builder.add_node("vet", lambda one: {"log": [interrupt("ok?") if one["name"] == "lion" else f"vet {one['name']}"]})
    builder.add_node("feed", lambda one: {"log": [f"feed {one['name']}"]}).add_node("edgy", lambda _: {"log": ["edgy"]})
    sends = [Send("vet", {"name": "elk"}), Send("vet", {"name": "lion"}), "edgy"]
    builder.add_edge(START, "begin").add_conditional_edges("begin", lambda _: sends, ["vet", "edgy"])
    with SqliteSaver.from_conn_string(path) as saver:
        app = builder.compile(saver)
        app.invoke({"log": []}, on("t"))
        made = app.invoke(Command(goto=[Send(node, {"name": name}) for node, name in goto]), on("t"))["log"]
    assert len(made) == 1 + sum(nodes.values())
    assert run(["log", "t", "-n", "1", "--json", "-d", path]) == 0
    [row] = json.loads(capsys.readouterr().out)["steps"]
    assert row["nodes"] == nodes
    assert run(["verify", "t", "--reducer", "log=append", "-d", path]) == 0
    assert "differs" not in capsys.readouterr().out


def test_a_deferred_node_is_put_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It asked and was due; the goto lets it wait for the step's other node, so it ran in the next step alone."""
    path = str(tmp_path / "t.sqlite")
    builder = StateGraph(_State).add_node("late", lambda _: {"n": interrupt("how many?")}, defer=True)
    builder.add_node("first", lambda _: {"n": 10}).add_edge(START, "first").add_edge("first", "late")
    with SqliteSaver.from_conn_string(path) as saver:
        app = builder.compile(saver)
        app.invoke({"n": 1}, on("t"))
        app.invoke(Command(goto=["late", "first"]), on("t"))
        assert app.invoke(Command(resume=5), on("t"))["n"] == 26
    assert run(["log", "t", "-n", "2", "--json", "-d", path]) == 0
    nodes = [row["nodes"] for row in json.loads(capsys.readouterr().out)["steps"]]
    assert nodes == [{"late": 1}, {"first": 1}]
    assert run(["verify", "t", "--reducer", "n=sum", "--strict", "-d", path]) == 0
