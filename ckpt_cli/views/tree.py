"""A thread, or one namespace of it, as the tree that ``ckpt tree`` draws."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import View
from ckpt_cli.views.steps import StepView


@dataclass(frozen=True, slots=True)
class BranchView:
    """A branch: its first own checkpoint and its tip."""

    number: int
    first: str
    tip: str


@dataclass(frozen=True, slots=True)
class FoldView:
    """A straight run of checkpoints that is not drawn one by one.

    Attributes:
        checkpoints: how many.
        first: the oldest one's id.
        last: the newest one's.
        nodes: the nodes that made them, to how often, in the order of their first step.
        turns: how many of them are inputs.
        edits: how many are updates or forks.
        subgraphs: how many checkpoints of subgraphs were made meanwhile.
    """

    checkpoints: int
    first: str
    last: str
    nodes: dict[str, int]
    turns: int = 0
    edits: int = 0
    subgraphs: int = 0


@dataclass(frozen=True, slots=True)
class AsideView:
    """Branches that leave here and are not drawn, and the checkpoints in them."""

    branches: int
    checkpoints: int


@dataclass(slots=True)
class SubgraphView:
    """A subgraph that a task of a checkpoint ran.

    Attributes:
        ns: its namespace.
        node: the node that is this graph.
        checkpoints: how many it has, of this call.
        nested: how many the subgraphs inside it have.
        rows: its own tree, if everything is drawn.
    """

    ns: str
    node: str
    checkpoints: int
    nested: int
    rows: list["TreeRow"] = field(default_factory=list)


@dataclass(slots=True)
class TreeRow:
    """One line of the drawing: a checkpoint, a fold, or only branches aside.

    Attributes:
        depth: rails at its left, all of which go on below.
        joint: it leaves the last of those rails here.
        ends: nothing follows on its own line.
    """

    depth: int
    joint: bool
    ends: bool
    step: StepView | None = None
    fold: FoldView | None = None
    aside: AsideView | None = None
    subgraphs: list[SubgraphView] = field(default_factory=list)


@dataclass(slots=True)
class TreeView(View):
    """A tree, its rows from the oldest to the head.

    Attributes:
        ns: the namespace drawn, "" for the root graph.
        head: the id of the head.
        status: the head's: ``done``, ``waiting``, ``failed``, ``unfinished``, ``unknown``; null if it can't be read.
        checkpoints: how many there are in this namespace.
        namespaces: how many subgraph namespaces hang below.
        subgraph_checkpoints: how many checkpoints they have.
        problem: what of the head can't be read, null if all can.
        form: ``text``, ``mermaid`` or ``dot``: what it is printed as.
    """

    verb: ClassVar[str] = "tree"
    rows_field: ClassVar[str] = "rows"

    thread_id: str
    ns: str
    head: str
    status: str | None
    checkpoints: int
    namespaces: int
    subgraph_checkpoints: int
    branches: list[BranchView]
    rows: list[TreeRow]
    problem: str | None = None
    form: str = "text"
