"""Errors that LangGraph.js stores of tasks that did not fail: they left, or were aborted.

A ``Command`` with ``graph: Command.PARENT`` ends a subgraph's task by an exception, which is stored with its name.
Where a task fails, 1.x aborts the others of the step; of one whose node had returned it stores what this wrote up to
then together with an ``AbortError``, and not the writes of its edges (langgraphjs 1.7.3 ``pregel/runner.ts: _commit``).
A node or an edge may raise an ``AbortError`` of its own, too: then the task has failed.
"""

from collections.abc import Iterable, Sequence

from ckpt_cli.history.state.channels import (
    ABORTED,
    CONTROL_WRITES,
    END,
    ERROR,
    PARENT_COMMAND,
    PREVIOUS,
    RETURN,
    TASKS,
    target,
)
from ckpt_cli.values.state import TaskWrite

_LAST = frozenset({TASKS, END, PREVIOUS, RETURN})


def mark_no_failures(writes: Sequence[TaskWrite]) -> None:
    """Give such errors another channel than ``__error__``; `writes` are all on one checkpoint; the rows stay as stored.

    An ``AbortError`` without a result stays an error: the task runs again. So does one beside the writes of an edge:
    the task has run again, or its next edge was aborted; and one without another task whose error stays.
    """
    errors = [write for write in writes if write.channel == ERROR and _is_object(write)]
    if not errors:
        return
    cut = _without_edges(writes)
    aborts = [write for write in errors if write.task_id in cut and _name(write) == "AbortError"]
    left = [write for write in errors if _name(write) == "ParentCommand"]
    for write in left:
        write.channel = PARENT_COMMAND
    if len(aborts) + len(left) < len(errors):
        for write in aborts:
            write.channel = ABORTED


def abort_of(writes: Iterable[TaskWrite]) -> TaskWrite | None:
    """The error of a task with a result that LangGraph.js aborted: before, or when its node had returned.

    In the latter case the writes of its edges are missing.
    """
    return next((write for write in writes if write.channel == ABORTED), None)


def _without_edges(writes: Iterable[TaskWrite]) -> set[str]:
    """The tasks with a result, but none that is written last: by an edge, or by a function."""
    results = [write for write in writes if write.channel not in CONTROL_WRITES]
    ended = {write.task_id for write in results if write.channel in _LAST or target(write.channel) is not None}
    return {write.task_id for write in results} - ended


def is_abort(error: TaskWrite) -> bool:
    """Whether an error says that something was aborted."""
    return _is_object(error) and _name(error) == "AbortError"


def _name(error: TaskWrite) -> object:
    return error.value.get("name") if isinstance(error.value, dict) else None


def _is_object(write: TaskWrite) -> bool:
    """Whether an error is a JSON object; those of Python are texts, and needn't be decoded."""
    payload = write.row.payload
    return payload is not None and payload.data[:1] == b"{"
