"""What a plan promises of a subgraph with its own memory, against a run with an input and one without."""

import json
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from itertools import product
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import InvalidUpdateError
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ckpt_cli.app import run
from tests.graphs.building import Log, on


class State(TypedDict, total=False):
    """What the graph counts, and what its subgraph remembers."""

    n: int
    memory: Annotated[list[int], add]


def graph(saver: Any) -> Any:
    """``count``, then a subgraph that remembers each number it has seen."""
    inner = StateGraph(State)
    inner.add_node("note", lambda s: {"memory": [s["n"]]})
    inner.add_edge(START, "note")
    builder = StateGraph(State)
    builder.add_node("count", lambda s: {"n": s["n"] + 1})
    builder.add_node("sub", inner.compile(checkpointer=True))
    builder.add_edge(START, "count")
    builder.add_edge("count", "sub")
    return builder.compile(checkpointer=saver)


def remembered(saver: Any) -> list[int]:
    """The newest memory of the subgraph."""
    [newest] = saver.list({"configurable": {"thread_id": "t", "checkpoint_ns": "sub"}}, limit=1)
    memory: list[int] = newest.checkpoint["channel_values"]["memory"]
    return memory


@pytest.mark.parametrize("given", [None, {"n": 50}], ids=["no input", "input"])
@pytest.mark.parametrize("step", [2, 4])
def test_the_older_memory_is_promised_only_to_a_run_without_input(
    step: int, given: dict[str, int] | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Behind a finished turn nothing runs without an input, so nothing is promised."""
    path = str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        for n in (10, 20, 30):
            graph(saver).invoke({"n": n, "memory": []}, on("t"))
    capsys.readouterr()
    assert run(["rollback", "t", f"step:{step}", "-d", path, "--yes", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    promised = [note for note in plan["notes"] if "a call of sub in that run" in note]
    with SqliteSaver.from_conn_string(path) as saver:
        before = graph(saver).get_state(on("t")).next
        assert bool(promised) == bool(before) == (step == 4)
        assert all("and no input" in note for note in promised)
        if before or given:
            graph(saver).invoke(given, plan["config"])
            assert (31 in remembered(saver)) == (given is not None)


def looping(saver: Any, calls: list[list[int]], *, asks: bool = False) -> Any:
    """``before``, the subgraph, and ``after``, which leads to the subgraph again; `calls` notes what it remembers.

    The subgraph asks at its end, if so wanted.
    """

    def note(state: State) -> State:
        calls.append([*state.get("memory", [])])
        return {"memory": [len(calls)]}

    inner = StateGraph(State, output_schema=Counted).add_node("note", note).add_edge(START, "note")
    inner.add_node("ask", lambda _: {"n": interrupt("go on?")} if asks else {})
    inner.add_edge("note", "ask")
    builder = StateGraph(Counted)
    builder.add_node("before", lambda _: {})
    builder.add_node("sub", inner.compile(checkpointer=True))
    builder.add_node("after", lambda s: {"n": s["n"] + 1})
    builder.add_edge(START, "before")
    builder.add_edge("before", "sub")
    builder.add_edge("sub", "after")
    builder.add_conditional_edges("after", lambda s: "sub" if s["n"] % 3 else "__end__", ["sub", "__end__"])
    return builder.compile(checkpointer=saver)


class Counted(TypedDict, total=False):
    """The part of the state that the subgraph gives back."""

    n: int


BULK = '{"as_node": "before", "values": {"n": 4}}\n' * 2
LAST = ["--reducer", "n=last"]
CHANGES: dict[str, list[list[str]]] = {
    "fork": [["fork", "t", "{rev}"]],
    "rollback": [["rollback", "t", "{rev}"]],
    "edit": [["edit", "t", "{rev}", "--set", "n=4", "--create"]],
    "update": [["update", "t", "{rev}", "--as-node", "before", "--values", '{{"n": 4}}', *LAST]],
    "input": [["update", "t", "{rev}", "--as-input", "--values", '{{"n": 4}}']],
    "bulk": [["update", "t", "{rev}", "--bulk", "{bulk}", *LAST]],
    "fork, then edit": [["fork", "t", "{rev}"], ["edit", "t", "--set", "n=4", "--create"]],
    "rollback, then fork": [["rollback", "t", "{rev}"], ["fork", "t", "@"]],
    "copy": [["fork", "t", "{rev}", "--to", "u"]],
    "deletion": [["delete", "t", "--after", "{rev}"]],
    "pruned, then rollback": [["prune", "t", "--keep-last", "4"], ["rollback", "t", "{rev}"]],
    "pruned, then fork": [["prune", "t", "--keep-last", "4"], ["fork", "t", "{rev}"]],
}
CASES = [*product(CHANGES, ["sync"]), *product(["fork", "rollback", "edit", "fork, then edit"], ["exit"])]


@pytest.mark.parametrize(("change", "durability"), CASES)
def test_a_call_gets_the_memory_that_the_plan_names(
    change: str, durability: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From every checkpoint, with the config that is printed and with the thread's name alone."""
    path, calls = tmp_path / "t.sqlite", list[list[int]]()
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = looping(saver, calls, asks=durability == "exit")
        if durability == "exit":
            app.invoke({"n": 0}, on("t"), durability="exit")
        else:
            for _ in range(2):
                app.invoke({"n": 0}, on("t"))
        ids = [state.config["configurable"]["checkpoint_id"] for state in app.get_state_history(on("t"))]
    kept = 0
    for rev, alone in product(ids, (False, True)):
        copy = Path(shutil.copy(path, tmp_path / "copy.sqlite"))
        plan = _change(copy, CHANGES[change], rev, capsys)
        if plan is None:
            continue
        thread = on(plan["config"]["configurable"]["thread_id"])
        with SqliteSaver.from_conn_string(str(copy)) as saver:
            promised = _promised(plan, _memories(saver, thread), alone=alone)
            calls.clear()
            with suppress(InvalidUpdateError):  # a task that was due beside the node of the update
                looping(saver, calls).invoke(None, thread if alone else plan["config"])
        if promised is not None and calls:
            kept += 1
            assert calls[:1] == promised, (rev, alone, plan["notes"])
    assert kept > (2 if durability == "sync" else 0)


def _memories(saver: Any, thread: Any) -> dict[str, list[int]]:
    """What the subgraph remembers at each of its checkpoints, by the end of their ids."""
    space = {"configurable": {**thread["configurable"], "checkpoint_ns": "sub"}}
    found = [one.checkpoint for one in saver.list(space)]
    return {one["id"].rpartition("-")[2]: one["channel_values"].get("memory", []) for one in found}


def _change(path: Path, commands: Sequence[Sequence[str]], rev: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """What the last of some commands prints; None if one of them is refused."""
    bulk = path.with_name("bulk.jsonl")
    bulk.write_text(BULK)
    for words in commands:
        capsys.readouterr()
        given = [word.format(rev=rev, bulk=bulk) for word in words]
        if run([*given, "-d", str(path), "--yes", "--json"]):
            return None
    return json.loads(capsys.readouterr().out)


def _promised(plan: Any, memories: dict[str, list[int]], *, alone: bool) -> list[list[int]] | None:
    """What the notes say that the next call that runs its nodes remembers; None if they don't say it."""
    with_id = [note for note in plan["notes"] if note.startswith("with the checkpoint_id")]
    others = [note for note in plan["notes"] if "has its own memory" in note]
    names_it = not alone and "checkpoint_id" in plan["config"]["configurable"]
    said = " ".join(with_id if with_id and names_it else others)
    if "begins without memory" in said:
        return [[]]
    named = re.search(r"adds its input to (\w+)", said)
    return [[*memory] for end, memory in memories.items() if end.startswith(named[1])] if named else None


LESS = (["--keep-inputs", "--keep-last", "1"], [0, 0, 0], True), (["--keep-last", "1"], [2], False)


@pytest.mark.parametrize(("policy", "turns", "is_less"), LESS)
def test_prune_says_where_a_replay_finds_less(
    policy: list[str], turns: list[int], is_less: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run from a checkpoint that stays calls the subgraph with the memory that it had, else the plan says it."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = looping(saver, [])
        for n in turns:
            app.invoke({"n": n}, on("t"))
        ids = [one.config["configurable"]["checkpoint_id"] for one in app.get_state_history(on("t"))]
    before = {one: _replayed(path, one) for one in ids}
    plan = _change(path, [["prune", "t", *policy]], "", capsys)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        left = [one.checkpoint["id"] for one in saver.list({"configurable": {"thread_id": "t", "checkpoint_ns": ""}})]
    assert any(_replayed(path, one) != before[one] for one in left) == is_less
    assert any("less of the subgraph's memory" in note for note in plan["notes"]) == is_less
    assert len(left) < len(ids)


def _replayed(path: Path, checkpoint_id: str) -> list[list[int]]:
    """What the subgraph remembers where a run from a checkpoint calls it first."""
    calls = list[list[int]]()
    with SqliteSaver.from_conn_string(str(shutil.copy(path, path.with_name("replayed.sqlite")))) as saver:
        config = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": checkpoint_id}}
        looping(saver, calls).invoke(None, config)
    return calls[:1]


def test_a_hint_keeps_to_the_subgraph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is the head there already is looked for in its own namespace."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        looping(saver, []).invoke({"n": 0}, on("t"))
    assert run(["rollback", "t", "@", "--ns", "sub", "-d", str(path), "--yes"]) == 7
    assert "`ckpt log t --ns sub`" in capsys.readouterr().err


def test_only_the_newest_question_of_a_memory_is_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two branches asked in it: an answer to either is given to the newest question, as `tree` and `show` say."""
    path, calls = tmp_path / "t.sqlite", list[list[int]]()
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = looping(saver, calls, asks=True)
        app.invoke({"n": 0}, on("t"))
        [before] = [one.config for one in app.get_state_history(on("t")) if one.next == ("before",)]
        first = app.get_state(on("t")).config
        app.invoke(None, app.update_state(before, {"n": 1}))
        space = {"configurable": {"thread_id": "t", "checkpoint_ns": "sub"}}
        asking = [one.checkpoint["id"] for one in saver.list(space) if one.metadata["step"] == 1]
        tips = {one["checkpoint_id"]: one for one in _json(["log", "t", "--ns", "sub", "--all"], path, capsys)["steps"]}
        for one, is_newest in zip(asking, (True, False), strict=True):
            shown = _json(["show", "t", one, "--ns", "sub"], path, capsys)
            assert [shown["not_continued"] is None, tips[one]["not_continued"] is None] == [is_newest] * 2
        app.invoke(Command(resume=5), first)
        [newest] = saver.list(space, limit=1)
        assert newest.parent_config is not None
        assert newest.parent_config["configurable"]["checkpoint_id"] == asking[0]


def _json(words: Sequence[str], path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert run([*words, "-d", str(path), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_forks_that_are_each_others_parents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An altered database has an end too: how far the line of a fork had run is looked for along the cut circle."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        looping(saver, []).invoke({"n": 0}, on("t"))
        ids = [_change(path, [["fork", "t", "@"]], "", capsys)["config"]["configurable"]["checkpoint_id"] for _ in "ab"]
        for one, parent in (ids, ids[::-1]):
            saver.conn.execute("UPDATE checkpoints SET parent_checkpoint_id = ? WHERE checkpoint_id = ?", (parent, one))
        saver.conn.commit()
    assert _change(path, [["rollback", "t", ids[0]]], "", capsys)["config"]


def test_a_memory_that_went_on_past_its_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its caller took the answer and failed: `resume` doesn't say that the caller asks again, and it doesn't."""
    path, is_down = tmp_path / "t.sqlite", True
    inner = StateGraph(Log).add_node("talk", lambda _: {"log": [interrupt("who?")]}).add_edge(START, "talk")
    coach = inner.compile(checkpointer=True)

    def calls(_: Any) -> Any:
        said = coach.invoke({"log": []})["log"]
        if is_down:
            raise ValueError("down")
        return {"log": said}

    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = StateGraph(Log).add_node("calls", calls).add_edge(START, "calls").compile(checkpointer=saver)
        app.invoke({"log": []}, on("t"))
        with pytest.raises(ValueError, match="down"):
            app.invoke(Command(resume="Ada"), on("t"))
        assert run(["resume", "t", "--value", '"Bo"', "--yes", "-d", str(path)]) == 4
        said = " ".join(capsys.readouterr().err.split())
        assert "`ckpt edit t --task calls --again` it runs again; calls has its own memory" in said
        assert run(["edit", "t", "--task", "calls", "--again", "--yes", "-d", str(path)]) == 0
        is_down = False
        assert app.invoke(None, on("t"))["log"] == ["Ada"]
