"""Waiting until LangGraph has stored what a task leaves: it may drop what isn't stored when another task fails."""

import time
from typing import Any

from langgraph.config import get_config

_PATIENCE, _PAUSE = 500, 0.01  # looks, seconds


def until_stored(saver: Any, others: int = 1) -> None:
    """Return when that many other tasks of the step have stored something; called in a node.

    langgraph 1.2.24 ``pregel/_executor.py: BackgroundExecutor.__exit__`` may end between the end of a node and the
    call that stores its writes.
    """
    own = get_config()["configurable"]
    ns, _, task = own["checkpoint_ns"].rpartition("|")
    task_id = task.rpartition(":")[2]
    place = {"thread_id": own["thread_id"], "checkpoint_ns": ns, "checkpoint_id": own["checkpoint_map"][ns]}
    for _ in range(_PATIENCE):
        start = saver.get_tuple({"configurable": place})
        if start is not None and len({other for other, *_ in start.pending_writes or ()} - {task_id}) >= others:
            return
        time.sleep(_PAUSE)
    raise TimeoutError("the other tasks have stored nothing")
