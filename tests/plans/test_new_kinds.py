"""An update with a kind of value that no step wrote: a reducer may treat an empty or negative one in its own way."""

import json
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """A value that a null leaves as it is, a list without what is empty, and a sum that isn't negative."""

    kept: Annotated[Any, lambda old, new: old if new is None else new]
    full: Annotated[list[Any], lambda old, new: old + [item for item in new if item]]
    floor: Annotated[int, lambda old, new: max(0, old + new)]


@pytest.mark.parametrize(
    ("values", "named"),
    [({"kept": None}, ["kept"]), ({"full": ["x", ""]}, ["full"]), ({"floor": -99}, ["floor"]), ({"full": ["x"]}, [])],
)
def test_a_kind_that_no_step_wrote(
    values: dict[str, Any], named: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plan says so where the real reducer makes something else, and says nothing of what steps have shown."""
    path, words = str(tmp_path / "t.sqlite"), ["b", "a", "d", "c"] * 3
    builder = StateGraph(State).add_edge(START, "work")
    builder.add_node("work", lambda s: {"kept": words[len(s["full"])], "full": ["y"], "floor": 2})
    builder.add_conditional_edges("work", lambda s: "work" if len(s["full"]) < 12 else END, ["work", END])
    with SqliteSaver.from_conn_string(path) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"kept": "c", "full": [], "floor": 1}, ON)
        update = ["update", "t", "--values", json.dumps(values), "--as-node", "work", "--next", "END", "-d", path]
        assert run([*update, "--json", "--yes"]) == 0
        notes = [note for note in json.loads(capsys.readouterr().out)["notes"] if "empty, null or negative" in note]
        made = app.get_state(ON).values
        assert run(["undo", "--yes", "-d", path]) == 0
        app.update_state(ON, values, as_node="work")
        assert (made == app.get_state(ON).values) is not bool(named)
    assert [note.partition(":")[0].rpartition(" ")[2] for note in notes] == named
