"""Children of the same checkpoint: which of them must be read, and what is remembered of those that were."""

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from itertools import islice
from sys import intern

from ckpt_cli.history.lineage import ids
from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.tasks.metadata_notes import Note

_MANY = 50  # children, of which the oldest are searched once, not again for each page of them


class Siblings:
    """The sources and steps of siblings, also of those whose metadata isn't in memory any more.

    A fork may have many thousand children, and which writes made one of them depends on all of them.
    """

    def __init__(self, lineage: Lineage, notes: Mapping[str, Note]) -> None:
        """Take the lineage and the metadata in memory, which others fill and clear."""
        self._lineage = lineage
        self._notes = notes
        self._remembered: dict[str, tuple[str, int | None]] = {}
        self._whole: set[str] = set()  # parents all of whose children are remembered
        self._settled: dict[tuple[str, frozenset[str]], list[str]] = {}  # see `first_two`

    def source_and_step(self, checkpoint_id: str) -> tuple[str, int | None]:
        """As remembered; else no source, and the step in the checkpoint's id."""
        return self._remembered.get(checkpoint_id) or ("", ids.step(checkpoint_id))

    def expect(self, notes: Mapping[str, Note]) -> None:
        """Prepare for metadata that is going to replace what is in memory."""
        known = ((i, one) for i, one in notes.items() if self._is_known(i))
        if self._settled and any(self._source(i) != one.source for i, one in known):
            self._settled.clear()

    def remember(self) -> None:
        """Remember the sources and steps of siblings, before their metadata is dropped."""
        parents: dict[str, None] = {}
        for checkpoint_id, one in self._notes.items():
            parent = self._lineage.parent(checkpoint_id) or self._lineage.missing(checkpoint_id) or ""
            if len(self._children(parent)) > 1:
                self._remembered[checkpoint_id] = (intern(one.source), one.step)
                parents[parent] = None
        unsure = (parent for parent in parents if parent not in self._whole)
        self._whole.update(parent for parent in unsure if self._remembered.keys() >= set(self._children(parent)))

    def first_two(self, parent: str, sources: frozenset[str]) -> list[str]:
        """The oldest two children with one of these sources; found once if the metadata of all older ones was read."""
        if (settled := self._settled.get((parent, sources))) is not None:
            return settled
        found, children = list[str](), self._children(parent)
        is_settled = True
        for child in children:
            is_settled = is_settled and self._is_known(child)
            if self._source(child) in sources:
                found.append(child)
                if len(found) == 2:
                    break
        if is_settled and len(children) > _MANY:
            self._settled[parent, sources] = found
        return found

    def relatives(self, checkpoint_ids: Iterable[str], known: Collection[str] = ()) -> set[str]:
        """These checkpoints, and the relatives whose source must be known to find the writes that made them.

        The relatives are the parents and grandparents of these checkpoints, and all children of both, but for those
        whose children are all `known`.
        """
        relatives, widened = set[str](), set[str]()
        for checkpoint_id in checkpoint_ids:
            relatives.add(checkpoint_id)
            for older in islice(self._lineage.line(checkpoint_id), 1, 3):
                if older not in widened and older not in known:  # many thousand may have the same parent
                    widened.add(older)
                    relatives.add(older)
                    relatives.update(self._lineage.children[older])
            if (lost := self._lineage.missing(checkpoint_id)) is not None and lost not in known:
                relatives.update(self._orphans[lost])
        return relatives

    def unknown(self, checkpoint_ids: Iterable[str]) -> set[str]:
        """Those of the relatives of which nothing is remembered."""
        return {i for i in self.relatives(checkpoint_ids, self._whole) if i not in self._remembered}

    def _source(self, checkpoint_id: str) -> str:
        own = self._notes.get(checkpoint_id)
        return own.source if own is not None else self.source_and_step(checkpoint_id)[0]

    def _children(self, parent: str) -> list[str]:
        return self._lineage.children.get(parent) or self._orphans.get(parent, [])

    def _is_known(self, checkpoint_id: str) -> bool:
        return checkpoint_id in self._notes or checkpoint_id in self._remembered

    @cached_property
    def _orphans(self) -> dict[str, list[str]]:
        """The id of each lost checkpoint: to the checkpoints that name it as their parent, oldest first."""
        orphans: dict[str, list[str]] = {}
        for checkpoint_id in self._lineage.rows:
            if (lost := self._lineage.missing(checkpoint_id)) is not None:
                orphans.setdefault(lost, []).append(checkpoint_id)
        return orphans
