"""``ckpt verify`` of random runs of random graphs: nothing differs, and at most one step in a thousand is suspect."""

import os
from collections import Counter
from contextlib import closing
from operator import add
from pathlib import Path
from random import Random
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.channels import DeltaChannel, EphemeralValue, Topic, UntrackedValue
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, Overwrite, Send, interrupt

from ckpt_cli.app import run
from ckpt_cli.commands.verify import verify
from ckpt_cli.session import Session

GRAPHS = int(os.environ.get("CKPT_RANDOM_GRAPHS", "16"))


def _bounded(old: list[int], new: list[int]) -> list[int]:
    return [*old, *new][-5:]


def _joined(old: list[str], writes: list[list[str]]) -> list[str]:
    return [*old, *(item for write in writes for item in write)]


class State(TypedDict, total=False):
    """A channel of every kind: known reducers, one that ckpt doesn't know, and values that are never stored."""

    log: Annotated[list[str], add]
    total: Annotated[int, add]
    last: dict[str, int]
    best: Annotated[list[int], _bounded]
    said: Annotated[list[AnyMessage], add_messages]
    seen: Annotated[set[int], lambda old, new: old | new]
    news: Annotated[list[str], Topic]
    heard: Annotated[list[str], Topic(str, accumulate=True)]
    brief: Annotated[str, EphemeralValue]
    hidden: Annotated[str, UntrackedValue]
    seq: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=3)]


class Shared(Exception):
    """A node fails with it."""


def _written(dice: Random, name: str) -> dict[str, Any]:
    """What a node writes; `last` only where no other node runs beside it."""
    number = dice.randrange(100)
    values = {
        "log": Overwrite([name]) if name.startswith("node") and dice.random() < 0.1 else [f"{name} {number}"],
        "total": number,
        "best": [number],
        "said": [AIMessage(f"{name} {number}")],
        "seen": {number % 9},
        "seq": [f"{name} {number}"],
        "news": [name, f"{number}"],
        "heard": name if dice.random() < 0.8 else [name, f"{number}"],
        **({"last": {name: number}, "brief": name, "hidden": name} if not name.startswith("side") else {}),
    }
    return {channel: value for channel, value in values.items() if dice.random() < 0.5}


def _node(dice: Random, name: str) -> Any:
    asks, fails = dice.random() < 0.15, dice.random() < 0.1

    def run_node(_: Any) -> dict[str, Any]:
        written = _written(dice, name)
        if asks:
            written["log"] = [f"answered {interrupt(name)}"]
        if fails and dice.random() < 0.4:
            raise Shared(name)
        return written

    return run_node


def _graph(dice: Random, saver: Any) -> Any:
    """A line of nodes with pairs beside each other, a fan-out, and nodes that wait for all others."""
    builder = StateGraph(State)
    before = [START]
    for place in range(dice.randint(2, 5)):
        names = [f"side{place}{half}" for half in "ab"] if dice.random() < 0.4 else [f"node{place}"]
        for name in names:
            builder.add_node(name, _node(dice, name))
            for one in before:
                builder.add_edge(one, name)
        before = names
    builder.add_node("side_work", lambda s: {"log": [f"work {s['i']}"], "total": s["i"]})
    builder.add_conditional_edges(
        before[0], lambda _: [Send("side_work", {"i": i}) for i in range(count)], ["side_work"]
    )
    count = dice.randint(0, 3)
    for number in range(dice.randint(0, 2)):  # a node that is due once no other is, though its edge fired long before
        builder.add_node(f"side_late{number}", _node(dice, f"side_late{number}"), defer=True)
        builder.add_edge(dice.choice(sorted(builder.nodes.keys() - {f"side_late{number}"})), f"side_late{number}")
    return builder.compile(checkpointer=saver)


def _run(dice: Random, app: Any, thread_id: str) -> None:
    """Turns, answers, updates, forks and failures, with every durability."""
    on: Any = {"configurable": {"thread_id": thread_id}}
    for turn in range(dice.randint(3, 9)):
        durability = dice.choice(["sync", "async", "exit", "sync", "sync"])
        state = app.get_state(on)
        given: Any = {"log": [f"in {turn}"], "total": 1, "last": {"in": turn}}
        if state.interrupts:
            answers = {one.id: "yes" for one in state.interrupts}
            given = Command(resume=answers, update={"log": ["beside"]} if dice.random() < 0.3 else None)
        elif state.next and dice.random() < 0.7:
            given = None
        elif dice.random() < 0.2:
            sent = [Send("side_work", {"i": i}) for i in range(dice.randint(1, 3))]
            given = Command(goto=sent if len(sent) > 1 else sent[0])
        try:
            app.invoke(given, on, durability=durability)
        except Shared:
            continue
        if dice.random() < 0.3:
            app.update_state(on, {"log": ["by hand"], "total": 5}, as_node="side_work")
        if dice.random() < 0.3:
            at = dice.choice(list(app.get_state_history(on)))
            app.update_state(at.config, None, as_node="__copy__") if dice.random() < 0.5 else app.update_state(
                at.config, {"log": ["a fork"]}, as_node="side_work"
            )


def test_random_runs(tmp_path: Path) -> None:
    """Threads of random graphs, edited and forked by ckpt afterwards."""
    total: Counter[str] = Counter()
    for seed in range(GRAPHS):
        dice, path = Random(seed), tmp_path / f"{seed}.sqlite"
        with SqliteSaver.from_conn_string(str(path)) as saver:
            saver.conn.execute("PRAGMA synchronous = OFF")
            app = _graph(dice, saver)
            for thread_id in ("one", "two"):
                _run(dice, app, thread_id)
        for words in (["edit", "one", "--set", 'log=["edited"]'], ["rollback", "two", "@^"], ["fork", "one", "@^"]):
            assert run([*words, "-d", str(path), "--yes"]) in (0, 4, 7), words  # 4: no parent
        with closing(Session(str(path))) as session:
            view = verify(session)
            found = [(seed, t.thread_id, one) for t in view.threads for one in t.findings if one.verdict == "differs"]
            assert not found
            total += Counter(view.verdicts)
    assert total["agrees"] > 20 * GRAPHS
    assert total["suspect"] <= max(1, total.total() // 1000)  # of fewer steps, one may be suspect by chance
