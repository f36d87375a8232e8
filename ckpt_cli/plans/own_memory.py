"""What the next run does with subgraphs that have their own memory (``checkpointer=True``).

The namespace of such a subgraph has no task id, so a new checkpoint of the graph above doesn't start it anew. If a run
without input (``invoke(None, config)``) begins with the task that calls it, the subgraph continues from its newest
checkpoint, and the task's input is dropped. If nothing is due there, no node runs, and it returns that state. A task of
a later step calls it anew: the input is added to its newest state (langgraph 0.6 to 1.2 ``pregel/_loop.py: _first``).
With a ``checkpoint_id`` in the config and no input, langgraph 1.1 and later call it anew: the input is added to the
newest of its checkpoints that is older than the parent of that checkpoint, if an update or a fork made it, else older
than that checkpoint itself (1.1.0 to 1.2.24 ``_first``, ``_internal/_replay.py``); some savers give the newest one
(`Saver.lists_before`). Earlier releases don't, and with an input none does. All seen. LangGraph.js 1.7.3 calls it anew
for a fork, not for a head whose children were deleted: of its threads nothing is said about such a config.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate

from ckpt_cli.errors import CheckpointNotFound, PayloadCorrupt
from ckpt_cli.history.lineage.short_ids import ShortIds
from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.history.tasks.nesting import path
from ckpt_cli.history.tasks.snapshot import Snapshot, Status
from ckpt_cli.inspection import Inspection
from ckpt_cli.layouts import named, parents_of
from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.plans.continued_calls import why_not_continued
from ckpt_cli.plans.pending_command import left_at_root
from ckpt_cli.reading import Reader
from ckpt_cli.shell_words import argument

SINCE = "langgraph 1.1 and later"
"""The releases that look for an older memory."""
_CALLER = "a function that calls it runs again first"
_CHANGES = ("update", "fork")  # sources of checkpoints that no step made


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """A subgraph with its own memory, as the next run finds it.

    Attributes:
        newest: its newest checkpoint after the change.
        ids: all its checkpoints after the change.
        node: the node whose task calls it, itself or in a ``@task``; "" if another subgraph lies between.
        is_cleared: whether the change deletes the writes of its newest checkpoint.
    """

    newest: Ref
    ids: Collection[str]
    node: str
    is_cleared: bool = False

    def before(self, bound: str) -> str | None:
        """Its newest checkpoint that is older than another checkpoint; None if there is none."""
        return max((one for one in self.ids if one < bound), default=None)


Memories = Mapping[str, OwnMemory]
"""The subgraphs with their own memory below a graph: node, or path of nodes (``outer|inner``), to memory."""

Ids = Callable[[str], Collection[str]]
"""Gives the checkpoints of a namespace after the change."""


def find_memories(reader: Reader, row: CheckpointRow, ids: Ids | None = None) -> Memories:
    """The subgraphs with their own memory that the nodes of this checkpoint's graph call, also inside other subgraphs.

    One inside another one that has its own memory is left out.
    `ids` is needed if the change adds, copies or deletes checkpoints of subgraphs.
    """
    prefix = f"{path(row.ns)}|" if row.ns else ""
    memories: dict[str, OwnMemory] = {}
    for ns in (ns for ns in reader.namespaces(row.thread_id) if ns.startswith(prefix)):
        nodes = ns.removeprefix(prefix)
        outer = accumulate(nodes.split("|")[:-1], "{}|{}".format)
        if not nodes or ":" in nodes or not memories.keys().isdisjoint(outer):
            continue
        if own := ids(ns) if ids else reader.lineage(row.thread_id, ns).rows.keys():
            newest = Ref(row.thread_id, ns, max(own))
            memories[nodes] = OwnMemory(newest, own, _calling_node(reader, newest, nodes, path(row.ns)))
    return memories


def _calling_node(reader: Reader, newest: Ref, nodes: str, outer: str) -> str:
    """The node of the graph at path `outer` whose task made the call; "" if a subgraph between them did.

    A ``@task`` runs in the step of the node that called it, so recorded parents name the same checkpoint for both.
    """
    if "|" not in nodes:
        return nodes
    [(_, payload)] = reader.saver.metadata([newest])
    parents = parents_of(named(reader.value(payload)))
    between = {parent for ns, parent in parents.items() if not outer or f"{path(ns)}|".startswith(f"{outer}|")}
    return nodes.partition("|")[0] if len(between) == 1 else ""


def replay_bound(row: CheckpointRow, source: object) -> str:
    """The checkpoint before which a run with the id of `row` looks for the memories of subgraphs."""
    return row.parent_id if row.parent_id and source in _CHANGES else row.checkpoint_id


def stored_bound(reader: Reader, row: CheckpointRow) -> str:
    """The `replay_bound` of a checkpoint as it is stored."""
    return replay_bound(row, reader.state(row.ref).metadata.get("source"))


def without_memory(snapshot: Snapshot, memories: Collection[str]) -> Snapshot:
    """The snapshot without the tasks that call a subgraph with its own memory."""
    return snapshot.only(task for task in snapshot.tasks if task.node not in memories) if memories else snapshot


def describe_memories(
    reader: Reader,
    row: CheckpointRow,
    due: Snapshot,
    memories: Memories,
    short: ShortIds,
    bound: str,
    *,
    checkpoint: str = "the new checkpoint",
    is_editable: bool = False,
    also: str = "",
    is_elsewhere: bool = False,
) -> Iterator[str]:
    """Lines about the subgraphs with their own memory that the next run calls, or whose memory is newer than `row`.

    Args:
        reader: the database.
        row: the checkpoint whose state becomes current.
        due: the tasks that the next run begins with.
        memories: what `find_memories` gives.
        short: the short ids of the thread.
        bound: the `replay_bound` of the checkpoint whose id in a run's config lets the subgraph run anew.
        checkpoint: how that checkpoint is called.
        is_editable: whether ``--ns`` of the same verb changes the subgraph's own state.
        also: what else a run does if its config has the id of this checkpoint.
        is_elsewhere: whether a run with the thread's id alone may continue a memory elsewhere before it is called anew.
    """
    is_elsewhere = is_elsewhere or (bool(memories) and not _may_be_continued(reader, row.ref))
    called, lived = {task.node for task in due.tasks}, _last_step(reader, row) if memories else ""
    for memory in memories.values():
        older = memory.before(bound) if reader.saver.lists_before else memory.newest.checkpoint_id
        anew = f"adds its input to {short(older)}" if older else "begins without memory"
        name, newest_id = memory.newest.ns, short(memory.newest.checkpoint_id)
        if memory.node in called:
            if not is_elsewhere:
                what = _continued(reader, memory, newest_id, has_answer=bool(left_at_root(reader, row)))
                yield f"{name} has its own memory: with thread_id alone, invoke(None) {what}"
            if is_editable:
                yield f"--ns {argument(name)} edits the state of {name} itself"
            anew = f"{name} is called anew, and {anew}"
        elif memory.newest.checkpoint_id > lived:
            then = "" if is_elsewhere else f": its next call adds its input to {newest_id}"
            yield f"{name} has its own memory, which stays as it is{then}"
            anew = f"a call of {name} in that run {anew}" if called and older != memory.newest.checkpoint_id else ""
        else:
            continue
        if anew and not row.ns and not _is_javascript(reader, row):
            yield f"with the checkpoint_id of {checkpoint} and no input, {anew} ({SINCE}){also}"


def _is_javascript(reader: Reader, row: CheckpointRow) -> bool:
    state = reader.state_if_readable(row.ref)
    return state is not None and is_javascript(state)


def _may_be_continued(reader: Reader, ref: Ref) -> bool:
    """Whether the next run may continue this graph; False too where the graphs above can't be read."""
    with suppress(PayloadCorrupt, CheckpointNotFound):
        return why_not_continued(reader, ref) is None
    return False


def _last_step(reader: Reader, row: CheckpointRow) -> str:
    """The checkpoint itself, or the newest before it that neither an update nor a fork made: how far its line had run.

    An update or fork is newer than the memories of the branches that it left.
    """
    lineage, last = reader.lineage(row.thread_id, row.ns), row.checkpoint_id
    while (parent := lineage.parent(last)) is not None:
        state = reader.state_if_readable(row.ref._replace(checkpoint_id=last))
        if state is None or state.metadata.get("source") not in _CHANGES:
            break
        last = parent
    return last


def describe_called_memories(reader: Reader, row: CheckpointRow, snapshot: Snapshot) -> Iterator[str]:
    """Lines about the subgraphs with their own memory that the due tasks of a thread's head call."""
    due = snapshot.only(task for task in snapshot.tasks if task.status is Status.DUE)
    nodes = {task.node for task in due.tasks}
    called = {node: memory for node, memory in find_memories(reader, row).items() if node in nodes}
    short, bound = reader.short(row.thread_id), stored_bound(reader, row)
    yield from describe_memories(reader, row, due, called, short, bound, checkpoint="this checkpoint")


def _continued(reader: Reader, memory: OwnMemory, newest_id: str, *, has_answer: bool) -> str:
    """What the subgraph does if a run continues it: it ends at once, repeats its question, or goes on."""
    state = Inspection(reader, memory.newest).snapshot()
    if state.complete and not state.tasks:
        return f"runs none of its nodes: it returns its state at {newest_id}, where it has finished ({_CALLER})"
    statuses = {task.status for task in state.tasks} if not memory.is_cleared else set[Status]()
    if Status.WAITING in statuses:
        unless = ", unless the answer that Command(resume=…) left is given to it" if has_answer else ""
        return f"continues it from {newest_id}, so it repeats its old question{unless} ({_CALLER})"
    if Status.ANSWERED in statuses:
        return f"continues it from {newest_id}, with the answer that is recorded there ({_CALLER})"
    return f"continues it from {newest_id}, without a new input ({_CALLER})"
