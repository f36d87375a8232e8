"""What an engineer writes today to copy a thread: the official savers, and nothing else that takes time.

``python peers_copies.py FROM TO``.
"""

import sys
from collections import defaultdict
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from subject import LONG


def opened(url: str) -> Any:
    """The saver of a database."""
    if url.startswith("postgresql:"):
        from langgraph.checkpoint.postgres import PostgresSaver

        return PostgresSaver.from_conn_string(url)
    return SqliteSaver.from_conn_string(url)


def copy(source: Any, target: Any) -> None:
    """Each checkpoint, and its writes task by task."""
    target.setup()
    for found in source.list({"configurable": {"thread_id": LONG}}):
        own = found.config["configurable"]
        parent = found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None
        config = {"configurable": {**own, "checkpoint_id": parent}}
        new = target.put(config, found.checkpoint, found.metadata, found.checkpoint["channel_versions"])
        writes = defaultdict(list)
        for task, channel, value in found.pending_writes or ():
            writes[task].append((channel, value))
        for task, some in writes.items():
            target.put_writes(new, some, task)


if __name__ == "__main__":
    with opened(sys.argv[1]) as here, opened(sys.argv[2]) as there:
        copy(here, there)
