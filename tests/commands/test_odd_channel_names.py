"""Names of channels and joins that look like others: what is next is what the library says, and an update keeps all."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.log import log
from ckpt_cli.commands.show import show
from tests.commands.asking import at
from tests.graphs.building import on

NAMES = ["mail:inbox", "start:date", "branch:a:b:c", "__start__:x"]
State = TypedDict("State", {"log": Annotated[list[str], operator.add], **dict.fromkeys(NAMES, Any)}, total=False)  # type: ignore[misc]


def graph(saver: SqliteSaver, join: list[str], **options: Any) -> Any:
    """Nodes that write to all channels, and a last one that waits for the nodes of a join."""
    builder = StateGraph(State)
    for name in ("a", "b", "last"):
        builder.add_node(name, lambda _, name=name: {"log": [name], **({} if name == "last" else {NAMES[0]: name})})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    builder.add_edge(join, "last")
    return builder.compile(checkpointer=saver, **options)


@pytest.mark.parametrize("join", [["a", "a"], ["b", "a", "b"], ["a", "b"]])
def test_a_join_may_name_a_node_twice(tmp_path: Path, join: list[str]) -> None:
    """Before its last node runs, and after, `show` has the next nodes and the status of the library."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(saver, join, interrupt_before=["last"])
        app.invoke({"log": ["in"]}, on("t"))
        while True:
            seen, said = app.get_state(on("t")), at(path, log, "t").steps[0]
            assert said.next == list(seen.next) == at(path, show, "t").next
            assert (said.status == "done") == (not seen.next)
            if not seen.next:
                break
            app.invoke(None, on("t"))
    assert seen.values["log"][-1] == "last"


def test_a_channel_named_as_an_old_trigger_is_the_users(tmp_path: Path) -> None:
    """Such a channel makes no node due, `log` shows its changes, and ``update`` stores what the library would."""
    path = tmp_path / "t.sqlite"
    given = {name: f"{name} given" for name in NAMES}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(saver, ["a", "b"])
        app.invoke({"log": ["in"], **given}, on("t"))
        app.invoke({"log": ["in"], **given}, on("real"))
        said = at(path, log, "t").steps[0]
        assert (said.next, said.status) == (list(app.get_state(on("t")).next), "done")
        changed = [[change.channel for change in step.changes] for step in at(path, log, "t").steps]
        assert sum("mail:inbox" in some for some in changed) >= 3
        app.update_state(on("real"), {"log": ["u"], "start:date": "new"}, as_node="last")
        values = json.dumps({"log": ["u"], "start:date": "new"})
        assert run(["update", "t", "--values", values, "--as-node", "last", "--yes", "-d", str(path)]) == 0
        real, own = app.get_state(on("real")), app.get_state(on("t"))
        assert (own.values, own.next) == (real.values, real.next)
        assert own.values.keys() >= set(NAMES)
        assert at(path, show, "t").next == []
