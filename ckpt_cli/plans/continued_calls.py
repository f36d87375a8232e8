"""Whether the next run of a thread continues a subgraph from its newest checkpoint.

It does if each graph above still has the task that made the call. A subgraph's namespace contains the id of that task
(langgraph 1.2 ``pregel/_algo.py: prepare_single_task``), and a task of another checkpoint has another id. So after the
task has finished, or after the graph above was changed, the next call gets another namespace and starts anew.

A subgraph with its own memory (``checkpointer=True``) keeps its namespace. ``invoke(None, config)`` continues it if the
run begins with its node. A later step, or a run with an input, calls it anew: the subgraph's own input is added to its
newest state, and the tasks that were due are dropped (``pregel/_loop.py: _first``).
"""

from itertools import pairwise

from ckpt_cli.history.tasks.nesting import caller_task, callers, levels, node
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader


def continued_tasks(reader: Reader, ref: Ref, *, goto: bool = False) -> Snapshot:
    """The tasks that run next after a new head with the state of this checkpoint; none if no run continues it.

    `goto`: the new head also has the writes of this checkpoint, so a Command's pending ``goto`` starts its tasks.
    """
    if why_not_continued(reader, ref) is not None:
        return Snapshot([], consumed=True)
    return Inspection(reader, ref).snapshot(goto=goto)


class OuterTasks:
    """The tasks at the head of a graph, by id, which may be asked for many subgraphs."""

    def __init__(self, reader: Reader, outer: Ref) -> None:
        self.snapshot = Inspection(reader, outer).snapshot()
        self._by_id: dict[str | None, list[Task]] = {}
        for task in self.snapshot.tasks:
            self._by_id.setdefault(task.id, []).append(task)

    def may_call(self, ns: str) -> bool:
        """Whether one may still run and continue this subgraph, or whether that isn't known."""
        caller_id = caller_task(ns)
        some = [*self._by_id.get(caller_id, ()), *self._by_id.get(None, ())] if caller_id else self.snapshot.tasks
        return not self.snapshot.complete or any(_may_call(task, ns) for task in some)


def why_not_continued(reader: Reader, ref: Ref, outers: dict[Ref, OuterTasks] | None = None) -> str | None:
    """Why the next run doesn't continue the graph of this checkpoint; None if it does, or if that isn't known.

    `outers` keeps the tasks of the graphs above, for others that are asked about in the same moment.
    """
    outers = {} if outers is None else outers
    stored = set(reader.namespaces(ref.thread_id)) if ref.ns else set()
    for outer, inner in pairwise(levels(ref.ns)):
        if (not outer or outer in stored) and inner in stored:
            head = reader.head(ref.thread_id, outer).ref
            tasks = outers.get(head) or outers.setdefault(head, OuterTasks(reader, head))
            reason = _read_reason(reader, tasks, reader.head(ref.thread_id, inner).ref)
            if reason is not None:
                return reason
    return None


def why_not_newest(reader: Reader, ref: Ref) -> str | None:
    """Why no run continues a tip of a subgraph with its own memory: it isn't the newest; None of all others."""
    if not ref.ns or caller_task(ref.ns) or reader.head(ref.thread_id, ref.ns).ref == ref:
        return None
    name = " › ".join(callers(ref.ns))
    return f"a run continues {name} from its newest checkpoint, unless its config names this one"


def _read_reason(reader: Reader, outer: OuterTasks, inner: Ref) -> str | None:
    """Why the graph above doesn't continue the subgraph with the head `inner`; None if it may."""
    name = " › ".join(callers(inner.ns))
    if outer.may_call(inner.ns):
        return None
    if not caller_task(inner.ns):
        if any(task.status not in (Status.FINISHED, Status.LEFT) for task in outer.snapshot.tasks):
            return (
                f"the next run doesn't begin with {name}: its next call starts anew, with the input added to this state"
            )
        return f"the call of {name} is over: its next call starts anew, with the input added to this state"
    if Inspection(reader, inner).returned():
        return f"the call of {name} is over, so the next run doesn't continue from there"
    return f"the call of {name} is out of date: the thread's next run doesn't continue it"


def _may_call(task: Task, ns: str) -> bool:
    """Whether a task may still run and continue this subgraph; with its own memory, only its node's first task may."""
    if task.status in (Status.FINISHED, Status.LEFT):
        return False
    caller_id = caller_task(ns)
    if not caller_id:
        return task.node in (None, node(ns))
    return task.node in (None, node(ns)) if task.id is None else task.id == caller_id
