"""What other threads show about a thread's graph, read within bounds: reducers, routes, nodes.

The newest threads are read first, and of each only its newest steps. Nothing is read until it is needed.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from itertools import islice

from ckpt_cli.history.reducers.learning import Tally, add_up
from ckpt_cli.history.state.channels import target
from ckpt_cli.model import Ref
from ckpt_cli.plans.evidence_window import EvidenceWindow
from ckpt_cli.plans.same_graph import Shape, Shapes, may_be_of_same_graph
from ckpt_cli.plans.thread_history import ThreadHistory
from ckpt_cli.reading import Reader

THREADS = 50
"""Of at most this many threads the head is read, the newest first."""


class OtherThreads:
    """The histories of other threads, as far as they are read.

    Args:
        reader: the database.
        thread_id: the thread in question, which is left out.
        ns: its namespace; only threads whose head is in it count.
        history: gives the history of the thread itself.
        own_ids: the thread's own checkpoints. A copy of a thread has the same ids, and its steps count only once.
    """

    def __init__(
        self, reader: Reader, thread_id: str, ns: str, history: Callable[[], ThreadHistory], own_ids: Collection[str]
    ) -> None:
        self._reader = reader
        self._thread_id = thread_id
        self._ns = ns
        self._history = history
        self._counted = set(own_ids)
        self.is_cut = False
        """Whether a limit left some checkpoints of other threads unread."""

    @cached_property
    def of_same_graph(self) -> list[ThreadHistory]:
        """The histories of threads of the same graph (`Shapes.is_of_same_graph`), the newest first."""
        return [one for one in self._likely if self._own_shapes.is_of_same_graph(one.shapes)]

    @cached_property
    def _likely(self) -> list[ThreadHistory]:
        return list(self._read(self._likely_heads))

    @cached_property
    def with_same_nodes(self) -> list[ThreadHistory]:
        """The histories of threads that share a node with this one, and that nothing shows to be of another graph.

        This is enough for a route, and too little for a reducer.
        """
        newest, likely = self._own_shapes.newest, self._likely
        nodes = newest.nodes if newest else frozenset()
        others = {head: shape for head, shape in self._heads.items() if shape.nodes & nodes}
        read = [*likely, *self._read({head: others[head] for head in others if head not in self._likely_heads})]
        return [one for one in read if self._is_uncontradicted(one)]

    def _is_uncontradicted(self, other: ThreadHistory) -> bool:
        mine = self._history()
        ids = {one.shapes.newest.graph_id for one in (mine, other) if one.shapes.newest is not None} - {""}
        inputs = mine.inputs | other.inputs
        channels = mine.channels - inputs, other.channels - inputs
        return len(ids) < 2 and may_be_of_same_graph(mine.outputs, other.outputs, channels)

    @property
    def _own_shapes(self) -> Shapes:
        return self._history().shapes

    def that_reached(self, node: str) -> Iterator[ThreadHistory]:
        """The histories of threads that have triggered a node, and have all channels that this thread has.

        Before the first step has finished, a thread shows no node of its graph, only channels.
        """
        newest = self._own_shapes.newest
        if newest is not None:
            likely = {head: shape for head, shape in self._heads.items() if newest.is_within(shape)}
            yield from self._read({h: s for h, s in likely.items() if any(target(c) == node for c in s.channels)})

    def evidence(self, channel: str, own: Tally | None) -> Tally:
        """The steps of a channel in this thread (`own`) and in all threads of the same graph, added up."""
        others = [one.tallies[channel] for one in self.of_same_graph if channel in one.tallies]
        if own is not None and not any(one.steps for one in others):
            return own
        return add_up([*([own] if own is not None else ()), *others])

    @cached_property
    def _heads(self) -> dict[Ref, Shape]:
        """The heads of the newest other threads that can be read, each with its shape."""
        threads = list(islice(self._reader.saver.threads(), THREADS + 2))
        self.is_cut |= len(threads) > THREADS + 1
        refs = [one.head for one in threads if one.thread_id != self._thread_id and one.head.ns == self._ns]
        return EvidenceWindow(self._reader, self._ns).shapes(refs[:THREADS])

    @cached_property
    def _likely_heads(self) -> dict[Ref, Shape]:
        """The heads of threads that may be of the same graph: one of the two may have been where the other is now."""
        shapes = self._own_shapes
        if shapes.newest is None or not shapes.newest.nodes:
            return {}
        newest = shapes.newest
        return {head: one for head, one in self._heads.items() if newest.is_within(one) or shapes.have(one)}

    def _read(self, heads: Mapping[Ref, Shape]) -> Iterator[ThreadHistory]:
        window = EvidenceWindow(self._reader, self._ns)
        for head, shape in heads.items():
            history, is_whole = window.history(head.thread_id, self._counted)
            self.is_cut |= not is_whole
            history.shapes.newest = shape  # also if the head itself wasn't read any more
            yield history
