"""The view of ``ckpt tree``: a thread, or one namespace of it, as a tree."""

from dataclasses import dataclass, field
from typing import ClassVar

from ckpt_cli.views.base import Rows, View
from ckpt_cli.views.steps import ChangeView, StepView


@dataclass(frozen=True, slots=True)
class BranchView:
    """A branch: the first checkpoint that belongs to it alone, and its tip."""

    number: int
    first: str
    tip: str


@dataclass(frozen=True, slots=True)
class FoldView:
    """A run of checkpoints without branches; it is drawn as one line.

    Attributes:
        checkpoints: the number of checkpoints.
        first: the id of the oldest checkpoint.
        last: the id of the newest checkpoint.
        nodes: the nodes that made the checkpoints, each with its number of tasks, in the order of their first steps.
        turns: the number of checkpoints that are inputs.
        edits: the number of checkpoints that are updates or forks.
        subgraphs: the number of checkpoints in the subgraphs that were called here.
        input_id: if the oldest checkpoint did nothing but take in an input, the input's checkpoint; else null.
        inputs_taken: the number of checkpoints of which each did nothing but take in an input.
        first_short: the short form of the oldest checkpoint's id.
        first_step: the step of the oldest checkpoint.
        changes: if the oldest checkpoint took in an input whose messages replaced others of the same id, what it
            changed; else null.
    """

    checkpoints: int
    first: str
    last: str
    nodes: dict[str, int]
    turns: int = 0
    edits: int = 0
    subgraphs: int = 0
    input_id: str | None = None
    inputs_taken: int = 0
    first_short: str = ""
    first_step: int | None = None
    changes: list[ChangeView] | None = None


@dataclass(frozen=True, slots=True)
class AsideView:
    """Branches that begin here and are not drawn: their number, and the number of their checkpoints."""

    branches: int
    checkpoints: int


@dataclass(slots=True)
class SubgraphView:
    """A subgraph that a task of a checkpoint ran.

    Attributes:
        ns: its namespace.
        node: the node that runs this graph.
        checkpoints: the number of checkpoints that this call made.
        nested: the number of checkpoints in the subgraphs that this subgraph called.
        rows: with ``--full``, the subgraph's own tree.
    """

    ns: str
    node: str
    checkpoints: int
    nested: int
    rows: list["TreeRow"] = field(default_factory=list)


@dataclass(slots=True)
class TreeRow:
    """One line of the drawing: a checkpoint, a folded run, or only a remark about branches that are not drawn.

    A last row may have only `subgraphs`: those whose caller isn't stored or isn't known.

    Attributes:
        depth: the number of rails at the left; all of them continue below.
        joint: whether the row branches off from the last of these rails.
        ends: whether no further row continues this one.
    """

    depth: int
    joint: bool
    ends: bool
    step: StepView | None = None
    fold: FoldView | None = None
    aside: AsideView | None = None
    subgraphs: list[SubgraphView] = field(default_factory=list)

    @property
    def lacks_caller(self) -> bool:
        """Whether no checkpoint is known that called its subgraphs."""
        return self.step is None and self.fold is None and self.aside is None


@dataclass(slots=True)
class TreeView(View):
    """A tree, its rows from the oldest to the head.

    Attributes:
        ns: the namespace that is drawn; "" for the root graph.
        head: the id of the head.
        status: the head's status: ``done``, ``waiting``, ``failed``, ``unfinished``, ``unknown``; null if it is
            unreadable.
        checkpoints: the number of checkpoints in this namespace.
        namespaces: the number of subgraph namespaces below this one.
        subgraph_checkpoints: the number of checkpoints in those namespaces.
        problem: which part of the head can't be read; null if all of it can.
        form: ``text``, ``mermaid`` or ``dot``: the format of the printed tree.
        full: whether every checkpoint has a row, in text too.
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
    rows: Rows | list[TreeRow]
    problem: str | None = None
    form: str = "text"
    full: bool = False
