"""The writes of a ``Command`` that a run gets as its input count as writes of the step that takes them in."""

import json
import operator
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.blame import blame
from ckpt_cli.commands.log import log
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.trace import trace
from ckpt_cli.commands.tree import tree
from tests.commands.asking import at, look
from tests.commands.test_verify_honest import verified

ON: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    """A list and a number that grow, and two plain values."""

    log: Annotated[list[str], operator.add]
    cost: Annotated[int, operator.add]
    n: int
    name: str


def graph(saver: SqliteSaver) -> Any:
    """Three nodes in a row, of which the second asks."""
    builder = StateGraph(State)
    builder.add_node("first", lambda _: {"log": ["first"], "cost": 1})
    builder.add_node("ask", lambda _: {"log": [interrupt("?")], "cost": 2, "n": 7})
    builder.add_node("last", lambda _: {"log": ["last"], "cost": 3})
    for one, other in ((START, "first"), ("first", "ask"), ("ask", "last")):
        builder.add_edge(one, other)
    return builder.compile(checkpointer=saver)


@pytest.fixture(params=[True, False], ids=["paths", "no paths"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A thread whose runs got Commands: with an answer, with a goto, and one that ran nothing."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(saver)
        app.invoke({"log": ["in"], "n": 1}, ON)
        app.invoke(Command(resume="yes", update={"log": ["by the way"], "cost": 10, "n": 2, "name": "x"}), ON)
        app.invoke(Command(goto="last", update={"log": ["more"], "name": "y"}), ON)
        app.invoke(Command(update={"log": ["late"]}), ON)
        app.invoke({"log": ["again"]}, ON)
    if not request.param:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE writes SET task_path = ''")
    return path


def test_replay_explains_every_step(path: Path) -> None:
    """Each recorded state is what the Command's writes and then the step's writes make."""
    view = at(path, replay, "t", to="@")
    assert {step.verdict for step in view.steps} == {"agrees"}, [(step.step, step.why) for step in view.steps]
    assert any(text.startswith("log append (") for text in view.reducers)
    assert any(text.startswith("cost sum") for text in view.reducers)
    assert any(text.startswith("name last value") for text in view.reducers)
    by_command = [(task.by, write.channel, write.value) for task in view.steps[3].tasks for write in task.writes]
    assert by_command[:2] == [("input", "log", ["by the way"]), ("input", "cost", 10)]


def test_log_and_tree_list_what_a_command_wrote(path: Path) -> None:
    """The row of a step names the channels that only the Command wrote to, and no other nodes than those that ran."""
    steps = list(look(path, lambda session: log(session, "t"))[0].steps)
    by_step = {step.step: step for step in steps}
    assert {change.channel for change in by_step[2].changes or ()} == {"log", "cost", "n", "name"}
    assert {change.channel for change in by_step[3].changes or ()} >= {"log", "cost"}
    assert "name" in {change.channel for change in by_step[4].changes or ()}
    assert [list(by_step[step].nodes) for step in (2, 3, 4)] == [["ask"], ["last"], ["last"]]
    drawn = look(path, lambda session: tree(session, "t", full=True))[0]
    assert {row.step.checkpoint_id: row.step.changes for row in drawn.rows} == {
        step.checkpoint_id: step.changes for step in steps
    }
    only = look(path, lambda session: log(session, "t", channel=["name"]))[0].steps
    assert [step.step for step in only] == [4, 2]


def test_update_learns_from_steps_that_took_in_a_command(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They fit the reducers that the graph has."""
    values = '{"log": ["z"], "cost": 1, "name": "q"}'
    assert run(["update", "t", "--values", values, "--as-node", "last", "-d", str(path), "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert "log append" in text and "cost sum" in text and "name last value" in text


def test_one_step_is_judged_by_the_steps_before_it_too(tmp_path: Path) -> None:
    """A product looks like a last value where it starts from 1; the earlier steps exclude that."""

    class Product(TypedDict, total=False):
        mul: Annotated[int, lambda old, new: (old or 1) * new]

    builder = StateGraph(Product)
    nodes = {"double": 2, "void": 0, "triple": 3}
    for node, factor in nodes.items():
        builder.add_node(node, lambda _, factor=factor: {"mul": factor})
    for one, other in ((START, "double"), ("double", "triple"), ("triple", "void")):
        builder.add_edge(one, other)
    path = tmp_path / "p.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        builder.compile(checkpointer=saver).invoke({"mul": 5}, ON)
    last_step = at(path, replay, "t", "step:2", to="step:3")
    assert [text for text in last_step.reducers if text.startswith("mul last value")] == []
    assert all(write.reducer is None for step in last_step.steps for task in step.tasks for write in task.writes)


def test_get_says_what_get_state_shows_beyond_the_stored_value(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`get` gives what `get_state` gives, or says that a Command wrote more, which `get_state` shows applied."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(saver)
        app.invoke(Command(update={"log": ["waiting"], "name": "z"}), ON)
        history = list(app.get_state_history(ON))
    said = 0
    for snapshot in history:
        for channel, value in snapshot.values.items():
            at_id = snapshot.config["configurable"]["checkpoint_id"]
            assert run(["get", "t", channel, "--at", at_id, "--json", "-d", str(path)]) in (0, 4)
            out, err = capsys.readouterr()
            shown = json.loads(out) if out else {"value": None, "command": None}
            if shown["value"] == value:
                assert shown["command"] == []
                continue
            said += 1
            assert "a Command wrote" in err or shown["command"] is None
    assert said > 2


def test_blame_and_bisect_name_a_command_that_no_step_has_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``get_state`` shows it applied; no checkpoint holds it, so both verbs say that it waits."""
    path = tmp_path / "late.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(saver)
        app.invoke({"log": ["in"], "n": 1}, ON, interrupt_before=["ask"])
        app.invoke(Command(update={"n": 9, "name": "late"}), ON, interrupt_before=["ask"])
        assert (app.get_state(ON).values["n"], app.get_state(ON).values["name"]) == (9, "late")
    where = ["-d", str(path)]
    assert run(["blame", "t", "n", "--json", *where]) == 0
    out, err = capsys.readouterr()
    assert "a Command wrote to n, which the channel doesn't hold yet" in err
    view = json.loads(out)
    assert [line["value"] for line in view["lines"]] == [1]
    assert view["command"] == [{"channel": "n", "value": 9}]
    for verb in ("get", "blame"):
        assert run([verb, "t", "name", *where]) == 4
        assert "a Command wrote to name, which the channel doesn't hold yet" in capsys.readouterr().err
    assert run(["blame", "t", "log", "--json", *where]) == 0
    out, err = capsys.readouterr()
    assert "Command" not in err and json.loads(out)["command"] == []
    assert run(["bisect", "t", "--good", "step:-1", "--where", "n == 1", "--json", *where]) == 0
    out, err = capsys.readouterr()
    assert "not tested: the Command that waits at " in err
    assert json.loads(out)["command"] == {"channels": ["n", "name"], "goto": []}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fork"], "values of a Command, with which the run from there began, are not copied: log, cost, n, name"),
        (
            ["fork", "--to", "new"],
            "values of a Command, with which the run from there began, are not copied: log, cost",
        ),
        (["rollback"], "values of a Command, with which the run from there began, are not copied: log, cost, n, name"),
        (
            ["fork", "--to", "new", "--with-pending"],
            'ask (finished), the answer "yes" of a Command(resume=…), the values of a Command (log, cost, n, name)',
        ),
    ],
    ids=["fork", "fork --to", "rollback", "with pending"],
)
def test_a_copy_of_an_earlier_checkpoint_says_what_becomes_of_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    """A run from the checkpoint itself applies the Command's values, one from its copy only if they are taken along."""
    path, (verb, *options) = tmp_path / "t.sqlite", words
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(saver)
        app.invoke({"log": ["in"], "n": 1}, ON)
        asked = app.get_state(ON).config["configurable"]["checkpoint_id"]
        app.invoke(Command(resume="yes", update={"log": ["by the way"], "cost": 10, "n": 2, "name": "x"}), ON)
        assert run([verb, "t", asked, *options, "-d", str(path), "--yes"]) == 0
        assert said in capsys.readouterr().out
        made: Any = {"configurable": {"thread_id": "new" if "--to" in options else "t"}}
        after = app.invoke(None, made)
    assert ("by the way" in after["log"]) is ("--with-pending" in options)


@pytest.mark.parametrize("due", [[], ["last"]], ids=["at the end", "before a node"])
def test_delete_after_a_command_says_what_runs_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], due: list[str]
) -> None:
    """The Command's goto and values are deleted with the run that it began; the plan names what `get_state` does."""
    path = tmp_path / "t.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(saver)
        app.invoke({"log": ["in"], "n": 1}, ON)
        app.invoke(Command(resume="yes"), ON, interrupt_before=due)
        before = app.get_state(ON)
        app.invoke(Command(goto="first", update={"log": ["more"]}), ON)
        kept = before.config["configurable"]["checkpoint_id"]
        assert run(["delete", "t", "--after", kept, "-d", str(path), "--yes"]) == 0
        said = capsys.readouterr().out
        after = app.get_state(ON)
        assert (list(after.next), after.config) == (due, before.config)
    assert f"are deleted; {'next: last' if due else 'nothing runs next'}\n" in said
    assert "deleted with these writes: the values of a Command (log), the goto of a Command (first)" in said


class Begun(TypedDict, total=False):
    """Channels of several kinds that a Command writes to."""

    jobs: list[Any]
    prefs: dict[str, Any]
    n: int
    log: Annotated[list[Any], operator.add]
    messages: Annotated[list[Any], add_messages]


@pytest.mark.parametrize("as_pairs", [False, True], ids=["a dict", "pairs"])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_command_may_begin_a_thread(durability: Any, as_pairs: bool, tmp_path: Path) -> None:
    """LangGraph applies it before it stores the first checkpoint, and once more by the task that takes the input."""
    path, config = tmp_path / "c.sqlite", {"configurable": {"thread_id": "t"}}
    builder = StateGraph(Begun)
    builder.add_node("prep", lambda state: {"n": state.get("n", 0) + 1, "log": ["p"], "messages": [HumanMessage("x")]})
    builder.add_edge(START, "prep")
    update = {"jobs": [1, 2], "prefs": {"a": 1}, "log": ["c"], "messages": [HumanMessage("hey", id="1")]}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        given = [*update.items()] if as_pairs else update
        app.invoke(Command(update=given, goto="prep"), config, durability=durability)
        for number in range(10):
            app.invoke({"jobs": [number, 8, 6], "messages": [HumanMessage("more")]}, config, durability=durability)
    [thread] = verified(str(path))[1]
    assert {one.verdict for one in thread.findings} <= {"unknown"}
    assert durability == "exit" or {one.kind for one in thread.findings} == {"writes-alone"}
    assert {step.verdict for step in at(path, replay, "t", to="@").steps} <= {"agrees", "unknown"}


def test_a_command_may_have_given_what_only_the_last_step_has(tmp_path: Path) -> None:
    """Under "exit" nothing shows a Command: `blame` has the input among the candidates, beside the nodes that ran."""
    path = tmp_path / "c.sqlite"
    builder = StateGraph(State).add_node("a", lambda _: {"log": ["a"]}).add_edge(START, "a")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"log": ["in"]}, ON, durability="exit")
        app.invoke(Command(goto="a", update={"log": ["given"]}), ON, durability="exit")
    by_value = {one.value: one.since for one in at(path, blame, "t", "log").lines}
    assert "given" in by_value and all({"input", "a"} <= {*one.candidates} for one in by_value.values())


@pytest.mark.parametrize("second", [{"log": ["new"]}, None], ids=["an input", "again"])
def test_each_run_from_a_checkpoint_applies_the_command_there(second: Any, tmp_path: Path) -> None:
    """A time travel to where a Command was given: both children have what it wrote, and none of both differs."""
    path = tmp_path / "c.sqlite"
    builder = StateGraph(State).add_node("a", lambda s: {"log": [f"a{len(s['log'])}"]}).add_edge(START, "a")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"name": "none", "log": []}, ON)
        before = app.get_state(ON).config
        app.invoke(Command(goto="a", update={"name": "z"}), ON)
        app.invoke(second, before)
        heads = [one.values.get("name") for one in app.get_state_history(ON)]
    assert heads.count("z") >= 3
    [thread] = verified(str(path))[1]
    assert {(one.kind, one.verdict) for one in thread.findings} <= {("not-compared", "unknown")}
    [one] = at(path, blame, "t", "name", at="branch:1").lines
    assert (one.value, one.since.by) == ("z", "input")


def test_a_command_that_led_nowhere_and_a_run_that_stored_no_step(tmp_path: Path) -> None:
    """The first one's write stays at the checkpoint; it isn't all that the step of a failed "exit" run wrote."""
    path, fails = tmp_path / "c.sqlite", list[bool]()

    def end(_: Any) -> Any:
        if fails:
            raise OSError("down")
        return {"log": ["end"]}

    builder = StateGraph(State).add_node("a", lambda _: {"log": ["a"]}).add_node("end", end)
    builder.add_edge(START, "a").add_edge("a", "end")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"name": "x", "log": []}, ON)
        app.invoke(Command(update={"log": ["u"]}), ON)
        fails.append(True)
        with pytest.raises(OSError, match="down"):
            app.invoke(Command(update={"name": "z"}, goto="a"), ON, durability="exit")
    [thread] = verified(str(path))[1]
    assert {one.verdict for one in thread.findings} == {"unknown"}


@pytest.fixture(params=[True, False], ids=["paths", "no paths"])
def sent(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A thread that ended, and whose next run got a Command that sends; its task sends too."""
    path = tmp_path / "sent.sqlite"
    builder = StateGraph(State)
    builder.add_node("first", lambda _: {"log": ["first"]})
    builder.add_node("work", lambda _: Command(update={"log": ["work"]}, goto=[Send("more", {})]))
    builder.add_node("more", lambda _: {"log": ["more"]})
    builder.add_edge(START, "first")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = builder.compile(checkpointer=saver)
        app.invoke({"log": ["in"]}, ON)
        app.invoke(Command(goto=[Send("work", {}), Send("work", {})]), ON)
    if not request.param:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE writes SET task_path = ''")
    return path


def test_what_a_command_sent_is_not_the_steps(sent: Path) -> None:
    """`log` says which Sends came with the input, and ran in the row, and which the row's tasks sent."""
    steps = {step.step: step for step in look(sent, lambda session: log(session, "t"))[0].steps}
    own = [change for change in steps[2].changes or () if change.kind == "sent"]
    assert [(change.by_command, dict(change.to)) for change in own] == [(True, {"work": 2}), (False, {"more": 2})]
    assert [change.text for change in own] == ["Command → work ×2", "→ more ×2"]


def test_trace_counts_no_command_as_a_run(sent: Path, path: Path) -> None:
    """A Command that a run got, or an update, has its row of writes, and no runs: no task ran."""
    view = at(sent, trace, "t")
    assert view.sums.runs == 6  # __start__, first, twice work and more
    (command,) = [node for node in view.nodes if node.kind == "command"]
    assert (command.runs, command.finished, command.writes) == (0, 0, 2)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        before = at(path, trace, "t").sums.runs
        graph(saver).update_state(ON, {"n": 3}, as_node="last")
    assert at(path, trace, "t").sums.runs == before
