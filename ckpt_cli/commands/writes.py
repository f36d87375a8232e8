"""``ckpt writes``: shows what the tasks of a step wrote, including tasks that didn't finish."""

from typing import Annotated

import typer

from ckpt_cli.history.state import channels
from ckpt_cli.history.tasks.node_names import place
from ckpt_cli.history.tasks.snapshot import Status, Task, status_of
from ckpt_cli.history.tasks.step_changes import is_output
from ckpt_cli.history.tasks.task_ids import caller, with_id
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import NULL_TASK
from ckpt_cli.parameters.options import Ns, Rev, Thread
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.values import langgraph_values
from ckpt_cli.values.state import State, TaskWrite
from ckpt_cli.views.interrupts import InterruptView
from ckpt_cli.views.writes import TaskWrites, WritesView, Written

_KINDS = {
    channels.ERROR: "error",
    channels.ERROR_SOURCE: "error",
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
    """The view of the writes on the checkpoint that a revision names, by task, in LangGraph's order of tasks."""
    ns = reader.namespace(thread, ns)
    row = reader.resolve(thread, rev, ns)
    state, names = reader.state(row.ref), Inspection(reader, row.ref).names()
    due_tasks = {task.id: task for task in Inspection(reader, row.ref).snapshot().tasks}
    by_task: dict[str, list[TaskWrite]] = {}
    for write in reader.writes(row.ref):
        by_task.setdefault(write.task_id, []).append(write)
    return WritesView(
        thread_id=thread,
        ns=ns,
        checkpoint_id=row.checkpoint_id,
        short=reader.short(thread)(row.checkpoint_id),
        step=state.step,
        consumed=bool(reader.lineage(thread, ns).children.get(row.checkpoint_id)),
        tasks=[
            _task(task_id, names.node(task_id), task_writes, state, due_tasks.get(task_id))
            for task_id, task_writes in by_task.items()
        ],
        problem=state.damage or None,
    )


def _task(
    task_id: str, node: str | None, task_writes: list[TaskWrite], state: State, due_task: Task | None
) -> TaskWrites:
    node = node or (due_task.node if due_task else None)
    path = next((write.row.task_path for write in task_writes), "")
    by = _kind_of_writer(task_id, path, state)
    answered = due_task is not None and due_task.status is Status.ANSWERED
    status = str(Status.ANSWERED if answered else status_of(task_writes)) if by in ("task", "call") else ""
    return TaskWrites(task_id, node, by, status, path, [_written(write, node) for write in task_writes])


def _kind_of_writer(task_id: str, path: str, state: State) -> str:
    task_id_place = place(state)
    if task_id == NULL_TASK:
        return "input"
    if task_id_place is not None and task_id == task_id_place.update:
        return "update"
    if task_id_place is not None and task_id_place.synthetic(task_id):
        return "run"
    return "task" if caller(path) is None else "call"


def _written(write: TaskWrite, node: str | None) -> Written:
    is_edge = write.channel == node  # up to langgraph 0.3.18 a plain edge is a channel named after its start node
    kind = _KINDS.get(write.channel) or ("value" if is_output(write) and not is_edge else "trigger")
    sent = langgraph_values.js_send(write.value) if kind == "send" else None
    interrupts = [with_id(one) for one in langgraph_values.interrupts(write.value)] if kind == "interrupt" else []
    payload = write.row.payload
    return Written(
        channel=write.channel,
        idx=write.row.idx,
        kind=kind,
        value=sent.arg if sent else write.value,
        to=sent.node if sent else None,
        interrupts=[InterruptView(one.id, one.value) for one in interrupts],
        tag=payload.tag if payload else "",
        size=len(payload.data) if payload else 0,
    )
