"""What an engineer writes today to get the same answers from Postgres: PostgresSaver, and nothing else that takes time.

``python peers_postgres.py QUESTION URL``.
"""

import sys
from collections import Counter

from langgraph.checkpoint.postgres import PostgresSaver
from subject import LONG


def tree(saver: PostgresSaver) -> None:
    """Every checkpoint of the thread with its parent, step and source."""
    for found in saver.list(_LONG):
        parent = found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None
        print(found.config["configurable"]["checkpoint_id"], parent, found.metadata["step"], found.metadata["source"])


def threads(saver: PostgresSaver) -> None:
    """The fifty newest threads: checkpoints, step, first message."""
    heads, counts = {}, Counter()
    for found in saver.list(None):
        thread_id = found.config["configurable"]["thread_id"]
        heads.setdefault(thread_id, found)
        counts[thread_id] += 1
    for thread_id, head in list(heads.items())[:50]:
        title = head.checkpoint["channel_values"]["messages"][0]
        print(thread_id, counts[thread_id], head.metadata["step"], head.checkpoint["ts"], title)


def groups(saver: PostgresSaver) -> None:
    """The newest checkpoint of each thread, and nothing of it."""
    heads = {}
    for found in saver.list(None):
        heads.setdefault(found.config["configurable"]["thread_id"], found)
    print(len(heads))


def whole(saver: PostgresSaver) -> None:
    """One pass over all checkpoints of the thread."""
    print(sum(len(found.checkpoint["channel_values"].get("messages", ())) for found in saver.list(_LONG)))


def show(saver: PostgresSaver) -> None:
    """The newest checkpoint whole, and which channels changed in it."""
    found = saver.get_tuple(_LONG)
    before = saver.get_tuple(found.parent_config).checkpoint["channel_versions"]
    print(found.config, found.metadata, found.parent_config, found.pending_writes)
    for channel, value in found.checkpoint["channel_values"].items():
        version = found.checkpoint["channel_versions"].get(channel)
        print("*" if before.get(channel) != version else " ", channel, version)
        for item in value if isinstance(value, list) else [value]:
            print("  ", getattr(item, "content", item))


_LONG = {"configurable": {"thread_id": LONG, "checkpoint_ns": ""}}

if __name__ == "__main__":
    question, url = sys.argv[1:]
    with PostgresSaver.from_conn_string(url) as opened:
        {"tree": tree, "threads": threads, "groups": groups, "whole": whole, "show": show}[question](opened)
