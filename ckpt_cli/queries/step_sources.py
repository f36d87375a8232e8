"""`StepSources`: what the tasks of a step may have messages from besides the state."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ckpt_cli.history.messages.message_states import NO_SOURCES, Held, Sources
from ckpt_cli.history.tasks import nesting
from ckpt_cli.history.tasks.task_ids import callers
from ckpt_cli.history.tasks.task_runs import TaskRun
from ckpt_cli.model import Ref


class StepSources:
    """The sources of each task of one step; there may be thousands, and each is asked for its own.

    Args:
        thread_id: the thread.
        ns: the namespace of the step.
        runs: its tasks.
        calls: the subgraphs that they called, each with the checkpoints of the call.
        held: reads what may have messages in a state.
    """

    def __init__(
        self,
        thread_id: str,
        ns: str,
        runs: Sequence[TaskRun],
        calls: Iterable[tuple[str, Sequence[str]]],
        held: Callable[[Ref], Held],
    ) -> None:
        self._held = held
        self._called: dict[str, list[TaskRun]] = {}  # by the path of the caller
        self._below: dict[str, list[TaskRun]] = {}  # by the path of the first caller, with the first caller itself
        self._by_task: dict[str, list[Ref]] = {}
        self._by_node: dict[str | None, list[Ref]] = {}  # of subgraphs with a memory of their own
        for run in runs:
            above = callers(run.path)
            if above:
                self._called.setdefault(above[0], []).append(run)
            self._below.setdefault(above[-1] if above else run.path, []).append(run)
        for inner, called in calls:
            last = Ref(thread_id, inner, called[-1]) if called else None
            if last is not None and (task := nesting.caller_task(inner)):
                self._by_task.setdefault(task, []).append(last)
            elif last is not None:
                self._by_node.setdefault(nesting.calling_node(inner, ns), []).append(last)

    def of(self, run: TaskRun) -> Sources:
        """The sources of one of the tasks."""
        above = callers(run.path)
        ends = partial(self._ends, run)
        return Sources(ends, above[-1], partial(self._beside, above[-1])) if above else NO_SOURCES._replace(ends=ends)

    def _ends(self, run: TaskRun) -> Held:
        """What may have messages in the last states of the subgraphs that a task called, and in ``@task`` results."""
        returned = [write.value for one in self._called.get(run.path, ()) for write in one.writes]
        return Held([*returned, *self._lasts(run)])

    def _beside(self, root: str) -> Held:
        """What may have messages in the last states of the subgraphs that a task, and those below it, called."""
        return Held([value for run in self._below.get(root, ()) for value in self._lasts(run)])

    def _lasts(self, run: TaskRun) -> list[object]:
        """Of a subgraph with a memory of its own only the node's name is recorded, not its task."""
        refs = [*self._by_task.get(run.task_id, ()), *self._by_node.get(run.node, ())]
        return [value for ref in refs for value in self._held(ref).values]
