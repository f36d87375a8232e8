"""Whether the next run of a thread continues a subgraph from its newest checkpoint.

It does if each graph above still has the task that made the call. A subgraph's namespace contains the id of that task
(langgraph 1.2 ``pregel/_algo.py: prepare_single_task``), and a task of another checkpoint has another id. So after the
task has finished, or after the graph above was changed, the next call gets another namespace and starts anew.

A subgraph with its own memory (``checkpointer=True``) keeps its namespace. ``invoke(None, config)`` continues it if the
run begins with its node. A later step, or a run with an input, calls it anew: the subgraph's own input is added to its
newest state, and the tasks that were due are dropped (``pregel/_loop.py: _first``).
"""

from collections.abc import Iterable
from contextlib import suppress
from itertools import chain, pairwise

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt
from ckpt_cli.history.state.channels import RETURN
from ckpt_cli.history.tasks.metadata_notes import note
from ckpt_cli.history.tasks.nesting import (
    caller_task,
    callers,
    calling_node,
    calling_tasks,
    earlier_calls,
    levels,
    path,
)
from ckpt_cli.history.tasks.snapshot import Snapshot, Status, Task
from ckpt_cli.history.tasks.task_ids import handler_names
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader

_MOST_READ = 50
"""The earlier calls of a task that are read to find one that has not finished."""


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
        self.ns = outer.ns
        self.snapshot = Inspection(reader, outer).snapshot()
        self._by_id: dict[str | None, list[Task]] = {}
        for task in self.snapshot.tasks:
            self._by_id.setdefault(task.id, []).append(task)
        self._returned = {write.task_id for write in reader.writes(outer, values=0) if write.channel == RETURN}

    def handles(self, ns: str) -> bool:
        """Whether the task that called this subgraph failed, and has an error handler, so that it doesn't run again."""
        return any(task_id in self.snapshot.handlers for task_id in calling_tasks(ns, self.ns)[:1])

    def may_call(self, ns: str) -> bool:
        """Whether one may still run and continue this subgraph, or whether that isn't known."""
        tasks = calling_tasks(ns, self.ns)
        if not self._returned.isdisjoint(tasks[1:]):
            return False
        if not tasks:
            return self._may_call_memory(ns)
        caller_id = tasks[0]
        if (handler := self.snapshot.handlers.get(caller_id)) is not None:
            return handler.id in (None, *tasks[1:])  # a run that goes on with the step runs a finished one again
        some = [*self._by_id.get(caller_id, ()), *self._by_id.get(None, ())]
        called = calling_node(ns, self.ns)
        return not self.snapshot.complete or any(_may_call(task, called, caller_id) for task in some)

    def _may_call_memory(self, ns: str) -> bool:
        """The same for a subgraph with its own memory, whose namespace has the name of its caller alone."""
        called, *between = callers(ns)[len(callers(self.ns)) :]
        for task in self.snapshot.tasks:
            handler = self.snapshot.handlers.get(task.id or "")
            if handler is not None and task.node in (None, called):
                if handler.node in (None, *between):
                    return True
            elif _may_call(task, called, None):
                return True
        return not self.snapshot.complete


class _Way:
    """The graphs from the root of a thread down to a subgraph, as the next run would come to it."""

    def __init__(self, reader: Reader, thread_id: str, outers: dict[Ref, OuterTasks]) -> None:
        self._reader = reader
        self._thread_id = thread_id
        self._outers = outers
        self.stored = {"": None, **dict.fromkeys(reader.namespaces(thread_id))}

    def to(self, ns: str) -> list[str]:
        """The namespaces of these graphs.

        Any call of the graph around a subgraph with its own memory finds it, so one that may still run is preferred to
        the call in which it ran last.
        """
        if not ns:
            return [""]
        around = [outer for outer, _ in Inspection(self._reader, self.head(ns)).around()]
        outer = around[-1]
        if outer and not ns.startswith(f"{outer}|"):
            alike = (other for other in self.stored if path(other) == path(outer))
            live = next((other for other in chain([outer], alike) if other in self.stored and self._may_run(other)), "")
            around = around if not live else [live]
        last = max(place for place, outer in enumerate(around) if outer in self.stored)
        return [*self.to(around[last]), *around[last + 1 :], ns]

    def head(self, ns: str) -> Ref:
        return self._reader.head(self._thread_id, ns).ref

    def tasks(self, ns: str) -> OuterTasks:
        """The tasks at the head of a graph."""
        head = self.head(ns)
        return self._outers.get(head) or self._outers.setdefault(head, OuterTasks(self._reader, head))

    def _may_run(self, ns: str) -> bool:
        stored = [outer for outer in levels(ns) if outer in self.stored]
        return all(self.tasks(outer).may_call(inner) for outer, inner in pairwise(stored))


def why_not_continued(reader: Reader, ref: Ref, outers: dict[Ref, OuterTasks] | None = None) -> str | None:
    """Why the next run doesn't continue the graph of this checkpoint; None if it does, or if that isn't known.

    `outers` keeps the tasks of the graphs above, for others that are asked about in the same moment.
    """
    if not ref.ns:
        return None
    try:
        return _why_not(reader, ref, {} if outers is None else outers)
    except CheckpointNotFound:
        if reader.saver.newest(ref.thread_id, "", 1):
            raise
    memory = "" if caller_task(ref.ns) else " › ".join(callers(ref.ns))
    then = f", and adds its input to the newest state of {memory}" if memory else ""
    return f"no checkpoint of the root graph is stored: the next run begins the thread anew{then}"


def _why_not(reader: Reader, ref: Ref, outers: dict[Ref, OuterTasks]) -> str | None:
    way = _Way(reader, ref.thread_id, outers)
    graphs = way.to(ref.ns)
    for outer, inner in pairwise(graphs):
        tasks = way.tasks(outer)
        if not tasks.may_call(inner) or inner not in way.stored:
            stored = next(ns for ns in graphs[graphs.index(inner) :] if ns in way.stored)
            return _reason(reader, tasks, inner, way.head(stored), ref.ns)
    return None


def why_not_newest(reader: Reader, ref: Ref) -> str | None:
    """Why no run continues a tip of a subgraph with its own memory: it isn't the newest; None of all others."""
    if not ref.ns or caller_task(ref.ns) or reader.head(ref.thread_id, ref.ns).ref == ref:
        return None
    name = " › ".join(callers(ref.ns))
    return f"a run continues {name} from its newest checkpoint, unless its config names this one"


def earlier_open_call(reader: Reader, ref: Ref) -> str | None:
    """The namespace of a call that the same task made before this one and that failed or stopped; None without one.

    The next run continues that one. A task numbers its calls, a retry goes on counting, and the next run begins with
    the first number again (langgraph 1.2 ``pregel/_loop.py: __init__``, ``subgraph_counter``). Where the earlier call
    waits, the two were made side by side.
    """
    return _first_open(reader, ref.thread_id, _earlier_calls(reader, ref))


def _first_open(reader: Reader, thread_id: str, calls: Iterable[str]) -> str | None:
    for earlier in calls:
        with suppress(PayloadCorrupt, CheckpointNotFound):
            statuses = Inspection(reader, reader.head(thread_id, earlier).ref).snapshot().statuses
            if Status.WAITING not in statuses and {Status.FAILED, Status.UNFINISHED} & {*statuses}:
                return earlier
    return None


def _earlier_calls(reader: Reader, ref: Ref) -> list[str]:
    namespaces = {*reader.namespaces(ref.thread_id)}
    return [one for ns in levels(ref.ns) for one in earlier_calls(ns, namespaces)]


def why_perhaps_not(reader: Reader, ref: Ref) -> str | None:
    """Why the next run may not come to this call of a subgraph, though it is not known to be over.

    An earlier call of the same task continues first, or there are so many that they aren't read. Or a subgraph with its
    own memory, this one or one around it, is called by a ``@task``, whose name alone is in the namespace: perhaps that
    has returned.
    """
    again, calls = "the next run comes to this one only if its task makes it again", _earlier_calls(reader, ref)
    if len(calls) > _MOST_READ:
        return f"the task made {len(calls):,} calls before this one: {again}"
    if (earlier := _first_open(reader, ref.thread_id, calls)) is not None:
        name = " › ".join(callers(earlier))
        return f"an earlier call of {name}, {earlier}, has not finished: {again}, after a retry perhaps never"
    for memory in (ns for ns in levels(ref.ns)[1:] if not caller_task(ns)):
        if _is_in_call(reader, ref.thread_id, memory):
            returned = "if that was the one that called it, the next run doesn't continue it"
            return f"{' › '.join(callers(memory))} is called by a @task, and one has returned in this step: {returned}"
    return None


def _is_in_call(reader: Reader, thread_id: str, memory: str) -> bool:
    """Whether a ``@task`` called a subgraph with its own memory, and one has returned in the caller's step.

    For the ``@task`` the recorded parents repeat the checkpoint of the graph around it; for an error handler too.
    """
    newest = reader.saver.newest(thread_id, memory, 1)
    state = reader.state_if_readable(newest[0].ref) if newest else None
    if state is None:
        return False
    recorded = note(state.metadata, newest[0].checkpoint_id).parents
    *_, outer, _ = _Way(reader, thread_id, {}).to(memory)
    called, *between = callers(memory)[len(callers(outer)) :]
    is_of_handler = len(between) == 1 and between[0] in handler_names(called)
    if not between or is_of_handler or len({*recorded.values()}) == len(recorded):
        return False
    heads = reader.saver.newest(thread_id, outer, 1)
    return any(write.channel == RETURN for head in heads for write in reader.writes(head.ref, values=0))


def _reason(reader: Reader, outer: OuterTasks, inner: str, stored: Ref, asked: str) -> str:
    """Why the graph above doesn't continue the subgraph `inner`, and so not the one asked about, which is in it.

    `stored` is the head of `inner`, or of the next graph in it that is stored.
    """
    if not caller_task(asked):
        name = " › ".join(callers(asked))
        if any(task.status not in (Status.FINISHED, Status.LEFT) for task in outer.snapshot.tasks):
            return (
                f"the next run doesn't begin with {name}: its next call starts anew, with the input added to this state"
            )
        return f"the call of {name} is over: its next call starts anew, with the input added to this state"
    name = " › ".join(callers(inner))
    if Inspection(reader, stored).returned() or outer.handles(inner):
        return f"the call of {name} is over, so the next run doesn't continue from there"
    if not outer.may_call(inner):
        return f"the call of {name} is out of date: the thread's next run doesn't continue it"
    return f"no checkpoint of {name} is stored, as with checkpointer=False: the next run begins it anew"


def _may_call(task: Task, called: str, caller_id: str | None) -> bool:
    """Whether a task may still run and continue the subgraph that this node, and this task if it is known, called."""
    if task.status in (Status.FINISHED, Status.LEFT):
        return False
    return task.node in (None, called) if caller_id is None or task.id is None else task.id == caller_id
