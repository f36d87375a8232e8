"""Whether two threads belong to the same graph, by the nodes and channels that their checkpoints name.

A database doesn't name graphs, and several graphs may use the same names. So the rule is strict: a thread of another
graph that counts as one of this graph would prove a wrong reducer.
"""

from collections.abc import Collection
from typing import NamedTuple

from ckpt_cli.history.state.channels import NOT_NODES, START
from ckpt_cli.values.state import State


class Shape(NamedTuple):
    """The parts of its graph that a checkpoint shows.

    Attributes:
        nodes: the nodes that have run.
        channels: all channels that were ever written, also those that trigger nodes (``branch:to:NODE``).
        graph_id: the name that LangGraph's server gives to the graph in metadata; "" if there is none.
    """

    nodes: frozenset[str]
    channels: frozenset[str]
    graph_id: str

    def is_within(self, other: "Shape") -> bool:
        """Whether another shape has all nodes and channels of this one."""
        return self.graph_id == other.graph_id and self.nodes <= other.nodes and self.channels <= other.channels


def shape_of(state: State) -> Shape:
    """The shape of a graph at one checkpoint."""
    graph_id = state.metadata.get("graph_id")
    return Shape(
        frozenset(node for node in state.seen if node not in NOT_NODES and node != START),
        frozenset(state.versions),
        graph_id if isinstance(graph_id, str) else "",
    )


Outputs = dict[str, set[frozenset[str]]]
"""Node to the sets of the user's channels that its recorded runs wrote to."""


def may_be_of_same_graph(mine: Outputs, other: Outputs, channels: tuple[Collection[str], Collection[str]]) -> bool:
    """Whether the recorded runs of two threads, which share a node, don't contradict that their graph is the same.

    They do if a node never wrote to the same channels in both. Where no runs of a node are recorded in both threads, as
    with ``durability="exit"``, all the `channels` of one thread, its inputs left out, must be channels of the other.
    """
    common = (mine.keys() & other.keys()) - {START}
    if common:
        return not any(mine[node].isdisjoint(other[node]) for node in common)
    first, second = map(set, channels)
    return first <= second or second <= first


class Shapes:
    """The shapes of all checkpoints of a thread's namespace.

    Only hashes are kept: a thread whose channels come one by one would otherwise need quadratic memory.

    Attributes:
        newest: the shape of the newest checkpoint; None if there is none.
    """

    def __init__(self) -> None:
        self.newest: Shape | None = None
        self._newest_id = ""
        self._hashes: set[int] = set()

    def add(self, state: State) -> None:
        """Add a checkpoint."""
        shape, own_id = shape_of(state), state.ref.checkpoint_id
        if own_id >= self._newest_id:
            self.newest, self._newest_id = shape, own_id
        self._hashes.add(hash(shape))

    def have(self, shape: Shape) -> bool:
        """Whether some checkpoint had exactly this shape."""
        return hash(shape) in self._hashes

    def is_of_same_graph(self, other: "Shapes") -> bool:
        """Whether one of two threads is now exactly where the other one is or was.

        The newest checkpoint of one thread has exactly the nodes and channels that some checkpoint of the other one
        has, no more and no fewer, and some node has run. A thread that took another way through the graph doesn't
        count, because nothing shows that its graph is the same.
        """
        if self.newest is None or other.newest is None or not (self.newest.nodes and other.newest.nodes):
            return False
        return other.have(self.newest) or self.have(other.newest)
