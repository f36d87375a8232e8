"""Who acts in an update, and where that node sends the run: as it always did, or as a person says."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.state.channels import END, START, TASKS, order
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.plans.thread_history import Route
from ckpt_cli.values.known import Send
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.state import Version

Hop = str | Send
"""A node to go on with, or to call with an argument of its own."""

ENDS: tuple[Hop, ...] = ()

_BUMPS = "__snapshot_bumps__"


def infer_node(seen: Mapping[str, Mapping[str, Version]], nodes: Collection[str]) -> str:
    """The node that moved last (1.2 ``pregel/main.py: _infer_as_node``).

    Raises:
        UsageError: several did.
    """
    real = _without_bumps(seen)
    moves = sorted((order(v), node) for node, at in real.items() if node in nodes for v in at.values())
    if not any(at for at in real.values()):
        return START
    if len(moves) == 1 or (moves and moves[-1][0] != moves[-2][0]):
        return moves[-1][1]
    last = sorted({node for version, node in moves if version == moves[-1][0]}) if moves else []
    raise UsageError("which node to act as is ambiguous", hint="--as-node says it", candidates=last or sorted(nodes))


def _without_bumps(seen: Mapping[str, Mapping[str, Version]]) -> dict[str, dict[str, Version]]:
    """What nodes really read (1.2 ``pregel/_checkpoint.py: versions_seen_without_bumps``)."""
    marks, found = seen.get(_BUMPS, {}), {}
    for node, at in seen.items():
        if node != _BUMPS:
            bumped = {c for c, version in at.items() if marks and marks.get(f"{node}|{c}") == version}
            read = {c: marks[f"{node}:{c}"] for c in bumped if f"{node}:{c}" in marks}
            found[node] = {**{c: version for c, version in at.items() if c not in bumped}, **read}
    return found


def choose_route(reducers: Reducers, node: str, hops: Sequence[Hop] | None) -> tuple[list[tuple[str, Any]], str]:
    """The writes by which a node sends the run on, and in words why.

    Raises:
        UsageError: it never ran, or went on in several ways, and nobody says how now.
    """
    own = reducers.history.routes.get(node)
    routes = own or _of_kin(reducers, node)
    joins = [way for way in next(iter(routes), ()) if way[0].startswith("join:") and all(way in r for r in routes)]
    if hops is not None:
        return [*_written(tuple(joins)), *map(_hop, hops)], f"then {', '.join(map(_called, hops)) or 'END'}, as you say"
    if not routes:
        raise Refused(f"{node} was never seen to run, so what comes after it isn't known", hint="--next NODE says it")
    if len(routes) > 1:
        ways = [f"{_told(route)} ({times}x)" for route, times in routes.items()]
        raise UsageError(f"{node} went on in several ways", hint="--next NODE[,NODE] or --next END", candidates=ways)
    [(route, times)] = routes.items()
    if any(channel == TASKS for channel, _ in route):
        hint = "--next NODE=JSON for each, or --next END"
        raise Refused(f"{node} sends tasks with arguments of their own: {_told(route)}", hint=hint)
    where = "" if own else " in other threads"
    return _written(route), f"then {_told(route)}, as in {times} of {times} runs{where}"


def _of_kin(reducers: Reducers, node: str) -> Mapping[Route, int]:
    """The ways of a node in other threads: in those where the nodes of this one went as here, if there are any."""
    told, mine = [kin for kin in reducers.related if node in kin.routes], reducers.history.routes
    alike = [kin for kin in told if all(mine[n].keys() & kin.routes[n].keys() for n in mine if n in kin.routes)]
    return sum((kin.routes[node] for kin in alike or told), Counter[Route]())


def _written(route: Route) -> list[tuple[str, Any]]:
    return [(channel, value or None) for channel, value in route]


def _hop(hop: Hop) -> tuple[str, Any]:
    if isinstance(hop, Send):
        return TASKS, Node(Opened("langgraph.types", "Send", Form.ARGS, [hop.node, hop.arg]))
    return f"branch:to:{hop}", None


def _called(hop: Hop) -> str:
    return f"Send to {hop.node}" if isinstance(hop, Send) else hop


def _told(route: Route) -> str:
    names = [f"Send to {way}" if channel == TASKS else channel.rpartition(":")[2] for channel, way in route]
    return ", ".join(names) or END
