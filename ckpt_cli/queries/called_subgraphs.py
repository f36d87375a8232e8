"""`CalledSubgraphs`: the subgraphs that tasks called, each with the checkpoints of the call."""

from collections.abc import Iterator, Sequence

from ckpt_cli.history.tasks import nesting
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.history.tasks.task_runs import TaskRun
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader


class CalledSubgraphs:
    """Finds the subgraphs that tasks called, by the names of their namespaces, or by metadata."""

    def __init__(self, reader: Reader, thread_id: str) -> None:
        self._reader = reader
        self._thread_id = thread_id
        self._by_task: dict[str, dict[str, list[str]]] = {}
        self._by_caller: dict[str, dict[str, list[tuple[str, list[str]]]]] = {}
        self._members: dict[str, list[str]] = {}
        for row in reader.rows(thread_id):
            self._members.setdefault(row.ns, []).append(row.checkpoint_id)

    def by_tasks(self, ns: str, runs: Sequence[TaskRun]) -> Iterator[tuple[str, list[str]]]:
        """The subgraphs that these tasks of a checkpoint called: namespace, and the line of checkpoints of the call.

        Those with a memory of their own are not among them; see `with_memory`.
        """
        called = self._called_from(ns)
        for task_id in dict.fromkeys(run.task_id for run in runs):  # an update as a task that asked has its id
            for inner in called.get(task_id, ()):
                lineage = self._reader.lineage(self._thread_id, inner)
                yield inner, list(lineage.line(self._members[inner][-1]))[::-1]

    def _called_from(self, ns: str) -> dict[str, list[str]]:
        """Task id to the namespaces of the subgraphs that the task called."""
        if ns not in self._by_task:
            by_task: dict[str, list[str]] = {}
            for inner in nesting.called_from(ns, self._members):
                if task := nesting.caller_task(inner):
                    by_task.setdefault(task, []).append(inner)
            self._by_task[ns] = by_task
        return self._by_task[ns]

    def with_memory(self, ns: str) -> dict[str, list[tuple[str, list[str]]]]:
        """Checkpoint to the subgraphs with a memory of their own that it called, each with the checkpoints of the call.

        Such a namespace names no task; the metadata of its checkpoints names the caller.
        """
        if ns not in self._by_caller:
            calls: dict[str, list[tuple[str, list[str]]]] = {}
            for inner in nesting.called_from(ns, self._members):
                if not nesting.caller_task(inner):
                    for caller, own in self._members_by_caller(inner, ns).items():
                        calls.setdefault(caller, []).append((inner, own))
            self._by_caller[ns] = calls
        return self._by_caller[ns]

    def _members_by_caller(self, inner: str, outer: str) -> dict[str, list[str]]:
        refs = [Ref(self._thread_id, inner, i) for i in self._members[inner]]
        stored = {ref.checkpoint_id: payload for ref, payload in self._reader.saver.metadata(refs)}
        by_caller: dict[str, list[str]] = {}
        for ref in refs:
            payload = stored.get(ref.checkpoint_id)
            parents = note(self._reader.value(payload), ref.checkpoint_id).parents if payload is not None else {}
            if outer in parents:
                by_caller.setdefault(parents[outer], []).append(ref.checkpoint_id)
        return by_caller
