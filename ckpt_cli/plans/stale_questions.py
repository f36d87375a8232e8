"""Whether ``resume`` can still answer if the subgraph that asked changed or its checkpoint is lost.

The graphs around the subgraph still have the question, but the subgraph's new head doesn't. The tasks of the new head
have new ids, so they would never find an answer that is stored under the old task. The next run asks again, unless the
subgraph was moved past the question (`next_questions`).

A resume value without a question id is stored on the null task of the root's head. It answers the first question that
the next run asks, in any subgraph (langgraph 0.6 to 1.2 ``pregel/_algo.py: _scratchpad``: each task calls its parent's
``get_null_resume``). So the question that a person answers must be the first.
"""

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from shlex import quote

from ckpt_cli.errors import Refused
from ckpt_cli.history.state.channels import INTERRUPT, RESUME
from ckpt_cli.history.tasks.answers import AskedQuestion
from ckpt_cli.history.tasks.nesting import called_from, caller_task, inside_sorted, levels, node
from ckpt_cli.history.tasks.snapshot import Status
from ckpt_cli.history.tasks.task_ids import interrupt_id, with_id
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.plans.continued_calls import earlier_open_call
from ckpt_cli.plans.next_questions import why_not_asked
from ckpt_cli.reading import Reader
from ckpt_cli.values.langgraph_values import interrupts
from ckpt_cli.values.state import TaskWrite


class ChangedSubgraphs:
    """The subgraphs of a thread that were changed after they had asked a question.

    Heads, tasks and namespaces are read once, however many questions wait.
    """

    def __init__(self, reader: Reader, thread_id: str) -> None:
        self._reader = reader
        self._thread_id = thread_id
        self._asked_at_head = cache(self._read_asked_at_head)
        self._callers = cache(self._read_callers)
        self._called = cache(self._read_called)

    def find(self, asked_id: str, source: AskedQuestion) -> str | None:
        """The namespace of the subgraph that asked a question and was changed later; None if none was changed."""
        row = source.write.row
        for ns in (*(outer for outer, _ in Inspection(self._reader, row.ref).around()), row.ns):
            asked = self._asked_at_head(ns)
            if asked is not None and asked_id not in asked:
                return ns
        name, inside = self._callers(row.ref).get(row.task_id, (None, row.ns))
        called = self._called(row.ns)
        subgraphs = [*called.get(f":{row.task_id}", ()), *(called.get(name, ()) if name is not None else ())]
        if not subgraphs or (name is not None and asked_id in _own_ids(inside, name, row.task_id, len(source.answers))):
            return None
        asking = (ns for ns in subgraphs if asking_checkpoints(self._reader, self._thread_id, ns, asked_id))
        if name is None and next(asking, None) is None:
            return None
        last: str = max(subgraphs)
        return last

    def why_nowhere(self, asked_id: str, source: AskedQuestion) -> str:
        """Why the task that asked isn't continued, so that it never finds its answer; "" if it is, or was changed."""
        if self.is_unrecorded(asked_id, source):
            return UNRECORDED
        return LATER_CALL if self.is_of_later_call(source) else ""

    def is_unrecorded(self, asked_id: str, source: AskedQuestion) -> bool:
        """Whether no checkpoint of the graph that asked, or of one around it, is stored; so no task takes the answer.

        A subgraph that is compiled with ``checkpointer=False`` stores none, and begins anew in each run. The subgraphs
        that it calls store theirs, but in each run in another namespace.
        """
        row = source.write.row
        stored = {"", *self._reader.namespaces(self._thread_id)}
        if any(ns not in stored for ns, _ in Inspection(self._reader, row.ref).around()):
            return True
        (name, inside), called = self._callers(row.ref).get(row.task_id, (None, row.ns)), self._called(row.ns)
        if name is None or asked_id in _own_ids(inside, name, row.task_id, len(source.answers)):
            return False
        return f":{row.task_id}" not in called and name not in called

    def is_of_later_call(self, source: AskedQuestion) -> bool:
        """Whether the task had called the subgraph before, and the next run continues that call."""
        return earlier_open_call(self._reader, source.write.row.ref) is not None

    def why_past(self, asked_id: str, ns: str) -> str:
        """Why the next run doesn't come to a question of this changed subgraph again; "" if it may."""
        asking = asking_checkpoints(self._reader, self._thread_id, ns, asked_id)
        return why_not_asked(self._reader, self._thread_id, ns, asked_id, asking)

    def _read_asked_at_head(self, ns: str) -> set[str | None] | None:
        """The ids of all questions on the newest checkpoint of a namespace; None if it has no checkpoint."""
        newest = self._reader.saver.newest(self._thread_id, ns, 1)
        written = self._reader.writes(newest[0].ref) if newest else []
        return {asked_id for write in written for asked_id in _asked(write)} if newest else None

    def _read_callers(self, ref: Ref) -> dict[str | None, tuple[str | None, str]]:
        """The id of each task to its node and the namespace in which it runs: an error handler in the failed task's."""
        snapshot = Inspection(self._reader, ref).snapshot()
        spaces = {task.id: f"{ref.ns}|{task.node}:{task.id}".removeprefix("|") for task in snapshot.tasks}
        handlers = {task.id: (task.node, spaces.get(i, ref.ns)) for i, task in snapshot.handlers.items()}
        return {**{task.id: (task.node, ref.ns) for task in snapshot.tasks}, **handlers}

    def _read_called(self, ns: str) -> dict[str, list[str]]:
        """The subgraphs that tasks of a namespace called.

        The key is ``:task id``, or the node for a subgraph with its own memory, whose namespace contains no task id.
        """
        called: dict[str, list[str]] = {}
        for space in called_from(ns, inside_sorted(self._reader.namespaces(self._thread_id), ns)):
            owner = caller_task(space)
            called.setdefault(f":{owner}" if owner else node(space), []).append(space)
        return called


def must_be_first(reader: Reader, thread_id: str, ns: str, asked_id: str, waiting: int) -> None:
    """Check that this changed subgraph asks the first question of the next run.

    `waiting` is the number of questions that wait in the thread.

    Raises:
        Refused: another task may ask a question first, or the subgraph repeats a question that was answered before.
    """
    again = f"`ckpt resume {quote(thread_id)}`"
    hint = f"let the application run graph.invoke(None, config); then {again} shows what waits"
    what = "its subgraph was changed after it asked, so the next run gives an answer to the first question that it asks"
    graphs = {"", *reader.namespaces(thread_id)}
    unfinished = (_count_unfinished(reader, thread_id, level) for level in levels(ns)[:-1] if level in graphs)
    if waiting > 1 or any(count > 1 for count in unfinished):
        raise Refused(f"{what}; another task may ask first; nothing was written", hint=hint)
    if any(write.channel == RESUME for write in _repeated_writes(reader, thread_id, ns, asked_id)):
        raise Refused(
            f"{what}; that may be an earlier question, which was answered before; nothing was written", hint=hint
        )


UNRECORDED = "was asked inside a graph of which no checkpoint is stored, as with checkpointer=False"
LATER_CALL = "was asked in a later call of its subgraph, and the next run continues an earlier one, which didn't finish"


def must_be_alone(reader: Reader, ref: Ref, named: str, waiting: int, why: str = UNRECORDED) -> None:
    """Check that the next run asks no question before this one, whose task no run continues; `why` says so.

    Raises:
        Refused: another task may ask a question first, or an earlier question was answered.
    """
    what = f"{named} {why}, and"
    graphs = {"", *reader.namespaces(ref.thread_id)}.intersection(levels(ref.ns))
    if waiting > 1 or any(_count_unfinished(reader, ref.thread_id, ns) > 1 for ns in graphs):
        hint = "LangGraph gives such a graph an answer only where one question waits: let it have a checkpointer"
        raise Refused(f"{what} the next run may ask another question first; nothing was written", hint=hint)
    head = reader.head(ref.thread_id).ref
    if any(write.channel == RESUME for place in {head, ref} for write in reader.writes(place)):
        hint = "graph.invoke(Command(resume=ANSWER), config) gives the answer to the first question of that run"
        raise Refused(f"{what} the next run asks its earlier question again; nothing was written", hint=hint)


def _count_unfinished(reader: Reader, thread_id: str, ns: str) -> int:
    tasks = Inspection(reader, reader.head(thread_id, ns).ref).snapshot().tasks
    return sum(task.status is not Status.FINISHED for task in tasks)


def _asked(write: TaskWrite) -> set[str | None]:
    """The ids of the questions in a write; none if it is no question or wasn't read."""
    asks = write.channel == INTERRUPT and write.read
    return {with_id(one).id for one in interrupts(write.value)} if asks else set()


def _own_ids(ns: str, name: str, task_id: str, answers: int) -> set[str]:
    """The possible ids of a task's own questions; since langgraph 1.2.20 an id includes the number of answers."""
    own = f"{ns}|{name}:{task_id}".removeprefix("|")
    return {interrupt_id(own), *(interrupt_id(f"{own}|{count}") for count in range(1, answers + 1))}


def asking_checkpoints(reader: Reader, thread_id: str, ns: str, asked_id: str) -> list[str]:
    """The checkpoints of a namespace on which a question is recorded, oldest first."""
    writes = reader.saver.writes(thread_id, ns, values=0)
    asking = [ref for ref, some in groupby(writes, lambda w: w.ref) if any(w.channel == INTERRUPT for w in some)]
    return [ref.checkpoint_id for ref in asking if any(asked_id in _asked(w) for w in reader.writes(ref))]


def _repeated_writes(reader: Reader, thread_id: str, ns: str, asked_id: str) -> Iterator[TaskWrite]:
    """The writes, without their values, of the tasks that the next run repeats in a changed subgraph.

    If the checkpoint with the question is lost, its branch is unknown. Then the writes of all branches are given.
    """
    lineage, head = reader.lineage(thread_id, ns), reader.head(thread_id, ns).checkpoint_id
    current_line = set(lineage.line(head))
    again = {head, lineage.parent(head) or ""}
    for asker in asking_checkpoints(reader, thread_id, ns, asked_id)[-1:]:
        again |= {*lineage.line(asker)} - current_line | {asker} if asker in lineage else {*lineage.rows}
    writes = reader.writes_by_checkpoint(thread_id, ns, sorted(again & lineage.rows.keys()), values=0)
    for some in writes.values():
        yield from some
    owners = {write.task_id for some in writes.values() for write in some}
    for space in inside_sorted(reader.namespaces(thread_id), ns):
        owner = space[len(ns) + 1 :].partition("|")[0].partition(":")[2]
        if not owner or owner in owners:
            for some in reader.writes_by_checkpoint(thread_id, space, values=0).values():
                yield from some
