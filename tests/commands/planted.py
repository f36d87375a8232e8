"""A real history with a fault planted in it by SQL, as a broken program or a careless hand would leave it."""

import json
import sqlite3
from collections.abc import Callable
from operator import add
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

from langgraph.channels import DeltaChannel
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite, Send

TURNS = 10
ON: Any = {"configurable": {"thread_id": "t"}}
_SERDE = JsonPlusSerializer()


def _joined(current: list[str], writes: list[list[str]]) -> list[str]:
    return [*current, *(item for write in writes for item in write)]


class State(TypedDict, total=False):
    """What the graph keeps: a list, a last value, a delta channel, a channel that one step alone replaces."""

    log: Annotated[list[str], add]
    n: int
    quiet: str
    seq: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=100)]


class Inner(TypedDict, total=False):
    """What the subgraph keeps; `n` comes from outside."""

    n: int
    note: str


def graph(saver: Any) -> Any:
    """A subgraph, a fan-out of two, and a node that replaces the list in one turn."""
    child = StateGraph(Inner)
    child.add_node("inner", lambda _: {"note": "inner"})
    child.add_edge(START, "inner")
    builder = StateGraph(State)
    builder.add_node("plan", lambda s: {"log": ["plan"], "n": s["n"] * 3 % 17, "seq": [f"seq {s['n']}"]})
    builder.add_node("child", child.compile(), destinations=())
    builder.add_node("work", lambda s: {"log": [f"work {s['i']}"]})
    builder.add_node("end", lambda s: {"log": Overwrite(["fresh"])} if s["n"] == 12 else {"n": s["n"] + 5})
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", lambda _: [Send("work", {"i": 1}), Send("work", {"i": 2})], ["work"])
    builder.add_edge("work", "child")
    builder.add_edge("child", "end")
    return builder.compile(checkpointer=saver)


def record(saver: Any) -> None:
    """Ten turns of the graph on a thread ``t``."""
    app = graph(saver)
    for turn in range(TURNS):
        first = {"quiet": "q"} if turn == 0 else {}
        app.invoke({"log": [f"in {turn}"], "n": turn, **first}, ON)


class Stored(NamedTuple):
    """One checkpoint row of the root graph, decoded."""

    checkpoint_id: str
    parent_id: str | None
    body: dict[str, Any]
    metadata: dict[str, Any]


class Tables:
    """The tables of a SQLite database, to plant faults in."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path)

    def steps(self, where: Callable[[Stored], bool] = lambda _: True, ns: str = "") -> list[Stored]:
        """The checkpoints of a namespace, oldest first, that fit."""
        rows = self.connection.execute(
            "SELECT checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints"
            " WHERE checkpoint_ns = ? ORDER BY checkpoint_id",
            (ns,),
        )
        stored = [Stored(i, p, _SERDE.loads_typed((t, body)), json.loads(m)) for i, p, t, body, m in rows.fetchall()]
        return [one for one in stored if where(one)]

    def by(self, node: str, turn: int) -> Stored:
        """The checkpoint that a node made in a turn, counted from 0."""
        made = self.steps(lambda one: one.metadata["source"] == "loop")
        ran = {"plan": 1, "work": 2, "child": 3, "end": 4}[node]
        return made[turn * 5 + ran]

    def put(self, stored: Stored) -> str:
        """Store a changed body and changed metadata; gives the checkpoint's id."""
        kind, data = _SERDE.dumps_typed(stored.body)
        self.connection.execute(
            "UPDATE checkpoints SET type = ?, checkpoint = ?, metadata = ? WHERE checkpoint_id = ?",
            (kind, data, json.dumps(stored.metadata), stored.checkpoint_id),
        )
        return stored.checkpoint_id

    def run(self, sql: str, *values: Any) -> None:
        """Change rows; some must change."""
        assert self.connection.execute(sql, values).rowcount > 0, sql

    def close(self) -> None:
        """Keep what was changed."""
        self.connection.commit()
        self.connection.close()


def record_file(path: Path) -> Path:
    """A new SQLite database with the history."""
    with SqliteSaver.from_conn_string(str(path)) as saver:
        record(saver)
    return path
