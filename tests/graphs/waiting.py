"""Waiting until LangGraph has stored what a task leaves: it may drop what isn't stored when another task fails."""

import time
from typing import Any

from langgraph.config import get_config

_PATIENCE, _PAUSE = 500, 0.01  # looks, seconds


def until_stored(saver: Any, others: int = 1) -> None:
    """Return when that many other tasks of the step have stored something; called in a node of the outermost graph.

    langgraph 1.2.24 ``pregel/_executor.py: BackgroundExecutor.__exit__`` may end between the end of a node and the
    call that stores its writes.
    """
    own = get_config()["configurable"]
    task_id = own["checkpoint_ns"].rpartition(":")[2]
    place: Any = {"configurable": {"thread_id": own["thread_id"], "checkpoint_id": own["checkpoint_map"][""]}}
    for _ in range(_PATIENCE):
        start = saver.get_tuple(place)
        if start is not None and len({task for task, *_ in start.pending_writes or ()} - {task_id}) >= others:
            return
        time.sleep(_PAUSE)
    raise TimeoutError("the other tasks have stored nothing")
