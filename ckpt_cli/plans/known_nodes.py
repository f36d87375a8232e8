"""Which nodes a thread is known to have, for ``--as-node`` and ``--next``; errors with near names.

It also chooses the node that counts as the writer of an update.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from ckpt_cli.errors import UsageError
from ckpt_cli.history.state.channels import START
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.plans.next_nodes import Hop, infer_node
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.values.langgraph_values import Send
from ckpt_cli.values.state import Version


class KnownNodes:
    """The nodes of one thread.

    Args:
        reducers: has the histories of this thread and of other threads of the same graph.
        tasks: the tasks that are about to run.
    """

    def __init__(self, reducers: Reducers, tasks: Snapshot) -> None:
        self._reducers = reducers
        self._names = {*reducers.history.nodes, *(task.node for task in tasks.tasks if task.node), START}

    def choose(self, as_node: str | None, seen: Mapping[str, Mapping[str, Version]], *, alone: bool) -> str:
        """The node that counts as the writer of an update: `as_node`, or if that is None, the node that ran last.

        `alone`: the superstep has no other update.

        Raises:
            UsageError: no such node is known, or the node can't be inferred.
        """
        if as_node is None and not alone:
            raise UsageError("a superstep has several updates: each of them must name its node")
        node = as_node or infer_node(seen, self._names)
        if self._is_new(node):
            near = get_close_matches(node, self._names, n=3, cutoff=0.5)
            others = sorted(self._names - {*near}, key=lambda name: (name.startswith("__"), name))
            hint = f"did you mean {near[0]}?" if near else ""
            raise UsageError(
                f"no node {node!r} is known in this thread; these are:", hint=hint, candidates=[*near, *others]
            )
        return node

    def describe_unknown(self, hops: Sequence[Hop]) -> Iterator[str]:
        """One line about each unknown next node, because the library silently ignores wrong names."""
        for name in dict.fromkeys(hop.node if isinstance(hop, Send) else hop for hop in hops):
            if self._is_new(name):
                near = get_close_matches(name, self._names, n=1, cutoff=0.5)
                meant = f"; did you mean {near[0]}?" if near else ""
                yield f"{name} has never run here: a graph without such a node ignores it{meant}"

    def describe_input_keys(self, node: str, channels: Iterable[str]) -> Iterator[str]:
        """One line about the channels of an update as ``__start__`` that may not be in the graph's input schema.

        ``__start__`` writes only the keys of that schema (langgraph 1.2 ``graph/state.py: attach_node``). The channels
        that it wrote in this thread, or in another thread of the graph, are in it.
        """
        if node != START:
            return
        history, others = self._reducers.history, self._reducers.others
        new = [channel for channel in channels if channel not in history.inputs]
        if new and (unproved := [c for c in new if not any(c in other.inputs for other in others.of_same_graph)]):
            names, them = ", ".join(unproved), "it" if len(unproved) == 1 else "them"
            yield f"update_state as __start__ leaves out {names} unless the input schema has {them}; nothing shows it"

    def _is_new(self, node: str) -> bool:
        """Whether neither this thread nor another thread of the same graph is known to have this node."""
        return node not in self._names and not any(
            node in related.nodes for related in self._reducers.others.with_same_nodes
        )
