"""Random graphs with a tracer: ``log``, ``graph`` and ``trace`` say which nodes ran, asked, failed, and led where."""

import json
import operator
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import GraphBubbleUp, GraphInterrupt, GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from ckpt_cli.app import run

SEEDS = int(os.environ.get("CKPT_RANDOM_GRAPHS", "16"))
ON: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 30, "max_concurrency": 1}
Out = Callable[[Any], Any]


class State(TypedDict, total=False):
    """Channels that are stored, and two that aren't, or not for long."""

    n: int
    log: Annotated[list[str], operator.add]
    best: Annotated[int, lambda old, new: max(old, new)]
    file: Annotated[str, UntrackedValue(str, guard=False)]
    brief: Annotated[str, EphemeralValue(str, guard=False)]


class Broken(Exception):
    """A node fails with it."""


class Ran(NamedTuple):
    """A task that ended: its node, the checkpoint where it started, its id, how it ended, and where it led."""

    node: str
    start: str
    task_id: str
    how: str
    to: list[Any]


class Traced:
    """Nodes that note each of their runs."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.runs: list[Ran] = []
        self.fixed: dict[str, list[str]] = defaultdict(list)
        self.broken = False

    def node(self, name: str, out: Out) -> Callable[[Any, RunnableConfig], Any]:
        """A node that gives what `out` gives."""

        def work(state: Any, config: RunnableConfig) -> Any:
            if self.broken:  # nobody can say whether LangGraph still stores what this task leaves
                raise GraphBubbleUp
            own: Any = config["configurable"]
            task_id = own["checkpoint_ns"].rpartition(":")[2]
            ran = Ran(name, own["checkpoint_map"][""], task_id, "finished", [])
            try:
                given = out(state)
            except GraphInterrupt:
                self.runs.append(ran._replace(how="asked"))
                raise
            except Broken:
                self.broken = True
                self.runs.append(ran._replace(how="failed"))
                raise
            self.runs.append(ran)
            ran.to.extend(_listed(given.goto) if isinstance(given, Command) else ())
            return given

        return work

    def way(self, name: str, choose: Out) -> Out:
        """A conditional edge behind a node."""

        def chosen(state: Any) -> Any:
            to = choose(state)
            last = next(ran for ran in reversed(self.runs) if ran.node == name)
            last.to.extend(_listed(to))
            return to

        return chosen

    def finished(self) -> dict[tuple[str, str], Ran]:
        """Start and task id to the last run of each task that finished."""
        return {(ran.start, ran.task_id): ran for ran in self.runs if ran.how == "finished"}

    def count(self, how: str) -> Counter[str]:
        """How many tasks of each node finished, asked, or failed."""
        return Counter(
            node for node, _, _ in {(one.node, one.start, one.task_id) for one in self.runs if one.how == how}
        )

    def edges(self) -> Counter[tuple[str, str]]:
        """How often a node led to another one; an edge and a ``goto`` to the same node are one, each Send is one."""
        found: Counter[tuple[str, str]] = Counter()
        for ran in self.finished().values():
            names = {to for to in [*ran.to, *self.fixed[ran.node]] if isinstance(to, str)} - {END}
            found.update((ran.node, to) for to in [*names, *(to.node for to in ran.to if isinstance(to, Send))])
        return found


def _listed(to: Any) -> list[Any]:
    return list(to) if isinstance(to, list | tuple) else [to] if to else []


def _outs(random: Random, name: str, onward: list[str]) -> Out:
    """What a node does: it writes something stored or not, asks, fails, or goes on by a Command."""

    def written(_: Any) -> dict[str, Any]:
        made = {"log": [name], "best": random.randint(0, 9), "file": "x", "brief": "y"}
        return {channel: value for channel, value in made.items() if random.random() < 0.4}

    def asks(state: Any) -> dict[str, Any]:
        for question in range(random.randint(0, 1)):
            interrupt(question)
        return written(state)

    def fails(state: Any) -> dict[str, Any]:
        if random.random() < 0.4:
            raise Broken(name)
        return written(state)

    def goes(state: Any) -> Any:
        ways: list[Any] = [*onward, onward[:2], [onward[0], END], Send(onward[-1], {"n": 0})]
        return Command(update=written(state), goto=random.choice(ways))

    kinds: list[Out] = [written, written, written, lambda _: None, lambda _: {"file": name}, asks, fails]
    return random.choice(kinds + [goes] * bool(onward))


def built(random: Random, saver: Any) -> tuple[Any, Traced]:
    """Some nodes in a line with shortcuts, Sends, a join and deferred nodes, in a loop."""
    traced, builder = Traced(random), StateGraph(State)
    names = [f"n{place}" for place in range(random.randint(3, 6))]
    for place, name in enumerate(names):
        out = _outs(random, name, names[place + 1 :])
        builder.add_node(name, traced.node(name, out), defer=random.random() < 0.12)
        if out.__name__ == "goes" or name == names[-1]:
            continue
        after: list[Any] = names[place + 1 : place + 2 + (random.random() < 0.3)]
        if random.random() < 0.6:
            traced.fixed[name] += after
            for to in after:
                builder.add_edge(name, to)
        else:
            ways: list[Any] = [after[0], names[-1], [after[0], names[-1]], END, [Send(after[0], {"n": 5})] * 2]
            choose = traced.way(name, lambda _, ways=ways: random.choice(ways))
            builder.add_conditional_edges(name, choose, [*dict.fromkeys([after[0], names[-1]]), END])
    builder.add_node("loop", traced.node("loop", lambda state: {"n": state.get("n", 0) + 1}))
    builder.add_conditional_edges(
        "loop", traced.way("loop", lambda state: END if state["n"] % 2 == 0 else names[0]), [names[0], END]
    )
    builder.add_edge(START, names[0])
    builder.add_edge(names[-1], "loop")
    traced.fixed[names[-1]].append("loop")
    if len(names) > 3:
        builder.add_node("joined", traced.node("joined", _outs(random, "joined", [])))
        builder.add_edge(names[1:3], "joined")
        for name in names[1:3]:
            traced.fixed[name].append("joined")
    return builder.compile(checkpointer=saver), traced


def played(random: Random, app: Any, traced: Traced) -> None:
    """Some turns: inputs, answers, and runs that go on where one failed."""
    for _ in range(random.randint(1, 4)):
        state = app.get_state(ON)
        given: Any = {"log": ["in"], "n": 0}
        if state.interrupts and random.random() < 0.8:
            given = Command(resume={one.id: "yes" for one in state.interrupts})
        elif state.next and random.random() < 0.6:
            given = None
        traced.broken = False
        with suppress(Broken, GraphBubbleUp, GraphRecursionError):
            app.invoke(given, ON, durability=random.choice(["sync", "async"]))


def faults(traced: Traced, steps: Any, graph: Any, trace: Any) -> Iterator[str]:
    """What ckpt says otherwise than the tracer."""
    made: dict[str, Counter[str]] = defaultdict(Counter)
    for ran in traced.finished().values():
        made[ran.start][ran.node] += 1
    for step in steps:
        if step["source"] == "loop" and step["nodes"] != made[step["parent_id"]] and step["nodes"] != {START: 1}:
            yield f"log {step['step']}: {step['nodes']} {dict(made[step['parent_id']])}"
    nodes = {node["name"]: node for node in graph["nodes"] if node["name"] != START}
    finished, asked, failed = map(traced.count, ("finished", "asked", "failed"))
    steps_made = Counter(node for step in steps for node, count in step["nodes"].items() for _ in range(count))
    for name, node in nodes.items():
        said = node["runs"] + node["unrecorded"], node["asked"], node["failed"]
        missing = any(note.startswith("not all results are stored") and name in note for note in graph["notes"])
        least = 0 if missing else steps_made[name]
        if not least <= said[0] <= finished[name] or said[1:] != (asked[name], failed[name]):
            yield f"graph {name}: {said} {finished[name], asked[name], failed[name]}"
    by_task = [edge for edge in graph["edges"] if edge["by"] == "task" and edge["proof"] == "recorded"]
    edges = {(e["source"], e["target"]): 0 for e in by_task if e["source"] != START}
    for edge in by_task:
        if edge["source"] != START:
            edges[edge["source"], edge["target"]] += edge["count"]
    if edges != traced.edges():
        yield f"graph: {edges} {dict(traced.edges())}"
    for one in trace["nodes"]:
        if one["kind"] == "task" and one["node"] != START:
            said = one["finished"] + nodes[one["node"]]["unrecorded"], one["asked"], one["failed"]
            if said[0] > finished[one["node"]] or said[1:] != (asked[one["node"]], failed[one["node"]]):
                yield f"trace {one['node']}: {said}"


def view(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_it_is_what_ran(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step has the nodes that ran, each node its runs, questions and failures, each edge its count."""
    random, path = Random(seed), str(tmp_path / "t.sqlite")
    with SqliteSaver.from_conn_string(path) as saver:
        app, traced = built(random, saver)
        played(random, app, traced)
    steps = view(capsys, "log", "t", "--all", "--limit", "0", "-d", path)["steps"]
    [graph] = view(capsys, "graph", "t", "-d", path)["graphs"]
    assert list(faults(traced, steps, graph, view(capsys, "trace", "t", "-d", path))) == []
