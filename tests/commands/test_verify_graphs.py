"""``ckpt verify`` of small real graphs, each with a shape that a rule of ours once mistook for a fault."""

import operator
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel, LastValueAfterFinish, NamedBarrierValue, Topic
from langgraph.channels.named_barrier_value import NamedBarrierValueAfterFinish
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Overwrite, Send, interrupt

from ckpt_cli.commands.replay import replay
from ckpt_cli.session import Session
from ckpt_cli.views.verify import Finding
from tests import golden
from tests.commands.planted import Tables
from tests.commands.test_verify_honest import verified

CONFIG: Any = {"configurable": {"thread_id": "t"}}


class Recorded:
    """A database file, and the official saver that writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.saver = SqliteSaver(sqlite3.connect(path, check_same_thread=False))

    def graph(self, state: Any, nodes: dict[str, Any], *, alone: bool = False) -> Any:
        """The nodes one after the other; `alone` is a graph that another one calls."""
        graph = StateGraph(state)
        for before, (name, node) in zip([START, *nodes], nodes.items(), strict=False):
            graph.add_node(name, node)
            graph.add_edge(before, name)
        return graph.compile() if alone else graph.compile(checkpointer=self.saver)

    def findings(self) -> list[Finding]:
        """What `verify` finds in the only thread."""
        [thread] = verified(str(self.path))[1]
        return thread.findings


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    """An empty database."""
    made = Recorded(tmp_path / "t.sqlite")
    yield made
    made.saver.conn.close()


class WithTopic(TypedDict, total=False):
    """A topic that each step empties."""

    turn: int
    log: Annotated[list[str], operator.add]
    topic: Annotated[list[str], Topic(str)]


def test_an_emptied_topic_has_a_new_version_and_no_update(recorded: Recorded) -> None:
    """LangGraph stores it as an empty list, and leaves it out of updated_channels."""
    nodes = {"a": lambda _: {"topic": "x"}, "b": lambda _: {"log": ["b"]}, "c": lambda _: {"log": ["c"]}}
    graph = recorded.graph(WithTopic, nodes)
    for turn in range(3):
        graph.invoke({"turn": turn}, CONFIG)
    assert recorded.findings() == []


@pytest.mark.parametrize(
    ("channel", "second"),
    [
        (NamedBarrierValue(str, {"p", "q"}), "q"),
        (NamedBarrierValueAfterFinish(str, {"p", "q"}), "q"),
        (LastValueAfterFinish(str), "q"),
    ],
    ids=["barrier", "barrier-after-finish", "after-finish"],
)
def test_a_channel_that_is_not_available_yet_is_no_update(recorded: Recorded, channel: Any, second: str) -> None:
    """A barrier that waits for a name, and a value that waits for the end, have a new version and aren't listed."""

    class State(TypedDict, total=False):
        turn: int
        b: Annotated[str, channel]

    nodes = {"a": lambda _: {"b": "p"}, "b": lambda s: {"turn": s["turn"] + 1}, "c": lambda _: {"b": second}}
    graph = recorded.graph(State, {f"node_{name}": node for name, node in nodes.items()})
    for turn in range(2):
        graph.invoke({"turn": turn}, CONFIG)
    assert [one for one in recorded.findings() if one.verdict != "unknown"] == []


class Logged(TypedDict, total=False):
    """A log that nodes append to, and a price."""

    q: str
    price: int
    log: Annotated[list[str], operator.add]


def _ask(times: int) -> Any:
    def node(_: Logged) -> Logged:
        answers = [interrupt(f"question {number}") for number in range(times)]
        return {"price": len(answers), "log": [str(answers)]}

    return node


def _answered(recorded: Recorded, times: int) -> None:
    """A run that asks, an update of the state while it waits, and the answers, with which the node starts again."""
    graph = recorded.graph(Logged, {"a": lambda _: {"log": ["a"]}, "ask": _ask(times), "b": lambda _: {"log": ["b"]}})
    graph.invoke({"q": "x"}, CONFIG)
    graph.update_state(CONFIG, {"price": 7})
    for answer in range(times):
        graph.invoke(Command(resume=answer), CONFIG)


@pytest.mark.parametrize("times", [1, 3])
def test_answers_have_numbers_of_their_own(recorded: Recorded, times: int) -> None:
    """After an update there is no question on the checkpoint, and the task's first write has not the number 0."""
    _answered(recorded, times)
    assert [one for one in recorded.findings() if one.kind == "write-gone"] == []


def test_a_write_that_is_gone_after_answers(recorded: Recorded) -> None:
    """The finding names the checkpoint on which the row was, its step and the node."""
    _answered(recorded, 1)
    sql = "DELETE FROM writes WHERE channel = 'price' AND task_path LIKE '%ask' RETURNING checkpoint_id"
    [(at,)] = set(recorded.saver.conn.execute(sql).fetchall())
    recorded.saver.conn.commit()
    [gone] = [one for one in recorded.findings() if one.kind == "write-gone"]
    assert gone.verdict == "differs"
    assert f"on its parent, step 2 ({at}), node ask (task " in gone.why


def test_a_graph_that_a_task_calls_has_a_caller(recorded: Recorded) -> None:
    """The task itself has no checkpoints: the checkpoint from which it started called the graph."""
    inner = recorded.graph(Logged, {"n": lambda state: {"price": state["price"] + 1}}, alone=True)

    @task
    def call(number: int) -> Any:
        return inner.invoke({"price": number})

    @entrypoint(checkpointer=recorded.saver)
    def outer(number: int) -> Any:
        return call(number).result()

    outer.invoke(1, CONFIG)
    assert recorded.findings() == []
    sql = "DELETE FROM checkpoints WHERE checkpoint_ns = '' AND parent_checkpoint_id IS NULL"
    recorded.saver.conn.execute(sql)
    recorded.saver.conn.commit()
    assert {one.kind for one in recorded.findings()} >= {"caller-gone", "parent-gone"}


class Before(TypedDict, total=False):
    """The state of a graph before a deployment."""

    q: str
    route: str
    budget: float
    prefs: dict[str, str]


class After(TypedDict, total=False):
    """The state after it: two keys are gone, one is new, one has a reducer."""

    q: Annotated[str, operator.add]
    route: str
    notes: Annotated[list[str], operator.add]


def _deployed(recorded: Recorded) -> None:
    old = recorded.graph(Before, {"a": lambda _: {"route": "x", "budget": 2.5, "prefs": {"diet": "any"}}})
    new = recorded.graph(After, {"renamed": lambda _: {"route": "y", "notes": ["n"]}})
    for graph in (old, old, new, new):
        graph.invoke({"q": "x"}, CONFIG)


def test_a_deployment_may_remove_a_key(recorded: Recorded) -> None:
    """The key has no value in the next checkpoint, and keeps its version; what removed it isn't recorded."""
    _deployed(recorded)
    found = [(one.verdict, one.kind, one.channel, one.count) for one in recorded.findings() if one.channel != "q"]
    assert sorted(found) == [("unknown", "changed-without-version", channel, 1) for channel in ("budget", "prefs")]
    assert all(one.verdict == "unknown" for one in recorded.findings())


def test_a_deployment_may_be_taken_back(recorded: Recorded) -> None:
    """Then the removed keys have their old values under their old versions again, scalars too."""
    old = recorded.graph(Before, {"a": lambda state: {"budget": 2.5, "prefs": {"diet": "any"}}})
    only = recorded.graph(Before, {"a": lambda _: {"route": "x"}})
    new = recorded.graph(After, {"b": lambda _: {"route": "y"}})
    for graph in (old, new, only, new, only):
        graph.invoke({"q": "x"}, CONFIG)
    found = recorded.findings()
    assert {(one.verdict, one.kind) for one in found if one.channel in ("budget", "prefs")} == {
        ("unknown", "changed-without-version")
    }
    assert {one.verdict for one in found} == {"unknown"}


def test_reasons_without_a_parent(recorded: Recorded) -> None:
    """A run that stores its last state alone begins without a parent: no other child took its writes."""
    graph = recorded.graph(Before, {"a": lambda _: {"route": "x"}, "b": lambda _: {"budget": 1.0}})
    graph.invoke({"q": "x"}, CONFIG, durability="exit")
    assert {one.why for one in recorded.findings() if one.kind == "not-compared"} == {"no writes are stored for it"}


def _last_nine(old: list[str], new: list[str]) -> list[str]:
    return [*old, *new][-9:]


class Recent(TypedDict, total=False):
    """A list of which the graph's own reducer keeps the end."""

    q: str
    recent: Annotated[list[str], _last_nine]


def test_steps_that_a_nearly_known_reducer_does_not_explain(recorded: Recorded) -> None:
    """The channel stays unknown, but its line names the steps, so that one altered message among many is found."""
    graph = recorded.graph(Recent, {"a": lambda state: {"recent": [state["q"]]}})
    for number in range(12):
        graph.invoke({"q": str(number)}, CONFIG)
    [thread] = verified(str(recorded.path))[1]
    steps = [3 * turn + 1 for turn in (9, 10, 11)]
    [words] = [one.evidence for one in thread.channels if one.channel == "recent"]
    assert words == "append in 9 of 12 steps, not in steps 28, 31, 34"
    [rare] = [one for one in thread.findings if one.channel == "recent"]
    assert [at.step for at in rare.checkpoints] == steps
    assert (rare.verdict, rare.why.endswith("append explains 9 of 12 steps, and not this one")) == ("unknown", True)
    [unknown] = [one.unknown for one in thread.channels if one.channel == "recent"]
    assert (rare.count, unknown) == (3, 12)


def test_a_step_that_the_evidence_does_not_count_is_not_among_its_steps(recorded: Recorded) -> None:
    """An update is compared, and nothing is learned from it: the counts and the steps that are named are the runs'."""
    graph = recorded.graph(Recent, {"a": lambda state: {"recent": [state["q"]]}})
    for number in range(12):
        graph.invoke({"q": str(number)}, CONFIG)
    graph.update_state(CONFIG, {"recent": ["mine"]}, as_node="a")
    [thread] = verified(str(recorded.path))[1]
    [words] = [one.evidence for one in thread.channels if one.channel == "recent"]
    assert words == "append in 9 of 12 steps, not in steps 28, 31, 34"
    whys = [(one.count, one.why.partition("; ")[2]) for one in thread.findings if one.channel == "recent"]
    assert sorted(whys) == [
        (1, "append explains 9 of 12 other steps, and not this one"),
        (3, "append explains 9 of 12 steps, and not this one"),
    ]
    session = Session(str(recorded.path))
    *_, last = replay(session, "t", to="@").steps
    session.close()
    assert last.why.endswith("append explains 9 of 12 other steps, and not this one")


def _toggled(old: set[str], new: set[str]) -> set[str]:
    return old ^ new


class Flags(TypedDict, total=False):
    """A set of which the graph's own reducer drops what comes again."""

    given: set[str]
    flags: Annotated[set[str], _toggled]


def test_a_step_with_a_doubt_that_the_reducer_explains_is_not_among_its_steps(recorded: Recorded) -> None:
    """A step after a failure isn't compared, but where the reducer explains it, it is no step that it doesn't."""
    fails = [False, False, False, True]

    def mark(state: Flags) -> dict[str, Any]:
        if fails and fails.pop(0):
            raise RuntimeError("once")
        return {"flags": state["given"]}

    graph = recorded.graph(Flags, {"mark": mark})
    for given in ("a", "b", "a"):
        graph.invoke({"given": {given}}, CONFIG)
    with pytest.raises(RuntimeError):
        graph.invoke({"given": {"c"}}, CONFIG)
    graph.invoke(None, CONFIG)
    graph.invoke({"given": {"d"}}, CONFIG)
    [thread] = verified(str(recorded.path))[1]
    assert [one.evidence for one in thread.channels if one.channel == "flags"] == [
        "set union in 4 of 5 steps, not in step 7"
    ]
    listed = [(one.kind, one.checkpoints[0].step) for one in thread.findings if one.channel == "flags"]
    assert sorted(listed) == [("not-compared", 10), ("value", 7)]


@pytest.mark.parametrize("name", ["any", "ephemeral", "topic"])
def test_a_named_reducer_that_empties_is_refuted_by_a_value_that_stays(name: str, recorded: Recorded) -> None:
    """A step of a run in which nobody writes to a channel empties one of these kinds; this one keeps its value."""
    nodes = {"a": lambda _: {"route": "x"}, "b": lambda _: {"budget": 1.0}, "c": lambda _: {"budget": 2.0}}
    recorded.graph(Before, nodes).invoke({"q": "x"}, CONFIG)
    assert recorded.findings() == []
    [thread] = verified(str(recorded.path), reducer=[f"route={name}"])[1]
    found = {(one.channel, one.verdict) for one in thread.findings if "kept its value" in one.why}
    assert found == {("route", "differs")}
    session = Session(str(recorded.path))
    steps = list(replay(session, "t", "step:1", to="@", reducer=[f"route={name}"]).steps)
    session.close()
    assert {one.verdict for one in steps} == {"differs"}


def test_channels_of_one_checkpoint_are_one_finding_on_a_terminal(recorded: Recorded) -> None:
    """What is said of each channel alike is said once; a pipe has a row for each."""
    graph = recorded.graph(Before, {"a": lambda _: {"route": "x"}, "b": lambda _: {"budget": 1.0}})
    graph.invoke({"q": "x"}, CONFIG, durability="exit")
    view, threads = verified(str(recorded.path), threads=["t"])
    view.threads = threads
    terminal = [line.strip() for line in golden.lines(view, 80)]
    assert terminal.count("budget, q, route") == terminal.count("no writes are stored for it") == 1
    assert len([line for line in golden.lines(view, None) if "not-compared" in line]) == 3


def _words_of_both(path: Path, channel: str) -> tuple[dict[int, str], dict[int, str]]:
    """What `verify` and `replay --to` say of a channel, by step; each step is replayed alone."""
    [thread] = verified(str(path), threads=["t"])[1]
    found = [one for one in thread.findings if one.channel == channel]
    said = {at.step: f"{one.verdict} {one.why}" for one in found for at in one.checkpoints if at.step is not None}
    played: dict[int, str] = {}
    with closing(Session(str(path))) as session:
        for number in range(thread.steps - 1):
            [step] = replay(session, "t", f"step:{number - 1}", to=f"step:{number}").steps
            if step.verdict != "agrees":
                played[number] = f"{step.verdict} {step.why.removeprefix(f'{channel}: ')}"
    return said, played


class Answered(TypedDict, total=False):
    """A question, and one answer a turn."""

    q: str
    answer: str


@pytest.mark.parametrize(("turns", "others", "suspect"), [(3, 9, True), (1, 9, True), (3, 1, False)])
def test_a_forged_answer_is_suspect_by_other_threads(
    recorded: Recorded, turns: int, others: int, suspect: bool
) -> None:
    """Few own steps show the reducer; with other threads of the graph they do, and the forged step alone is named."""
    graph = recorded.graph(Answered, {"a": lambda state: {"answer": f"to {state['q']}"}})
    for thread_id in ("t", *(f"other {number}" for number in range(others))):
        for number in range(turns if thread_id == "t" else 2):
            graph.invoke({"q": str(number)}, {"configurable": {"thread_id": thread_id}}, durability="sync")
    assert not _found(recorded.path, "answer")
    _forge(recorded, 3 * turns - 2, {"answer": "forged"})
    [found] = _found(recorded.path, "answer")
    assert (found.verdict, [at.step for at in found.checkpoints]) == (
        "suspect" if suspect else "unknown",
        [3 * turns - 2],
    )
    assert suspect or found.why.endswith("last value or any value … explains 2 of 3 steps, and not this one")


def _found(path: Path, channel: str) -> list[Finding]:
    """What is found at a channel of the thread, which alone is asked about."""
    [thread] = verified(str(path), threads=["t"])[1]
    return [one for one in thread.findings if one.channel == channel]


def _forge(recorded: Recorded, step: int, values: dict[str, Any]) -> None:
    """Replace values in the body of one checkpoint of the thread."""
    tables = Tables(recorded.path)
    sql = "SELECT checkpoint_id FROM checkpoints WHERE thread_id = 't'"
    ids = {checkpoint_id for (checkpoint_id,) in tables.connection.execute(sql)}
    [stored] = tables.steps(lambda one: one.checkpoint_id in ids and one.metadata["step"] == step)
    stored.body["channel_values"].update(values)
    tables.put(stored)
    tables.close()


@pytest.mark.parametrize("altered", [4, 19, 34])
def test_replay_and_verify_say_the_same_of_an_altered_value(recorded: Recorded, altered: int) -> None:
    """Both learn from all steps of the thread, so that an early step isn't judged by the few before it."""
    graph = recorded.graph(Recent, {"a": lambda state: {"recent": [state["q"]]}})
    for number in range(12):
        graph.invoke({"q": str(number)}, CONFIG)
    said, played = _words_of_both(recorded.path, "recent")
    unusual = {step: words for step, words in played.items() if words.endswith("and not this one")}
    assert (said, len(said), len(played)) == (unusual, 3, 12)
    graph = recorded.graph(Logged, {"a": lambda state: {"log": [state["q"]]}})
    config: Any = {"configurable": {"thread_id": "t"}}
    recorded.saver.delete_thread("t")
    for number in range(12):
        graph.invoke({"q": str(number)}, config)
    _insert(recorded, altered)
    said, played = _words_of_both(recorded.path, "log")
    assert said == played
    assert {step: words[:7] for step, words in said.items()} == {altered: "suspect"}


class Counted(TypedDict, total=False):
    """A sum, and a turn that says whether to count."""

    q: int
    n: Annotated[int, operator.add]


@pytest.mark.parametrize("turns", [4, 12])
def test_the_step_after_a_forged_value_goes_on_from_the_true_one(recorded: Recorded, turns: int) -> None:
    """A number was changed where nothing wrote it: that checkpoint differs, and the next sum of the true one agrees."""
    graph = recorded.graph(Counted, {"a": lambda state: {"n": state["q"]}})
    for number in range(1, turns + 1):
        graph.invoke({"q": number}, CONFIG)
    forged = 3 * (turns // 2)  # the step before the one of `a`, which wrote only `q`
    _forge(recorded, forged, {"n": 1000})
    [thread] = verified(str(recorded.path), threads=["t"])[1]
    assert [(one.kind, one.verdict, one.channel) for one in thread.findings] == [
        ("changed-without-version", "differs", "n")
    ]
    assert [one.evidence for one in thread.channels if one.channel == "n"] == [f"sum ({turns} of {turns} steps)"]
    said, played = _words_of_both(recorded.path, "n")
    assert said == played and played.keys() == {forged}


def _insert(recorded: Recorded, first: int) -> None:
    """Put an item into the log of this step's checkpoint and of all later ones."""
    sql = "SELECT checkpoint_id, type, checkpoint FROM checkpoints WHERE json_extract(metadata, '$.step') >= ?"
    for checkpoint_id, form, body in recorded.saver.conn.execute(sql, (first,)).fetchall():
        stored = recorded.saver.serde.loads_typed((form, body))
        stored["channel_values"]["log"].insert(0, "forged")
        new = recorded.saver.serde.dumps_typed(stored)[1]
        recorded.saver.conn.execute(
            "UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (new, checkpoint_id)
        )
    recorded.saver.conn.commit()


def _all(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*(old or []), *(item for write in writes for item in write)]


class Delta(TypedDict, total=False):
    """A delta channel, of which no checkpoint of a short line stores the value."""

    q: str
    big: Annotated[list[str], DeltaChannel(_all)]


def test_a_fork_stores_a_delta_channel_whole(recorded: Recorded) -> None:
    """The writes are there, but nothing stored before shows what the reducer makes of them."""
    graph = recorded.graph(Delta, {"a": lambda _: {"big": ["a"]}, "b": lambda _: {"big": ["b"]}})
    for number in range(4):
        graph.invoke({"q": str(number)}, CONFIG)
    graph.invoke({"q": "fork"}, [*graph.get_state_history(CONFIG)][5].config)
    [found] = recorded.findings()
    assert (found.verdict, found.kind, found.channel) == ("unknown", "not-compared", "big")
    at = found.checkpoints[0].checkpoint_id
    with closing(Session(str(recorded.path))) as session:
        [step] = replay(session, "t", f"{at}~", to=at).steps
    assert (step.verdict, step.why) == ("unknown", f"big: {found.why}")


class Slow(SqliteSaver):
    """Stores the checkpoint of a step when a later step has added to a channel, as a busy database does."""

    def __init__(self, connection: sqlite3.Connection, channel: str, step: int) -> None:
        super().__init__(connection)
        self.has_writes, self.has_earlier = Event(), Event()
        self._channel, self._step = channel, step

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: Any, versions: Any) -> RunnableConfig:
        values, until = checkpoint["channel_values"], time.monotonic() + 20
        while metadata["step"] == self._step and len(values[self._channel]) == 1 and time.monotonic() < until:
            time.sleep(0.01)
        stored = super().put(config, checkpoint, metadata, versions)
        if metadata["step"] == self._step - 1:
            self.has_earlier.set()
        return stored

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], *task: str) -> None:
        super().put_writes(config, writes, *task)
        if self._channel in dict(writes):
            self.has_writes.set()


def test_a_barrier_that_is_stored_with_the_names_of_later_steps(recorded: Recorded) -> None:
    """It gives its own set to the checkpoint, and then adds to it: nothing is suspect of that."""

    class State(TypedDict, total=False):
        turn: int
        b: Annotated[str, NamedBarrierValue(str, {"p", "q"})]

    recorded.saver = saver = Slow(recorded.saver.conn, "b", 2)
    nodes = {
        "node_a": lambda _: {"b": "p"},
        "node_b": lambda _: {"turn": int(saver.has_earlier.wait(20))},
        "node_c": lambda _: {"b": "q"},
    }
    recorded.graph(State, nodes).invoke({"turn": 0}, CONFIG, durability="async")
    found = {(one.kind, one.verdict) for one in recorded.findings()}
    assert ("changed-without-version", "unknown") in found and {verdict for _, verdict in found} == {"unknown"}


def _extended(old: list[str], new: list[str]) -> list[str]:
    old.extend(new)
    return old


def _higher(old: int, new: int) -> int:
    return max(old, new)


class Extended(TypedDict, total=False):
    """A list that its reducer changes in place, and a number."""

    q: str
    log: Annotated[list[str], _extended]
    best: Annotated[int, _higher]


def test_an_overwrite_that_the_next_step_changes_in_place(recorded: Recorded) -> None:
    """The list is stored while the next step extends it: that is honest, so it is no more than suspect."""
    recorded.saver = slow = Slow(recorded.saver.conn, "log", 1)

    def extend(_: Extended) -> Extended:
        assert slow.has_writes.wait(20)
        return {"log": ["b"]}

    nodes = {"a": lambda _: {"log": Overwrite(["a"]), "best": Overwrite(3)}, "b": extend}
    graph = recorded.graph(Extended, nodes)
    graph.invoke({"q": "go"}, CONFIG)
    [found] = [one for one in recorded.findings() if one.channel == "log" and one.verdict != "unknown"]
    assert (found.verdict, found.why.partition(";")[0]) == ("suspect", "not the value that replaced it")
    sql = "SELECT checkpoint_id, type, checkpoint FROM checkpoints WHERE json_extract(metadata, '$.step') = 1"
    [(checkpoint_id, form, body)] = recorded.saver.conn.execute(sql).fetchall()
    stored = recorded.saver.serde.loads_typed((form, body))
    stored["channel_values"]["best"] = 4
    new = recorded.saver.serde.dumps_typed(stored)[1]
    recorded.saver.conn.execute("UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (new, checkpoint_id))
    recorded.saver.conn.commit()
    proven = [one.why for one in recorded.findings() if one.channel == "best" and one.verdict == "differs"]
    assert "not the value that replaced it" in proven


class Heard(TypedDict, total=False):
    """A Topic that keeps what was written to it: texts, or lists of texts."""

    turn: int
    heard: Annotated[list[str], Topic(str, accumulate=True)]


class Late(SqliteSaver):
    """A saver that is busy, so that a checkpoint is encoded when later steps have run."""

    def put(self, config: Any, checkpoint: Checkpoint, metadata: Any, new_versions: Any) -> Any:
        """Store it, late."""
        time.sleep(0.005)
        return super().put(config, checkpoint, metadata, new_versions)


def _heard(recorded: Recorded, values: Sequence[Any], turns: int = 3) -> None:
    recorded.saver = Late(recorded.saver.conn)
    nodes = {f"n{at}": lambda _, value=value: {"heard": value} for at, value in enumerate(values)}
    graph = recorded.graph(Heard, {"first": lambda _: {"turn": 0}, **nodes})
    for turn in range(turns):
        graph.invoke({"turn": turn}, CONFIG)


def _early(recorded: Recorded) -> list[tuple[str, int]]:
    """The checkpoints that hold more than their parent under its version of the channel."""
    rows = recorded.saver.conn.execute("SELECT type, checkpoint FROM checkpoints ORDER BY checkpoint_id").fetchall()
    bodies = [recorded.saver.serde.loads_typed(row) for row in rows]
    seen = [
        (str(body["channel_versions"].get("heard")), len(body["channel_values"].get("heard", ()))) for body in bodies
    ]
    return [own for before, own in pairwise(seen) if before[0] == own[0] and before[1] < own[1]]


def test_a_topic_that_is_stored_with_the_items_of_later_steps(recorded: Recorded) -> None:
    """What it has beyond its own step is what the next steps wrote: each step agrees."""
    _heard(recorded, ["a", ["b", "c"], "d"])
    assert _early(recorded)
    assert recorded.findings() == []
    said, played = _words_of_both(recorded.path, "heard")
    assert (said, played) == ({}, {})


def test_a_list_that_may_be_such_a_topic(recorded: Recorded) -> None:
    """If all its writes are lists, it may be an append too, which is never stored early: unknown."""
    _heard(recorded, [["a"], ["b", "c"]])
    assert {(one.verdict, one.kind, one.channel) for one in recorded.findings()} == {
        ("unknown", "changed-without-version", "heard")
    }


def _mean(old: list[int] | None, new: int) -> list[int]:
    total, count = old or [0, 0]
    return [total + new, count + 1]


class Measured(TypedDict, total=False):
    """A sum and a count."""

    n: int
    mean: Annotated[list[int], _mean]


def test_a_list_that_only_looks_like_the_writes_was_not_stored_early(recorded: Recorded) -> None:
    """The next write changes it, where a Topic would keep it. Steps that hold it unchanged have no finding."""
    nodes = {"a": {"mean": 2}, "b": {"n": 1}, "c": {"n": 2}, "d": {"mean": 1}}
    graph = recorded.graph(Measured, {name: lambda _, written=written: written for name, written in nodes.items()})
    graph.invoke({"n": 0}, CONFIG)
    found = [(one.kind, one.channel, {at.step for at in one.checkpoints}) for one in recorded.findings()]
    assert found == [("value", "mean", {1, 4})]


def test_a_list_that_was_stored_early_is_found_only_where_it_came(recorded: Recorded) -> None:
    """Not in the next steps, which have it from there under the same version."""
    nodes = {"a": {"heard": ["a"]}, "b": {"turn": 1}, "c": {"turn": 2}, "d": {"heard": ["b"]}}
    graph = recorded.graph(Heard, {name: lambda _, written=written: written for name, written in nodes.items()})
    graph.invoke({"turn": 0}, CONFIG)
    for row_id, *row in recorded.saver.conn.execute("SELECT rowid, type, checkpoint FROM checkpoints").fetchall():
        body = recorded.saver.serde.loads_typed(row)
        if body["channel_values"].get("heard") == ["a"]:
            body["channel_values"]["heard"].append("b")
            stored = recorded.saver.serde.dumps_typed(body)[1], row_id
            recorded.saver.conn.execute("UPDATE checkpoints SET checkpoint = ? WHERE rowid = ?", stored)
    recorded.saver.conn.commit()
    [found] = recorded.findings()
    assert (found.kind, [at.step for at in found.checkpoints]) == ("changed-without-version", [1])


def test_an_item_that_no_later_step_wrote(recorded: Recorded) -> None:
    """It is found among lists that were stored early, and the rest of the history agrees."""
    _heard(recorded, ["a", ["b", "c"], "d"], turns=6)
    sql = "SELECT checkpoint_id, type, checkpoint FROM checkpoints ORDER BY checkpoint_id DESC LIMIT 3"
    forged, kind, data = recorded.saver.conn.execute(sql).fetchall()[-1]
    body = recorded.saver.serde.loads_typed((kind, data))
    body["channel_values"]["heard"].append("forged")
    stored = recorded.saver.serde.dumps_typed(body)
    recorded.saver.conn.execute("UPDATE checkpoints SET checkpoint = ? WHERE checkpoint_id = ?", (stored[1], forged))
    recorded.saver.conn.commit()
    [found] = recorded.findings()
    assert (found.kind, found.channel, found.count) == ("value", "heard", 3)
    assert forged in {at.checkpoint_id for at in found.checkpoints}


@pytest.mark.parametrize("led_by", ["an edge", "a condition", "a goto"])
def test_a_deferred_node_is_due_after_a_step_that_did_not_lead_to_it(recorded: Recorded, led_by: str) -> None:
    """Its channel was written a step before; it gets a new version when no other node is due any more."""
    goto = Command(goto="late", update={"log": ["b"]})
    builder = StateGraph(Logged)
    builder.add_node("b", lambda _: goto if led_by == "a goto" else {"log": ["b"]}, destinations=("late",))
    for name in ("a", "c", "c2"):
        builder.add_node(name, lambda _, name=name: {"log": [name]})
    builder.add_node("late", lambda _: {"log": ["late"]}, defer=True)
    for start, end in ((START, "a"), ("a", "b"), ("a", "c"), ("c", "c2")):
        builder.add_edge(start, end)
    if led_by == "an edge":
        builder.add_edge("b", "late")
    elif led_by == "a condition":
        builder.add_conditional_edges("b", lambda _: "late", ["late"])
    ended = builder.compile(checkpointer=recorded.saver).invoke({"q": "", "log": []}, CONFIG)
    assert ended["log"] == ["a", "b", "c", "c2", "late"]
    assert recorded.findings() == []


def test_sends_of_a_command_that_is_the_input_were_sent(recorded: Recorded) -> None:
    """Also in a thread whose steps had Sends before, and by a single Send."""
    graph = recorded.graph(Logged, {"a": lambda _: {"log": ["a"]}, "work": lambda sent: {"log": [sent["q"]]}})
    graph.invoke({"q": "q", "log": []}, CONFIG)
    graph.invoke(Command(goto=[Send("work", {"q": "1"}), Send("work", {"q": "2"})]), CONFIG)
    assert graph.invoke(Command(goto=Send("work", {"q": "3"})), CONFIG)["log"][-1] == "3"
    assert recorded.findings() == []


def test_questions_that_langgraph_adds_to_what_an_entrypoint_returned(recorded: Recorded) -> None:
    """A run under "exit" that asks stores the output of the run before with its own questions in it."""

    @entrypoint(checkpointer=recorded.saver)
    def flow(given: dict[str, Any]) -> Any:
        return {"a": interrupt("?")} if given["ask"] else {"n": 1}

    flow.invoke({"ask": False}, CONFIG, durability="exit")
    returned = flow.invoke({"ask": True}, CONFIG, durability="exit")
    assert "__interrupt__" in flow.get_state(CONFIG).values and returned["n"] == 1
    for _ in range(2):  # each with questions of its own in place of those before
        flow.invoke({"ask": True}, CONFIG, durability="exit")
    found = {(one.kind, one.verdict) for one in recorded.findings()}
    assert ("changed-without-version", "unknown") in found and {verdict for _, verdict in found} == {"unknown"}
