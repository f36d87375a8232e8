"""How ``tree`` is laid out: which checkpoints have their own line, which are folded, how far each is indented.

The line that leads to the head goes straight down; at a fork the other branches are drawn first, one rail to the right.
Elsewhere the branch with the most checkpoints goes straight down, so n checkpoints never need more than log2(n) rails.
Every checkpoint is in exactly one row. This module knows ids and edges, no text.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from ckpt_cli.history.lineage.lineage import Lineage

BRANCHES = 60
"""At most so many branches are drawn, the newest ones; the others are only counted where they begin."""
_TURNS = 40
_FIRST, _LAST = 3, 20


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the drawing: a checkpoint, or a straight run of them that is folded.

    Attributes:
        depth: the number of rails at the left of the row; all of them continue below.
        joint: whether a branch begins with this checkpoint; the branch leaves the last of these rails here.
        checkpoint_id: None if the row is a fold.
        run: the folded checkpoints, oldest first.
        aside: the checkpoints of branches that leave from here and are not drawn.
        branches: how many such branches there are.
        ends: whether nothing follows on this line.
    """

    depth: int
    joint: bool
    checkpoint_id: str | None = None
    run: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    branches: int = 0
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Marked:
    """The checkpoints that get a line of their own wherever they are in the tree.

    Attributes:
        edits: updates and forks.
        turns: inputs, and steps that called a subgraph.
        always: those that the caller asks for.
    """

    edits: Collection[str] = field(default=frozenset())
    turns: Collection[str] = field(default=frozenset())
    always: Collection[str] = field(default=frozenset())


def rows(lineage: Lineage, marked: Marked, *, full: bool = False) -> Iterator[Row]:
    """The rows of the drawing, from top to bottom; if there are several roots, the head's own root comes last."""
    return _Drawing(lineage, marked, full).rows()


def _some(marked: Iterable[str]) -> set[str]:
    """All marked checkpoints; if there are many, only the first few and the newest."""
    ordered = sorted(marked)
    return set(ordered) if len(ordered) <= _TURNS else {*ordered[:_FIRST], *ordered[-_LAST:]}


class _Drawing:
    def __init__(self, lineage: Lineage, marked: Marked, full: bool) -> None:
        self._lineage = lineage
        self._full = full
        tips = lineage.tips
        shown = tips if full else [*tips[-BRANCHES:], *(i for i in tips if i in marked.always)]
        self._visible = self._upwards(shown)
        self._main = set(lineage.line(lineage.head)) if lineage.head is not None else set()
        self._weights = _weights(lineage)
        self._keep = set(lineage.rows) if full else self._kept(marked)

    def _upwards(self, tips: Iterable[str]) -> set[str]:
        """The tips and all their ancestors."""
        ancestors: set[str] = set()
        for tip in tips:
            for checkpoint_id in self._lineage.line(tip):
                if checkpoint_id in ancestors:
                    break
                ancestors.add(checkpoint_id)
        return ancestors

    def _kept(self, marked: Marked) -> set[str]:
        lineage = self._lineage
        structure = {*lineage.roots, *lineage.tips}
        for checkpoint_id in lineage.forks:
            children = self._children(checkpoint_id)
            if len(children) > 1:
                structure.update((checkpoint_id, *children))
        return structure | _some(marked.edits) | _some(marked.turns) | set(marked.always)

    def _children(self, checkpoint_id: str) -> list[str]:
        return [i for i in self._lineage.children.get(checkpoint_id, ()) if i in self._visible]

    def rows(self) -> Iterator[Row]:
        roots = sorted(self._lineage.roots, key=lambda i: (i in self._main, i))
        hidden = [i for i in roots if i not in self._visible]
        if hidden:
            yield Row(0, False, aside=tuple(self._below(hidden)), branches=self._tips(hidden))
        todo = [(i, 0, False) for i in reversed(roots) if i in self._visible]
        while todo:
            start, depth, joint = todo.pop()
            line = list(self._straight(start))
            yield from self._line(line, depth, joint)
            sides = self._children(line[-1])
            if sides:
                straight = max(sides, key=lambda i: (i in self._main, self._weights[i], i))
                todo.append((straight, depth, False))
                todo += [(i, depth + 1, True) for i in reversed(sides) if i != straight]

    def _straight(self, start: str) -> Iterator[str]:
        """The checkpoints from here down to the next fork that is drawn, or to the tip."""
        children = [start]
        while len(children) == 1:
            yield children[0]
            children = self._children(children[0])

    def _line(self, line: list[str], depth: int, joint: bool) -> Iterator[Row]:
        run: list[str] = []
        for checkpoint_id in line:
            if checkpoint_id not in self._keep:
                run.append(checkpoint_id)
                continue
            yield from self._fold(run, depth)
            run = []
            yield from self._drawn(checkpoint_id, depth, joint)
            joint = False
        yield from self._fold(run, depth)

    def _drawn(self, checkpoint_id: str, depth: int, joint: bool) -> Iterator[Row]:
        hidden = self._hidden(checkpoint_id)
        ends = not self._children(checkpoint_id)
        yield Row(depth, joint, checkpoint_id, ends=ends)
        if hidden:
            yield Row(depth + 1, True, aside=tuple(self._below(hidden)), branches=self._tips(hidden), ends=True)

    def _fold(self, run: list[str], depth: int) -> Iterator[Row]:
        hidden = [i for at in run for i in self._hidden(at)]
        if len(run) == 1:
            yield from self._drawn(run[0], depth, False)
        elif run:
            yield Row(depth, False, None, tuple(run), tuple(self._below(hidden)), self._tips(hidden))

    def _hidden(self, checkpoint_id: str) -> list[str]:
        return [i for i in self._lineage.children.get(checkpoint_id, ()) if i not in self._visible]

    def _below(self, starts: Iterable[str]) -> Iterator[str]:
        """These checkpoints and all their descendants."""
        todo = list(starts)
        while todo:
            at = todo.pop()
            yield at
            todo += self._lineage.children.get(at, ())

    def _tips(self, starts: Iterable[str]) -> int:
        return sum(1 for i in self._below(starts) if i not in self._lineage.children)


def _weights(lineage: Lineage) -> dict[str, int]:
    """Checkpoint id to the number of its descendants, itself included."""
    order: list[str] = []
    todo = list(lineage.roots)
    while todo:
        at = todo.pop()
        order.append(at)
        todo += lineage.children.get(at, ())
    weights = dict.fromkeys(order, 1)
    for at in reversed(order):
        parent = lineage.parent(at)
        if parent is not None:
            weights[parent] += weights[at]
    return weights
