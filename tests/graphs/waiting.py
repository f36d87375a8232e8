"""Waiting until LangGraph has stored what a task leaves: it may drop what isn't stored when another task fails."""

import time
from collections.abc import Set
from typing import Any

from langgraph.config import get_config

_PATIENCE, _PAUSE = 500, 0.01  # looks, seconds


def until_stored(saver: Any, others: int = 1, channel: str = "") -> None:
    """Return when so many other tasks of the step have stored something, or a write to a channel; called in a node.

    langgraph 1.2.24 ``pregel/_executor.py: BackgroundExecutor.__exit__`` may end between the end of a node and the
    call that stores its writes.
    """
    own = get_config()["configurable"]
    ns, _, task = own["checkpoint_ns"].rpartition("|")
    task_id = task.rpartition(":")[2]
    place = {"thread_id": own["thread_id"], "checkpoint_ns": ns, "checkpoint_id": own["checkpoint_map"][ns]}
    _wait(saver, {"configurable": place}, others, channel, but={task_id})


def until_all_stored(saver: Any, config: Any, tasks: int) -> None:
    """Return when so many tasks of the head have stored something; called in an error handler, or between two events.

    LangGraph ends a step in which tasks failed only when the events of its stream are read (``PregelRunner.tick``).
    """
    _wait(saver, config, tasks)


def _wait(saver: Any, config: Any, tasks: int, channel: str = "", but: Set[str] = frozenset()) -> None:
    for _ in range(_PATIENCE):
        start = saver.get_tuple(config)
        writes = () if start is None else start.pending_writes or ()
        if len({task for task, to, _ in writes if channel in ("", to)} - but) >= tasks:
            return
        time.sleep(_PAUSE)
    raise TimeoutError("the tasks have stored nothing")
