"""``ckpt blame``: since when a value stands and who gave it, against an oracle that compares every state."""

import operator
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

from ckpt_cli.commands.blame import blame
from ckpt_cli.errors import NotFound, PayloadCorrupt
from tests.commands.asking import at
from tests.graphs.building import on

EQUALS = ("again", "newest", "recent")
NODES = ("plan", "left", "right", "close")
GONE = object()


def merge(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """A dict whose keys a null deletes."""
    return {key: value for key, value in {**(old or {}), **new}.items() if value is not None}


def extend(old: list[Any] | None, writes: list[list[Any]]) -> list[Any]:
    """The reducer of the delta channel."""
    return [*(old or []), *(item for write in writes for item in write)]


def join(old: set[str] | None, new: set[str]) -> set[str]:
    """A set of which a text with a minus removes one."""
    joined = {*(old or ()), *new}
    return {one for one in joined if not one.startswith("-") and f"-{one}" not in new}


def before(old: list[str] | None, new: list[str]) -> list[str]:
    """The newest first."""
    return [*new, *(old or [])]


def last_three(old: list[str] | None, new: list[str]) -> list[str]:
    """A list that forgets."""
    return [*(old or []), *new][-3:]


class State(TypedDict, total=False):
    """A conversation, files, lists, sets, a delta channel, plain values.

    `again`, `newest` and `recent` have equal elements. The channels whose names end with `_of` have their makers.
    """

    messages: Annotated[list[AnyMessage], add_messages]
    files: Annotated[dict[str, Any], merge]
    log: Annotated[list[str], operator.add]
    story: Annotated[list[str], DeltaChannel(extend, snapshot_frequency=2)]
    route: str
    config: dict[str, Any]
    tags: Annotated[set[str], join]
    shelf: list[str]
    again: Annotated[list[str], operator.add]
    again_of: Annotated[list[str], operator.add]
    newest: Annotated[list[str], before]
    newest_of: Annotated[list[str], before]
    recent: Annotated[list[str], last_three]
    recent_of: Annotated[list[str], last_three]


class Script:
    """What the nodes do next; every value names the node that made it, and exists once."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.count = 0

    def text(self, who: str) -> str:
        self.count += 1
        return f"{who}:{self.count}"

    def write(self, who: str, state: dict[str, Any]) -> dict[str, Any]:
        """A write to some channels; `left` and `right` run in one step, so only one of them writes plain values."""
        dice, written = self.dice, dict[str, Any]()
        if dice.random() < 0.7:
            written["messages"] = self._messages(who, list(state.get("messages", ())))
        if dice.random() < 0.6:
            key = dice.choice("abcd")
            known = key in state.get("files", {}) and who not in ("left", "right")
            written["files"] = (
                {key + who[:1]: self.text(who)}
                if who in ("left", "right")
                else {key: None if known and dice.random() < 0.4 else self.text(who)}
            )
        if dice.random() < 0.5:
            written["log"] = [self.text(who) for _ in range(dice.randint(1, 3))]
        if dice.random() < 0.5:
            written["story"] = [self.text(who)]
        if who not in ("left", "right") and dice.random() < 0.4:
            written["route"] = self.text(who)
        if who not in ("left", "right") and dice.random() < 0.3:
            written["config"] = {"by": self.text(who), "kept": "same", "list": [1, 2]}
        written.update(self._mixed(who, state))
        return written

    def _mixed(self, who: str, state: dict[str, Any]) -> dict[str, Any]:
        """Sets, lists that are put in another order, equal elements."""
        dice, written, is_alone = self.dice, dict[str, Any](), who not in ("left", "right")
        if dice.random() < 0.5:
            old = sorted(state.get("tags", ()))
            written["tags"] = {self.text(who), *(f"-{one}" for one in old[:1] if is_alone and dice.random() < 0.5)}
        if is_alone and dice.random() < 0.4:
            shelf = [*state.get("shelf", ()), self.text(who)]
            written["shelf"] = dice.sample(shelf, dice.randint(max(1, len(shelf) - 2), len(shelf)))
        for channel in EQUALS:
            if dice.random() < 0.5:
                written[channel], written[f"{channel}_of"] = [dice.choice("xyy")], [self.text(who)]
        return written

    def _messages(self, who: str, old: list[AnyMessage]) -> list[Any]:
        new: list[Any] = [AIMessage(self.text(who), id=f"m{self.count}") for _ in range(self.dice.randint(1, 2))]
        if not old or who in ("left", "right"):
            return new
        chance, chosen = self.dice.random(), self.dice.choice(old)
        if chance < 0.2:
            return [RemoveMessage(id=chosen.id), *new]
        if chance < 0.4:
            return [AIMessage(self.text(who), id=chosen.id)]
        if chance < 0.6:  # one is put between the others
            place = self.dice.randrange(len(old) + 1)
            return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *old[:place], *new, *old[place:]]
        return new


def graph_of(script: Script, saver: SqliteSaver) -> Any:
    """plan, then left and right in one step, then close."""
    builder = StateGraph(State)
    for name in NODES:
        builder.add_node(name, lambda state, name=name: script.write(name, state))
    builder.add_edge(START, "plan")
    for side in ("left", "right"):
        builder.add_edge("plan", side)
    builder.add_edge(["left", "right"], "close")
    return builder.compile(checkpointer=saver)


def play(connection: sqlite3.Connection, seed: int, actions: list[str]) -> Any:
    """A history of runs, updates, forks and removed values; gives the graph."""
    script = Script(seed)
    graph = graph_of(script, SqliteSaver(connection))
    graph.invoke({"messages": [HumanMessage(script.text("input"), id="h0")], "route": script.text("input")}, on("t"))
    for action in actions:
        if action == "run":
            text = script.text("input")
            graph.invoke({"messages": [HumanMessage(text, id=f"h{script.count}")], "log": [text]}, on("t"))
        elif action == "update":
            values = script.write("update", graph.get_state(on("t")).values)
            graph.update_state(on("t"), values, as_node="close")
        else:
            history = list(graph.get_state_history(on("t")))
            chosen = script.dice.choice([one for one in history if one.metadata["step"] >= 0])
            if action == "replay":
                graph.invoke(None, chosen.config)
            else:
                graph.update_state(chosen.config, script.write("update", chosen.values), as_node="plan")
    return graph


def line_of(graph: Any, config: dict[str, Any]) -> list[Any]:
    """A state and those of its ancestors, newest first."""
    states = [graph.get_state(config)]
    while states[-1].parent_config is not None:
        states.append(graph.get_state(states[-1].parent_config))
    return states


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of a value, each with a key that stays the same while the part moves."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | set) and value:
        yield from ((getattr(item, "id", item), item) for item in value)
    else:
        yield None, value


def since(states: list[Any], channel: str) -> list[tuple[Any, str]]:
    """The oracle: each part, and the oldest checkpoint from which on every state has it; a set's parts sorted."""
    found = []
    now = states[0].values[channel]
    for key, item in leaves(sorted(now) if isinstance(now, set) else now):
        first = states[0]
        for state in states:
            parts = dict(leaves(state.values[channel])) if channel in state.values else {}
            if parts.get(key, GONE) != item:
                break
            first = state
        found.append((item, id_of(first)))
    return found


def text_of(item: Any) -> str:
    """The text in a part that names who made it."""
    return getattr(item, "content", item) if item != "same" and not isinstance(item, list) else ""


ACTIONS = st.lists(st.sampled_from(["run", "run", "update", "replay", "fork"]), max_size=5)
HISTORIES = given(seed=st.integers(0, 10**6), actions=ACTIONS)
ROUNDS = settings(max_examples=20, deadline=None, derandomize=True)


def channels_of(states: list[Any]) -> list[str]:
    """The channels that hold something; the library shows an empty dict where a channel was never written."""
    return [channel for channel, value in states[0].values.items() if value and not channel.startswith(EQUALS)]


@contextmanager
def history(seed: int, actions: list[str], folder: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Any]]]:
    """A database, and the states of its head's line, newest first."""
    path = folder.mktemp("blame") / "t.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as connection:
        states = line_of(play(connection, seed, actions), on("t"))
    yield path, states


@ROUNDS
@HISTORIES
def test_every_part_stands_since_the_checkpoint_that_all_states_show(
    seed: int, actions: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """And whoever is named wrote it: each value contains the name of its maker."""
    with history(seed, actions, tmp_path_factory) as (path, states):
        for channel in channels_of(states):
            try:
                view = at(path, blame, "t", channel)
            except PayloadCorrupt:
                assert channel == "story"  # nothing proves the delta channel's reducer yet
                continue
            unknown = {one.checkpoint_id for one in view.unread}
            assert not unknown or channel == "story"
            lines = sorted(view.lines, key=lambda line: line.value) if channel == "tags" else view.lines
            for line, (item, expected) in zip(lines, since(states, channel), strict=True):
                if "isn't known at the checkpoints" in line.since.why:
                    assert expected in (line.since.checkpoint_id, *line.since.or_at)
                elif "is unknown" in line.since.why:
                    parents = {id_of(state): state.parent_config for state in states}
                    assert parents[line.since.checkpoint_id]["configurable"]["checkpoint_id"] in unknown
                    assert expected <= line.since.checkpoint_id  # equal: it happens to be the right one
                else:
                    assert line.since.checkpoint_id == expected
                    assert is_credited(line.since, text_of(item))


@ROUNDS
@HISTORIES
def test_an_equal_element_is_of_a_step_that_is_named(
    seed: int, actions: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Where the values don't distinguish it from another one, its step is one of those that are named.

    A list that is the same after a step has the same elements, though a reducer may have dropped one and added an equal
    one.
    """
    with history(seed, actions, tmp_path_factory) as (path, states):
        for channel in EQUALS:
            if not states[0].values.get(channel) or _is_replaced_by_equals(states, channel):
                continue
            lines, truth = at(path, blame, "t", channel).lines, since(states, f"{channel}_of")
            for line, (maker, expected) in zip(lines, truth, strict=True):
                if line.since.or_at:
                    assert expected in (line.since.checkpoint_id, *line.since.or_at)
                    assert maker.partition(":")[0] in line.since.candidates or "fork" in line.since.candidates
                else:
                    assert line.since.checkpoint_id == expected
                    assert is_credited(line.since, maker) or {"left", "right"} == {*line.since.candidates}


def _is_replaced_by_equals(states: list[Any], channel: str) -> bool:
    """Whether a step left the values as they were, and not their makers."""
    parts = [[state.values.get(name, []) for state in states] for name in (channel, f"{channel}_of")]
    pairs = zip(*map(pairwise, parts), strict=True)
    return any(new == old and new_of != old_of for (new, old), (new_of, old_of) in pairs)


def is_credited(origin: Any, text: str) -> bool:
    """Whether the origin of a value names its maker."""
    maker = text.partition(":")[0]
    if not maker or origin.by == "fork":
        return True
    if origin.by in ("input", "update"):
        return bool(origin.by == maker)
    return bool(origin.by == "node" and origin.node == maker)


@ROUNDS
@HISTORIES
def test_every_part_that_went_is_listed_where_it_went(
    seed: int, actions: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A replaced part too, with what replaced it."""
    with history(seed, actions, tmp_path_factory) as (path, states):
        for channel in channels_of(states):
            if channel == "story":
                continue
            expected = [
                id_of(after)
                for after, before in pairwise(states)
                for key, item in leaves(before.values.get(channel) or {})
                if dict(leaves(after.values.get(channel) or {})).get(key, GONE) != item
            ]
            lines = at(path, blame, "t", channel, reverse=True).lines
            assert sorted(line.gone.checkpoint_id for line in lines) == sorted(expected)
            assert all(line.gone.by for line in lines)
            assert channel != "tags" or not any(line.replaced for line in lines)


@ROUNDS
@HISTORIES
def test_every_value_through_time_is_listed(
    seed: int, actions: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also of a key that comes and goes."""
    with history(seed, actions, tmp_path_factory) as (path, states):
        for steps in (["route"], ["files", "a"], ["config", "by"]):
            expected, last = [], GONE
            for state in reversed(states):
                value = state.values.get(steps[0], GONE)
                value = value.get(steps[1], GONE) if len(steps) > 1 and value is not GONE else value
                if value != last:
                    expected.append((None if value is GONE else value, id_of(state)))
                last = value
            try:
                values = at(path, blame, "t", ".".join(steps), history=True).values
            except NotFound:
                values = []
            assert [(one.value, one.since.checkpoint_id) for one in values] == expected


def id_of(state: Any) -> str:
    """The id of a state's checkpoint."""
    return str(state.config["configurable"]["checkpoint_id"])
