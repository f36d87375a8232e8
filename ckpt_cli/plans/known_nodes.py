"""Which nodes a thread is known to have, for ``--as-node`` and ``--next``; errors with near names.

It also chooses the node that counts as the writer of an update.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from ckpt_cli.errors import UsageError
from ckpt_cli.history.state.channels import START
from ckpt_cli.history.tasks.snapshot import Snapshot
from ckpt_cli.plans.next_nodes import Hop, infer_node
from ckpt_cli.plans.reducer_choice import Reducers
from ckpt_cli.shell_words import argument
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
            names, where = self._all_names(), "subgraph" if self._reducers.is_subgraph else "thread"
            near = get_close_matches(node, names, n=3, cutoff=0.5)
            others = sorted(names - {*near}, key=lambda name: (name.startswith("__"), name))
            only = f"a node can be the writer once it has run; --as-node NODE --next {argument(node)} leads to it"
            hint = f"did you mean {near[0]}?" if near else only
            listed = "; these are:" if names else ""
            raise UsageError(
                f"no node {node!r} is known in this {where}{listed}", hint=hint, candidates=[*near, *others]
            )
        return node

    def is_node(self, name: str) -> bool:
        """Whether a node has this name; of a name that can't mean anything else, only this thread is asked."""
        return name in self._names or (("," in name or "=" in name) and not self._is_new(name))

    def describe_unknown(self, hops: Sequence[Hop]) -> Iterator[str]:
        """One line about each unknown next node, because the library silently ignores wrong names."""
        for name in dict.fromkeys(hop.node if isinstance(hop, Send) else hop for hop in hops):
            if self._is_new(name):
                near = get_close_matches(name, self._all_names(), n=1, cutoff=0.5)
                meant = f"; did you mean {near[0]}?" if near else ""
                yield f"{name} has never run here: a graph without such a node ignores it{meant}"

    def ignored_keys(self, node: str, channels: Iterable[str]) -> list[str]:
        """The keys of an update as ``__start__`` that are not in the graph's input schema, and so are not written.

        ``__start__`` writes only the keys of that schema (langgraph 1.2 ``graph/state.py: attach_node``). A key is not
        in it if an input of this thread, or of another thread of the graph, had the key and no run ever wrote it.
        """
        unproved = self._unproved_keys(node, channels)
        if not unproved:
            return []
        histories = (self._reducers.history, *self._reducers.others.of_same_graph)
        return [channel for channel in unproved if any(channel in one.ignored_inputs for one in histories)]

    def describe_input_keys(self, node: str, channels: Iterable[str], ignored: Collection[str]) -> Iterator[str]:
        """A line about the `ignored` keys of an update, and a line about those that ``__start__`` may not write."""
        if ignored:
            yield (
                f"left out, as by update_state: {', '.join(ignored)}; a recorded input had {_it(ignored)},"
                f" and __start__ didn't write {_it(ignored)}"
            )
        if unproved := [channel for channel in self._unproved_keys(node, channels) if channel not in ignored]:
            names, them = ", ".join(unproved), _it(unproved)
            yield f"update_state as __start__ leaves out {names} unless the input schema has {them}; nothing shows it"

    def describe_keys_of_run(self, channels: Collection[str]) -> Iterator[str]:
        """The same of an input, which is stored whole: the run that takes it in writes only keys of that schema."""
        if ignored := self.ignored_keys(START, channels):
            yield f"the run leaves out {', '.join(ignored)}: a recorded input had {_it(ignored)}, and it wasn't written"
        if unproved := [channel for channel in self._unproved_keys(START, channels) if channel not in ignored]:
            names, them = ", ".join(unproved), _it(unproved)
            yield f"the run leaves out {names} unless the input schema has {them}; nothing shows it"

    def _unproved_keys(self, node: str, channels: Iterable[str]) -> list[str]:
        """The channels that ``__start__`` wrote neither in this thread nor in another thread of the graph."""
        history, others = self._reducers.history, self._reducers.others
        new = [channel for channel in channels if channel not in history.inputs] if node == START else []
        return [c for c in new if not any(c in other.inputs for other in others.of_same_graph)]

    def _is_new(self, node: str) -> bool:
        """Whether neither this thread nor another thread of the same graph is known to have this node."""
        return node not in self._names and not (
            node in self._reducers.nodes_of_other_calls
            or any(node in related.nodes for related in self._reducers.others.with_same_nodes)
        )

    def _all_names(self) -> set[str]:
        """The nodes of the thread, in a subgraph also those that only other calls of it show."""
        return {*self._names, *self._reducers.nodes_of_other_calls}


def _it(names: Collection[str]) -> str:
    return "it" if len(names) == 1 else "them"
