"""`ckpt repair` on the demo's database: options that don't fit, damage, threads that can't be mended."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from ckpt_cli.app import run
from tests.graphs.building import on

Ckpt = Callable[..., Any]
ITEMS = '[{"role": "user", "content": "hi"}, {"type": "computer_call", "call_id": "c1", "action": {}}]'


@pytest.fixture
def ckpt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ckpt:
    """Runs a command on a demo database, in which the tool's result is taken out of a thread, and gives its JSON."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "demo.sqlite"
    assert run(["demo", str(path)]) == 0
    assert run(["edit", "support-40", "--unset", "messages[2]", "--yes", "-d", str(path)]) == 0
    capsys.readouterr()

    def go(*words: str, code: int = 0) -> Any:
        ended = run([*words, "-d", str(path), "--json"])
        printed = capsys.readouterr()
        assert ended == code, printed.err
        return json.loads(printed.out or printed.err)

    return go


def test_what_a_fault_says(ckpt: Ckpt) -> None:
    """Which message, which calls, which rule; a named thread that is whole has none."""
    [line] = ckpt("repair")["threads"]
    assert (line["thread_id"], line["status"], line["left_alone"]) == ("support-40", "done", "")
    assert line["faults"] == [
        {
            "channel": "messages",
            "kind": "unanswered",
            "position": 1,
            "calls": [{"id": "call_1", "name": "lookup_order"}],
            "rule": "Chat Completions",
        }
    ]
    assert ckpt("repair", "--only", "tool-calls", "support-39")["threads"] == []
    assert ckpt("repair", "--rollback")["threads"][0]["mend"].startswith("back to ")


def test_the_options_fit_together(ckpt: Ckpt) -> None:
    """One way to mend, an error with a text, and a kind that exists; `--yes` needs a way."""
    for words in (
        ["--yes"],
        ["--answer", " "],
        ["--answer", "x", "--drop-calls"],
        ["--drop-calls", "--rollback"],
        ["--only", "everything"],
        ["--match", ""],
    ):
        ckpt("repair", *words, code=2)
    ckpt("repair", "nobody", code=4)


def test_a_thread_that_cannot_be_mended_stops_all(ckpt: Ckpt) -> None:
    """A computer call takes no text: nothing is written without --skip-refused, and --drop-calls does it."""
    ckpt("edit", "support-39", "--set", f"items={ITEMS}", "--create", "--yes")
    [refused] = [one for one in ckpt("repair", "--answer", "x")["threads"] if one["thread_id"] == "support-39"]
    assert "screenshot" in refused["mend"]
    assert [one["thread_id"] for one in ckpt("repair", "-c", "items")["threads"]] == ["support-39"]
    stopped = ckpt("repair", "--answer", "x", "--yes", code=7)
    assert (stopped["stopped"], stopped["refused"], stopped["applied"]) == (True, 1, False)
    assert ckpt("repair", "--answer", "x", "--yes", "--skip-refused")["done"] == 1
    assert ckpt("repair", "--drop-calls", "--yes")["done"] == 1
    assert ckpt("get", "support-39", "items")["value"] == [{"role": "user", "content": "hi"}]
    assert ckpt("repair")["threads"] == []


def test_a_first_checkpoint_has_none_to_go_back_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is said of earlier checkpoints where there is none."""
    path, call = tmp_path / "one.sqlite", {"name": "f", "args": {}, "id": "q1"}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = StateGraph(MessagesState).add_node("a", lambda _: {}).add_edge(START, "a").compile(checkpointer=saver)
        messages = [AIMessage("", id="x", tool_calls=[call]), HumanMessage("z", id="h")]
        graph.update_state(on("t"), {"messages": messages}, as_node="a")
    run(["repair", "--rollback", "--dry-run", "--json", "-d", str(path)])
    [line] = json.loads(capsys.readouterr().out)["threads"]
    assert line["problem"] == "there is no earlier checkpoint to go back to"
