"""What an engineer writes today to get the same answers: SqliteSaver, and nothing else that takes time.

``python peers.py QUESTION DATABASE``.
"""

import sys
from collections import Counter

from langgraph.checkpoint.sqlite import SqliteSaver
from subject import LONG, NEEDLE


def tree(saver: SqliteSaver) -> None:
    """Every checkpoint of the thread with its parent, step and source."""
    for found in saver.list(_LONG):
        parent = found.parent_config["configurable"]["checkpoint_id"] if found.parent_config else None
        print(found.config["configurable"]["checkpoint_id"], parent, found.metadata["step"], found.metadata["source"])


def log(saver: SqliteSaver) -> None:
    """The twenty newest."""
    for found in saver.list(_LONG, limit=20):
        channels = found.checkpoint.get("updated_channels")
        print(found.config["configurable"]["checkpoint_id"], found.metadata["step"], found.metadata["source"], channels)


def threads(saver: SqliteSaver) -> None:
    """The fifty newest threads: checkpoints, step, first message."""
    heads, counts = {}, Counter()
    for found in saver.list(None):
        thread_id = found.config["configurable"]["thread_id"]
        heads.setdefault(thread_id, found)
        counts[thread_id] += 1
    for thread_id, head in list(heads.items())[:50]:
        title = head.checkpoint["channel_values"]["messages"][0].content
        print(thread_id, counts[thread_id], head.metadata["step"], head.checkpoint["ts"], title)


def groups(saver: SqliteSaver) -> None:
    """The newest checkpoint of each thread, and nothing of it."""
    heads = {}
    for found in saver.list(None):
        heads.setdefault(found.config["configurable"]["thread_id"], found)
    print(len(heads))


def each(saver: SqliteSaver) -> None:
    """The first message of each thread."""
    seen = set()
    for found in saver.list(None):
        thread_id = found.config["configurable"]["thread_id"]
        if thread_id not in seen:
            seen.add(thread_id)
            print(thread_id, found.checkpoint["channel_values"]["messages"][0].content)


def each_answer(saver: SqliteSaver) -> None:
    """One channel of each thread."""
    seen = set()
    for found in saver.list(None):
        thread_id = found.config["configurable"]["thread_id"]
        if thread_id not in seen:
            seen.add(thread_id)
            print(thread_id, found.checkpoint["channel_values"].get("answer"))


def show(saver: SqliteSaver) -> None:
    """The newest checkpoint whole, and which channels changed in it."""
    found = saver.get_tuple(_LONG)
    before = saver.get_tuple(found.parent_config).checkpoint["channel_versions"]
    print(found.config, found.metadata, found.parent_config, found.pending_writes)
    for channel, value in found.checkpoint["channel_values"].items():
        version = found.checkpoint["channel_versions"][channel]
        print("*" if before.get(channel) != version else " ", channel, version)
        for item in value if isinstance(value, list) else [value]:
            print("  ", getattr(item, "content", item))


def grep(saver: SqliteSaver) -> None:
    """The first checkpoint whose state holds the word."""
    first = None
    for found in saver.list(_LONG):
        for position, message in enumerate(found.checkpoint["channel_values"].get("messages", [])):
            if NEEDLE in message.content:
                first = found.config["configurable"]["checkpoint_id"], f"messages[{position}].content"
    print(first)


_LONG = {"configurable": {"thread_id": LONG, "checkpoint_ns": ""}}

if __name__ == "__main__":
    question, database = sys.argv[1:]
    with SqliteSaver.from_conn_string(database) as opened:
        questions = (tree, log, threads, groups, each, each_answer, show, grep)
        {asked.__name__: asked for asked in questions}[question](opened)
