"""What the next run does with subgraphs that have their own memory (``checkpointer=True``).

The namespace of such a subgraph has no task id, so a new checkpoint of the graph above doesn't start it anew. If a run
without input (``invoke(None, config)``) begins with the task that calls it, the subgraph continues from its newest
checkpoint, and the task's input is dropped. If nothing is due there, no node runs, and it returns that state. A task of
a later step calls it anew: the input is added to its newest state (langgraph 0.6 to 1.2 ``pregel/_loop.py: _first``).
With a ``checkpoint_id`` in the config and no input, langgraph 1.1 and later call it anew, with the memory that it had
before that checkpoint (``_internal/_replay.py``); earlier releases don't, and with an input none does. All
seen.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.tasks.nesting import callers
from ckpt_cli.history.tasks.snapshot import Snapshot, Status
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument

_SINCE = "langgraph 1.1 and later"


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """A subgraph with its own memory, as the next run finds it.

    Attributes:
        newest: its newest checkpoint after the change.
        is_cleared: whether the change deletes the writes of its newest checkpoint.
    """

    newest: Ref
    is_cleared: bool = False


Memories = Mapping[str, OwnMemory]
"""The subgraphs with their own memory below a graph: node, or path of nodes (``outer|inner``), to memory."""

Newest = Callable[[str], str | None]
"""Gives the newest checkpoint of a namespace after the change; None if there will be none."""


def find_memories(reader: Reader, row: CheckpointRow, newest: Newest | None = None) -> Memories:
    """The subgraphs with their own memory that the nodes of this checkpoint's graph call, also inside other subgraphs.

    One inside another one that has its own memory is left out.
    `newest` is needed if the change adds, copies or deletes checkpoints of subgraphs.
    """
    prefix = f"{_path(row.ns)}|" if row.ns else ""
    memories: dict[str, OwnMemory] = {}
    for ns in (ns for ns in reader.namespaces(row.thread_id) if ns.startswith(prefix)):
        nodes = ns.removeprefix(prefix)
        outer = accumulate(nodes.split("|")[:-1], "{}|{}".format)
        if not nodes or ":" in nodes or not memories.keys().isdisjoint(outer):
            continue
        newest_id = newest(ns) if newest else reader.head(row.thread_id, ns).checkpoint_id
        if newest_id is not None:
            memories[nodes] = OwnMemory(Ref(row.thread_id, ns, newest_id))
    return memories


def without_memory(snapshot: Snapshot, memories: Collection[str]) -> Snapshot:
    """The snapshot without the tasks that call a subgraph with its own memory."""
    return snapshot.only(task for task in snapshot.tasks if task.node not in memories) if memories else snapshot


def describe_memories(
    reader: Reader,
    row: CheckpointRow,
    due: Snapshot,
    memories: Memories,
    short: ShortIds,
    *,
    checkpoint: str = "the new checkpoint",
    is_child: bool = True,
    is_editable: bool = False,
    also: str = "",
) -> Iterator[str]:
    """Lines about the subgraphs with their own memory that the next run calls, or whose memory is newer than `row`.

    Args:
        reader: the database.
        row: the checkpoint whose state becomes current.
        due: the tasks that the next run begins with.
        memories: what `find_memories` gives.
        short: the short ids of the thread.
        checkpoint: the checkpoint whose id in a run's config lets the subgraph run anew.
        is_child: whether this checkpoint is `row`, or its child or sibling: then the library finds the older memory.
        is_editable: whether ``--ns`` of the same verb changes the subgraph's own state.
        also: what else a run does if its config has the id of this checkpoint.
    """
    called = {task.node for task in due.tasks}
    for nodes, memory in memories.items():
        name, newest_id = memory.newest.ns, short(memory.newest.checkpoint_id)
        if nodes in called:
            what = _continued(reader, memory, newest_id)
            yield f"{name} has its own memory: with thread_id alone, invoke(None) {what}"
            if is_editable:
                yield f"--ns {argument(name)} edits the state of {name} itself"
            anew = "runs anew with its state"
        elif memory.newest.checkpoint_id > row.checkpoint_id:
            yield f"{name} has its own memory, which stays as it is: its next call adds its input to {newest_id}"
            anew = "gets the memory that it had then" if is_child and called else ""
        else:
            continue
        if anew and not row.ns:
            yield f"with the checkpoint_id of {checkpoint} and no input, {name} {anew} ({_SINCE}){also}"


def describe_called_memories(reader: Reader, row: CheckpointRow, snapshot: Snapshot) -> Iterator[str]:
    """Lines about the subgraphs with their own memory that the due tasks of a thread's head call."""
    due = snapshot.only(task for task in snapshot.tasks if task.status is Status.DUE)
    nodes = {task.node for task in due.tasks}
    called = {node: memory for node, memory in find_memories(reader, row).items() if node in nodes}
    short = reader.short(row.thread_id)
    yield from describe_memories(reader, row, due, called, short, checkpoint="this checkpoint")


def _continued(reader: Reader, memory: OwnMemory, newest_id: str) -> str:
    """What the subgraph does if a run continues it: it ends at once, repeats its question, or goes on."""
    state = Inspection(reader, memory.newest).snapshot()
    if state.complete and not state.tasks:
        ended = f"runs none of its nodes: it returns its state at {newest_id}, where it has finished"
        return f"{ended} (a function that calls it runs again)"
    statuses = {task.status for task in state.tasks} if not memory.is_cleared else set[Status]()
    if Status.WAITING in statuses:
        return f"continues it from {newest_id}, so it repeats its old question"
    if Status.ANSWERED in statuses:
        return f"continues it from {newest_id}, with the answer that is recorded there"
    return f"continues it from {newest_id}, without a new input"


def _path(ns: str) -> str:
    """The namespace without task ids and numbers, as it begins the namespaces of own memories inside it.

    langgraph 1.2 ``_internal/_config.py: recast_checkpoint_ns``.
    """
    return "|".join(callers(ns))


def newest_of(copied: Mapping[str, Iterable[str]]) -> Newest:
    """Gives the newest of some checkpoints by namespace, for `find_memories`."""
    return lambda ns: max(copied.get(ns, ()), default=None)
