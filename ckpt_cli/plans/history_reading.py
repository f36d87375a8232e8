"""Reads the steps of one thread into a `ThreadHistory`, in pages, in one pass."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ckpt_cli.errors import PayloadCorrupt
from ckpt_cli.history.state.channels import CONTROL_WRITES, ERROR_SOURCE, START
from ckpt_cli.history.tasks.seen_nodes import left_out, pulled_by_seen
from ckpt_cli.history.tasks.write_makers import is_command, is_of_run, is_update
from ckpt_cli.inspection import Inspection
from ckpt_cli.model import Ref
from ckpt_cli.plans.early_lists import EarlyLists
from ckpt_cli.plans.node_writes import count_lost_sends, node_writes
from ckpt_cli.plans.thread_history import ThreadHistory
from ckpt_cli.reading import Reader
from ckpt_cli.values.state import State, TaskWrite

_READ_TOGETHER = 50  # the writes of this many checkpoints are read together


def read_history(
    reader: Reader,
    thread_id: str,
    ns: str,
    history: ThreadHistory,
    *,
    page: int | None = None,
    counted: Collection[str] = (),
) -> ThreadHistory:
    """Read the history of one namespace of a thread into `history`, and give it.

    Args:
        reader: the database.
        thread_id: the thread.
        ns: the namespace.
        history: gets the facts one by one; it has those that were read so far if the reader raises an exception.
        page: the number of checkpoints that are read together; None takes as many as is good for this database.
        counted: checkpoints whose steps were counted already in a copy of this thread.
    """
    size, stored = page or max(reader.saver.page, _READ_TOGETHER), dict[str, list[TaskWrite]]()
    ids, early = list(reader.lineage(thread_id, ns).rows), EarlyLists(reader)
    for start in range(0, len(ids), size):
        page_ids = ids[start : start + size]
        reader.saver.expect([Ref(thread_id, ns, checkpoint_id) for checkpoint_id in page_ids])
        read = reader.writes_by_checkpoint(thread_id, ns, page_ids)
        previous_page = {i: stored[i] for i in ids[max(0, start - size) : start]}
        stored = {**previous_page, **{i: read.get(i, []) for i in page_ids}}
        for checkpoint_id in page_ids:
            with suppress(PayloadCorrupt):
                child = reader.state(Ref(thread_id, ns, checkpoint_id))
                history.add_checkpoint(child)
                if checkpoint_id not in counted:
                    _add_step(reader, history, child, stored, early)
                    if stored[checkpoint_id] and not reader.lineage(thread_id, ns).children.get(checkpoint_id):
                        writes = node_writes(reader, child.ref, stored[checkpoint_id])
                        history.add_tasks(child, writes)
                        history.add_routes(child, writes, is_tip=True)
    return history


def _add_step(
    reader: Reader, history: ThreadHistory, child: State, stored: Mapping[str, list[TaskWrite]], early: EarlyLists
) -> None:
    thread_id, ns, own_id = child.ref
    lineage = reader.lineage(thread_id, ns)
    parent_id = lineage.parent(own_id)
    if parent_id is None:
        early.around(None, child, {}, stored)
        return
    is_first = lineage.children[parent_id][0] == own_id
    if not is_first and child.source != "update":
        return
    own = stored.get(parent_id)
    own = reader.writes(Ref(thread_id, ns, parent_id)) if own is None else own
    is_run = is_first and child.source == "loop" and Inspection(reader, child.ref).grown(child)
    if not own and not is_run and child.source != "input":
        return
    parent = reader.state(Ref(thread_id, ns, parent_id))
    updates = [write for write in own if is_update(write)] if child.source == "update" else []
    is_only_update = bool(updates) and _is_only_update(reader, child, parent_id)
    if child.source == "input" or is_only_update:
        history.add_emptied(parent, child, {write.channel for write in updates})
    if is_first:
        absent = left_out(child, parent, own) if is_run else set()
        writes = node_writes(reader, parent.ref, [w for w in own if (w.task_id, w.channel) not in absent])
        is_handled = any(w.channel == ERROR_SOURCE for _, w in writes)  # handlers decide which writes count
        lists = early.around(parent, child, _by_channel(writes) if is_run else {}, stored)
        if is_run and not is_handled:
            partial = _lacks_results(parent, child, own, writes)
            hidden = _of_other_runs(parent, child, writes) if len(lineage.children[parent_id]) > 1 else ()
            history.add_step(parent, child, writes, *lists, hidden=hidden, partial=partial)
        else:
            history.add_tasks(parent, writes)
            if is_run:
                history.add_routes(parent, writes)
    if is_only_update and len(updates) == len(own):
        history.add_update(parent, child, own)


def _of_other_runs(parent: State, child: State, writes: Sequence[tuple[str | None, TaskWrite]]) -> Collection[str]:
    """The channels with a write that gave them no new version: where several runs began, it may be another one's.

    The tasks of all of them have the same ids, and a saver keeps what each wrote beside what is there.
    """
    return {w.channel for _, w in writes if child.versions.get(w.channel) == parent.versions.get(w.channel)}


def _lacks_results(
    parent: State, child: State, stored: Sequence[TaskWrite], writes: Sequence[tuple[str | None, TaskWrite]]
) -> bool:
    """Whether a task of a step left no result.

    Of a killed process, a step may be stored without some of its writes; it speaks against no reducer. Of a node that
    writes to an ``UntrackedValue`` alone (langgraph 1.2 ``pregel/_loop.py: put_writes``), and of a cached one before
    langgraph 1.1, no results are ever stored. `stored`: all writes on the parent; `writes`: those of its tasks that
    count, with their nodes.
    """
    results = {write.task_id: node for node, write in writes if write.channel not in CONTROL_WRITES}
    if not results or any(map(is_of_run, stored)):
        return False
    if count_lost_sends(parent, stored)[1]:
        return True
    nodes = {*results.values()}
    return None not in nodes and not nodes >= pulled_by_seen(child, parent).keys() - {START}


def _by_channel(writes: Sequence[tuple[str | None, TaskWrite]]) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = {}
    for _, write in writes:
        if not is_command(write):
            values.setdefault(write.channel, []).append(write.value)
    return values


def _is_only_update(reader: Reader, child: State, parent_id: str) -> bool:
    """Whether no other update started at the same checkpoint; all of them would share the writes stored there."""
    thread_id, ns, _ = child.ref
    siblings = reader.lineage(thread_id, ns).children[parent_id]
    return len(siblings) == 1 or all(
        reader.state(Ref(thread_id, ns, one)).source != "update" for one in siblings if one != child.ref.checkpoint_id
    )
