"""Joins that may trigger a node although its checkpoint doesn't show them.

Nothing of a join is stored until a node has written to it. Since langgraph 0.3.19 a task's id is computed from all
triggers of its node, so the id of a task proves a join that was guessed.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations, permutations

from ckpt_cli.history.state.channels import sources, target

_MOST = ((2, 40), (3, 12), (4, 7))  # joins of so many nodes are guessed in a graph with at most so many
_TOGETHER = 5  # of more joins to one node, all are tried together, and each alone


def possible_joins(node: str, known: Iterable[str], names: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Sets of joins that may lead to a node, the likely ones first.

    Args:
        node: the node.
        known: joins that are stored elsewhere, maybe by other graphs.
        names: the nodes of the graph that are known; each join of them is tried alone.
    """
    stored = sorted({channel for channel in known if sources(channel) and target(channel) == node})
    sizes = range(len(stored), 0, -1) if len(stored) <= _TOGETHER else (len(stored), 1)
    for size in sizes:
        yield from combinations(stored, size)
    for count, most in _MOST:
        if len(names) <= most:
            yield from ((f"join:{'+'.join(some)}:{node}",) for some in permutations(sorted(names), count))
