"""What must be deleted with some checkpoints: their writes, called subgraphs, writes that made them.

The writes of a deleted checkpoint are deleted too, and so are the checkpoints of the subgraphs that its tasks called.
The namespace of such a subgraph contains the id of the calling task. The metadata of the subgraph's checkpoints names
the deleted checkpoint under ``parents``.

If a checkpoint is kept but all its children are deleted, the checkpoint becomes a tip again. Unless all of them were
inputs, they were made from the writes of its tasks. So these writes are deleted too, and the tasks will run again. Kept
are those that an operation of ckpt stored with the checkpoint when it made it, and the checkpoints of subgraphs among
them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ckpt_cli.history.lineage.lineage import Lineage
from ckpt_cli.history.tasks.nesting import caller_task, outer_graph
from ckpt_cli.layouts import named, parents_of
from ckpt_cli.model import CheckpointRow, Ref, Write, WriteKey
from ckpt_cli.operations.makers import StoredWith
from ckpt_cli.reading import Reader

Ids = dict[str, set[str]]
"""Namespace to checkpoint ids."""


@dataclass(slots=True)
class DeletionSet:
    """The records of one thread that are deleted.

    Attributes:
        checkpoints: the checkpoints that are deleted.
        cleared: checkpoints that stay but lose their writes.
        orphans: checkpoints that stay although their parent is deleted.
        kept: records that an operation stored with a cleared checkpoint; they stay.
    """

    thread_id: str
    checkpoints: Ids = field(default_factory=dict)
    cleared: Ids = field(default_factory=dict)
    orphans: list[CheckpointRow] = field(default_factory=list)
    kept: set[Ref | WriteKey] = field(default_factory=set)
    _task_starts: dict[str, dict[str, str]] = field(default_factory=dict)

    def ids_losing_writes(self, ns: str) -> set[str]:
        """The checkpoints of a namespace whose writes are deleted: the deleted checkpoints and the cleared ones."""
        deleted, cleared = self.checkpoints.get(ns, set()), self.cleared.get(ns, set())
        return deleted | cleared if cleared else deleted

    def loses_writes(self, ns: str, checkpoint_id: str) -> bool:
        """Whether the writes of a checkpoint are deleted."""
        return checkpoint_id in self.checkpoints.get(ns, ()) or checkpoint_id in self.cleared.get(ns, ())

    def task_starts(self, reader: Reader, ns: str) -> dict[str, str]:
        """Task id to the checkpoint where the task started, for all tasks of a namespace that have writes."""
        if ns not in self._task_starts:
            writes = reader.saver.writes(self.thread_id, ns, values=0)
            self._task_starts[ns] = {write.task_id: write.checkpoint_id for write in writes}
        return self._task_starts[ns]

    def refs(self) -> Iterator[Ref]:
        """The deleted checkpoints, by namespace and id."""
        for ns in sorted(self.checkpoints):
            yield from (Ref(self.thread_id, ns, checkpoint_id) for checkpoint_id in sorted(self.checkpoints[ns]))

    def writes(self, reader: Reader) -> Iterator[Write]:
        """The deleted writes, without their values."""
        for ns in sorted({*self.checkpoints, *self.cleared}):
            for write in reader.saver.writes(self.thread_id, ns, self.ids_losing_writes(ns), values=0):
                if not self.kept or WriteKey(write.ref, write.task_id, write.idx) not in self.kept:
                    yield write

    def clear(self, ns: str, checkpoint_ids: Iterable[str], stored_with: StoredWith) -> None:
        """Let checkpoints lose their writes but those that an operation stored with them."""
        ids = self.cleared.setdefault(ns, set())
        for checkpoint_id in checkpoint_ids:
            ids.add(checkpoint_id)
            if stored := stored_with(Ref(self.thread_id, ns, checkpoint_id)):
                self.kept |= stored.intact


def find_deletion_set(
    reader: Reader,
    thread_id: str,
    chosen: Ids,
    *,
    with_children: bool = False,
    cleared: Mapping[str, set[str]] = MappingProxyType({}),
    stored_with: StoredWith = lambda _: None,
) -> DeletionSet:
    """Find everything that must be deleted with the chosen checkpoints.

    Args:
        reader: the database.
        thread_id: the thread.
        chosen: the checkpoints to delete.
        with_children: whether all descendants of deleted checkpoints are deleted too.
        cleared: checkpoints that stay but lose their writes, whether or not they have children.
        stored_with: what an operation stored with the checkpoint that it made.
    """
    deletion = DeletionSet(thread_id)
    namespaces = sorted({"", *reader.saver.namespaces(thread_id)}, key=lambda ns: (ns.count("|"), ns))
    for ns in namespaces:
        lineage = reader.lineage(thread_id, ns)
        called = set(_called_checkpoints(reader, deletion, ns, lineage))
        kept = {i for i in called if Ref(thread_id, ns, i) in deletion.kept}
        deleted = chosen.get(ns, set()) | (called - kept)
        if with_children:
            deleted = deleted | set(descendants(lineage, deleted))
        if not deleted and not kept and ns not in cleared:
            continue
        if deleted:
            deletion.checkpoints[ns] = deleted
        tips = {i for i, kids in lineage.children.items() if all(kid in deleted for kid in kids)} - deleted
        others = {i: lineage.children[i] for i in tips.difference(cleared.get(ns, ()))}
        tips -= set(_left_by_inputs(reader, thread_id, ns, others))
        tips |= {i for i in {*kept, *cleared.get(ns, ())} if not lineage.children.get(i)}
        deletion.clear(ns, tips - deleted, stored_with)
        deletion.orphans += [
            row for i, row in lineage.rows.items() if i not in deleted and lineage.parent(i) in deleted
        ]
    return deletion


def _left_by_inputs(reader: Reader, thread_id: str, ns: str, children: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """The checkpoints from which only inputs went on: an input doesn't use what their tasks have written."""
    refs = [Ref(thread_id, ns, kid) for kids in children.values() for kid in kids]
    inputs = {
        ref.checkpoint_id
        for ref, payload in (reader.saver.metadata(refs) if refs else ())
        if named(reader.value(payload)).get("source") == "input"
    }
    yield from (one for one, kids in children.items() if inputs.issuperset(kids))


def descendants(lineage: Lineage, checkpoint_ids: Iterable[str]) -> Iterator[str]:
    """The ids of all descendants of some checkpoints."""
    todo, passed = list(checkpoint_ids), set(checkpoint_ids)
    while todo:
        for child in lineage.children.get(todo.pop(), ()):
            if child not in passed:
                passed.add(child)
                todo.append(child)
                yield child


def _called_checkpoints(reader: Reader, deletion: DeletionSet, ns: str, lineage: Lineage) -> Iterable[str]:
    """The checkpoints of a subgraph that was called by a task whose writes are deleted."""
    if not ns or not (deletion.checkpoints or deletion.cleared):
        return ()
    parent, owner = outer_graph(ns, reader.namespaces(deletion.thread_id)), caller_task(ns)
    caller = deletion.task_starts(reader, parent).get(owner) if owner else None
    if caller is not None:
        return lineage.rows if deletion.loses_writes(parent, caller) else ()
    return _called_by_metadata(reader, ns, lineage, deletion)


def _called_by_metadata(reader: Reader, ns: str, lineage: Lineage, deletion: DeletionSet) -> Iterator[str]:
    """The checkpoints of a subgraph with metadata that names, under ``parents``, a checkpoint that loses its writes."""
    refs = [Ref(deletion.thread_id, ns, checkpoint_id) for checkpoint_id in lineage.rows]
    for ref, payload in reader.saver.metadata(refs):
        parents = parents_of(reader.value(payload))
        if any(deletion.loses_writes(space, checkpoint_id) for space, checkpoint_id in parents.items()):
            yield ref.checkpoint_id
