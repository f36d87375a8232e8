"""`Edge`: a way from node to node, and those that a task's stored writes show.

A node's task writes to a channel of each node that it leads to: ``branch:to:NODE`` for an edge, a conditional edge or a
Command alike, ``join:…:NODE`` for an edge that waits for several nodes, ``__pregel_tasks`` for a Send. An edge to the
end leaves nothing (langgraph 1.2 ``graph/state.py: attach_branch``), so it is inferred. Old releases name the channel
of a plain edge after its source; who listens to it is learned from ``versions_seen``.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from ckpt_cli.history.state.channels import BRANCH_TO, TASKS, any_target, target
from ckpt_cli.history.tasks.next_tasks import Wiring
from ckpt_cli.history.tasks.task_runs import RunKind, TaskRun
from ckpt_cli.values.langgraph_values import js_send
from ckpt_cli.values.state import State, TaskWrite

_NAMED_EDGES = 3  # the checkpoint format since which every edge is a channel that names its target


class EdgeKind(StrEnum):
    """How one node led to another."""

    EDGE = "edge"
    """An edge, a conditional edge or a Command's ``goto``: all leave the same writes."""
    JOIN = "join"
    SEND = "send"
    ERROR = "error"
    """A node failed, and an error handler ran."""


class Proof(StrEnum):
    """Why an edge is known."""

    RECORDED = "recorded"
    """The task itself wrote to the channel."""
    INFERRED = "inferred"
    """The task led nowhere else, so it led to the end."""
    CANDIDATES = "candidates"
    """The step left no writes; one of these nodes, which ran just before, led there."""


class Edge(NamedTuple):
    """A way from one node to another.

    Attributes:
        source: None if it isn't recorded: for an update, a Command, or with several `candidates`.
        target: ``__end__`` for the end; None if a Send can't be read.
        by: who took it: a task, ``update_state`` or a Command given as input.
    """

    source: str | None
    target: str | None
    kind: EdgeKind = EdgeKind.EDGE
    by: RunKind = RunKind.TASK
    proof: Proof = Proof.RECORDED
    candidates: tuple[str, ...] = ()


def is_old(states: Iterable[State]) -> bool:
    """Whether edges may have the channel names of checkpoint formats before 3."""
    return any(state.v < _NAMED_EDGES for state in states)


def ways_of(run: TaskRun, wiring: Wiring | None, *, old: bool) -> Iterator[Edge]:
    """The ways that a task led on; each Send is one, but an edge and a ``goto`` to the same node are one together."""
    taken = set[Edge]()
    for write in run.writes:
        for to, kind in _targets(write, run.node, wiring, old=old):
            edge = Edge(run.node, to, kind, RunKind.TASK if run.kind is RunKind.HANDLER else run.kind)
            if kind is EdgeKind.SEND or edge not in taken:
                yield edge
            taken.add(edge)


def _targets(
    write: TaskWrite, source: str | None, wiring: Wiring | None, *, old: bool
) -> Iterator[tuple[str | None, EdgeKind]]:
    channel = write.channel
    if channel == TASKS:
        sent = js_send(write.value) if write.read else None
        yield (sent.node if sent is not None else None), EdgeKind.SEND
    elif channel.startswith("join:"):
        yield target(channel), EdgeKind.JOIN
    elif channel.startswith(BRANCH_TO):
        yield target(channel), EdgeKind.EDGE
    elif old and (to := any_target(channel)) is not None:
        yield to, EdgeKind.EDGE
    elif old and channel == source and wiring is not None:
        yield from ((listener, EdgeKind.EDGE) for listener in sorted(wiring.listeners(channel) or ()))
