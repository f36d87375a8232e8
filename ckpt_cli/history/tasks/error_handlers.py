"""The tasks of error handlers (langgraph 1.2): which task handled the failure of which other task.

``add_node(…, error_handler=…)`` gives a node a handler, ``set_node_defaults(error_handler=…)`` gives one to all others.
If the node fails, its task leaves ``__error__`` and the node's name under ``__error_source_node__`` (1.2.22
``pregel/_runner.py: commit``). A task of the handler then runs in the same step. Its id is a hash over the failed
task's id, and its path begins with that task's path (``pregel/_algo.py: prepare_node_error_handler_task``).
``get_state`` doesn't list it among the tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ckpt_cli.history.state.channels import ERROR, ERROR_SOURCE
from ckpt_cli.history.tasks.task_ids import Place, handled
from ckpt_cli.values.state import TaskWrite


class Handler(NamedTuple):
    """The node of an error handler's task (None if unknown), and the id of the task that failed."""

    node: str | None
    failed: str


def is_routed(own: Sequence[TaskWrite]) -> bool:
    """Whether the task that left these writes failed, and the next run calls its error handler instead of it.

    langgraph 1.2.24 ``pregel/_loop.py: _resume_error_handlers_if_applicable`` asks for both marks.
    """
    return {ERROR, ERROR_SOURCE} <= {write.channel for write in own}


def error_handlers(
    writes: Mapping[str, Sequence[TaskWrite]], start: Place | None, node: Callable[[TaskWrite], str | None]
) -> dict[str, Handler]:
    """The recorded tasks of error handlers, by task id.

    Args:
        writes: the writes stored on one checkpoint, by task id.
        start: where the tasks of this checkpoint start; None if no task ids can be computed.
        node: the node of a failed task, from one of its writes; asked if the recorded name wasn't read.
    """
    handlers: dict[str, Handler] = {}
    for failed, own in writes.items():
        source = next((write for write in own if write.channel == ERROR_SOURCE), None)
        if source is None:
            continue
        path = source.row.task_path
        by_path = (i for i, others in writes.items() if path and handled(others[0].row.task_path) == path)
        handlers |= {task_id: Handler(None, failed) for task_id in by_path}
        name = source.value if source.read and isinstance(source.value, str) else node(source)
        possible = start.handlers(name, failed) if start is not None and name else ()
        handlers |= {task_id: Handler(of, failed) for task_id, of in possible if task_id in writes}
    return handlers
