"""Plays a random history on a random graph: runs, questions, failures, updates, forks, and changes by ckpt."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.errors import GraphRecursionError, InvalidUpdateError
from langgraph.types import Command, StateSnapshot

from ckpt_cli.app import run
from tests.truth_words.random_graphs import graph, write
from tests.truth_words.random_kinds import KINDS
from tests.truth_words.random_reducers import written

Truth = Mapping[str, Mapping[str, StateSnapshot]]
"""Namespace to checkpoint id to what ``get_state_history`` says."""

ON: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 40}
_OWN_ERRORS = (ValueError, RuntimeError, InvalidUpdateError, GraphRecursionError)
"""What a random graph may raise; the history is what is left then."""


@contextmanager
def history(kind: str, seed: int, path: Path) -> Iterator[tuple[Any, Truth]]:
    """A random history: the graph, and what the library says of each namespace that it can read."""
    random = Random(seed)
    with SqliteSaver.from_conn_string(str(path)) as saver:
        app = graph(random, saver) if kind == "plain" else KINDS[kind](random, saver)
        _INPUTS.get(kind, _play_kind)(random, app, path)
        names = {row[0] for row in saver.conn.execute("SELECT DISTINCT checkpoint_ns FROM checkpoints")}
        truth = {ns: found for ns in sorted(names) if (found := _recorded(app, ns)) is not None}
        yield app, truth


def _recorded(app: Any, ns: str) -> dict[str, StateSnapshot] | None:
    """Checkpoint id to what the library says; None for a subgraph that it can't find in its graph."""
    config = {"configurable": {"thread_id": "t", "checkpoint_ns": ns}}
    try:
        return {s.config["configurable"]["checkpoint_id"]: s for s in app.get_state_history(config)}
    except ValueError:
        if not ns:
            raise
        return None


def _play_plain(random: Random, app: Any, path: Path) -> None:
    if random.random() < 0.3:
        app.update_state(ON, write(random) | {"name": "begun by an update"}, as_node="a")
    app.invoke(write(random), ON)
    for _ in range(random.randint(0, 3)):
        at = random.choice(list(app.get_state_history(ON))).config
        kind = random.choice(["update", "again", "more", "answer", "edit", "exit"])
        if kind == "update":
            app.update_state(at, write(random, whole=True) | {"name": "updated"}, as_node=random.choice("ac"))
        elif kind == "again":
            app.invoke(None, at)
        elif kind == "exit":
            app.invoke(write(random), ON, durability="exit")
        elif kind == "answer":
            app.invoke(Command(resume="yes"), ON)
        elif kind == "edit":
            _ckpt(path, "edit", "t", _id(at), "--set", "best=0.1", "--set", 'docs=["edited"]')
        else:
            app.invoke(write(random), ON)


def _number(random: Random) -> dict[str, Any]:
    return {"n": random.randint(0, 2)}


def _play_reduced(random: Random, app: Any, path: Path) -> None:
    """Values for all kinds of reducers: as input, in updates, in edits by ckpt."""
    _play_kind(random, app, path, written)
    for _ in range(random.randint(0, 2)):
        at = random.choice(list(app.get_state_history(ON))).config
        number, item = random.randint(0, 4), random.choice([7, 8])
        changes = [
            ("number", number),
            ("others", [item]),
            ("ratio", number),
            ("ratio", float(number)),
            ("text", "edited"),
        ]
        channel, value = random.choice(changes)
        if random.random() < 0.5:
            _ckpt(path, "edit", "t", _id(at), "--set", f"{channel}={json.dumps(value)}")
        else:
            _ckpt(path, "update", "t", _id(at), "--values", json.dumps({channel: value}), "--next", "a")
        _run(app, None, ON)


def _play_kind(random: Random, app: Any, path: Path, give: Callable[[Random], dict[str, Any]] = _number) -> None:
    """Runs, answers, updates of a graph or of one of its subgraphs, and forks; an error of the graph ends its run."""
    _run(app, give(random), ON)
    kinds = ["more", "again", "answer", "answer", "update", "inside", "exit", "fork", "command", "retry"]
    for _ in range(random.randint(1, 5)):
        at = random.choice(list(app.get_state_history(ON))).config
        kind = random.choice(kinds)
        if kind == "more":
            _run(app, give(random), ON)
        elif kind == "again":
            _run(app, None, at)
        elif kind == "retry":
            _run(app, None, ON)
        elif kind == "answer":
            _run(app, Command(resume="yes"), ON)
        elif kind == "exit":
            _run(app, give(random), ON, durability="exit")
        elif kind == "fork":
            _ckpt(path, random.choice(["fork", "rollback"]), "t", _id(at))
        elif kind == "command":
            _run(app, Command(update={"n": 1}), ON)
            kinds.remove("command")  # the library can't read a checkpoint on which two of them wrote to `n`
        elif kind == "update":
            _update(app, at, give(random), random.choice(["a", "c", None]))
        else:
            _update_inside(random, app)


def _run(app: Any, given: Any, config: Any, **options: Any) -> None:
    try:
        app.invoke(given, {**ON, **config}, **options)
    except _OWN_ERRORS:
        return


def _update(app: Any, config: Any, values: Any, as_node: str | None) -> None:
    try:
        app.update_state(config, values, as_node=as_node)
    except (*_OWN_ERRORS, KeyError):  # an entrypoint has no such node
        return


def _update_inside(random: Random, app: Any) -> None:
    """Update a subgraph that waits."""
    try:
        tasks = app.get_state(ON, subgraphs=True).tasks
    except _OWN_ERRORS:  # a reducer refuses what a Command wrote: the library can't read that
        return
    for task in tasks:
        if isinstance(task.state, StateSnapshot):
            _update(app, task.state.config, {"own": ["by hand"]}, random.choice(["one", "two"]))


def _ckpt(path: Path, *words: str) -> None:
    code = run([*words, "-d", str(path), "--yes"])
    assert code in (0, 2, 4, 7), f"{words}: {code}"  # 2: a channel that the thread never had


def _id(config: Any) -> str:
    text: str = config["configurable"]["checkpoint_id"]
    return text


_INPUTS: dict[str, Callable[[Random, Any, Path], None]] = {"plain": _play_plain, "reduced": _play_reduced}
