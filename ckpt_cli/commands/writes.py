"""``ckpt writes``: shows what the tasks of a step wrote, finished or not."""

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
from ckpt_cli.values import known
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

    Writes are stored on the checkpoint that their task started from. If a child continues that checkpoint, they are
    history. If not, they are pending: when the step runs again, finished tasks keep theirs.

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
    """The view of the writes on the checkpoint that a revision names, by task in canonical order."""
    ns = reader.namespace(thread, ns)
    row = reader.resolve(thread, rev, ns)
    state, names = reader.state(row.ref), Inspection(reader, row.ref).names()
    due = {task.id: task for task in Inspection(reader, row.ref).snapshot().tasks}
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
        tasks=[_task(task_id, names.node(task_id), own, state, due.get(task_id)) for task_id, own in by_task.items()],
        problem=state.damage or None,
    )


def _task(task_id: str, node: str | None, own: list[TaskWrite], state: State, due: Task | None) -> TaskWrites:
    node = node or (due.node if due else None)
    path = next((write.row.task_path for write in own), "")
    by = _by(task_id, path, state)
    answered = due is not None and due.status is Status.ANSWERED
    status = str(Status.ANSWERED if answered else status_of(own)) if by in ("task", "call") else ""
    return TaskWrites(task_id, node, by, status, path, [_written(write, node) for write in own])


def _by(task_id: str, path: str, state: State) -> str:
    where = place(state)
    if task_id == NULL_TASK:
        return "input"
    if where is not None and task_id == where.update:
        return "update"
    if where is not None and where.synthetic(task_id):
        return "run"
    return "task" if caller(path) is None else "call"


def _written(write: TaskWrite, node: str | None) -> Written:
    edge = write.channel == node  # up to langgraph 0.3.18 a plain edge is a channel named after its start node
    kind = _KINDS.get(write.channel) or ("value" if is_output(write) and not edge else "trigger")
    sent = known.js_send(write.value) if kind == "send" else None
    interrupts = [with_id(one) for one in known.interrupts(write.value)] if kind == "interrupt" else []
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
