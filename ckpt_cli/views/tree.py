"""The view of ``ckpt tree``: a thread, or one namespace of it, as a tree."""

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
    """A run of checkpoints without branches that is not drawn one by one.

    Attributes:
        checkpoints: how many there are.
        first: the id of the oldest.
        last: the id of the newest.
        nodes: the nodes that made them, to their number of steps, in the order of their first step.
        turns: how many of the checkpoints are inputs.
        edits: how many are updates or forks.
        subgraphs: how many checkpoints their subgraphs have.
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
    """The number of branches that begin here and are not drawn, and of the checkpoints in them."""

    branches: int
    checkpoints: int


@dataclass(slots=True)
class SubgraphView:
    """A subgraph that a task of a checkpoint ran.

    Attributes:
        ns: its namespace.
        node: the node that runs this graph.
        checkpoints: how many checkpoints this call made.
        nested: how many checkpoints the subgraphs inside it have.
        rows: its own tree, with ``--full``.
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
        depth: how many rails are at its left; all of them continue below.
        joint: whether it leaves the last of those rails here.
        ends: whether nothing follows on its own line.
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
        status: of the head: ``done``, ``waiting``, ``failed``, ``unfinished``, ``unknown``; null if it can't be read.
        checkpoints: how many there are in this namespace.
        namespaces: how many subgraph namespaces there are below this one.
        subgraph_checkpoints: how many checkpoints they have.
        problem: which part of the head can't be read; null if all can.
        form: ``text``, ``mermaid`` or ``dot``: the format in which it is printed.
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
