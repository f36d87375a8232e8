"""Lists that were stored with items of later steps, where these steps are on another branch, or gone."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from ckpt_cli.app import run
from ckpt_cli.commands.blame import blame
from ckpt_cli.commands.replay import replay
from ckpt_cli.session import Session
from tests.commands.asking import at
from tests.commands.planted import Tables
from tests.commands.test_verify_honest import verified
from tests.commands.test_verify_stored_early import CONFIG, State, Waiting

_GONE = "later steps, which may have written them, may be gone"


class Told(Waiting):
    """Tells when step 1 is stored, before which the run doesn't go on."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.first = Event()

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: Any, versions: Any) -> RunnableConfig:
        put = super().put(config, checkpoint, metadata, versions)
        if metadata["step"] == 1:
            self.first.set()
        return put


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """Two nodes in turn, of which one writes an item each time; step 2 is stored when the list has all five."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite", check_same_thread=False)) as connection:
        saver = Told(connection)
        saver.lengths = {2: 5}
        graph = _graph(saver, saver.first.wait)
        graph.invoke({"n": 0}, CONFIG, durability="async")
        lengths = {one.metadata["step"]: len(one.values.get("heard", [])) for one in graph.get_state_history(CONFIG)}
        assert (lengths[1], lengths[2], lengths[10]) == (1, 5, 5)
        yield tmp_path / "t.sqlite"


def _graph(saver: Waiting, wait: Callable[[int], object] = int) -> Any:
    def read(_: State) -> State:
        wait(20)
        return {}

    builder = StateGraph(State)
    builder.add_node("write", lambda state: {"heard": f"item {state['n']}", "n": state["n"] + 1})
    builder.add_node(read)
    builder.add_edge(START, "write").add_edge("write", "read")
    builder.add_conditional_edges("read", lambda state: "write" if state["n"] < 5 else END, ["write", END])
    return builder.compile(checkpointer=saver)


def _run_again_from(path: Path, step: int) -> None:
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        saver = Waiting(connection)
        saver.lengths = {}
        graph = _graph(saver)
        [old] = [one for one in graph.get_state_history(CONFIG) if one.metadata["step"] == step]
        graph.invoke(None, old.config, durability="sync")


def _command(path: Path, *words: str) -> None:
    assert run([*words, "-d", str(path)]) == 0


def _verdicts(path: Path) -> dict[int, str]:
    """The verdict on each step, as `verify` gives it too."""
    with closing(Session(str(path))) as session:
        steps = {step.step: step.verdict for step in replay(session, "t", None, to="@").steps if step.step is not None}
    assert verified(str(path))[1][0].verdicts == {one: [*steps.values()].count(one) for one in {*steps.values()}}
    return steps


def test_who_wrote_an_item_on_the_branch_that_was_left(path: Path) -> None:
    """The line of the head goes another way from step 4 on; the run that stored the list went on to step 10."""
    _run_again_from(path, 4)
    for line in at(path, blame, "t", "heard").lines[2:5]:
        number = 2 * int(line.value.removeprefix("item ")) + 1
        assert (line.since.step, line.since.candidates) == (2, ["read", "write"])
        assert f"step {number} on another branch wrote it" in line.since.why


def test_who_wrote_an_item_after_the_line_ends(path: Path) -> None:
    """At a step before the head, the later steps are not on another branch."""
    for line in at(path, blame, "t", "heard", "step:3").lines[2:5]:
        assert "write" in line.since.candidates
        assert "another branch" not in line.since.why


@pytest.mark.parametrize("after", [2, 3, 4])
def test_no_step_is_suspect_if_the_steps_that_wrote_its_items_were_deleted(path: Path, after: int) -> None:
    """What the list has too early may come from steps that are gone, and `blame` says so."""
    _command(path, "delete", "t", "--after", f"step:{after}", "--yes")
    verdicts = _verdicts(path)
    assert "suspect" not in verdicts.values()
    assert verdicts[2] == "unknown"
    found = verified(str(path))[1][0].findings
    assert {(one.kind, one.channel) for one in found} == {("not-compared", "heard")}
    assert all(_GONE in one.why for one in found)
    last = at(path, blame, "t", "heard").lines[-1]
    assert (last.value, last.since.by) == ("item 4", "")
    assert "a later step may have written it, and such steps may be gone" in last.since.why


def test_no_step_is_suspect_if_such_steps_were_pruned(path: Path) -> None:
    """Steps 4 to 8 are gone, and step 9 continues from step 3."""
    for step in (-1, 0, 1, 2, 3):
        _command(path, "tag", "t", f"step:{step}", f"t{step + 1}")
    _command(path, "prune", "t", "--keep-last", "2", "--yes")
    verdicts = _verdicts(path)
    assert list(verdicts) == [-1, 0, 1, 2, 3, 9, 10]
    assert "suspect" not in verdicts.values()
    assert (verdicts[1], verdicts[2]) == ("agrees", "unknown")
    assert "such steps may be gone" in at(path, blame, "t", "heard").lines[-1].since.why


def test_no_step_is_suspect_if_the_branch_that_was_left_was_deleted(path: Path) -> None:
    """The fork point has another run's steps, which don't show what the first run's had written."""
    _run_again_from(path, 4)
    _command(path, "delete", "t", "--branch", "branch:1", "--yes")
    verdicts = _verdicts(path)
    assert "suspect" not in verdicts.values()
    assert verdicts[2] == verdicts[3] == "unknown"


def test_such_a_step_shows_no_reducer(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the two steps that wrote to the channel, `update` counts the one whose list has no items too many."""
    _command(path, "delete", "t", "--after", "step:4", "--yes")
    capsys.readouterr()
    words = ["--values", '{"heard": "mine"}', "--as-node", "write", "--dry-run"]
    _command(path, "update", "t", *words)
    assert "heard collect or accumulating topic (1 of 1 step)" in capsys.readouterr().out


def test_a_list_with_more_items_after_the_end_of_a_run_stays_suspect(path: Path) -> None:
    """Nothing was due after the last step, so no later step wrote what it has too much."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM checkpoints").fetchone()[0] == 12
    _forge(path, 10)
    assert _verdicts(path)[10] == "suspect"


def _forge(path: Path, step: int) -> None:
    tables = Tables(path)
    for one in tables.steps():
        if one.metadata["step"] == step:
            one.body["channel_values"]["heard"].append("forged")
            tables.put(one)
    tables.close()


class _Chat(TypedDict):
    messages: Annotated[list[Any], add_messages]


def test_no_topic_is_excused(tmp_path: Path) -> None:
    """A message put into a thread that waits: where messages were replaced before, the channel is no Topic."""
    path, number = tmp_path / "t.sqlite", iter(range(99))

    def answer(state: _Chat) -> Any:
        last = state["messages"][-1]
        return {"messages": [last.model_copy(update={"content": "read"}), AIMessage("next", id=str(next(number)))]}

    builder = StateGraph(_Chat).add_node("ask", lambda _: {"messages": [AIMessage("?", id=str(next(number)))]})
    builder.add_node("answer", answer).add_edge(START, "ask").add_edge("ask", "answer").add_edge("answer", "ask")
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = builder.compile(saver, interrupt_before=["answer"])
        graph.invoke({"messages": [HumanMessage("hello", id="h")]}, CONFIG, durability="sync")
        for _ in range(9):
            graph.invoke(None, CONFIG, durability="sync")
    tables = Tables(path)
    head = tables.steps()[-1]
    head.body["channel_values"]["messages"].append(HumanMessage("approve", id="forged"))
    tables.put(head)
    tables.close()
    assert _verdicts(path)[head.metadata["step"]] == "suspect"
    found = verified(str(path), reducer=["messages=messages"])[1][0].findings
    assert [(one.verdict, one.channel) for one in found] == [("differs", "messages")]
