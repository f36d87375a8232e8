"""Tasks of Sends finished, their run was stopped, and the next deployment lacks their node: nothing of theirs is in."""

import json
import operator
import os
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.commands.show import show
from tests.commands.asking import at
from tests.commands.test_verify_honest import verified
from tests.graphs.waiting import until_stored

ON: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 50}
KILLED = 9
NAMED = ["total=sum", "who=append", "batch=last value"]


class State(TypedDict, total=False):
    """What the nodes of a brewery leave."""

    n: int
    total: Annotated[int, operator.add]
    who: Annotated[list[str], operator.add]
    batch: str


def agent(saver: SqliteSaver, name: str, *, alone: bool, stops: int = 0) -> Any:
    """A loop in which three tasks of this node run beside `cool`, of which one run ends its process."""

    def mash(state: State) -> State:
        return {"n": state.get("n", 0) + 1, "total": 1, "who": ["mash"], "batch": "mash"}

    def boil(sent: dict[str, int]) -> State:
        left: State = {"total": 10 + sent["i"], "who": [f"boil {sent['i']}"]}
        return {**left, "batch": "boil"} if alone and sent["i"] == 1 else left

    def cool(state: State) -> State:
        if state["n"] == stops:
            until_stored(saver, others=3)
            os._exit(KILLED)
        return {"total": 100, "who": ["cool"]}

    def route(_: State) -> list[Any]:
        return [*(Send(name, {"i": i}) for i in range(3)), "cool"]

    graph = StateGraph(State).add_node("mash", mash).add_node(name, boil).add_node("cool", cool)
    graph.add_edge(START, "mash").add_conditional_edges("mash", route, [name, "cool"])
    graph.add_conditional_edges("cool", lambda state: "mash" if state["n"] < 9 else END, ["mash", END])
    return graph.compile(checkpointer=saver)


def record(path: Path, *, alone: bool, stops: int) -> int:
    """The step of the thread that went on without `boil`, whose tasks had finished."""
    if (child := os.fork()) == 0:
        try:
            with SqliteSaver.from_conn_string(str(path)) as saver:
                agent(saver, "boil", alone=alone, stops=stops).invoke({"n": 0}, ON, durability="sync")
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED
    with SqliteSaver.from_conn_string(str(path)) as saver:
        agent(saver, "brew", alone=alone).invoke(None, ON, durability="sync")
    return stops * 2


@pytest.mark.parametrize(("alone", "stops"), [(True, 5), (False, 1)])
def test_what_is_proved_to_be_left_out_is(tmp_path: Path, *, alone: bool, stops: int) -> None:
    """A channel that they alone wrote to got no new version; a node that never ran has no entry in `versions_seen`."""
    step = record(path := tmp_path / "t.sqlite", alone=alone, stops=stops)
    for named in ([], NAMED):
        found = verified(str(path), reducer=named)[1][0]
        assert ([one.kind for one in found.findings], {*found.verdicts}) == ([], {"agrees"})
    [line] = [one for one in at(path, log, "t").steps if one.step == step]
    assert [*line.nodes] == ["cool"]
    assert [change.channel for change in line.changes] == ["total", "who"]
    assert [*at(path, show, "t", f"step:{step}").nodes] == ["cool"]


@pytest.mark.parametrize("named", [[], NAMED])
def test_what_may_have_been_left_out_proves_nothing(tmp_path: Path, named: list[str]) -> None:
    """Where others wrote to all their channels too, the step is unknown, and says why."""
    record(path := tmp_path / "t.sqlite", alone=False, stops=5)
    found = verified(str(path), reducer=named)[1][0]
    assert {one.channel for one in found.findings} == {"total", "who"}
    assert {(one.kind, one.verdict) for one in found.findings} == {("not-compared", "unknown")}
    assert all("without node boil" in one.why for one in found.findings)
    words = [word for one in named for word in ("--reducer", one)]
    assert run(["replay", "t", "step:9", "--to", "step:10", *words, "-d", str(path)]) == 0


def test_another_value_still_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sum that neither all writes make nor those without the Sends is a forged one."""
    step = record(path := tmp_path / "t.sqlite", alone=False, stops=5)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        one = next(one for one in saver.list(ON) if (one.metadata or {}).get("step") == step)
        one.checkpoint["channel_values"]["total"] += 1
        kind, body = JsonPlusSerializer().dumps_typed(one.checkpoint)
        changed = "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE checkpoint_id = ?"
        saver.conn.execute(changed, (kind, body, one.checkpoint["id"]))
        saver.conn.commit()
    assert run(["verify", "t", "--reducer", "total=sum", "-d", str(path), "--json"]) == 1
    [thread] = json.loads(capsys.readouterr().out)["threads"]
    assert ("total", "differs") in {(found["channel"], found["verdict"]) for found in thread["findings"]}
