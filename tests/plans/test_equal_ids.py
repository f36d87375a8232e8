"""Two elements of one id that no reducer left beside each other, but an Overwrite, an edit or an update.

They don't show that the reducer keeps both, so a plan that needs to know it is refused, and no value is named.
"""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Overwrite

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}
TURNS = 14
PAIR = [{"id": "a", "v": 1}, {"id": "a", "v": 2}, {"id": "b", "v": 3}]


def first_kept(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An item whose id the list has is left out; an append until one comes."""
    return old + [one for one in new if one["id"] not in {each["id"] for each in old}]


def all_kept(old: list[dict[str, Any]], writes: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The same for a delta channel."""
    for new in writes:
        old = first_kept(old, new)
    return old


class Plain(TypedDict, total=False):
    turn: int
    docs: Annotated[list, first_kept]


class Delta(TypedDict, total=False):
    turn: int
    docs: Annotated[list, DeltaChannel(all_kept, snapshot_frequency=3)]


def played(saver: SqliteSaver, schema: type, *, overwritten: int | None = None, again: bool = False) -> Any:
    """A node in a loop, whose items have new ids, but for an Overwrite in one turn, and the last one if `again`."""

    def visit(state: Any) -> dict[str, Any]:
        turn = state["turn"]
        name = "b" if again and turn == TURNS - 1 else f"d{turn}"
        docs: Any = Overwrite(PAIR) if turn == overwritten else [{"id": name, "v": turn}]
        return {"turn": turn + 1, "docs": docs}

    graph = StateGraph(schema).add_node("visit", visit)
    graph.add_edge(START, "visit")
    graph.add_conditional_edges("visit", lambda s: "visit" if s["turn"] < TURNS else END)
    app = graph.compile(checkpointer=saver)
    app.invoke({"turn": 0, "docs": []}, {**ON, "recursion_limit": 50})
    return app


@pytest.mark.parametrize("way", ["an Overwrite", "an edit", "an update"])
def test_no_plan_believes_in_an_append(tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str) -> None:
    """What an Overwrite of a node, an edit or an update of the library put there isn't what a reducer leaves."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = played(saver, Plain, overwritten=2 if way == "an Overwrite" else None)
        if way == "an update":
            app.update_state(ON, {"docs": Overwrite(PAIR)}, as_node="visit")
        if way == "an edit":
            assert run(["edit", "t", "--set", f"docs={json.dumps(PAIR)}", "-d", str(path), "--yes"]) == 0
    capsys.readouterr()
    words = ["--as-node", "visit", "--next", "END", "--values", '{"docs": [{"id": "b", "v": 9}]}']
    assert run(["update", "t", *words, "-d", str(path), "--yes"]) == 7
    assert "an item whose 'id' it has already" in capsys.readouterr().err


def test_no_delta_channel_is_believed_to_append(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A value after an Overwrite and an id again is shown as its writes, and not as if both were kept."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        played(saver, Delta, overwritten=5, again=True)
    assert run(["get", "t", "docs", "-d", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["value"]
    assert isinstance(told, dict)
