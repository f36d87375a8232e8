"""LangGraph itself, behind plain JSON: the same calls go to the installed release and to an older one.

Nothing of ckpt or pytest is imported here, because the older release runs in a virtual environment of its own.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, StateUpdate

from tests.graphs import SCENARIOS, Graph
from tests.graphs.building import on

Config = dict[str, Any]
INTERRUPT = "__interrupt__"
OWN = {"source", "step", "parents", "counters_since_delta_snapshot", "thread_id"}
"""The keys of metadata that are LangGraph's; the others come from the application's config."""


class Library:
    """The real graphs on SQLite files; every method takes and gives what JSON can say."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, dict[str, Graph]] = {}
        self._open: dict[tuple[str, str], tuple[sqlite3.Connection, Graph]] = {}

    def call(self, method: str, args: list[Any]) -> Any:
        """Ask one question by name; the answer is what JSON leaves of it."""
        return json.loads(json.dumps(getattr(self, method)(*args), default=repr))

    def made(self, name: str) -> list[Any]:
        """The database of a scenario, made once, and its threads."""
        path = self._folder / f"{name}.sqlite"
        if name not in self._made:
            with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
                connection.execute("PRAGMA synchronous=off")
                self._made[name] = dict(SCENARIOS[name](SqliteSaver(connection)))
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return [str(path), list(self._made[name])]

    def shape(self, name: str, thread: str) -> list[list[str]]:
        """The nodes and the channels of a thread's graph."""
        graph = self._made[name][thread]
        return [[node for node in graph.nodes if node != "__start__"], list(graph.channels)]

    def update(
        self, path: str, name: str, thread: str, config: Config, supersteps: Any, application: Config | None = None
    ) -> Config:
        """``bulk_update_state``; an update is values and the node.

        The config has the application's metadata of the checkpoint that is updated, unless `application` is given. The
        graph's own config has it too, as a second superstep sees no other. So has a copy, where the library drops it.
        """
        given = [[StateUpdate(values, node) for values, node in updates] for updates in supersteps]
        graph = self._graph(path, name, thread)
        if application is None:
            held = graph.get_state(config).metadata or {}
            application = {key: value for key, value in held.items() if key not in OWN}
        graph = graph.with_config({"metadata": dict(application)})
        config = graph.bulk_update_state({**config, "metadata": dict(application)}, given)
        if application and supersteps[0][0][1] == "__copy__":
            self._add_to_metadata(path, config["configurable"]["checkpoint_id"], application)
        return {"configurable": {k: config["configurable"].get(k) for k in ("thread_id", "checkpoint_id")}}

    def metadata(self, path: str, name: str, thread: str) -> list[str]:
        """The metadata of a thread's checkpoints as stored, all namespaces."""
        self._graph(path, name, thread)
        with closing(sqlite3.connect(path)) as connection:
            query = "SELECT metadata FROM checkpoints WHERE thread_id = ? ORDER BY checkpoint_ns, checkpoint_id"
            return [bytes(text).decode() for (text,) in connection.execute(query, [thread])]

    def _add_to_metadata(self, path: str, checkpoint_id: str, keys: dict[str, Any]) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            where = "WHERE checkpoint_id = ?"
            [(text,)] = connection.execute(f"SELECT metadata FROM checkpoints {where}", [checkpoint_id])
            changed = json.dumps({**json.loads(text), **keys}, ensure_ascii=False).encode()
            connection.execute(f"UPDATE checkpoints SET metadata = ? {where}", [changed, checkpoint_id])

    def namespaces(self, path: str, name: str, thread: str) -> list[str]:
        """Those of the subgraphs."""
        self._graph(path, name, thread)
        with closing(sqlite3.connect(path)) as connection:
            query = "SELECT DISTINCT checkpoint_ns FROM checkpoints WHERE checkpoint_ns != '' AND thread_id = ?"
            found = connection.execute(query, [thread])
            return sorted(ns for (ns,) in found)

    def subgraph(self, name: str, thread: str, ns: str) -> list[list[str]]:
        """The nodes and the channels of the graph of a namespace."""
        within = "|".join(part.partition(":")[0] for part in ns.split("|"))
        graph = dict(self._made[name][thread].get_subgraphs(recurse=True))[within]
        return [[node for node in graph.nodes if node != "__start__"], list(graph.channels)]

    def targets(self, path: str, name: str, thread: str, most: int) -> list[Config]:
        """The head by the thread alone, then checkpoints by their ids."""
        states = list(self._graph(path, name, thread).get_state_history(on(thread)))
        return [on(thread), *(state.config for state in states[:most])]

    def read_all(self, path: str, name: str, thread: str, ns: str = "") -> list[Any]:
        """All that the library says of a graph's history without ids and times, and the writes as stored."""
        graph = self._graph(path, name, thread)
        states = list(graph.get_state_history({"configurable": {"thread_id": thread, "checkpoint_ns": ns}}))
        at = {state.config["configurable"]["checkpoint_id"]: place for place, state in enumerate(states)}
        return [[_told(graph, state, at) for state in states], self._rows(path)]

    def carried_on(self, path: str, name: str, thread: str, config: Config | None = None) -> Any:
        """The rest of a run, with every question answered; an exception is an end too."""
        graph = self._graph(path, name, thread)
        try:
            result = graph.invoke(None, config or on(thread), durability="sync")
            for _ in range(9):
                if INTERRUPT not in (result or {}):
                    break
                answers = {asked.id: "yes" for asked in result[INTERRUPT]}
                result = graph.invoke(Command(resume=answers), on(thread), durability="sync")
        except Exception as error:
            return type(error).__name__, str(error)[:40]
        return plain(result)

    def answered(self, path: str, name: str, thread: str, answers: dict[str, Any] | None) -> Any:
        """What an ``invoke`` gives, with answers by the ids of their questions or without."""
        return plain(self._graph(path, name, thread).invoke(Command(resume=answers) if answers else None, on(thread)))

    def questions(self, path: str, name: str, thread: str) -> list[str]:
        """The ids of the questions that wait."""
        tasks = self._graph(path, name, thread).get_state(on(thread)).tasks
        return sorted(asked.id for task in tasks if task.result is None for asked in task.interrupts)

    def put_child(self, path: str, name: str, thread: str, config: Config, channel: str, item: Any) -> None:
        """Store a child of a checkpoint with one item more in a channel, as the saver stores any."""
        saver = self._graph(path, name, thread).checkpointer
        saved = saver.get_tuple(config)
        step, values = saved.metadata["step"] + 1, saved.checkpoint["channel_values"]
        made = {
            **saved.checkpoint,
            "id": str(uuid6(clock_seq=step)),
            "channel_values": {**values, channel: [*values[channel], item]},
            "updated_channels": None,
        }
        saver.put(saved.config, made, {"source": "update", "step": step, "parents": {}}, {})

    def _graph(self, path: str, name: str, thread: str) -> Graph:
        if (path, thread) not in self._open:
            self.made(name)
            connection = sqlite3.connect(path, check_same_thread=False)
            connection.execute("PRAGMA synchronous=off")
            graph = self._made[name][thread].copy(update={"checkpointer": SqliteSaver(connection)})
            self._open[path, thread] = (connection, graph)
        return self._open[path, thread][1]

    def close(self) -> None:
        """Close every database but those of the scenarios."""
        for connection, _ in self._open.values():
            connection.close()
        self._open.clear()

    def _rows(self, path: str) -> list[Any]:
        with closing(sqlite3.connect(path)) as connection:
            ids = [i for (i,) in connection.execute("SELECT checkpoint_id FROM checkpoints ORDER BY checkpoint_id")]
            columns = {name for _, name, *_ in connection.execute("PRAGMA table_info(writes)")}
            task_path = "task_path" if "task_path" in columns else "''"
            found = connection.execute(f"SELECT checkpoint_id, {task_path}, idx, channel, type FROM writes").fetchall()
        # The edges of one task are a set: their order is chance, and another in every process.
        rows = [(i, path, 0 if c.startswith("branch:to:") else idx, c, kind) for i, path, idx, c, kind in found]
        return sorted((ids.index(i) if i in ids else -1, *rest) for i, *rest in rows)


def _told(graph: Graph, state: Any, at: dict[str, int]) -> dict[str, Any]:
    stored = graph.checkpointer.get_tuple(state.config).checkpoint
    parent = (state.parent_config or {"configurable": {}})["configurable"].get("checkpoint_id")
    return {
        "values": plain(state.values),
        "next": state.next,
        "metadata": state.metadata,
        "tasks": [(t.name, t.path, t.error, [i.value for i in t.interrupts], plain(t.result)) for t in state.tasks],
        "parent": parent in at and at[parent] - at[state.config["configurable"]["checkpoint_id"]],
        "step in the id": state.config["configurable"]["checkpoint_id"].split("-")[3],
        "versions": sorted((_count(v), channel) for channel, v in stored["channel_versions"].items()),
        "seen": {node: {c: _count(v) for c, v in seen.items()} for node, seen in stored["versions_seen"].items()},
    }


def _count(version: Any) -> int:
    """The order in which channels moved, the versions' chance left out."""
    return int(str(version).partition(".")[0])


def plain(value: Any) -> Any:
    """A value without what chance made: the ids of messages, the order of siblings' questions."""
    if isinstance(value, BaseMessage):
        return (value.type, value.content, value.name, value.additional_kwargs, getattr(value, "tool_calls", None))
    if isinstance(value, dict):
        return {key: sorted(map(str, item)) if key == INTERRUPT else plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value
