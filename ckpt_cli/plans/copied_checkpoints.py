"""Which checkpoints ``ckpt fork --to`` copies: a line, and the subgraphs that its tasks called."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ckpt_cli.history.tasks.nesting import caller_task
from ckpt_cli.layouts import named, parents_of
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.reading import Reader

CopiedIds = dict[str, set[str]]
"""Namespace to the ids of the checkpoints that are copied."""


def find_copied(reader: Reader, row: CheckpointRow, *, pending: bool) -> CopiedIds:
    """The checkpoint, its ancestors, and the checkpoints of subgraphs that tasks of these ancestors called.

    With `pending`, the subgraphs that the tasks of the checkpoint itself called belong to them too.
    """
    line = set(reader.lineage(row.thread_id).line(row.checkpoint_id))
    callers = line if pending else line - {row.checkpoint_id}
    copied: CopiedIds = {"": callers}
    is_copied = _Callers(reader, row, copied, line, pending=pending).is_copied
    ran = {write.task_id for write in reader.saver.writes(row.thread_id, "", callers, values=0)}
    namespaces = {ns for ns in reader.saver.namespaces(row.thread_id) if ns}
    for ns in sorted(namespaces, key=lambda ns: (ns.count("|"), ns)):
        lineage = reader.lineage(row.thread_id, ns)
        all_metadata = reader.saver.metadata([Ref(row.thread_id, ns, i) for i in lineage.rows])
        called = {
            ref.checkpoint_id
            for ref, payload in all_metadata
            if _was_called_by_copied(named(reader.value(payload)), ns, is_copied, ran, namespaces)
        }
        if called:
            copied[ns] = {ancestor for checkpoint_id in called for ancestor in lineage.line(checkpoint_id)}
            ran |= {write.task_id for write in reader.saver.writes(row.thread_id, ns, copied[ns], values=0)}
    return {**copied, "": line}


def _was_called_by_copied(
    metadata: Mapping[str, Any],
    ns: str,
    is_copied: Callable[[str, str], bool],
    ran: set[str],
    namespaces: Collection[str],
) -> bool:
    """Whether a task of a copied checkpoint called this subgraph. Without recorded parents, the task id shows this.

    Recorded parents name a ``@task`` that called it too, beside the checkpoint from which that started.
    """
    parents = parents_of(metadata)
    if not parents:
        return caller_task(ns) in ran
    return all(is_copied(space, parent) for space, parent in parents.items() if not space or space in namespaces)


class _Callers:
    """The checkpoints that called subgraphs: whether one is among those that are copied.

    With ``durability="exit"`` only a run's last checkpoint is stored. A subgraph with its own memory is stored all the
    same, and names the checkpoint that called it. Ids are ordered by time, so the next stored one ended that run.

    Args:
        reader: the database.
        row: the checkpoint that is forked.
        copied: what is copied so far; of the root, the checkpoints whose tasks' subgraphs are copied.
        line: the root's checkpoints that are copied.
        pending: whether the subgraphs that the tasks of `row` called are copied.
    """

    def __init__(
        self, reader: Reader, row: CheckpointRow, copied: CopiedIds, line: Collection[str], *, pending: bool
    ) -> None:
        self._reader = reader
        self._row = row
        self._copied = copied
        self._line = line
        self._pending = pending
        self._sorted: dict[str, list[str]] = {}

    def is_copied(self, ns: str, caller: str) -> bool:
        """Whether this checkpoint is copied or, if it isn't stored, the one that ended its run."""
        rows = self._reader.lineage(self._row.thread_id, ns).rows
        if caller in rows:
            return caller in self._copied.get(ns, ())
        return self._end(ns, caller, rows) in (self._copied.get(ns, ()) if ns else self._line)

    def _end(self, ns: str, caller: str, ids: Collection[str]) -> str | None:
        """The stored checkpoint that ended the run of one that isn't stored.

        If a killed run stored none, its calls are those of the tasks that are pending at the newest checkpoint.
        """
        if ns not in self._sorted:
            self._sorted[ns] = sorted(ids)
        stored = self._sorted[ns]
        place = bisect_right(stored, caller)
        if place == len(stored):
            return stored[-1] if stored and self._pending else None
        return stored[place]
