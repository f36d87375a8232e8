"""`RunEnds`: whether a task that led nowhere ended there, or a node ran next to which nothing led."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ckpt_cli.history.tasks.observed_edges import Edge, Proof
from ckpt_cli.history.tasks.observed_graph import ObservedGraph
from ckpt_cli.history.tasks.task_runs import RunKind, TaskRun


class _Step(NamedTuple):
    """The edges to the end that a step's tasks seem to have taken, and the nodes that were due after it.

    Of the nodes `partly` not all results are stored, so nothing shows where they led.
    """

    ends: list[Edge]
    due: set[str]
    partly: Sequence[str] = ()


class RunEnds:
    """Decides about the ends of one namespace, checkpoint by checkpoint, when the next step's tasks are known.

    If a node ran that no stored write led to, the write is gone, so a task that seems to end may have led there. A
    deferred node was led to in an earlier step, and is due until it ran.
    """

    def __init__(self, graph: ObservedGraph) -> None:
        self._graph = graph
        self._open: dict[str, _Step] = {}

    def add(
        self,
        checkpoint_id: str,
        runs: Sequence[TaskRun],
        ways: Sequence[Edge],
        child: str | None,
        partly: Sequence[str] = (),
    ) -> None:
        """Add the tasks of a step.

        Args:
            checkpoint_id: the checkpoint at which they started.
            runs: the tasks.
            ways: the edges that they took, that to the end too.
            child: the checkpoint that they made; None if it isn't known.
            partly: the nodes that ran in the step, and of which not all results are stored.
        """
        led = {way.target for way in ways if way.by is RunKind.TASK and way.target is not None}
        by_others = {way.target for way in ways if way.by is not RunKind.TASK}
        ran = {run.node for run in runs if run.kind is RunKind.TASK and not run.by_send and run.node is not None}
        before = self._open.pop(checkpoint_id, None)
        if before is not None:
            self._close(before, ran - before.due - by_others)
        due = (before.due - ran if before else set()) | led
        step = _Step([way for way in ways if way.proof is Proof.INFERRED], due, [*partly, *_handlers_again(runs)])
        if child is None:
            self._close(step, set())
        else:
            self._open[child] = step

    def take_due(self, child: str, nodes: Iterable[str]) -> set[str]:
        """Those nodes to which stored writes led and that ran in the step that made `child`, though they left none."""
        step = self._open.get(child)
        led = set() if step is None else step.due.intersection(nodes)
        if step is not None:
            step.due.difference_update(led)
        return led

    def finish(self) -> None:
        """Nothing ran after the steps that are left."""
        for step in self._open.values():
            self._close(step, set())

    def _close(self, step: _Step, unled: set[str]) -> None:
        if not (unled and step.ends):
            self._graph.edges.update(step.ends)
            return
        for name in sorted(unled):
            self._graph.add_unled(step.ends, name, step.partly)


def _handlers_again(runs: Sequence[TaskRun]) -> list[str]:
    """The error handlers that ran again when the step went on after a question or failure of another task.

    The saver keeps what they wrote first (langgraph 1.2 ``pregel/_loop.py: _resume_error_handlers_if_applicable``).
    """
    handlers = [run for run in runs if run.kind is RunKind.HANDLER]
    handled = {run.failed.task_id for run in handlers if run.failed is not None}
    went_on = any(run.asked or run.has_failed for run in runs if run.task_id not in handled)
    return [run.node for run in handlers if run.node is not None] if went_on else []
