"""`ckpt edit` of a checkpoint whose input no step has taken yet: the plan names what the input writes over."""

import json
import shlex
from pathlib import Path
from typing import TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import on


class State(TypedDict, total=False):
    asked: str
    answer: str


@pytest.mark.parametrize(("channel", "result"), [("asked", "wrong"), ("answer", "edited")])
def test_the_plan_names_what_the_input_replaces(
    channel: str, result: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run applies the input after the edit; an edited channel that the input lacks keeps its value."""
    path = str(tmp_path / "edited.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = StateGraph(State).add_node("work", lambda _: {}).add_edge(START, "work").compile(checkpointer=saver)
        graph.invoke({"asked": "first", "answer": "old"}, on("t"))
        graph.invoke({"asked": "wrong"}, on("t"))
        words = ["edit", "t", "step:2", "--set", f'{channel}="edited"', "--yes", "--json", "-d", path]
        assert run(words) == 0
        notes = " ".join(json.loads(capsys.readouterr().out)["notes"])
        assert ("the input, which has asked too: after this edit, `ckpt edit t @ " in notes) == (channel == "asked")
        assert graph.invoke(None, on("t"))[channel] == result


def test_the_hint_names_the_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Behind an input that isn't the head's, the command that edits it works as it is printed."""
    path = str(tmp_path / "hint.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = StateGraph(State).add_node("work", lambda _: {}).add_edge(START, "work").compile(checkpointer=saver)
        graph.invoke({"asked": "wrong"}, on("t"))
    assert run(["edit", "t", "step:-1", "--set", 'asked[0]="right"', "--dry-run", "--json", "-d", path]) == 4
    hint = json.loads(capsys.readouterr().err)["error"]["hint"]
    words = shlex.split(hint.split("`")[1])[1:-1]
    assert run([*words, 'asked="right"', "--dry-run", "-d", path]) == 0


def test_the_note_changes_the_input_of_the_edit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The note's command, typed after the edit of a checkpoint that isn't the head, keeps what was edited."""
    path = str(tmp_path / "kept.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = StateGraph(State).add_node("work", lambda _: {}).add_edge(START, "work").compile(checkpointer=saver)
        graph.invoke({"asked": "first", "answer": "old"}, on("t"))
        graph.invoke({"asked": "wrong"}, on("t"))
        edits = ["--set", 'asked="edited"', "--set", 'answer="edited"']
        assert run(["edit", "t", "step:2", *edits, "--yes", "--json", "-d", path]) == 0
        [note] = [note for note in json.loads(capsys.readouterr().out)["notes"] if "the input" in note]
        words = shlex.split(note.split("`")[1])[1:-1]
        assert run([*words, 'asked="right"', "--yes", "-d", path]) == 0
        assert graph.invoke(None, on("t")) == {"asked": "right", "answer": "edited"}
