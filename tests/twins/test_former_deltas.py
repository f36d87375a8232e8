"""A channel that was a delta channel in earlier runs, and isn't any more: a new checkpoint stores its value."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run


def appended(current: list[str], writes: list[list[str]]) -> list[str]:
    return [*current, *(item for write in writes for item in write)]


class Delta(TypedDict, total=False):
    """The channel as it was."""

    log: Annotated[list[str], DeltaChannel(appended)]
    n: int


class Plain(TypedDict, total=False):
    """As a last value."""

    log: list[str]
    n: int


class Added(TypedDict, total=False):
    """As a list that grows."""

    log: Annotated[list[str], operator.add]
    n: int


def on(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


def agent(saver: SqliteSaver, schema: type) -> Any:
    """A node that writes to both channels, and one that only counts."""
    graph = StateGraph(schema)
    graph.add_node("work", lambda state: {"log": [f"w{len(state.get('log', ()))}"], "n": 1})
    graph.add_node("count", lambda state: {"n": state["n"] + 1})
    return graph.add_edge(START, "work").add_edge("work", "count").compile(checkpointer=saver)


def begin(saver: SqliteSaver, schema: type) -> Any:
    """The same history in two threads; the first runs had a delta channel."""
    for thread_id in ("mine", "hers"):
        for kind in (Delta, Delta, schema, schema):
            agent(saver, kind).invoke({"log": ["in"]}, on(thread_id))
    return agent(saver, schema)


def same(path: Path, schema: type) -> bool:
    """Whether both threads have the same state, also after one more run, and store the channel."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app, heads = agent(saver, schema), [saver.get_tuple(on(thread_id)) for thread_id in ("mine", "hers")]
        stored = [head.checkpoint["channel_values"]["log"] for head in heads if head is not None]
        assert all("counters_since_delta_snapshot" not in head.metadata for head in heads if head is not None)
        after = [app.invoke({"log": ["more"]}, on(thread_id)) for thread_id in ("mine", "hers")]
    return stored[0] == stored[1] and after[0] == after[1]


@pytest.mark.parametrize("schema", [Plain, Added])
@pytest.mark.parametrize("values", [{"n": 9}, {"log": ["mine"]}, {"log": ["mine"], "n": 9}])
def test_an_update_is_the_librarys(schema: type, values: dict[str, Any], tmp_path: Path) -> None:
    """Whether or not it writes to the channel."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        begin(saver, schema).update_state(on("hers"), values, as_node="count")
    reducer = ["--reducer", "log=last" if schema is Plain else "log=append"]
    words = ["update", "mine", "--values", json.dumps(values), "--as-node", "count", *reducer]
    assert run([*words, "--yes", "-d", str(path)]) == 0
    assert same(path, schema)


@pytest.mark.parametrize("schema", [Plain, Added])
def test_an_input_is_the_librarys(schema: type, tmp_path: Path) -> None:
    """The next run takes it, and goes on from the whole value."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = begin(saver, schema)
        before = app.get_state(on("mine")).values
        assert run(["update", "mine", "--values", '{"n": 5}', "--as-input", "--yes", "-d", str(path)]) == 0
        assert app.get_state(on("mine")).values == before
        assert app.invoke(None, on("mine")) == app.invoke({"n": 5}, on("hers"))
