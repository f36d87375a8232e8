"""Errors that LangGraph.js stores of tasks that did not fail: they left, or were aborted.

A ``Command`` with ``graph: Command.PARENT`` ends a subgraph's task by an exception, which is stored with its name.
Where a task fails, 1.x aborts the others of the step; of one whose node had returned it stores what this wrote up to
then together with an ``AbortError``, and not the writes of its edges (langgraphjs 1.7.3 ``pregel/runner.ts: _commit``).
"""

from collections.abc import Iterable, Sequence

from ckpt_cli.history.state.channels import ABORTED, CONTROL_WRITES, ERROR, PARENT_COMMAND
from ckpt_cli.values.state import TaskWrite


def mark_no_failures(writes: Sequence[TaskWrite]) -> None:
    """Give such errors among the writes on one checkpoint another channel than ``__error__``; the rows stay as stored.

    An ``AbortError`` without a result stays an error: the task runs again.
    """
    errors = [write for write in writes if write.channel == ERROR and _is_object(write)]
    if not errors:
        return
    finished = {write.task_id for write in writes if write.channel not in CONTROL_WRITES}
    for write in errors:
        if _name(write) == "ParentCommand":
            write.channel = PARENT_COMMAND
        elif is_abort(write) and write.task_id in finished:
            write.channel = ABORTED


def was_aborted(writes: Iterable[TaskWrite]) -> bool:
    """Whether LangGraph.js aborted a task that has a result: before, or when its node had returned.

    In the latter case the writes of its edges are missing.
    """
    return any(write.channel == ABORTED for write in writes)


def is_abort(error: TaskWrite) -> bool:
    """Whether an error says that something was aborted."""
    return _is_object(error) and _name(error) == "AbortError"


def _name(error: TaskWrite) -> object:
    return error.value.get("name") if isinstance(error.value, dict) else None


def _is_object(write: TaskWrite) -> bool:
    """Whether an error is a JSON object; those of Python are texts, and needn't be decoded."""
    payload = write.row.payload
    return payload is not None and payload.data[:1] == b"{"
