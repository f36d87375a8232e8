"""A task that took its answer and failed is FAILED; a task that failed and then asked is WAITING."""

import json
import operator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.history.tasks.snapshot import Snapshot, Status
from ckpt_cli.inspection import Inspection
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Log(TypedDict, total=False):
    """What the nodes leave."""

    log: Annotated[list[str], operator.add]
    word: str


def asks(_: Log) -> Log:
    """Two questions; "bad" is an answer that it fails with."""
    answers = []
    for question in ("first?", "second?"):
        answers.append(interrupt(question))
        if answers[-1] == "bad":
            raise RuntimeError("bad answer")
    return {"log": answers}


def asks_once(_: Log) -> Log:
    """One question; `check` reads its answer."""
    return {"word": interrupt("first?")}


def check(state: Log) -> Log:
    """Fails with "bad"."""
    if state["word"] == "bad":
        raise RuntimeError("bad answer")
    return {"log": [state["word"]]}


class Late:
    """Fails at first, then asks."""

    def __init__(self) -> None:
        self.failed = False

    def __call__(self, _: Log) -> Log:
        if not self.failed:
            self.failed = True
            raise RuntimeError("not yet")
        return {"log": [interrupt("first?")]}


def graph(*nodes: Any, saver: Any = None) -> Any:
    """A graph of nodes in a row."""
    built = StateGraph(Log)
    names = [f"node{number}" for number in range(len(nodes))]
    for name, before, node in zip(names, [START, *names], nodes, strict=False):
        built.add_node(name, node)
        built.add_edge(before, name)
    return built.compile(checkpointer=saver)


def sends(_: Log) -> Log:
    """Starts with a node beside the tasks of Sends."""
    return {}


def sending() -> Any:
    """A graph that sends to a node that asks."""
    built = StateGraph(Log)
    built.add_node("sends", sends)
    built.add_node("asks", asks)
    built.add_edge(START, "sends")
    built.add_conditional_edges("sends", lambda _: [Send("asks", {})], ["asks"])
    return built.compile()


KINDS: dict[str, Any] = {
    "a Send's task of a subgraph": sending,
    "node": lambda: asks,
    "subgraph": lambda: graph(asks),
    "next node of a subgraph": lambda: graph(asks_once, check),
    "late": Late,
}


def ran(kind: str, saver: SqliteSaver, *answers: Any) -> Any:
    """Start a graph and answer it, whether it fails or not; None continues without an answer."""
    app = graph(lambda _: {"log": ["before"]}, KINDS[kind](), saver=saver)
    for given in ({"word": ""}, *(answer and Command(resume=answer) for answer in answers)):
        with suppress(RuntimeError):
            app.invoke(given, CONFIG)
    return app


def head(path: Path) -> Snapshot:
    """The snapshot of the thread's head."""
    reader = Reader(open_file(path), Codec())
    try:
        return Inspection(reader, reader.head("t").ref).snapshot()
    finally:
        reader.saver.close()


@pytest.mark.parametrize(
    ("kind", "answers", "status", "questions"),
    [
        ("node", ["bad"], Status.FAILED, []),
        ("node", ["ok", "bad"], Status.FAILED, []),
        ("node", ["ok"], Status.WAITING, ["second?"]),
        ("subgraph", ["bad"], Status.FAILED, []),
        ("subgraph", ["ok", "bad"], Status.FAILED, []),
        ("subgraph", ["ok"], Status.WAITING, ["second?"]),
        ("a Send's task of a subgraph", ["bad"], Status.FAILED, []),
        ("a Send's task of a subgraph", ["ok", "bad"], Status.FAILED, []),
        ("a Send's task of a subgraph", ["ok"], Status.WAITING, ["second?"]),
        ("next node of a subgraph", ["bad"], Status.FAILED, []),
        ("late", [None], Status.WAITING, ["first?"]),
    ],
)
def test_what_failed_is_told_from_what_waits(
    kind: str,
    answers: list[Any],
    status: Status,
    questions: list[str],
    saver: SqliteSaver,
    path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A question waits until its answer was taken, also if its task had failed before; `show` and `writes` agree."""
    app = ran(kind, saver, *answers)
    found = head(path)
    assert (found.status, [one.value for one in found.interrupts]) == (status, questions)
    for verb in ("show", "writes"):
        assert run([verb, "t", "-d", str(path), "--json", "--query", "tasks[?status].status"]) == 0
        assert json.loads(capsys.readouterr().out) == [status]
    (task,) = app.get_state(CONFIG).tasks
    assert (task.error is not None) is (status is Status.FAILED or kind == "late")


@pytest.mark.parametrize("words", [["edit", "t", "--task", "node1", "--again"], ["fork", "t", "@"]], ids=" ".join)
@pytest.mark.parametrize("kind", ["node", "subgraph", "next node of a subgraph"])
def test_it_asks_anew(
    kind: str, words: list[str], saver: SqliteSaver, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A task that failed with an answer takes no other; after the command in the hint it asks again and ends."""
    app = ran(kind, saver, "bad")
    assert run(["resume", "t", "--value", '"good"', "--yes", "-d", str(path)]) == 4
    assert f"`ckpt {' '.join(words)}`" in capsys.readouterr().err or words[0] == "fork"
    assert run([*words, "--yes", "-d", str(path)]) == 0
    app.invoke(None, CONFIG)
    assert [one.value for one in head(path).interrupts] == ["first?"]
    while app.get_state(CONFIG).next:
        last = app.invoke(Command(resume="good"), CONFIG)
    assert last["log"][-1] == "good"
