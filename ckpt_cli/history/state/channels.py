"""Which channels are the graph's own and which the user's; triggers, joins, versions, in every release.

Channel names are those of langgraph's compiled StateGraph (1.2: ``graph/state.py: CompiledStateGraph.attach_node``,
``attach_edge``; 0.0 to 0.3.18 named a plain edge's channel after its source node) and of LangGraph.js.
"""

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

from ckpt_cli.values.node import Form, Node
from ckpt_cli.values.state import State, Version

TASKS = "__pregel_tasks"
"""The channel of Sends: a write to it is one Send, its value is the list that the next step starts with."""
START = "__start__"
END = "__end__"
ROOT = "__root__"
"""The one channel of a state that is no dict; it is what a run takes as input then (1.2 ``graph/state.py``)."""
PREVIOUS = "__previous__"
ERROR = "__error__"
ERROR_SOURCE = "__error_source_node__"
INTERRUPT = "__interrupt__"
RESUME = "__resume__"
SCHEDULED = "__scheduled__"
NO_WRITES = "__no_writes__"
RETURN = "__return__"

ABORTED = "__error__ of an aborted task"
PARENT_COMMAND = "__error__ of a task that left"
"""Names for errors of LangGraph.js that are no failures, where writes are decoded; see `tasks.javascript_errors`."""

CONTROL_WRITES = frozenset({ERROR, ERROR_SOURCE, INTERRUPT, RESUME, SCHEDULED, ABORTED, PARENT_COMMAND})
"""Writes that record what happened to a task, not its output (1.2 ``pregel/_task_status.py: CONTROL_WRITES``)."""

BUMPS = "__snapshot_bumps__"
NOT_NODES = frozenset({"__input__", INTERRUPT, BUMPS})
"""Keys of ``versions_seen`` that are not nodes."""

BRANCH_TO = "branch:to:"
_DIGITS = 1000  # a counter has 32 digits; Python refuses to read more than 4,300


def without_bumps(seen: Mapping[str, Mapping[str, Version]]) -> dict[str, dict[str, Version]]:
    """``versions_seen`` as the nodes really read it: a version that only a snapshot made is put back, or left out.

    1.2 ``pregel/_checkpoint.py: versions_seen_without_bumps``.
    """
    marks, cleaned = seen.get(BUMPS, {}), {}
    for node, versions in seen.items():
        if node != BUMPS:
            bumped = {c for c, version in versions.items() if marks and marks.get(f"{node}|{c}") == version}
            read = {c: marks[f"{node}:{c}"] for c in bumped if f"{node}:{c}" in marks}
            cleaned[node] = {**{c: version for c, version in versions.items() if c not in bumped}, **read}
    return cleaned


def counter(version: Version | None) -> int:
    """How often a channel had changed: the version's number, or the part of its text before the dot; 0 for None."""
    return order(version)[0]


@lru_cache(maxsize=4096)
def order(version: Version | None) -> tuple[int, str]:
    """The sort key of versions of any kind, also of mixed kinds in one thread; None sorts before all others.

    A version is compared with several others, at several checkpoints.
    """
    if version is None:
        return (-1, "")
    if isinstance(version, str):
        head, _, tail = version.partition(".")
        return (int(head), tail) if head.isdecimal() and len(head) <= _DIGITS else (0, version)
    return (int(version), "") if isfinite(version) else (0, str(version))


def newer(version: Version | None, seen: Version | None) -> bool:
    """Whether a channel has changed since a node saw it."""
    return order(version) > order(seen)


def sources(channel: str) -> list[str]:
    """The nodes that a join waits for, as the join's name lists them, each once; [] for other channels.

    Node names are joined by ``+``, so a node name that contains ``+`` is split too. ``add_edge(["a", "a"], …)`` names a
    node twice (langgraph 1.2 ``graph/state.py: attach_edge``).
    """
    head, _, rest = channel.partition(":")
    return list(dict.fromkeys(rest.rpartition(":")[0].split("+"))) if head == "join" and ":" in rest else []


def target(channel: str) -> str | None:
    """The node that a channel triggers, from its name alone; None for all other channels.

    From format 3 on a StateGraph gives only ``branch:to:…`` and ``join:…`` a meaning, so that a user's own channel may
    have a name such as ``mail:inbox`` (langgraph 1.2 ``graph/state.py: attach_node, attach_edge``).
    """
    return any_target(channel) if channel.startswith((BRANCH_TO, "join:")) else None


def target_in(channel: str, v: int) -> str | None:
    """The node that a channel of a checkpoint of format `v` triggers, from its name alone."""
    return any_target(channel) if v < 3 else target(channel)


@lru_cache(maxsize=1000)
def any_target(channel: str) -> str | None:
    """The node that a channel triggers by its name in any format; None for plain edges of v < 3 and all others.

    A graph has few channels, and each of its checkpoints is asked about all of them.
    """
    if channel.startswith(BRANCH_TO):
        return channel[len(BRANCH_TO) :]
    if channel.endswith(":inbox"):
        return channel[: -len(":inbox")]
    head, _, rest = channel.partition(":")
    if not rest:
        return None
    if head in ("start", START):
        return rest
    if head == "join" or (head == "branch" and rest.count(":") == 2):
        return rest.rpartition(":")[2]
    return None


def is_control(channel: str, state: State) -> bool:
    """Whether this channel of this checkpoint belongs to the graph itself, not to the user's state."""
    by_name = _is_control(channel, PREVIOUS in state.versions, state.v < 3)
    return is_edge(channel, state) if by_name is None else by_name


@lru_cache(maxsize=1000)
def _is_control(channel: str, has_previous: bool, is_old: bool) -> bool | None:
    """Whether a channel belongs to the graph itself; None if its name doesn't say so: it may be a plain edge."""
    if channel == ROOT:
        return False
    if channel in (END, PREVIOUS):
        return not has_previous and channel == END
    if channel.startswith("__") and (channel in _RESERVED or channel.startswith("__pregel_")):
        return True
    if channel.startswith((BRANCH_TO, "join:")):
        return True
    if is_old:
        return True if any_target(channel) is not None or channel == "is_last_step" else None
    return False  # only old formats have plain edges


_RESERVED = frozenset({START, ERROR, ERROR_SOURCE, INTERRUPT, RESUME, SCHEDULED, NO_WRITES, RETURN, "__input__"})


def is_edge(channel: str, state: State) -> bool:
    """Whether a channel is a plain edge of v < 3. Such a channel has the name of a node that ran and wrote to it.

    StateGraph never allowed a channel of the user to have the name of a node.
    """
    return state.v < 3 and channel in state.seen and channel not in NOT_NODES and channel != START


def user_channels(state: State) -> list[str]:
    """The channels of the user's state that were ever written, whether or not they hold a value, in stored order."""
    if state.v < 3:
        names = dict.fromkeys([*state.values, *state.versions])
        return [channel for channel in names if not is_control(channel, state)]
    return [*_user_channels((*state.values, *state.versions), PREVIOUS in state.versions)]


@lru_cache(maxsize=32)
def _user_channels(names: tuple[str, ...], has_previous: bool) -> tuple[str, ...]:
    """Those of these channels that the user has, in a format where names alone decide; most steps have the same."""
    return tuple(channel for channel in dict.fromkeys(names) if not _is_control(channel, has_previous, False))


def missing(state: State) -> list[str]:
    """The user's channels that have a version and no value: delta channels (langgraph 1.2) or empty channels."""
    if state.v < 4:
        return []
    return [c for c in state.versions if c not in state.values and not is_control(c, state)]


def deltas(state: State) -> list[str]:
    """The delta channels without a stored value; metadata has a counter of each of them (``pregel/_checkpoint.py``)."""
    counters = state.metadata.get("counters_since_delta_snapshot")
    return [c for c in counters if c not in state.values] if isinstance(counters, dict) else []


def is_snapshot(value: Any) -> bool:
    """Whether a stored value is a delta channel's snapshot."""
    return isinstance(value, Node) and value.form is Form.SNAPSHOT


def unwrapped(value: Any) -> Any:
    """A stored value as the graph sees it: the value in a snapshot, any other value unchanged."""
    return value.state if is_snapshot(value) else value
