"""An outline keeps the names of nodes that Sends call, also of those that never finished."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from ckpt_cli.inspection import Inspection
from ckpt_cli.reading import Reader
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.databases import unpacked

_RELEASES = ["old/sqlite-v02", "old/sqlite-v06", "legacy/py-0.1.19", "legacy/py-1.2.22", "js"]
"""Sends in the checkpoint's own entry and in a channel, in Python and in JavaScript."""


def _fail(given: dict[str, Any]) -> None:
    raise ValueError(f"no work for {given['order']}")


def run_failing(path: Path) -> None:
    """Store a thread whose only Send calls a node that fails."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder: Any = StateGraph(dict)
        builder.add_node("plan", lambda _: None)
        builder.add_node("work", _fail)
        builder.add_edge(START, "plan")
        builder.add_conditional_edges("plan", lambda _: [Send("work", {"order": "lamp-7"})], ["work"])
        with pytest.raises(ValueError, match="no work"):
            builder.compile(saver).invoke({"a": 1}, {"configurable": {"thread_id": "t"}})


def test_a_node_that_failed_keeps_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The outline says which node failed, and not what it got."""
    run_failing(tmp_path / "agent.sqlite")
    outline = tmp_path / "outline.ckpt"
    assert run(["export", "-d", str(tmp_path / "agent.sqlite"), "-o", str(outline), "--only-structure"]) == 0
    capsys.readouterr()
    assert run(["threads", "-d", str(outline), "--json"]) == 0
    (thread,) = json.loads(capsys.readouterr().out)["threads"]
    assert run(["show", thread["thread_id"], "-d", str(outline), "--json"]) == 0
    shown = json.loads(text := capsys.readouterr().out)
    assert thread["status"] == "failed" and shown["next"] == ["work"]
    assert [(task["node"], task["status"]) for task in shown["tasks"]] == [("work", "failed")]
    assert "lamp-7" not in text


def called(saver: Saver) -> dict[str, list[str]]:
    """The nodes that the tasks of Sends run next, by checkpoint."""
    reader = Reader(saver, Codec(None))
    nodes = dict[str, list[str]]()
    for thread in saver.threads():
        for row in saver.rows(thread.thread_id):
            tasks = Inspection(reader, row.ref).snapshot().tasks
            if names := [task.node or "?" for task in tasks if task.packet is not None]:
                nodes[row.checkpoint_id] = names
    return nodes


@pytest.mark.parametrize("name", _RELEASES)
def test_sends_of_every_release(name: str, tmp_path: Path) -> None:
    """At each checkpoint the outline's Sends call the same nodes."""
    path, outline = tmp_path / "agent.sqlite", tmp_path / "outline.ckpt"
    path.write_bytes(unpacked(name))
    assert run(["export", "-d", str(path), "-o", str(outline), "--only-structure", "--skip-refused"]) == 0
    with closing(open_file(path)) as before, closing(BundleSaver(outline)) as after:
        nodes = called(after)
        assert nodes and nodes == {key: names for key, names in called(before).items() if key in nodes}


@pytest.mark.parametrize("pattern", ["[abcd]", "node_[ab]$", "e"])
def test_a_join_of_redacted_nodes_still_runs_next(
    pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each name in the join's channel becomes that of its node; letters of a pseudonym aren't matched again."""
    file, bundle = str(tmp_path / "agent.sqlite"), str(tmp_path / "some.ckpt")
    builder: Any = StateGraph(dict)
    for name in ("node_a", "node_b", "node_c"):
        builder.add_node(name, lambda _: None)
    builder.add_edge(START, "node_a")
    builder.add_edge(START, "node_b")
    builder.add_edge(["node_a", "node_b"], "node_c")
    with SqliteSaver.from_conn_string(file) as saver:
        builder.compile(saver, interrupt_before=["node_c"]).invoke({"k": 1}, {"configurable": {"thread_id": "1"}})
    assert run(["export", "-d", file, "-o", bundle, "--redact-pattern", pattern]) == 0
    capsys.readouterr()
    assert run(["show", "1", "-d", bundle, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["next"]) == 1 and [task["status"] for task in shown["tasks"]] == ["due"]
