"""The nodes inside subgraphs in which a task failed: its own node only called the subgraph."""

from collections.abc import Iterator, Sequence
from typing import Any

from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR, ERROR_SOURCE
from ckpt_cli.history.tasks.nesting import below, called_from, caller_task, inside_sorted, of_task, reached
from ckpt_cli.history.tasks.snapshot import Task
from ckpt_cli.history.tasks.task_ids import pulled
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.values.same import same
from ckpt_cli.values.state import TaskWrite


def failed_inside(reader: Reader, ref: Ref, task: Task) -> tuple[str, ...]:
    """The nodes inside the subgraph that a failed task called, the outermost first, down to the one that failed.

    The error of a node ends the graphs above it too, so it is stored in each of them. Empty if the task failed in its
    own node, or if what is stored in the subgraph doesn't show the node.
    """
    if not task.has_failed or task.id is None:
        return ()
    return _inside(reader, ref, task.id, task.node, task.error)


def _inside(reader: Reader, ref: Ref, task_id: str, called_node: str | None, error: Any) -> tuple[str, ...]:
    """Of several subgraphs that a task called, the newest counts: it went on after the failure of an older one."""
    called = [*_called(reader, ref, task_id, called_node)]
    for inner in sorted(called, key=lambda one: one.checkpoint_id, reverse=True):
        for write in _last_failures(reader.writes(inner)):
            if write.read and same(write.value, error):
                name = pulled(write.row.task_path) or _named(reader, inner, write)
                return () if name is None else (name, *_inside(reader, inner, write.task_id, name, error))
    return ()


def _last_failures(writes: Sequence[TaskWrite]) -> list[TaskWrite]:
    """The stored errors, those last whose task has finished since, or has an error handler, which handled them."""
    over = {write.task_id for write in writes if write.channel == ERROR_SOURCE or write.channel not in CONTROL_WRITES}
    return sorted((write for write in writes if write.channel == ERROR), key=lambda write: write.task_id in over)


def _called(reader: Reader, ref: Ref, task_id: str, called_node: str | None) -> Iterator[Ref]:
    """The newest checkpoints of the subgraphs that a task called, also of one with a memory of its own."""
    namespaces = reader.namespaces(ref.thread_id)
    if called_node is None:
        called = [ns for ns in inside_sorted(namespaces, ref.ns) if caller_task(ns) == task_id]
    else:
        called = of_task(namespaces, ref.ns, called_node, task_id)
    for ns in called_from(ref.ns, called):
        yield reader.head(ref.thread_id, ns).ref
    for ns in _memories(namespaces, ref.ns, called_node):
        inner = reader.head(ref.thread_id, ns).ref
        if Inspection(reader, inner).caller() == ref:
            yield inner


def _memories(namespaces: Sequence[str], ns: str, called_node: str | None) -> list[str]:
    """The subgraphs with a memory of their own that a node of this graph may have called, perhaps in a ``@task``."""
    calls = ((other, below(other, ns)) for other in reached(namespaces, ns)) if called_node is not None else ()
    return [other for other, way in calls if ":" not in way and way.partition("|")[0] == called_node]


def _named(reader: Reader, ref: Ref, write: TaskWrite) -> str | None:
    return Inspection(reader, ref).names().node(write.task_id)
