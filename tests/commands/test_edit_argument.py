"""``ckpt edit --task``: what it refuses, what it says, and which task is meant. What runs then: ``tests/cross``."""

import json
import shlex
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ckpt_cli.app import run
from tests.cross.corrected import documents
from tests.cross.pending import calls, flow, siblings
from tests.graphs import Graph
from tests.graphs.building import Bag, line, on

Said = Callable[..., tuple[int, str]]


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs ``ckpt edit`` on a thread of a graph; gives the exit code and all that was printed."""

    def edit(build: Any, given: Any, *words: str) -> tuple[int, str]:
        path = tmp_path / "threads.sqlite"
        if not path.exists():
            with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
                graph = build(SqliteSaver(connection), [])
                try:
                    graph.invoke(given, on("t"), durability="sync")
                except ValueError:
                    assert build is documents
        code = run(["edit", "t", *words, "-d", str(path), "--dry-run"])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return edit


_START = {"log": [], "n": 0}


def test_the_plan_names_what_is_kept(said: Said) -> None:
    """The plan has the argument before and after, the siblings with their states, and the tasks that run."""
    code, text = said(documents, _START, "--task", "read[2]", "--set", "n=7", "--json")
    plan = json.loads(text[: text.rindex("}") + 1])
    assert code == 0
    assert "the argument of read [2/4] at" in plan["summary"]
    assert "next: read [2, 3 of 4]" in plan["summary"]
    assert plan["notes"][0] == "kept: read [1, 4 of 4] (finished), read [3/4] (waiting), beside (finished)"
    [part] = plan["changes"][0]["parts"]
    assert (part["path"], part["before"], part["after"]) == ("argument.n", 1, 7)


def test_a_failed_sibling_is_not_called_kept(said: Said) -> None:
    """The next run runs it again: the plan says this, and its summary has it among what runs."""
    code, text = said(documents, _START, "--task", "read[3]", "--again", "--json")
    plan = json.loads(text[: text.rindex("}") + 1])
    assert code == 0 and "next: read [2, 3 of 4]" in plan["summary"]
    assert plan["notes"][:2] == [
        "kept: read [1, 4 of 4] (finished), beside (finished)",
        "read [2/4] failed and runs again",
    ]


@pytest.mark.parametrize(
    "words, code, text",
    [
        (["--task", "read", "--set", "n=7"], 2, "'read' fits 4 tasks"),
        (["--task", "read[9]", "--set", "n=7"], 4, "no task 'read[9]' starts at that checkpoint"),
        (["--task", "beside", "--set", "n=7"], 4, "has no argument of its own"),
        (["--task", "read[2]", "--set", "n=7", "--argument", "1"], 2, "--argument is the whole argument"),
        (["--task", "read[2]", "--patch", "[]", "--argument", "1"], 2, "--argument is the whole argument"),
        (["--task", "read[2]", "--patch", '[{"op": "replace", "path": "/gone", "value": 7}]'], 4, "gone"),
        (["--argument", "1"], 2, "belong to --task"),
        (["--task", "read[2]", "--set", "n=1"], 0, "changes nothing; --again starts the task"),
        (["--task", "read[2]", "--again", "--set", "n=7"], 2, "leave out --again, or the edit"),
        (["--again"], 2, "belong to --task"),
        (["--task", "read[2]", "--set", "nn=7"], 4, "did you mean n? If not, --create adds the key"),
        (["--task", "read[2]", "--set", "nn=7", "--create"], 0, "argument.nn"),
        (["--task", "read[2]", "--argument", "[1]"], 0, "argument was an object and is a list now"),
        (["--task", "read[2]", "--set", "other.deep=1"], 4, "other"),
        (["--task", "read[2]", "--set", "n=7", "--keep-task", "load"], 4, "no call of a @task has finished there"),
    ],
)
def test_what_is_meant_must_be_clear(words: list[str], code: int, text: str, said: Said) -> None:
    """A name that fits no task or several, an argument that isn't one, and options that don't fit are refused."""
    assert (result := said(documents, _START, *words))[0] == code
    assert text in result[1]


@pytest.mark.parametrize(
    "words",
    [
        ["--patch", '[{"op": "replace", "path": "/n", "value": 7}]'],
        ["--patch", '[{"op": "replace", "path": "/n", "value": 6}]', "--set", "n=7"],
        ["--argument", '{"n": 7}'],
        [],
    ],
)
def test_every_way_to_edit(words: list[str], said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch whose paths are in the argument, --set after it, the whole argument, or the editor come to the same."""
    script = "import pathlib, sys; f = pathlib.Path(sys.argv[1]); f.write_text(f.read_text().replace(': 1', ': 7'))"
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, "-c", script]))
    code, text = said(documents, _START, "--task", "read[2]", *words, "--json")
    [change] = json.loads(text[text.index("{\n") : text.rindex("}") + 1])["changes"]
    part = next(part for part in change["parts"] if part["path"] == "argument.n")
    assert (code, part["path"], part["before"], part["after"]) == (0, "argument.n", 1, 7)
    assert ("the argument of the task that starts at" in text) is (not words)


def test_what_else_runs_is_said(said: Said, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An edit of the state doesn't reach the tasks of Sends; a run that takes an answer runs the failed task too."""
    text = said(documents, _START, "--set", "n=9", "--rerun")[1]
    assert "read (4 tasks) run with the arguments of their Sends, each of which stays as it is" in text
    assert "after this edit, `ckpt edit t @ --task 'read[1]' --set PATH=JSON` changes one" in text
    assert run(["resume", "t", "--value", "1", "-d", str(tmp_path / "threads.sqlite"), "--dry-run"]) == 0
    assert "that run runs read [2/4] (failed) too" in capsys.readouterr().out


def test_an_input_is_no_state_yet(said: Said) -> None:
    """An edit of the state of a workflow that has not ended names the command that edits its input."""
    for words in (("--set", "pages[1]=7"), ("--set", "pages=7"), ("--unset", "pages")):
        code, text = said(flow, 3, *words, "--rerun")
        assert code == 4 and "`ckpt edit t @ --task main --set PATH=JSON` changes the input" in text


def test_a_field_of_an_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a workflow that saved something before failed at its next input, the hint edits the input's field."""
    path = tmp_path / "t.sqlite"

    def form(given: dict[str, int]) -> int:
        return 10 // given["year"]

    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        workflow = entrypoint(checkpointer=SqliteSaver(connection))(form)
        workflow.invoke({"year": 1}, on("t"))
        with pytest.raises(ZeroDivisionError):
            workflow.invoke({"year": 0}, on("t"))
    assert run(["edit", "t", "--set", "year=3", "--rerun", "-d", str(path), "--dry-run"]) == 4
    hint = capsys.readouterr().err
    assert "`ckpt edit t @ --task form --set year=JSON` changes the input" in hint
    assert run(["edit", "t", "@", "--task", "form", "--set", "year=3", "-d", str(path), "--yes"]) == 0
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        assert entrypoint(checkpointer=SqliteSaver(connection))(form).invoke(None, on("t")) == 3


def test_a_task_of_an_edge_reads_the_state(said: Said) -> None:
    """A task that no Send started has no argument; the hint names the edit of the state."""
    code, text = said(siblings, {"log": []}, "--task", "asks", "--set", "log=[]")
    assert code == 4 and "ckpt edit t --set" in text


def test_a_sibling_in_a_subgraph_starts_again_only_if_allowed(said: Said) -> None:
    """A subgraph's namespace has the id of its task, so a sibling that waits in one is refused without --rerun."""
    words = ("--task", "child[1]", "--set", "n=5")
    code, text = said(calls, _START, *words)
    assert code == 7 and "child [3/4] stopped in a subgraph" in text
    code, text = said(calls, _START, *words, "--rerun")
    assert code == 0 and "kept: child [2, 4 of 4] (finished)" in text


def test_a_sibling_that_starts_again_is_named(said: Said) -> None:
    """Its answer or question isn't kept, so the plan says that its subgraph runs and asks again."""
    _, text = said(calls, _START, "--task", "child[1]", "--set", "n=5", "--rerun")
    assert "child [3/4] waits for an answer at that checkpoint; after the new one it runs again from its start" in text
    assert "child [3/4] (a subgraph) ran in part; after the new checkpoint it starts again" in text


def remembers(saver: Any, _: list[str]) -> Graph:
    """A fan-out, then a subgraph with its own memory."""
    memory = line(True, "pre", nodes={"pre": lambda s: {"log": [s["n"]]}})
    builder = StateGraph(Bag).add_node("split", lambda _: {"log": []}).add_node("work", lambda s: {"log": [s["n"]]})
    builder.add_node("memory", memory).add_edge(START, "split").add_edge("work", "memory")
    builder.add_conditional_edges("split", lambda s: [Send("work", {"n": n, "log": []}) for n in range(2)], ["work"])
    return builder.compile(checkpointer=saver)


def test_an_own_memory_that_stays_is_named(said: Said, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A subgraph of a later step keeps the memory of the abandoned run, as the plan of a fork from there says too."""
    code, text = said(remembers, _START, "step:1", "--task", "work[2]", "--set", "n=7")
    assert code == 0
    assert run(["fork", "t", "step:1", "-d", str(tmp_path / "threads.sqlite"), "--dry-run"]) == 0
    forked = [one for one in capsys.readouterr().out.splitlines() if "memory" in one]
    assert forked and forked[0] in text.splitlines()
    assert f"{forked[1]}, but every task of the step runs again" in text.splitlines()


def test_calls_are_kept_by_name_or_run_again(said: Said) -> None:
    """The results of @task calls are neither lost nor kept unasked."""
    code, text = said(flow, 3, "--task", "main", "--argument", "10")
    assert code == 7 and "2 calls of @task functions" in text and "--keep-task NAME" in text
    code, text = said(flow, 3, "--task", "main", "--argument", "10", "--keep-task", "double")
    assert code == 0 and "kept: the results of 2 calls (double)" in text


@pytest.mark.parametrize(
    "names, hint",
    [
        (["doble"], "hint: finished there: 2 calls of functions whose names aren't stored; `ckpt writes t "),
        (["double", "ask"], "hint: leave it out: all that have finished there are 2 calls of double\n"),
    ],
)
def test_a_call_that_is_not_there_is_refused_with_those_that_are(names: list[str], hint: str, said: Said) -> None:
    """The names of functions aren't stored, so that only the calls of a right name can be named."""
    options = [word for name in names for word in ("--keep-task", name)]
    code, text = said(flow, 3, "--task", "main", "--argument", "10", *options)
    assert code == 4 and f"@task {names[-1]!r} is stored there" in text and hint in text
    assert ("--rerun lets the run make them anew" in text) is (len(names) == 1)


@pytest.mark.parametrize("words", [["--set", "x=1"], ["--again"]], ids=" ".join)
@pytest.mark.parametrize("source", ["legacy/py-0.3.34", "js"])
def test_older_generations_are_refused(
    source: str, words: list[str], database: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where Sends are stored with the parent, and for LangGraph.js, nothing is written, and the reason is named."""
    thread = "send-suspended" if source != "js" else "js-chat"
    task = "work[1]" if source != "js" else "agent"
    code = run(["edit", thread, "--task", task, *words, "-d", str(database(source)), "--dry-run"])
    error = capsys.readouterr().err
    assert code == 6 and "nothing was written" in error


def test_the_corrected_task_was_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`log` and `tree` say which argument was changed; writes that are carried don't say that something ran there."""
    path = tmp_path / "threads.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection, pytest.raises(ValueError):
        documents(SqliteSaver(connection), []).invoke(_START, on("t"), durability="sync")
    assert run(["edit", "t", "--task", "read[2]", "--set", "n=7", "--yes", "-d", str(path)]) == 0
    capsys.readouterr()
    assert run(["log", "t", "-n", "1", "-d", str(path)]) == 0
    assert "read [2/4] n 1→7" in capsys.readouterr().out
    assert run(["tree", "t", "-d", str(path)]) == 0
    drawn = capsys.readouterr().out
    assert "read [2/4] n 1→7" in drawn
    assert "○ read [2/4]" in drawn and "would run next" in drawn
    assert "stopped, killed" not in drawn


def test_another_input_of_an_entrypoint_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`log` has the old input and the new one."""
    path = tmp_path / "threads.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        flow(SqliteSaver(connection), []).invoke(3, on("t"), durability="sync")
    assert run(["edit", "t", "--task", "main", "--argument", "10", "--rerun", "--yes", "-d", str(path)]) == 0
    capsys.readouterr()
    assert run(["log", "t", "-n", "1", "-d", str(path)]) == 0
    assert "given 3→10" in capsys.readouterr().out
