"""Answers that ckpt records: the real graph continues with them as after ``Command(resume=…)`` on a copy."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.model import NULL_TASK
from ckpt_cli.session import KEY_ENV
from tests.graphs import Graph
from tests.graphs.building import Bag, line, on, says
from tests.graphs.lines import asking, nested

Build = Callable[[Any], Graph]
THREAD = "t"


def lasting(saver: Any) -> Graph:
    """One node with three questions."""
    ask = {"ask": lambda s: {"log": [interrupt("first?"), interrupt("second?"), interrupt("third?")]}}
    return line(saver, "ask", "last", nodes=ask)


def fanned(saver: Any) -> Graph:
    """Several calls of one node by Send, of which two ask."""
    builder = StateGraph(Bag)
    builder.add_node("split", says("split"))
    builder.add_node("work", lambda s: {"log": [interrupt(s["i"]) if s["i"] % 2 else s["i"]]})
    builder.add_node("reduce", says("reduce"))
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda s: [Send("work", {"i": i}) for i in range(4)], ["work"])
    builder.add_edge("work", "reduce")
    return builder.compile(checkpointer=saver)


def deeply_fanned(saver: Any) -> Graph:
    """Two calls of a subgraph by Send, each of which asks twice in a subgraph of its own."""
    ask = {"ask": lambda s: {"log": [(s["n"], interrupt(f"{s['n']}?"), interrupt("sure?"))]}}
    leaf = line(None, "ask", nodes=ask)
    child = line(None, "leaf", nodes={"leaf": leaf})
    builder = StateGraph(Bag)
    builder.add_node("split", says("split"))
    builder.add_node("child", lambda s: {"log": child.invoke(s)["log"]})
    builder.add_node("last", says("last"))
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda s: [Send("child", {"n": n}) for n in (1, 2)], ["child"])
    builder.add_edge("child", "last")
    return builder.compile(checkpointer=saver)


def remembering(saver: Any) -> Graph:
    """A subgraph with a memory of its own that asks."""
    ask = {"ask": lambda s: {"log": [interrupt("remember?")], "n": s.get("n", 0) + 1}}
    return line(saver, "memory", "last", nodes={"memory": line(True, "ask", nodes=ask)})


def functional(saver: Any) -> Graph:
    """An entrypoint that asks between two calls, one of which asks twice."""

    @task
    def call(x: Any) -> Any:
        return [x, interrupt(f"call {x}?"), interrupt("again?")]

    @task
    def quiet(x: Any) -> Any:
        return [x, "quiet"]

    @entrypoint(checkpointer=saver)
    def flow(given: Any) -> Any:
        first = quiet(0).result()
        return [first, call(1).result(), interrupt("flow?"), quiet(2).result()]

    return flow


CASES: dict[str, tuple[Build, list[dict[str, Any]]]] = {
    "single": (asking, [{"": "yes"}]),
    "successive": (asking, [{"": "no"}, {"": {"why": ["because", 3]}}]),
    "three in one node": (lasting, [{"": 1}, {"": [2]}, {"": {"3": None}}]),
    "one of several": (lambda s: asking(s, many=True), [{"legal": "fine"}, {"review": "yes"}]),
    "several by id": (lambda s: asking(s, many=True), [{"legal": True, "review": "no"}, {"review": "late"}]),
    "two levels down": (lambda s: nested(s, ask=True), [{"": "leaf"}]),
    "Send": (fanned, [{"1": "one"}, {"3": "three"}]),
    "Send at once": (fanned, [{"1": "one", "3": "three"}]),
    "subgraphs by Send": (deeply_fanned, [{"1?": "a"}, {"sure?": "b"}, {"2?": "c"}, {"sure?": "d"}]),
    "memory": (remembering, [{"": "yes"}]),
    "functional": (functional, [{"": "a"}, {"": "b"}, {"": "c"}]),
}
"""Graph, and rounds of answers by what the question says ("" where one waits)."""


@contextmanager
def opened(path: Path, build: Build) -> Iterator[Graph]:
    """The graph on a database, which is closed afterwards; encrypted if there is a key."""
    serde = EncryptedSerializer.from_pycryptodome_aes() if os.environ.get(KEY_ENV) else None
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        yield build(SqliteSaver(connection, serde=serde))


def waiting(graph: Graph) -> dict[str, str]:
    """What each question says, with its id; nodes name those of plain text too."""
    found = {}
    for one in graph.get_state(on(THREAD)).tasks:
        for asked in one.interrupts:
            text = asked.value if isinstance(asked.value, str) else str(asked.value)
            found[text] = found[one.name] = asked.id
    return found


def library(path: Path, build: Build, answers: dict[str, Any]) -> Any:
    """What the library makes of a round of answers."""
    with opened(path, build) as graph:
        if list(answers) == [""]:
            return graph.invoke(Command(resume=answers[""]), on(THREAD))
        ids = waiting(graph)
        return graph.invoke(Command(resume={ids[name]: value for name, value in answers.items()}), on(THREAD))


def words(path: Path, build: Build, answers: dict[str, Any]) -> list[str]:
    """A round of answers on the command line."""
    if list(answers) == [""]:
        return ["--value", json.dumps(answers[""])]
    with opened(path, build) as graph:
        ids = waiting(graph)
    return [word for name, value in answers.items() for word in ("--interrupt", f"{ids[name]}={json.dumps(value)}")]


def resumed(path: Path, *words: str, capsys: pytest.CaptureFixture[str], thread: str = THREAD) -> Any:
    """The config that ``ckpt resume`` prints."""
    capsys.readouterr()
    assert run(["resume", thread, "-d", str(path), "--yes", *words]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def library_view(path: Path, build: Build) -> Any:
    """All that the library says of every checkpoint, metadata and the questions of each task with it."""
    with opened(path, build) as graph:
        return [
            (s.values, s.next, s.metadata, [sorted(map(str, t.interrupts)) for t in s.tasks])
            for s in graph.get_state_history(on(THREAD))
        ]


def plain(output: Any) -> Any:
    """What a run gave, with the order of siblings' questions taken away."""
    if isinstance(output, dict) and "__interrupt__" in output:
        return {**output, "__interrupt__": sorted(map(str, output["__interrupt__"]))}
    return output


@pytest.mark.parametrize("case", CASES)
def test_goes_on_alike(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After each round of answers, and at the end, both databases say the same."""
    build, rounds = CASES[case]
    first, second = tmp_path / "library.sqlite", tmp_path / "ckpt.sqlite"
    with opened(first, build) as graph:
        graph.invoke({"log": []}, on(THREAD))
    shutil.copy(first, second)
    for answers in rounds:
        config = resumed(second, *words(second, build, answers), capsys=capsys)
        assert config == {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}  # an id would drop the answer
        with opened(second, build) as graph:
            output = graph.invoke(None, config)
        assert plain(output) == plain(library(first, build, answers))
        assert library_view(second, build) == library_view(first, build)
    with opened(second, build) as graph:
        assert graph.get_state(on(THREAD)).next == ()
        assert graph.get_state(on(THREAD)).interrupts == ()


@pytest.mark.parametrize("key", ["", "0123456789abcdef"])
@pytest.mark.parametrize("case", CASES)
def test_shown_as_answered(
    case: str, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the answer and the run the question doesn't wait any more, and can't be answered twice; encrypted too."""
    monkeypatch.setenv(KEY_ENV, key)
    build, rounds = CASES[case]
    path = tmp_path / "ckpt.sqlite"
    with opened(path, build) as graph:
        graph.invoke({"log": []}, on(THREAD))
    for answers in rounds:
        before, answer_words = listed(path, capsys), words(path, build, answers)
        config = resumed(path, *answer_words, capsys=capsys)
        assert len(listed(path, capsys)) == len(before) - len(answers)
        if answer_words[0] != "--value" or len(before) == 1:
            assert run(["resume", THREAD, "-d", str(path), "--yes", *answer_words]) == 4
        with opened(path, build) as graph:
            graph.invoke(None, config)
    assert listed(path, capsys) == []


def test_an_answer_is_told_alike(database: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Each command that shows tasks marks a recorded answer with one word; an END warns that it is lost."""
    db = ["-d", str(database("real"))]
    resumed(Path(db[1]), "-i", "legal=true", capsys=capsys, thread="interrupt-multi")

    def told_by(*command: str) -> str:
        assert run([command[0], "interrupt-multi", *command[1:], *db]) == 0
        return capsys.readouterr().out

    found = {verb: json.loads(told_by(verb, "--json"))["tasks"] for verb in ("show", "replay", "writes")}
    assert {verb: [t["status"] for t in found[verb] if t["node"] == "legal"] for verb in found} == {
        verb: ["answered"] for verb in found
    }
    assert [[t["answers"] for t in found[verb]] for verb in ("show", "replay")] == [[[], [True], []]] * 2
    assert "legal   ○ answered: true, continues when resumed" in told_by("show")
    ended = told_by("replay", "--commit", "--dry-run", "--deferred", "send=no")
    assert "abandoned: legal (answered), review (waiting)" in ended
    assert "lost: the answer that was recorded for legal" in ended


def test_who_asked_is_told_with_its_callers(
    database: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A question of a subgraph is named by the nodes that lead to it, as threads and tree know only the first."""
    assert run(["resume", "subgraph-interrupted", "-d", str(database("real")), "--value", "1", "--dry-run"]) == 0
    assert "1 answer recorded for child › grand › leaf (" in capsys.readouterr().out
    both = ["-i", "legal=true", "-i", "review=1"]
    assert run(["resume", "interrupt-multi", "-d", str(database("real")), *both, "--dry-run"]) == 0
    assert "2 answers recorded for " in capsys.readouterr().out


def listed(path: Path, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """The questions that ckpt says wait."""
    capsys.readouterr()
    assert run(["resume", THREAD, "-d", str(path), "--json"]) == 0
    questions: list[Any] = json.loads(capsys.readouterr().out)["questions"]
    return questions


def images(path: Path) -> list[Any]:
    """Every row of both tables, to the byte."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            connection.execute(f"SELECT * FROM {t} ORDER BY 1, 2, 3, 4, 5").fetchall()
            for t in ("checkpoints", "writes")
        ]


@pytest.mark.parametrize("case", ["successive", "two levels down", "several by id"])
def test_undo_takes_the_answer_back(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every row is as it was, an earlier command's answer too, and the question waits again."""
    build, rounds = CASES[case]
    path = tmp_path / "ckpt.sqlite"
    with opened(path, build) as graph:
        graph.invoke({"log": []}, on(THREAD))
    for answers in rounds[:-1]:
        library(path, build, answers)
    before, questions = images(path), listed(path, capsys)
    resumed(path, *words(path, build, rounds[-1]), capsys=capsys)
    assert images(path) != before
    assert run(["undo", "-d", str(path), "--yes"]) == 0
    assert images(path) == before
    assert listed(path, capsys) == questions


@pytest.mark.parametrize("case", ["single", "two levels down", "memory"])
def test_an_answer_that_was_used_stays(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If the graph has continued with the answer, undo refuses, writes nothing, and says how to be asked again."""
    build, [answers] = CASES[case]
    path = tmp_path / "ckpt.sqlite"
    with opened(path, build) as graph:
        graph.invoke({"log": []}, on(THREAD))
        asked = graph.get_state(on(THREAD)).config["configurable"]["checkpoint_id"]
        questions = waiting(graph).keys()
    config = resumed(path, *words(path, build, answers), capsys=capsys)
    with opened(path, build) as graph:
        graph.invoke(None, config)
    before = images(path)
    assert run(["undo", "-d", str(path), "--yes"]) == 7
    assert "continued from what it added" in (error := capsys.readouterr().err)
    assert f"`ckpt rollback {THREAD} {asked}` makes the state before the answer current again" in " ".join(
        error.split()
    )
    assert images(path) == before
    assert run(["rollback", THREAD, asked, "-d", str(path), "--yes"]) == 0
    with opened(path, build) as graph:
        graph.invoke(None, on(THREAD))
        assert (waiting(graph).keys() == questions) is (case != "memory")  # which remembers the answer


def test_an_earlier_answer_is_not_taken_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What ``Command(resume=…)`` left behind answers no later question of the node."""
    path = tmp_path / "ckpt.sqlite"
    with opened(path, lasting) as graph:
        graph.invoke({"log": []}, on(THREAD))
        graph.invoke(Command(resume="one"), on(THREAD))
    config = resumed(path, "--value", '"two"', capsys=capsys)
    with opened(path, lasting) as graph:
        (asked,) = graph.invoke(None, config)["__interrupt__"]
    assert asked.value == "third?"


def deep_pair(saver: Any) -> Graph:
    """A subgraph with a node that asks twice."""
    ask = {"ask": lambda s: {"log": [interrupt("first?"), interrupt("second?")]}}
    return line(saver, "child", nodes={"child": line(None, "ask", nodes=ask)})


@pytest.mark.parametrize("depth", [0, 1])
def test_a_value_for_whoever_asks_first_is_cleared(
    depth: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A write of the null task, on the root's head or the asking subgraph's, answers no later question."""
    path = tmp_path / "ckpt.sqlite"
    with opened(path, deep_pair) as graph:
        graph.invoke({"log": []}, on(THREAD))
        state = graph.get_state(on(THREAD), subgraphs=True)
        config = [state.config, state.tasks[0].state.config][depth]
        graph.checkpointer.put_writes(config, [("__resume__", "whoever")], NULL_TASK)
    assert run(["resume", THREAD, "-d", str(path), "--value", '"one"', "--dry-run"]) == 0
    assert 'the answer "whoever", which an earlier Command(resume=…) left, is removed' in capsys.readouterr().out
    config = resumed(path, "--value", '"one"', capsys=capsys)
    with opened(path, deep_pair) as graph:
        (asked,) = graph.invoke(None, config)["__interrupt__"]
    assert asked.value == "second?"


def test_several_must_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If several questions wait, one answer is refused; if none fits, the error lists the waiting ones."""
    path = tmp_path / "ckpt.sqlite"
    with opened(path, lambda saver: asking(saver, many=True)) as graph:
        graph.invoke({"log": []}, on(THREAD))
        ids = [one.id for one in graph.get_state(on(THREAD)).interrupts]
    database = ["-d", str(path)]
    assert run(["resume", THREAD, *database, "--value", "1"]) == 2
    error = capsys.readouterr().err
    assert all(one in error for one in ids)
    assert run(["resume", THREAD, *database, "-i", "nobody=1"]) == 4
    assert run(["resume", THREAD, *database, "-i", "legal"]) == 2
    assert run(["resume", THREAD, *database, "-i", "legal=True"]) == 2
    assert run(["resume", THREAD, *database, "-i", "legal=1", "-i", "legal=2"]) == 2
    assert run(["resume", THREAD, *database]) == 0
    printed = capsys.readouterr().out
    assert all(one in printed for one in ids)
