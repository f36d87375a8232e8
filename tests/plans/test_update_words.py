"""What a plan of update says about joins and about the graph's input schema, held against the library."""

import json
import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import Bag, line, on, says


class Input(TypedDict, total=False):
    """What an input may have."""

    n: int


class Log(TypedDict, total=False):
    """The state, with a channel that no input may have."""

    n: int
    log: Annotated[list[Any], operator.add]


def taking_input(saver: SqliteSaver) -> Any:
    """A graph of one node, whose input may not have all of the state's keys."""
    builder = StateGraph(Log, input_schema=Input)
    builder.add_node("a", says("a"))
    builder.add_edge(START, "a")
    return builder.compile(checkpointer=saver)


def notes(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Apply an update; what its plan said."""
    assert run(["update", "t", "-d", str(path), "--yes", *words]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("deferred", [False, True])
def test_a_join_waits_for_the_nodes_that_the_plan_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, deferred: bool
) -> None:
    """While the plan says who is missing, a run does nothing; after the last one the node behind the join runs."""
    path = tmp_path / "t.sqlite"
    builder = StateGraph(Bag)
    for node in "abc":
        builder.add_node(node, says(node))
        builder.add_edge(START, node)
    builder.add_node("late", says("late"), defer=deferred)
    builder.add_edge(["a", "b", "c"], "late")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        done = graph.invoke({"log": []}, on("t"))["log"]
        for _ in range(2):  # what has arrived stays so, and a run still does nothing
            said = notes(path, capsys, "--as-node", "a")
            assert "as a: then late, as in its only recorded run\nlate still waits for b, c\n" in said.replace(
                "\n  ", "\n"
            )
        assert graph.invoke(None, on("t"))["log"] == done
        assert "late still waits for b\n" in notes(path, capsys, "--as-node", "c")
        assert graph.invoke(None, on("t"))["log"] == done
        assert "still waits" not in notes(path, capsys, "--as-node", "b")
        assert graph.invoke(None, on("t"))["log"] == [*done, "late"]


def joined() -> "StateGraph[Bag]":
    """Two nodes side by side, and one behind the join of both."""
    builder = StateGraph(Bag)
    for node in "ab":
        builder.add_node(node, says(node))
        builder.add_edge(START, node)
    builder.add_node("late", says("late"))
    builder.add_edge(["a", "b"], "late")
    return builder


def test_a_named_next_node_leaves_no_join_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `update_state` does, ``--next`` writes the join beside the nodes that it names; the run shows it."""
    path = tmp_path / "t.sqlite"
    builder = joined()
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(checkpointer=saver)
        done = graph.invoke({"log": []}, on("t"))["log"]
        said = notes(path, capsys, "--as-node", "a", "--next", "END")
        assert "as a: then END, as you say; its edge to the join of late is taken all the same\n" in said
        assert "late still waits for b\n" in said
        assert "late runs too: its join is complete now\n" in notes(path, capsys, "--as-node", "b", "--next", "END")
        assert graph.get_state(on("t")).next == ("late",)
        assert graph.invoke(None, on("t"))["log"] == [*done, "late"]
        said = notes(path, capsys, "--as-node", "a", "--next", "late")
        assert "as a: then late, as you say\n" in said
        assert "late runs now; its join still waits for b, and then late runs again\n" in said
        assert graph.invoke(None, on("t"))["log"] == [*done, "late", "late"]
        assert "runs too" not in notes(path, capsys, "--as-node", "b")
        assert graph.invoke(None, on("t"))["log"] == [*done, "late", "late", "late"]


def test_an_update_as_start_names_what_the_input_schema_may_lack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library leaves such a key out; a key that an input had is named no more."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = taking_input(saver)
        graph.invoke({"n": 1}, on("t"))
        by_library = graph.update_state(on("t"), {"n": 2, "log": ["lost"]}, as_node=START)
        assert graph.get_state(by_library).values == {"n": 2, "log": ["a"]}
    said = notes(path, capsys, "--as-node", START, "--values", '{"n": 3, "log": ["kept"]}', "--reducer", "log=append")
    assert "leaves out log unless the input schema has it" in said
    assert "leaves out" not in notes(path, capsys, "--as-node", START, "--values", '{"n": 4}', "--reducer", "n=last")


def test_an_update_as_start_leaves_out_what_a_recorded_input_could_not_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The library drops a key that isn't in the input schema; a run that dropped it from its input proves that."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = taking_input(saver)
        graph.invoke({"n": 1, "log": ["dropped"]}, on("t"))
        by_library = graph.update_state(on("t"), {"n": 3, "log": ["lost"]}, as_node=START)
        expected = graph.get_state(by_library).values
        said = notes(path, capsys, "--as-node", START, "--values", '{"n": 3, "log": ["lost"]}', "--reducer", "n=last")
        assert graph.get_state(on("t")).values == expected == {"n": 3, "log": ["a"]}
    assert "left out, as by update_state: log; a recorded input had it, and __start__ didn't write it" in said
    assert "unless" not in said
    assert "same as before: log" not in said


def test_a_plan_says_why_a_node_is_due_after_an_update_as_that_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An update as the node behind a join leads to END, and the node is due all the same, as `get_state` says."""
    path = tmp_path / "t.sqlite"
    builder = joined()
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder.compile(checkpointer=saver).invoke({"log": []}, on("t"))
        graph = builder.compile(checkpointer=saver, interrupt_before=["late"])
        graph.invoke({"log": []}, on("t"))
        said = notes(path, capsys, "--as-node", "late")
        assert "next: late" in said and "as late: then END" in said
        assert "late is still due after a, b: only a run of it takes that in\n" in said
        assert graph.get_state(on("t")).next == ("late",)


def test_a_plan_says_that_a_deferred_node_stays_due_after_an_update_as_that_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A deferred node that was due is due again after an update as that node, as `get_state` says."""
    path = tmp_path / "t.sqlite"
    builder = StateGraph(Bag)
    builder.add_node("a", says("a"))
    builder.add_node("late", says("late"), defer=True)
    builder.add_node("z", says("z"))
    builder.add_edge(START, "a")
    builder.add_edge("a", "late")
    builder.add_edge("late", "z")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder.compile(checkpointer=saver).invoke({"log": []}, on("t"))
        graph = builder.compile(checkpointer=saver, interrupt_before=["late"])
        graph.invoke({"log": []}, on("t"))
        said = notes(path, capsys, "--as-node", "late")
        assert "next: late, z" in said
        assert "late is deferred and still due: only a run of it ends that\n" in said
        assert graph.get_state(on("t")).next == ("late", "z")


def test_a_second_input_replaces_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The plan says so, with what waited; the real run takes the second alone."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a")
        graph.invoke({"log": ["in"]}, on("t"))
        for text in ("first", "second"):
            words = ["update", "t", "--as-input", "--values", json.dumps({"log": [text]}), "-d", str(path), "--yes"]
            assert run(words) == 0
            said = capsys.readouterr().out
            assert ('it replaces the input that waited: {"log": ["first"]}' in said) is (text == "second")
        assert graph.invoke(None, on("t"))["log"] == ["in", "a", "second", "a"]


@pytest.mark.parametrize(
    "words",
    [
        ["edit", "t", "--set", "lag=1", "--create"],
        ["update", "t", "--as-node", "a", "--values", '{"lag": 1}', "--reducer", "lag=last"],
    ],
    ids=lambda words: words[0],
)
def test_a_new_channel_is_only_for_a_graph_that_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """LangGraph ignores it without a word; nothing is said again of a channel that the thread has by then."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = line(saver, "a")
        graph.invoke({"log": ["in"]}, on("t"))
        said = "no channel lag is known in this thread: a graph without such a channel ignores it; did you mean log?"
        assert run([*words, "-d", str(path), "--yes"]) == 0
        assert said in capsys.readouterr().out
        assert "lag" not in graph.get_state(on("t")).values
        assert run(["edit", "t", "--set", "lag=2", "-d", str(path), "--yes"]) == 0
        assert "is known in this thread" not in capsys.readouterr().out


@pytest.mark.parametrize("dropped", [[], ["dropped"]])
def test_an_input_names_what_the_run_leaves_out(
    dropped: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is stored whole, as by the library; the run that takes it in writes only the keys of the input schema."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = taking_input(saver)
        graph.invoke({"n": 1, **({"log": dropped} if dropped else {})}, on("t"))
        said = notes(path, capsys, "--as-input", "--values", '{"n": 3, "log": ["lost"]}')
        assert graph.invoke(None, on("t")) == {"n": 3, "log": ["a", "a"]}
    it = "" if dropped else " unless the input schema has it"
    assert f"the run leaves out log{it}" in said
    assert "leaves out" not in notes(path, capsys, "--as-input", "--values", '{"n": 4}')
