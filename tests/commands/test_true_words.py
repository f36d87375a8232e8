"""No line of log, tree, show, diff or replay contradicts what the real library says of the same history."""

import operator
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Overwrite, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.diff import diff
from ckpt_cli.commands.log import log
from ckpt_cli.commands.replay import replay
from ckpt_cli.commands.show import show
from ckpt_cli.commands.tree import tree
from ckpt_cli.errors import UsageError
from ckpt_cli.views.steps import ChangeView, StepView
from tests.commands.asking import at, look

HISTORIES = 12
"""Random histories that are compared; raise it for a long run."""

Values = Mapping[str, Any]


def new_only(old: list[Any], new: list[Any]) -> list[Any]:
    """Append what isn't there yet."""
    return old + [item for item in new if item not in old]


def last_three(old: list[Any], new: list[Any]) -> list[Any]:
    """Keep the three newest items."""
    return (old + new)[-3:]


def longest(old: str, new: str) -> str:
    """Keep the longer text."""
    return max(old, new, key=len)


def capped(old: int, new: int) -> int:
    """Add, but never beyond ten."""
    return min(10, old + new)


def newest_first(old: list[Any], new: list[Any]) -> list[Any]:
    """Put new items before the old ones."""
    return new + old


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Merge, without what is None."""
    return {key: value for key, value in {**old, **new}.items() if value is not None}


class Everything(TypedDict, total=False):
    """Channels with reducers that ckpt knows, and with some that it doesn't."""

    n: int
    name: str
    best: Annotated[float, lambda old, new: max(old, new)]
    docs: Annotated[list[Any], new_only]
    recent: Annotated[list[Any], last_three]
    front: Annotated[list[Any], newest_first]
    text: Annotated[str, longest]
    score: Annotated[int, capped]
    total: Annotated[int, operator.add]
    log: Annotated[list[Any], operator.add]
    facts: Annotated[dict[str, Any], merged]
    messages: Annotated[list[AnyMessage], add_messages]


WRITES: dict[str, Callable[[Random], Any]] = {
    "name": lambda random: random.choice(["a", "b", "c"]),
    "best": lambda random: random.choice([0.2, 0.3, 0.9, 0.95]),
    "docs": lambda random: random.choices("xyz", k=random.randint(0, 2)),
    "recent": lambda random: random.choices(range(5), k=random.randint(0, 3)),
    "front": lambda random: random.choices(range(5), k=random.randint(0, 2)),
    "text": lambda random: random.choice("ab") * random.randint(0, 4),
    "score": lambda random: random.randint(-2, 7),
    "total": lambda random: random.randint(-2, 3),
    "log": lambda random: [random.choice("pq")] * random.randint(0, 2),
    "facts": lambda random: {random.choice("kl"): random.choice([1, 2, None])},
    "messages": lambda random: [AIMessage(f"reply {random.randint(0, 3)}", id=random.choice(["m1", "m2", "m3"]))],
}
EMPTY: tuple[Any, ...] = (None, [], 0, "", {})
"""What a channel with a reducer gives before it was ever written; the checkpoint has nothing there."""
REDUCED = ("docs", "recent", "front", "log")


def write(random: Random, *, whole: bool = False) -> dict[str, Any]:
    """What a node gives to some channels; with `whole`, also values that replace the old ones."""
    written = {channel: make(random) for channel, make in WRITES.items() if random.random() < 0.4}
    if whole and random.random() < 0.3:
        channel = random.choice(REDUCED)
        written[channel] = Overwrite(WRITES[channel](random))
    if random.random() < 0.1:
        written["messages"] = [RemoveMessage("__remove_all__")]
    return written


def graph(random: Random, saver: SqliteSaver) -> Any:
    """A graph of a few nodes in a loop; one may be a subgraph, one may send tasks."""

    def node(state: Everything) -> dict[str, Any]:
        return {**write(random, whole=True), "n": state.get("n", 0) + 1}

    def asking(state: Everything) -> dict[str, Any]:
        if random.random() < 0.2:
            interrupt("go on?")
        return node(state)

    inner = StateGraph(Everything)
    inner.add_node("in1", lambda _: write(random))
    inner.add_node("in2", lambda _: write(random, whole=True))
    inner.add_edge(START, "in1")
    inner.add_edge("in1", "in2")
    outer = StateGraph(Everything)
    outer.add_node("a", node)
    outer.add_node("b", inner.compile() if random.random() < 0.5 else node)
    outer.add_node("c", asking)
    outer.add_node("worker", lambda _: {"log": ["w"], "total": 1})
    outer.add_edge(START, "a")
    outer.add_conditional_edges(
        "a", lambda _: ["b"] if random.random() < 0.7 else [Send("worker", {}), Send("worker", {})], ["b", "worker"]
    )
    outer.add_edge("worker", "c")
    outer.add_edge("b", "c")
    limit = random.randint(2, 7)
    outer.add_conditional_edges("c", lambda state: END if state.get("n", 0) >= limit else "a", ["a", END])
    return outer.compile(checkpointer=saver)


def history(seed: int, path: Path) -> dict[str, dict[str, Values]]:
    """Makes a random history, and gives what the library says: namespace to checkpoint id to values."""
    random = Random(seed)
    config: Any = {"configurable": {"thread_id": "t"}}
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(random, saver)
        if random.random() < 0.3:
            app.update_state(config, write(random) | {"name": "begun by an update"}, as_node="a")
        app.invoke(write(random), config)
        for _ in range(random.randint(0, 3)):
            at = random.choice(list(app.get_state_history(config))).config
            kind = random.choice(["update", "again", "more", "answer", "edit", "exit"])
            if kind == "update":
                app.update_state(at, write(random, whole=True) | {"name": "updated"}, as_node=random.choice("ac"))
            elif kind == "again":
                app.invoke(None, at)
            elif kind == "exit":
                app.invoke(write(random), config, durability="exit")
            elif kind == "answer":
                app.invoke(Command(resume="yes"), config)
            elif kind == "edit":
                edits = ("--set", "best=0.1", "--set", 'docs=["edited"]')
                assert run(["edit", "t", at["configurable"]["checkpoint_id"], *edits, "-d", str(path), "--yes"]) in (
                    0,
                    4,
                )
            else:
                app.invoke(write(random), config)
        names = {row[0] for row in saver.conn.execute("SELECT DISTINCT checkpoint_ns FROM checkpoints")}
        return {ns: recorded(app, ns) for ns in names}


def recorded(app: Any, ns: str) -> dict[str, Values]:
    """Checkpoint id to the values that the library gives, as JSON."""
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": ns}}
    found = app.get_state_history(config)
    return {s.config["configurable"]["checkpoint_id"]: {c: known(v) for c, v in s.values.items()} for s in found}


def known(value: Any) -> Any:
    """A value of the library, as far as two sides are compared: of a message, its id and text."""
    if isinstance(value, AIMessage):
        return [value.id, value.content]
    return [known(item) for item in value] if isinstance(value, list) else value


def ours(value: Any) -> Any:
    """The same of a value that ckpt decoded."""
    if isinstance(value, list):
        return [ours(item) for item in value]
    fields = getattr(value, "fields", None)
    return [fields.get("id"), fields.get("content")] if fields and "content" in fields else value


def untrue(change: ChangeView, before: Values, after: Values) -> bool:
    """Whether a change says something else than the two states; a channel that was never written is empty there."""
    channel, said, was = change.channel, ours(change.after), before.get(change.channel)
    if change.kind in ("sent", "given", "wrote", "several"):
        return False
    now = after.get(channel)
    truths: dict[str, Callable[[], bool]] = {
        "same": lambda: was == now == said == ours(change.before),
        "changed": lambda: was != now and (ours(change.before), said) == (was, now),
        "set": lambda: now == said and (change.unsure or was in EMPTY),
        "cleared": lambda: ours(change.before) == was and was not in EMPTY and now in EMPTY,
        "replaced": lambda: was != now and now == said,
        "summed": lambda: (was or 0) + said == pytest.approx(now),
        "added": lambda: len(now or ()) - len(was or ()) == change.added - change.removed and _within(said, now),
        "edited": lambda: len(now or ()) - len(was or ()) == change.added - change.removed and _within(said, now),
    }
    return not truths[change.kind]()


def _within(items: list[Any], whole: Any) -> bool:
    return all(item in whole for item in items)


def silent(change: ChangeView, after: Values) -> bool:
    """Whether a line only says what was written, although the channel has a value that can be read."""
    return change.kind in ("wrote", "several", "unread") and change.channel in after


def steps(path: Path, ns: str) -> list[StepView]:
    """All lines of a namespace; log and tree say the same."""
    listed = look(path, lambda session: log(session, "t", everything=True, limit=0, ns=ns))[0].steps
    drawn = look(path, lambda session: tree(session, "t", full=True, ns=ns))[0].rows
    texts = {step.checkpoint_id: [change.text for change in step.changes or ()] for step in listed}
    for row in drawn:
        if row.step is not None:
            assert [change.text for change in row.step.changes or ()] == texts[row.step.checkpoint_id]
    return list(listed)


def false_lines(path: Path, ns: str, truth: Mapping[str, Values]) -> Iterator[tuple[str, str]]:
    """What log and tree say of a namespace that isn't so, or that they keep to themselves needlessly."""
    for step in steps(path, ns):
        before, after = truth.get(step.parent_id or "", {}), truth[step.checkpoint_id]
        for change in step.changes or ():
            if step.source != "input" and (untrue(change, before, after) or silent(change, after)):
                yield (
                    change.kind,
                    f"{step.checkpoint_id} {before.get(change.channel)} {after.get(change.channel)}: {change.text}",
                )


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_no_line_contradicts_the_library(seed: int, tmp_path: Path) -> None:
    """Random graphs with reducers that ckpt doesn't know, subgraphs, Sends, overwrites, questions, edits and forks."""
    path = tmp_path / "random.sqlite"
    truth = history(seed, path)
    assert sum(map(len, truth.values())) > 3
    for ns, states in truth.items():
        assert list(false_lines(path, ns, states)) == []
        for checkpoint_id, values in states.items():
            view = look(path, lambda session, i=checkpoint_id, ns=ns: show(session, "t", i, ns=ns))[0]
            shown = {name: ours(channel.value) for name, channel in view.channels.items()}
            assert {c: v for c, v in values.items() if c in shown} == shown
        ids = sorted(states)
        for one, other in pairwise(ids):
            compared = look(path, lambda session, a=one, b=other, ns=ns: diff(session, "t", a, b, ns=ns))[0]
            both = states[one].keys() | states[other].keys()
            changed = {c for c in both if states[one].get(c) != states[other].get(c)}
            said = {difference.path for difference in compared.channels}
            assert [c for c in changed - said if states[one].get(c) or states[other].get(c)] == []
            assert said - changed <= {c for c in both if states[one].get(c) in EMPTY}
        for tip in {step.checkpoint_id for step in steps(path, ns)} - {step.parent_id for step in steps(path, ns)}:
            try:
                played = at(path, replay, "t", to=tip, ns=ns)
            except UsageError:
                continue
            assert [(step.checkpoint_id, step.why) for step in played.steps if step.verdict == "differs"] == []
