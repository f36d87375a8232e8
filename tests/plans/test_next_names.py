"""Next nodes of an update whose names have blanks, quotes, commas, ``=`` or are ``END``: each can be named."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from ckpt_cli.app import run

_ON: Any = {"configurable": {"thread_id": "t"}}
WAYS = (["call model"], ["it's"], ['say "hi"'], ["it's", "call model"], ["ask,user"], ["x=1", "plain"], ["END"])
NAMES = sorted({name for way in WAYS for name in way})


class State(TypedDict, total=False):
    way: Annotated[int, lambda _, new: new]


def _play(saver: SqliteSaver) -> Any:
    """A thread in which a node went each of `WAYS` once."""
    graph = StateGraph(State).add_node("route", lambda _: {}).add_edge(START, "route")
    for name in NAMES:
        graph.add_node(name, lambda s: {"way": s["way"]})
    graph.add_conditional_edges("route", lambda s: WAYS[s["way"]], NAMES)
    app = graph.compile(checkpointer=saver)
    for way in range(len(WAYS)):
        app.invoke({"way": way}, _ON)
    return app


def _offered(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What ckpt offers to name the next nodes, without the number of runs."""
    assert run([*words, "--json"]) == 2
    return [one.partition("  (as in")[0] for one in json.loads(capsys.readouterr().err)["error"]["candidates"]]


def test_each_offered_option_names_its_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A shell reads the words of `--next` back, and the nodes that LangGraph then runs are those of the route."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver)
        words = ["update", "t", "--as-node", "route", "--db", str(path)]
        options = _offered(words, capsys)
        taken = []
        for option in options:
            assert run([*words, *shlex.split(option), "--yes"]) == 0
            taken.append(sorted(app.get_state(_ON).next))
        assert sorted(taken) == sorted(map(sorted, WAYS))


def test_each_offered_key_of_a_bulk_line_names_its_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line of `--bulk` with the offered `"next"` is JSON, and each element of its list is one node."""
    lines = tmp_path / "lines.jsonl"
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver)
        words = ["update", "t", "--bulk", str(lines), "--db", str(path)]
        lines.write_text('{"as_node": "route"}')
        taken = []
        for keys in _offered(words, capsys):
            lines.write_text(f'{{"as_node": "route", {keys}}}')
            assert run([*words, "--yes"]) == 0
            taken.append(sorted(app.get_state(_ON).next))
        assert sorted(taken) == sorted(map(sorted, WAYS))


def test_a_list_in_json_names_one_node_with_each_element(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A comma in it separates nothing; in a text in place of the list it does."""
    lines = tmp_path / "lines.jsonl"
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver)
        words = ["update", "t", "--bulk", str(lines), "--db", str(path), "--yes"]
        lines.write_text('{"as_node": "route", "next": "it\'s,plain"}')
        assert run(words) == 0
        assert sorted(app.get_state(_ON).next) == ["it's", "plain"]
        lines.write_text('{"as_node": "route", "next": ["it\'s,plain"]}')
        assert run(words) == 0
        assert "it's,plain has never run here" in " ".join(capsys.readouterr().out.split())
        assert app.get_state(_ON).next == ()


def test_a_send_goes_to_a_node_with_an_equals_sign(tmp_path: Path) -> None:
    """`x=1={…}` is a Send to the node `x=1`, as no node is called `x`; `__end__` ends where a node is called END."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        app = _play(saver)
        words = ["update", "t", "--as-node", "route", "--db", str(path), "--yes"]
        assert run([*words, "--next", 'x=1={"way": 1}']) == 0
        assert app.get_state(_ON).next == ("x=1",)
        assert run([*words, "--next", "__end__"]) == 0
        assert app.get_state(_ON).next == ()


def test_a_node_that_never_ran_is_led_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It can't be the writer, as nothing shows what starts it; the way that the hint names ends at it in LangGraph."""
    with SqliteSaver.from_conn_string(str(path := tmp_path / "t.sqlite")) as saver:
        graph = StateGraph(State).add_node("route", lambda _: {}).add_node("never", lambda _: {})
        graph.add_edge(START, "route").add_conditional_edges("route", lambda _: END, ["never", END])
        app = graph.compile(checkpointer=saver)
        app.invoke({"way": 1}, _ON)
        words = ["update", "t", "--values", '{"way": 1}', "--reducer", "way=last", "--db", str(path)]
        assert run([*words, "--as-node", "never", "--next", "END"]) == 2
        assert "--as-node NODE --next never leads to it" in capsys.readouterr().err
        assert run([*words, "--as-node", "route", "--next", "never", "--yes"]) == 0
        assert app.get_state(_ON).next == ("never",)
