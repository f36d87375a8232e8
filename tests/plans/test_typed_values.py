"""What a person types never decides a reducer, held against what the library does with the same values."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.app import run
from ckpt_cli.errors import Refused, UsageError
from tests.graphs.building import line, on

USAGE, REFUSED = UsageError("").exit_code, Refused("").exit_code


def without_nulls(before: dict[str, Any] | None, write: dict[str, Any]) -> dict[str, Any]:
    """A union of dicts where None deletes a key."""
    return {key: value for key, value in {**(before or {}), **write}.items() if value is not None}


class Bag(TypedDict, total=False):
    """Channels whose first steps fit several reducers."""

    total: Annotated[int, operator.add]
    log: Annotated[list[Any], operator.add]
    tags: Annotated[dict[str, Any], operator.or_]
    kept: Annotated[dict[str, Any], without_nulls]


def graph_on(saver: Any) -> Any:
    """A graph of two nodes that write to all channels."""

    def writes(name: str) -> Any:
        return lambda _: {"total": 1, "log": [name], "tags": {name: 1}, "kept": {name: 1}}

    return line(saver, "a", "b", schema=Bag, nodes={name: writes(name) for name in "ab"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with two threads that stopped behind the first node; `many` has ended three times before."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = graph_on(saver)
        graph.invoke({"total": 0}, on("one"), interrupt_after=["a"])
        for _ in range(3):
            graph.invoke({"total": 0}, on("many"))
        graph.invoke({"total": 0}, on("many"), interrupt_after=["a"])
    return path


def updated(path: Path, thread: str, channel: str, value: Any) -> int:
    """The exit code of an update of one channel."""
    return run(["update", thread, "--as-node", "a", "--values", json.dumps({channel: value}), "-d", str(path), "--yes"])


WRONG = [("total", None), ("total", "abc"), ("log", 5), ("log", None), ("tags", None), ("tags", [1])]


@pytest.mark.parametrize("thread", ["one", "many"])
@pytest.mark.parametrize(("channel", "value"), WRONG)
def test_a_value_that_a_fitting_reducer_refuses_is_refused(path: Path, thread: str, channel: str, value: Any) -> None:
    """The library refuses such a value too; ckpt doesn't take it for a sign of another reducer."""
    assert updated(path, thread, channel, value) == USAGE
    with SqliteSaver.from_conn_string(str(path)) as saver, pytest.raises(TypeError):
        graph_on(saver).update_state(on(thread), {channel: value}, as_node="a")


def test_a_text_is_not_added_to_a_list(path: Path) -> None:
    """``operator.add`` and a topic that accumulates differ for a text, so no evidence of lists decides it."""
    assert updated(path, "many", "log", "ab") == USAGE
    assert updated(path, "many", "log", ["ab"]) == 0
    with SqliteSaver.from_conn_string(str(path)) as saver:
        assert graph_on(saver).get_state(on("many")).values["log"][-2:] == ["a", "ab"]


@pytest.mark.parametrize("channel", ["tags", "kept"])
def test_a_null_in_a_dict_may_delete_a_key(path: Path, channel: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no recorded write had a null, the reducer must be named, and then the state is the library's."""
    assert updated(path, "many", channel, {"c": 2}) == 0
    assert updated(path, "many", channel, {"a": None}) == REFUSED
    assert "dict union, dict union without nulls" in capsys.readouterr().err
    name = "dict-without-nulls" if channel == "kept" else "dict"
    words = ["--values", json.dumps({channel: {"a": None}}), "--reducer", f"{channel}={name}"]
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = graph_on(saver)
        before = graph.get_state(on("many")).config
        assert run(["update", "many", "--as-node", "a", *words, "-d", str(path), "--yes"]) == 0
        mine = graph.get_state(on("many")).values
        graph.update_state(before, {channel: {"a": None}}, as_node="a")
        assert mine == graph.get_state(on("many")).values
