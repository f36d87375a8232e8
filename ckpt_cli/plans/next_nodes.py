"""The nodes that run next after an update (recorded routes or ``--next``), and which node ran last.

The node that ran last counts as the writer of an update that names none. The next nodes are those of recorded runs, or
those that a person names.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ckpt_cli.errors import Refused, UsageError
from ckpt_cli.history.state.channels import START, TASKS, order, target, without_bumps
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.plans.thread_history import Route, ThreadHistory, count_route
from ckpt_cli.shell_words import command
from ckpt_cli.values.langgraph_values import Send
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.state import Version

Hop = str | Send
"""A next node, or a Send that calls a node with its own argument."""

ENDS: tuple[Hop, ...] = ()


def infer_node(seen: Mapping[str, Mapping[str, Version]], nodes: Collection[str]) -> str:
    """The node that ran last (1.2 ``pregel/main.py: _infer_as_node``).

    Raises:
        UsageError: several nodes ran last.
    """
    real = without_bumps(seen)
    seen_versions = sorted((order(v), node) for node, at in real.items() if node in nodes for v in at.values())
    if not any(at for at in real.values()):
        return START
    if len(seen_versions) == 1 or (seen_versions and seen_versions[-1][0] != seen_versions[-2][0]):
        return seen_versions[-1][1]
    last = sorted({node for version, node in seen_versions if version == seen_versions[-1][0]}) if seen_versions else []
    raise UsageError("which node to act as is ambiguous", hint="--as-node names it", candidates=last or sorted(nodes))


def choose_route(reducers: Reducers, node: str, hops: Sequence[Hop] | None) -> tuple[list[tuple[str, Any]], str]:
    """The writes that trigger the next nodes, and a text that names these nodes and the reason for them.

    Raises:
        UsageError, Refused: the node never ran or has several recorded routes, and `hops` is None.
    """
    own = reducers.history.routes.get(node)
    histories = [reducers.history] if own else _related(reducers, node)
    routes = _added_up(one.routes.get(node, {}) for one in histories)
    doubtful = _added_up(one.doubtful.get(node, {}) for one in histories)
    joins = [way for way in next(iter(routes), ()) if way[0].startswith("join:") and all(way in r for r in routes)]
    if hops is not None:
        named = f"then {', '.join(map(_describe_hop, hops)) or 'END'}, as you say"
        beside = [str(target(channel)) for channel in joins_beside(joins, hops)]
        taken = f"; its edge to the join of {', '.join(beside)} is taken all the same" if beside else ""
        return [*_route_writes(tuple(joins)), *map(_hop_write, hops)], f"{named}{taken}"
    if not routes:
        where = " in this thread's namespace" if reducers.is_subgraph else ""
        raise Refused(
            f"no run of {node} that finished is recorded{where}, so its next nodes are unknown",
            hint="--next NODE names them",
        )
    if len(routes) > 1:
        raise UsageError(
            f"{node} has several recorded routes",
            hint="add one of these to the command",
            candidates=_options(routes, doubtful),
        )
    [(route, times)] = routes.items()
    if any(channel == TASKS for channel, _ in route):
        hint = f"add {_option(route)} with the arguments, or --next END"
        raise Refused(f"{node} sends tasks with arguments that ckpt can't know: {_describe_route(route)}", hint=hint)
    where = "" if own else " in other threads"
    runs = "its only recorded run" if times == 1 else f"{times} of {times} runs"
    doubt = ", which failed too, perhaps in a conditional edge" if times == doubtful.total() else ""
    return _route_writes(route), f"then {_describe_route(route)}, as in {runs}{where}{doubt}"


def joins_beside(route: Sequence[tuple[str, Any]], hops: Sequence[Hop] | None) -> list[str]:
    """The joins of a route that lead to none of the nodes that a person names; [] if nobody names nodes.

    No ``--next`` leaves them out: ``update_state`` writes the static edges of its node, and joins are among them.
    """
    return [c for c, _ in route if hops is not None and c.startswith("join:") and target(c) not in hops]


def describe_doubt(node: str, route: Sequence[tuple[str, Any]], hops: Sequence[Hop] | None) -> Iterator[str]:
    """One line if ``update_state`` may not take a recorded route, be it to the end.

    ``update_state`` runs the edges of a node, but not the node. It evaluates conditional edges on the new state, and
    never takes a way that the node chose by ``Command(goto=…)`` (1.2 ``graph/state.py: attach_node``). All leave the
    same writes; only joins, and the edges of ``__start__``, can't come from a Command.
    """
    if hops is None and node != START and not (route and all(channel.startswith("join:") for channel, _ in route)):
        went = f", or if {node} went there by Command(goto=…)" if route else ""
        when = f"if they lead elsewhere{went}, name the nodes with --next"
        yield f"update_state follows only edges, and evaluates conditional ones anew: {when}"


def _options(routes: Counter[Route], doubtful: Counter[Route]) -> list[str]:
    """The options that name each recorded route, with the number of its runs; the most frequent route first."""
    failed = {tuple(sorted(route)): times for route, times in doubtful.items()}
    return [
        f"{_option(route)}  ({_send_words(route)}as in {times} of {routes.total()} runs"
        f"{_doubt(times, failed.get(tuple(sorted(route)), 0))})"
        for route, times in routes.most_common()
    ]


def _doubt(times: int, failed: int) -> str:
    """What may be wrong with a route that runs took which failed too: a conditional edge raised, and led nowhere."""
    if not failed:
        return ""
    runs = f"{failed:,} of these" if failed < times else "this run" if times == 1 else "these runs"
    return f"; {runs} failed too, perhaps in a conditional edge"


def _send_words(route: Route) -> str:
    """The number of a route's Sends, if there are several: each needs an option of its own."""
    sends = sum(channel == TASKS for channel, _ in route)
    return f"{sends:,} Sends, " if sends > 1 else ""


def _option(route: Route) -> str:
    """The options that name a route: ``--next a,b``, ``--next work=JSON`` for a Send.

    One option names all nodes if no name could be read in another way.
    """
    names = [channel.rpartition(":")[2] for channel, _ in route if channel != TASKS]
    sends = list(dict.fromkeys(str(way) for channel, way in route if channel == TASKS))
    is_joined = all(re.fullmatch(r"[\w. /-]+", name) and name == name.strip() and name != "END" for name in names)
    words = [*([",".join(names)] if names and is_joined else names), *(f"{node}=JSON" for node in sends)]
    known = words or ["END"]
    return command("", options=[part for word in known for part in ("--next", word)]).strip()


def _added_up(counts: Iterable[Mapping[Route, int]]) -> Counter[Route]:
    """The routes in several threads, each with its number of runs in all of them."""
    routes = Counter[Route]()
    for one in counts:
        for route, times in one.items():
            count_route(routes, route, times)
    return routes


def _related(reducers: Reducers, node: str) -> list[ThreadHistory]:
    """The other threads that show a node's routes; if possible, only those whose other nodes took the same as here."""
    threads, mine = [kin for kin in reducers.others.with_same_nodes if node in kin.routes], reducers.history.routes
    similar = [kin for kin in threads if all(_share_one(mine[n], kin.routes[n]) for n in mine if n in kin.routes)]
    return similar or threads


def _share_one(some: Iterable[Route], others: Iterable[Route]) -> bool:
    """Whether a route is among both, in whatever order."""
    return not {tuple(sorted(one)) for one in some}.isdisjoint(tuple(sorted(one)) for one in others)


def _route_writes(route: Route) -> list[tuple[str, Any]]:
    return [(channel, value or None) for channel, value in route]


def _hop_write(hop: Hop) -> tuple[str, Any]:
    if isinstance(hop, Send):
        return TASKS, Node(Opened("langgraph.types", "Send", Form.ARGS, [hop.node, hop.arg]))
    return f"branch:to:{hop}", None


def _describe_hop(hop: Hop) -> str:
    return f"Send to {hop.node}" if isinstance(hop, Send) else hop


def _describe_route(route: Route) -> str:
    names = [f"Send to {way}" if channel == TASKS else channel.rpartition(":")[2] for channel, way in route]
    return ", ".join(names) or "END"
