"""The view of ``ckpt graph``: the graphs of an agent, as what its tasks recorded shows them."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node of a graph.

    Attributes:
        runs: tasks of it that finished; `sent` of them were started by a Send.
        asked: tasks that asked, whether or not they went on, and however many questions they asked.
        failed: tasks with a recorded failure, whether or not they went on.
        calls: calls of ``@task`` functions, if it is an entrypoint of the functional API.
        unrecorded: steps in which it ran, as ``versions_seen`` or metadata shows, and left no writes.
        ran: whether a run of it is recorded, or of what it called; a node that has none is one that others led to.
        subgraph: the path of the subgraph that it called; null if it called none.
        left: tasks that left no result in a subgraph whose call has finished: they left by ``Command(graph=PARENT)``,
            or the call ended before they ran.
    """

    name: str
    runs: int
    sent: int = 0
    asked: int = 0
    failed: int = 0
    calls: int = 0
    unrecorded: int = 0
    ran: bool = True
    subgraph: str | None = None
    left: int = 0


@dataclass(frozen=True, slots=True)
class EdgeView:
    """A way that runs took from one node to another.

    Attributes:
        source: null if it isn't recorded: for an update, a Command given as input, or several `candidates`.
        target: ``__end__`` for the end; null for a Send that can't be read.
        kind: ``edge`` (an edge, a conditional one or a Command's goto), ``join``, ``send``, or ``error`` to a handler.
        by: ``task``, ``update`` (``update_state``) or ``command`` (a Command given as input).
        proof: ``recorded`` by the task's own writes; ``inferred``, always an edge to the end; or ``candidates``: the
            step left no writes, and one of the `candidates` led there.
        count: how often it was taken.
    """

    source: str | None
    target: str | None
    kind: str
    by: str
    proof: str
    count: int
    candidates: tuple[str, ...] = ()


@dataclass(slots=True)
class GraphPartView:
    """The root graph, or a subgraph in all of its calls.

    Attributes:
        path: the nodes that lead to it, joined by ``|``; "" for the root graph.
        namespaces: how many namespaces it has in these threads: one for each call, unless it has a memory of its own.
        steps: checkpoints that runs made; `unrecorded` of them left no writes.
        nodes: in the order in which runs come to them, from ``__start__`` on.
        notes: what isn't recorded, a sentence each.
    """

    path: str
    namespaces: int
    checkpoints: int
    steps: int
    unrecorded: int
    nodes: list[NodeView] = field(default_factory=list)
    edges: list[EdgeView] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class GraphView(View):
    """The observed graphs of some threads.

    Attributes:
        threads: the number of threads that were read.
        thread_id: the thread, if only one was read; else null.
        graphs: the root graph first.
        form: ``text``, ``mermaid`` or ``dot``: the format in which it is printed.
    """

    verb: ClassVar[str] = "graph"
    rows_field: ClassVar[str] = "graphs"

    threads: int
    thread_id: str | None
    graphs: list[GraphPartView] = field(default_factory=list)
    form: str = "text"
