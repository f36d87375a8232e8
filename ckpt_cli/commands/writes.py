"""``ckpt writes``: shows what the tasks of a step wrote, including tasks that didn't finish."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

import typer

from ckpt_cli.errors import CheckpointNotFound, KeyMissing, PayloadCorrupt
from ckpt_cli.history.lineage import ids
from ckpt_cli.history.state import channels
from ckpt_cli.history.tasks.answered_tasks import with_answers
from ckpt_cli.history.tasks.answers import WaitingQuestions
from ckpt_cli.history.tasks.node_names import place
from ckpt_cli.history.tasks.recorded_tasks import recorded_task
from ckpt_cli.history.tasks.snapshot import Status, Task, status_of
from ckpt_cli.history.tasks.step_changes import is_output
from ckpt_cli.history.tasks.task_ids import Place, caller, pulled, with_id
from ckpt_cli.history.tasks.write_makers import is_call, is_update, path
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import NULL_TASK, Ref
from ckpt_cli.parameters.options import Ns, Rev, Thread
from ckpt_cli.queries.lost_states import find_writes, step_nodes_without_state
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values import langgraph_values
from ckpt_cli.values.state import TaskWrite
from ckpt_cli.views.interrupts import interrupt_view
from ckpt_cli.views.sends import send_view
from ckpt_cli.views.writes import TaskWrites, WritesView, Written

_KINDS = {
    channels.ERROR: "error",
    channels.ERROR_SOURCE: "trigger",
    channels.INTERRUPT: "interrupt",
    channels.RESUME: "resume",
    channels.TASKS: "send",
    channels.NO_WRITES: "nothing",
    channels.SCHEDULED: "trigger",
    channels.RETURN: "value",
}


def writes(
    session: Session,
    thread: Thread,
    rev: Rev = "@",
    ns: Ns = "",
    full: Annotated[bool, typer.Option("--full", help="Fold nothing, and show the graph's own channels too.")] = False,
) -> WritesView:
    """Show what each task wrote at a checkpoint: results, errors, interrupts, answers, Sends.

    Writes are stored on the checkpoint from which their task started. If that checkpoint has a child, its writes are
    history. If it has no child, they are pending: when the step runs again, the finished tasks don't run again.

    Examples:
      ckpt writes support-42
      ckpt writes support-42 step:3 --full
      ckpt writes support-42 --json --query "tasks[?status=='failed'].node"
    """
    view = session.read(lambda reader: run(reader, thread, rev, ns))
    view.full = full
    if view.problem:
        session.say(f"the checkpoint is damaged, nodes may be missing: {view.problem}")
    return view


def run(reader: Reader, thread: str, rev: str = "@", ns: str = "") -> WritesView:
    """The view of the writes on the checkpoint that a revision names, by task, in LangGraph's order of tasks.

    If the checkpoint's state can't be read, or its row is lost, the view has what the writes show by themselves.
    """
    ns = reader.namespace(thread, ns)
    ref = find_writes(reader, thread, rev, ns)
    try:
        return _with_state(reader, ref)
    except KeyMissing:
        raise
    except (CheckpointNotFound, PayloadCorrupt) as error:
        lost = isinstance(error, CheckpointNotFound)
        return _without_state(reader, ref, "its row is lost, or was never stored" if lost else error.message)


def _with_state(reader: Reader, ref: Ref) -> WritesView:
    state, names = reader.state(ref), Inspection(reader, ref).names()
    due_tasks = {task.id: task for task in Inspection(reader, ref).snapshot().all_tasks}
    by_node = {task.node: task.status for task in due_tasks.values() if task.node and task.packet is None}
    by_task = _by_task(reader, ref)
    statuses = by_node | _unplaced(reader, ref, {i: own for i, own in by_task.items() if i not in due_tasks})
    tasks = [
        _task(task_id, names.node(task_id), task_writes, place(state), due_tasks.get(task_id), statuses)
        for task_id, task_writes in by_task.items()
    ]
    return _view(reader, ref, state.step, tasks, state.damage or None)


def _unplaced(reader: Reader, ref: Ref, by_task: Mapping[str, list[TaskWrite]]) -> dict[str, Status]:
    """The statuses of tasks that asked, by id, with the answers that they have; the node of none is known."""
    asked = {i: own for i, own in by_task.items() if not path(own[0]) and status_of(own) is Status.WAITING}
    inspection = Inspection(reader, ref)
    if not asked or inspection.consumed:
        return {}
    questions = WaitingQuestions(reader.writes(ref), inspection.namespaces, inspection.below)
    return {i: with_answers(recorded_task(i, None, own), questions).status for i, own in asked.items()}


def _without_state(reader: Reader, ref: Ref, problem: str) -> WritesView:
    step_nodes = step_nodes_without_state(reader, ref)
    step = step_nodes.attribution.note(ref.checkpoint_id).step
    any_format = 4  # the ids that are compared with this place don't depend on it
    start = Place(ref.checkpoint_id, ref.ns, -1 if step is None else step + 1, any_format) if _is_uuid(ref) else None
    tasks = [
        _task(task_id, None if _is_no_task(task_writes) else step_nodes.node(task_writes[0]), task_writes, start)
        for task_id, task_writes in _by_task(reader, ref).items()
    ]
    return _view(reader, ref, step, tasks, problem)


def _is_no_task(task_writes: list[TaskWrite]) -> bool:
    return task_writes[0].task_id == NULL_TASK or is_update(task_writes[0])


def _is_uuid(ref: Ref) -> bool:
    return ids.is_uuid6(ref.checkpoint_id)


def _by_task(reader: Reader, ref: Ref) -> dict[str, list[TaskWrite]]:
    by_task: dict[str, list[TaskWrite]] = {}
    for write in reader.writes(ref):
        by_task.setdefault(write.task_id, []).append(write)
    return by_task


def _view(reader: Reader, ref: Ref, step: int | None, tasks: list[TaskWrites], problem: str | None) -> WritesView:
    rows = reader.lineage(ref.thread_id, ref.ns).rows.values()
    return WritesView(
        thread_id=ref.thread_id,
        ns=ref.ns,
        checkpoint_id=ref.checkpoint_id,
        short=reader.short(ref.thread_id)(ref.checkpoint_id),
        step=step,
        consumed=any(row.parent_id == ref.checkpoint_id for row in rows),
        tasks=tasks,
        problem=problem,
    )


def _task(
    task_id: str,
    node: str | None,
    task_writes: list[TaskWrite],
    start: Place | None,
    due_task: Task | None = None,
    statuses: Mapping[str, Status] = MappingProxyType({}),
) -> TaskWrites:
    """The view of one task's writes; `statuses` are those of the nodes that may have called it, or its own by id."""
    node = node or (due_task.node if due_task else None)
    task_path = next((write.row.task_path for write in task_writes), "")
    by = _kind_of_writer(task_id, task_writes, start)
    if by == "run" and node is None:
        node = pulled(path(task_writes[0]))
    known = due_task.status if due_task else statuses.get(caller(task_path) or task_id)
    status = _status(task_writes, known) if by in ("task", "call") else ""
    send = send_view(due_task.packet if due_task else None)
    return TaskWrites(task_id, node, by, str(status), task_path, [_written(write, node) for write in task_writes], send)


def _status(task_writes: list[TaskWrite], known: Status | None) -> Status:
    """The status of a task or a call; one that left to the graph above has stored an error, in LangGraph.js.

    If it asked, `known`, its own status in the snapshot or that of its caller, says whether the question is still open.
    """
    status = status_of(task_writes)
    if status is Status.DUE and known is Status.LEFT:
        return known
    if status is not Status.WAITING or known not in (Status.ANSWERED, Status.FAILED):
        return status
    has_failed = any(write.channel == channels.ERROR for write in task_writes)
    return known if known is Status.ANSWERED or has_failed else status


def _kind_of_writer(task_id: str, task_writes: list[TaskWrite], start: Place | None) -> str:
    if task_id == NULL_TASK:
        return "input"
    if is_update(task_writes[0]):
        return "update"
    if start is not None and start.synthetic(task_id):
        return "run"
    return "call" if is_call(task_writes) else "task"


def _written(write: TaskWrite, node: str | None) -> Written:
    is_edge = write.channel == node  # up to langgraph 0.3.18 a plain edge is a channel named after its start node
    kind = _KINDS.get(write.row.channel) or ("value" if is_output(write) and not is_edge else "trigger")
    sent = langgraph_values.js_send(write.value) if kind == "send" else None
    interrupts = [with_id(one) for one in langgraph_values.interrupts(write.value)] if kind == "interrupt" else []
    payload = write.row.payload
    return Written(
        channel=write.row.channel,
        idx=write.row.idx,
        kind=kind,
        value=sent.arg if sent else write.value,
        to=sent.node if sent else None,
        interrupts=[interrupt_view(one.id, one.value, one.response_schema) for one in interrupts],
        tag=payload.tag if payload else "",
        size=len(payload.data) if payload else 0,
    )
