"""``ckpt update``: what its plans look like, and what it refuses."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import START, StateGraph

from ckpt_cli.app import run
from ckpt_cli.commands.update import update
from ckpt_cli.plans import mint
from ckpt_cli.session import ChangeOptions, Session
from tests import golden
from tests.graphs.building import on

Database = Callable[[str], Path]


class Numbers(TypedDict, total=False):
    """A number that takes one value a step."""

    n: int


LOOKS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "as-node": (("commands", "step:2"), {"values": '{"seen": ["me"]}', "as_node": "router", "then": ["left"]}),
    "as-input": (("commands",), {"values": '{"seen": ["more"]}', "as_input": True}),
    "pending": (("interrupt-multi",), {"values": '{"log": ["me"]}', "as_node": "review", "then": ["END"]}),
    "end": (("interrupt-multi",), {"as_node": "__end__", "deferred": ["send=no"]}),
    "message": (
        ("chat-linear",),
        {
            "values": '{"messages": [{"role": "user", "content": "stop", "id": "m1"}]}',
            "as_node": "model",
            "then": ["END"],
        },
    ),
    "doubted": (("commands", "step:2"), {"values": "{}", "as_node": "router", "then": ["lefft", 'x={"y": 1}']}),
    "send": (("commands", "step:0"), {"values": '{"k": 7}', "as_node": "router", "then": ['left={"x": 1}']}),
}


@pytest.mark.parametrize("name", LOOKS)
def test_looks(name: str, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan on every kind of output, chance and clock pinned."""
    words, options = LOOKS[name]
    monkeypatch.setattr(mint, "SystemRandom", lambda: Random(7))
    session = Session(
        str(database("real")), clock=lambda: golden.NOW, options=ChangeOptions(dry_run=True), may_change=True
    )
    try:
        golden.check(f"update/{name}", update(session, *words, **options))
    finally:
        session.close()


DICT = ["--reducer", "turn=dict", "--next", "END"]
REFUSED: dict[str, tuple[str, list[str]]] = {
    "nothing": ("real", ["commands"]),
    "no-such-channel": ("real", ["commands", "--values", '{"sen": 1}', "--as-node", "router", "--next", "END"]),
    "no-proven-reducer": ("real", ["forks", "branch:5", "--values", '{"topic": "x"}']),
    "no-object": ("real", ["commands", "--values", "[1]", "--as-node", "router"]),
    "no-json": ("real", ["commands", "--values", "{seen: 1}", "--as-node", "router"]),
    "no-such-reducer": ("real", ["commands", "--values", '{"seen": []}', "--reducer", "seen=lats"]),
    "two-ways-to-say-it": ("real", ["commands", "--values", "{}", "--as-input", "--as-node", "router"]),
    "several-ways": ("real", ["chat-linear", "--values", '{"turn": 30}', "--as-node", "model"]),
    "where-on": ("real", ["commands", "step:2", "--values", '{"seen": ["me"]}', "--as-node", "router"]),
    "no-such-node": ("real", ["commands", "--values", '{"k": 1}', "--as-node", "ruoter"]),
    "not-of-its-kind": ("real", ["chat-linear", "--values", '{"turn": 5}', "--as-node", "model", *DICT]),
    "no-message": ("real", ["chat-linear", "--values", '{"messages": 5}', "--as-node", "model", "--next", "END"]),
    "no-message-among-some": (
        "real",
        ["chat-linear", "--values", '{"messages": ["hi", {"text": "hi"}]}', "--as-node", "model", "--next", "END"],
    ),
    "old-format": ("legacy/py-0.1.19", ["chat", "--values", "{}", "--as-node", "bot"]),
    "of-javascript": ("js", ["js-chat", "--values", '{"n": 3}', "--as-node", "bot", "--next", "END"]),
    "functional": ("real", ["functional", "--values", '{"x": 3}', "--as-node", "flow"]),
}


def test_refusals_look(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    """What can't be done is one line with its exit code, and a hint where a person can do something."""
    lines = []
    for name, (source, words) in REFUSED.items():
        capsys.readouterr()
        code = run(["update", *words, "-d", str(database(source)), "--dry-run"])
        caught = capsys.readouterr()
        assert (code in (2, 4, 6, 7), caught.out) == (True, ""), name
        lines += [f"{name}: exit {code}", *(f"  {line}" for line in caught.err.splitlines())]
    golden.compare("update/refused.txt", lines)


@pytest.mark.parametrize("name", ["several-ways", "where-on"])
def test_the_options_that_a_refusal_names_are_taken(
    name: str, database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line that a node with several recorded routes gets, added to the command, is a plan."""
    source, words = REFUSED[name]
    line = ["update", *words, "-d", str(database(source)), "--dry-run", "--json"]
    assert run(line) == 2
    refused = json.loads(capsys.readouterr().err)["error"]
    assert len(refused["candidates"]) == 2
    for option in refused["candidates"]:
        options = shlex.split(option.partition("  ")[0].replace("=JSON", '={"n":1}').replace('"', '\\"'))
        assert run([*line, *options]) == 0, capsys.readouterr().err
        assert "as you say" in " ".join(json.loads(capsys.readouterr().out)["notes"])


@pytest.mark.parametrize("then", ["", "a,"])
def test_a_next_node_without_a_name(then: str, tmp_path: Path) -> None:
    """A typing error isn't taken for END."""
    path = tmp_path / "demo.sqlite"
    assert run(["demo", str(path)]) == 0
    words = ["update", "support-42", "--values", '{"route": "x"}', "--next", then, "-d", str(path), "--yes"]
    assert run(words) == 2


def test_what_becomes_of_an_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside a node that is due the next run may raise, as the library does; one that isn't the last is left behind."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder = StateGraph(Numbers).add_node("a", lambda _: {"n": 1}).add_node("b", lambda s: {"n": s["n"] + 1})
        graph = builder.add_edge(START, "a").add_edge("a", "b").compile(checkpointer=saver)
        for number in range(9):
            graph.invoke({"n": number}, on("t"))
        file = tmp_path / "u.jsonl"
        file.write_text('{"values": {"n": 7}, "as_node": "__input__"}\n{"values": {"n": 4}, "as_node": "b"}\n')
        assert run(["update", "t", "--bulk", str(file), "--yes", "-d", str(path)]) == 0
        assert "as input, which no run takes in, as another superstep follows it" in capsys.readouterr().out
        assert graph.invoke(None, on("t"))["n"] == 4
        values = ["--as-input", "--values", '{"n": 50}', "--yes", "-d", str(path)]
        assert run(["update", "t", "step:1", *values]) == 0
        assert "in the step in which b runs; it may raise InvalidUpdateError" in capsys.readouterr().out
        with pytest.raises(InvalidUpdateError):
            graph.invoke(None, on("t"))
