"""The tree of one namespace: ancestors, tips, forks, branches, head; lost parents and circles of parents.

It is made from skeleton rows alone. Damaged rows are accepted: a row whose parent was never stored, a row that is its
own parent, rows whose parents form a circle. Every row can still be reached from a root.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from ckpt_cli.model import CheckpointRow


class Branch(NamedTuple):
    """A tip, and the first checkpoint of its line that belongs to no older branch.

    `number` counts the branches from 1 in the order of `first`, so it doesn't change when branches grow.
    """

    number: int
    first: str
    tip: str


class Lineage:
    """The tree of parents and children. A row whose parent was never stored counts as a root."""

    def __init__(self, rows: Iterable[CheckpointRow]) -> None:
        self.rows = {row.checkpoint_id: row for row in sorted(rows, key=lambda r: r.checkpoint_id)}
        self.children: dict[str, list[str]] = {}
        self.roots: list[str] = []
        self._cut = _circular(self.rows)
        for checkpoint_id in self.rows:
            parent = self.parent(checkpoint_id)
            if parent is None:
                self.roots.append(checkpoint_id)
            elif parent in self.children:
                self.children[parent].append(checkpoint_id)
            else:
                self.children[parent] = [checkpoint_id]  # a list of its exact size: there may be very many
        self._branches: list[Branch] | None = None
        self._carriers: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, checkpoint_id: str) -> bool:
        return checkpoint_id in self.rows

    def parent(self, checkpoint_id: str) -> str | None:
        """The parent if it is stored; None for roots, and where a circle of parents is cut."""
        parent = self.rows[checkpoint_id].parent_id
        return parent if parent in self.rows and checkpoint_id not in self._cut else None

    def missing(self, checkpoint_id: str) -> str | None:
        """The id of a parent that was never stored (langgraph 0.3 and 0.4, ``checkpoint_during=False``); else None."""
        parent = self.rows[checkpoint_id].parent_id
        return parent if parent is not None and parent not in self.rows else None

    def circular(self, checkpoint_id: str) -> bool:
        """Whether the row's parent is also its descendant; then the row counts as a root. No library writes this."""
        return checkpoint_id in self._cut

    @property
    def head(self) -> str | None:
        """The highest id; LangGraph's saver returns this checkpoint if no id is given, also after a fork."""
        return next(reversed(self.rows), None)

    def line(self, checkpoint_id: str) -> Iterator[str]:
        """A checkpoint and its ancestors, newest first."""
        at: str | None = checkpoint_id
        while at is not None:
            yield at
            at = self.parent(at)

    def descent(self, checkpoint_id: str) -> Iterator[str]:
        """A checkpoint, its oldest child, and so on to a tip."""
        at: str | None = checkpoint_id
        while at is not None:
            yield at
            at = next(iter(self.children.get(at, ())), None)

    @property
    def tips(self) -> list[str]:
        """Checkpoints without children, ascending."""
        return [i for i in self.rows if i not in self.children]

    @cached_property
    def forks(self) -> list[str]:
        """Checkpoints with several children, ascending; `blame` asks at each change."""
        return [i for i in self.rows if len(self.children.get(i, ())) > 1]

    @property
    def branches(self) -> list[Branch]:
        """One branch for each tip. At a fork, the oldest child continues its branch; every other child begins one."""
        if self._branches is None:
            starts = sorted([*self.roots, *(c for kids in self.children.values() for c in kids[1:])])
            self._branches = [Branch(n, first, self._end(first)) for n, first in enumerate(starts, 1)]
        return self._branches

    def carrier(self, checkpoint_id: str) -> str:
        """The tip of the branch that a checkpoint belongs to."""
        walked = []
        at = checkpoint_id
        while at not in self._carriers and (kids := self.children.get(at)):
            walked.append(at)
            at = kids[0]
        tip = self._carriers.setdefault(at, at)
        self._carriers.update(dict.fromkeys(walked, tip))
        return tip

    def _end(self, checkpoint_id: str) -> str:
        while kids := self.children.get(checkpoint_id):
            checkpoint_id = kids[0]
        return checkpoint_id


def _circular(rows: dict[str, CheckpointRow]) -> set[str]:
    """The lowest row of every circle of parents.

    The libraries always give a child a higher id than its parent. Only rows that break this rule are followed.
    """
    doubtful = [
        i for i, row in rows.items() if row.parent_id in rows and row.parent_id is not None and row.parent_id >= i
    ]
    settled: set[str] = set()
    cut: set[str] = set()
    for start in doubtful:
        path: dict[str, None] = {}
        at: str | None = start
        while at in rows and at not in settled and at not in path:
            path[at] = None
            at = rows[at].parent_id
        if at in path:
            walked = list(path)
            cut.add(min(walked[walked.index(at) :]))
        settled.update(path)
    return cut
