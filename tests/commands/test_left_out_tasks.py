"""A task finished, its run was stopped, and the next deployment lacks its node: nothing it wrote is in the step."""

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.commands.show import show
from tests.commands.asking import at
from tests.commands.test_verify_honest import verified
from tests.graphs.waiting import until_stored

ON: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 50}
NAMED = ["batch=last value", "total=sum", "who=append"]


class State(TypedDict, total=False):
    """What the nodes of a brewery leave."""

    n: int
    total: Annotated[int, operator.add]
    batch: str
    who: Annotated[list[str], operator.add]
    seen: Annotated[list[str], DeltaChannel(lambda old, new: [*old, *(one for some in new for one in some)])]


def agent(saver: SqliteSaver, name: str, *, stops: int = 0) -> Any:
    """A loop in which the node of this name runs beside `cool`, of which one run is stopped."""

    def mash(state: State) -> State:
        n = state.get("n", 0)
        return {"n": n + 1, "batch": f"mash {n}", "total": 1, "who": ["mash"]}

    def boil(state: State) -> State:
        return {"batch": f"boil {state['n']}", "total": 10, "who": ["boil"], "seen": ["boil"]}

    def cool(state: State) -> State:
        if state["n"] == stops:
            until_stored(saver)
            raise KeyboardInterrupt
        return {"total": 100, "who": ["cool"]}

    graph = StateGraph(State).add_node("mash", mash).add_node(name, boil).add_node("cool", cool)
    graph.add_edge(START, "mash").add_edge("mash", name).add_edge("mash", "cool")
    graph.add_conditional_edges("cool", lambda state: "mash" if state["n"] < 6 else END, ["mash", END])
    return graph.compile(checkpointer=saver)


@pytest.fixture(params=[3, 1])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """`boil` finished, for the third or the first time, and is called `brew` when the thread goes on."""
    with SqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        with pytest.raises(KeyboardInterrupt):
            agent(saver, "boil", stops=request.param).invoke({"n": 0}, ON, durability="sync")
        agent(saver, "brew").invoke(None, ON, durability="sync")
    return tmp_path / "t.sqlite"


def test_the_step_is_made_of_the_other_tasks(path: Path) -> None:
    """`verify` agrees, by reducers that are learned and by the true ones; `log` and `show` name the node that ran."""
    for named in ([], NAMED):
        found = verified(str(path), reducer=named)[1][0]
        assert ([one.kind for one in found.findings], {*found.verdicts}) == ([], {"agrees"})
    [step] = [one for one in at(path, log, "t").steps if [*one.nodes] == ["cool"]]
    assert [change.channel for change in step.changes if change.channel != "seen"] == ["total", "who"]
    assert [*at(path, show, "t", f"step:{step.step}").nodes] == ["cool"]


def test_update_learns_from_it(path: Path) -> None:
    """Its writes are no counterexample to a last value and a sum, which `update` then applies as the library does."""
    words = ["--values", '{"batch": "mine", "total": 5}', "--as-node", "brew", "--next", "END", "--yes"]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        before = agent(saver, "brew").get_state(ON).values["total"]
    assert run(["update", "t", *words, "-d", str(path)]) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        values = agent(saver, "brew").get_state(ON).values
    assert (values["batch"], values["total"]) == ("mine", before + 5)
