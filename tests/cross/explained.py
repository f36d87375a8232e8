"""What `graph` and `trace` say of threads, without what differs from run to run: ids, times, bytes."""

from collections.abc import Iterable
from contextlib import closing
from typing import Any

from ckpt_cli.commands.graph import graph
from ckpt_cli.commands.trace import trace
from ckpt_cli.session import Session


def explained(url: str, threads: Iterable[str]) -> dict[str, Any]:
    """By thread: nodes, edges and notes of its graphs; what each node did; the tasks of each step."""
    with closing(Session(url)) as session:
        return {thread: {"graph": _graph(session, thread), "trace": _trace(session, thread)} for thread in threads}


def _graph(session: Session, thread: str) -> Any:
    parts = [
        (part.path, part.namespaces, part.checkpoints, part.steps, part.unrecorded, part.nodes, part.edges, part.notes)
        for part in graph(session, [thread]).graphs
    ]
    return [
        (*counts, sorted(map(str, nodes)), sorted(map(str, edges)), notes) for *counts, nodes, edges, notes in parts
    ]


def _trace(session: Session, thread: str) -> Any:
    view = trace(session, thread)
    nodes = [one._replace(seconds=None, bytes=0, channels=dict.fromkeys(sorted(one.channels), 0)) for one in view.nodes]
    steps = [
        (one.path, one.depth, one.step, one.spent, one.recorded, sorted(str(t._replace(bytes=0)) for t in one.tasks))
        for one in view.steps
    ]
    channels = sorted((one.channel, one.writes, sorted(one.nodes)) for one in view.channels)
    return sorted(map(str, nodes)), steps, channels, view.sums.checkpoints, view.sums.writes
