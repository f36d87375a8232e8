"""What goes with checkpoints that are deleted: what ran from them, and nothing else.

A checkpoint's writes go with it, and the runs of subgraphs that were called from it (their namespace carries the id of
the task that called them, metadata's ``parents`` names the checkpoint). A kept checkpoint all of whose children go is
where the thread stands again: what its tasks left was for those children, so it goes too and the tasks are due anew.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.tasks.nesting import above, task
from ckpt_cli.layouts import parents_of
from ckpt_cli.model import CheckpointRow, Ref, Write
from ckpt_cli.reading import Reader

Ids = dict[str, set[str]]
"""Namespace to checkpoint ids."""


@dataclass(slots=True)
class DeletionSet:
    """What of one thread goes.

    Attributes:
        checkpoints: those that go.
        cleared: those that stay, without what their tasks left.
        orphans: those that stay while their parent goes.
    """

    thread_id: str
    checkpoints: Ids = field(default_factory=dict)
    cleared: Ids = field(default_factory=dict)
    orphans: list[CheckpointRow] = field(default_factory=list)
    _task_starts: dict[str, dict[str, str]] = field(default_factory=dict)

    def ids_losing_writes(self, ns: str) -> set[str]:
        """The checkpoints of a namespace from which nothing that ran is kept."""
        return self.checkpoints.get(ns, set()) | self.cleared.get(ns, set())

    def task_starts(self, reader: Reader, ns: str) -> dict[str, str]:
        """The checkpoint that each task of a namespace started from, as far as they left writes."""
        if ns not in self._task_starts:
            writes = reader.saver.writes(self.thread_id, ns, values=0)
            self._task_starts[ns] = {write.task_id: write.checkpoint_id for write in writes}
        return self._task_starts[ns]

    def refs(self) -> Iterator[Ref]:
        """The checkpoints that go, in order."""
        for ns in sorted(self.checkpoints):
            yield from (Ref(self.thread_id, ns, checkpoint_id) for checkpoint_id in sorted(self.checkpoints[ns]))

    def writes(self, reader: Reader) -> Iterator[Write]:
        """The writes that go, without their values."""
        for ns in sorted({*self.checkpoints, *self.cleared}):
            yield from reader.saver.writes(self.thread_id, ns, self.ids_losing_writes(ns), values=0)


def find_deletion_set(reader: Reader, thread_id: str, chosen: Ids, *, with_children: bool = False) -> DeletionSet:
    """What goes with the chosen checkpoints; `with_children` takes everything that descends from them too."""
    found = DeletionSet(thread_id)
    spaces = sorted({"", *reader.saver.namespaces(thread_id)}, key=lambda ns: (ns.count("|"), ns))
    for ns in spaces:
        lineage = reader.lineage(thread_id, ns)
        doomed = chosen.get(ns, set()) | set(_called(reader, found, ns, lineage))
        if with_children:
            doomed |= set(descendants(lineage, doomed))
        if not doomed:
            continue
        found.checkpoints[ns] = doomed
        found.cleared[ns] = {
            i for i, kids in lineage.children.items() if i not in doomed and all(kid in doomed for kid in kids)
        }
        found.orphans += [row for i, row in lineage.rows.items() if i not in doomed and lineage.parent(i) in doomed]
    return found


def descendants(lineage: Lineage, checkpoint_ids: Iterable[str]) -> Iterator[str]:
    """Everything below some checkpoints."""
    todo, passed = list(checkpoint_ids), set(checkpoint_ids)
    while todo:
        for child in lineage.children.get(todo.pop(), ()):
            if child not in passed:
                passed.add(child)
                todo.append(child)
                yield child


def _called(reader: Reader, found: DeletionSet, ns: str, lineage: Lineage) -> Iterable[str]:
    """The checkpoints of a subgraph that were called from what goes."""
    if not ns or not found.checkpoints:
        return ()
    parent, owner = above(ns), task(ns)
    caller = found.task_starts(reader, parent).get(owner) if owner else None
    if caller is not None:
        return lineage.rows if caller in found.ids_losing_writes(parent) else ()
    return _by_metadata(reader, ns, lineage, found)


def _by_metadata(reader: Reader, ns: str, lineage: Lineage, found: DeletionSet) -> Iterator[str]:
    refs = [Ref(found.thread_id, ns, checkpoint_id) for checkpoint_id in lineage.rows]
    for ref, payload in reader.saver.metadata(refs):
        parents = parents_of(reader.value(payload))
        if any(checkpoint_id in found.ids_losing_writes(space) for space, checkpoint_id in parents.items()):
            yield ref.checkpoint_id
