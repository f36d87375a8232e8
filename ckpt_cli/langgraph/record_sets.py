"""Selects the records that a deletion, a pruning or a copy of threads changes."""

from collections.abc import Collection, Iterable

from langgraph.checkpoint.serde.types import TASKS

from ckpt_cli.langgraph.configs import by_thread
from ckpt_cli.langgraph.delta import delta_ancestors
from ckpt_cli.langgraph.encoding import Encoding
from ckpt_cli.langgraph.filters import encode_filter
from ckpt_cli.model import CheckpointRow, Payload, Plan, Record, Ref, WriteKey
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.selection import FilterKind, Selection
from ckpt_cli.serde.codec import Codec


def all_records(saver: Saver, thread_id: str) -> tuple[Ref | WriteKey, ...]:
    """The names of all records of a thread: first its writes, even those without a checkpoint."""
    return (*_writes(saver, thread_id), *(row.ref for row in saver.rows(thread_id)))


def with_writes(saver: Saver, refs: Collection[Ref]) -> tuple[Ref | WriteKey, ...]:
    """The names of these checkpoints and, before them, of their writes."""
    groups = by_thread(refs).items()
    return (*(key for (thread_id, ns), ids in groups for key in _writes(saver, thread_id, ns, ids)), *refs)


def _writes(
    saver: Saver, thread_id: str, ns: str | None = None, ids: Collection[str] | None = None
) -> Iterable[WriteKey]:
    return [WriteKey(w.ref, w.task_id, w.idx) for w in saver.writes(thread_id, ns, ids, values=0)]


def checkpoints_of_runs(saver: Saver, encoding: Encoding, run_ids: Collection[str]) -> list[Ref]:
    """The checkpoints that these runs made, in all threads: by the index where it has runs, else by their metadata.

    An index of tags ignores case and divides texts at commas, so what it finds is compared once more.
    """
    if encoding.form.filter is FilterKind.TAGS:
        filters = [encode_filter(encoding, {"run_id": run_id}) for run_id in run_ids]
        found = [ref for wanted in filters for ref in saver.select(Selection(metadata=wanted)) or ()]
        return [ref for ref, run_id in saver.runs(found) if run_id in run_ids]
    made: list[Ref] = []
    for thread in list(saver.threads()):
        refs = [row.ref for row in saver.rows(thread.thread_id)]
        metadata = ((ref, encoding.metadata(payload)) for ref, payload in saver.metadata(refs))
        made += [ref for ref, values in metadata if values.get("run_id") in run_ids]
    return made


def copied_records(saver: Saver, source: str, target: str) -> tuple[Record, ...]:
    """All records of a thread under another thread id; only metadata that names the thread is changed."""
    refs = [row.ref for row in saver.rows(source)]
    checkpoints = [
        checkpoint._replace(
            row=checkpoint.row._replace(thread_id=target), metadata=_renamed(checkpoint.metadata, source, target)
        )
        for checkpoint in saver.checkpoints(refs)
    ]
    return (*checkpoints, *(write._replace(thread_id=target) for write in saver.writes(source)))


def _renamed(metadata: Payload, source: str, target: str) -> Payload:
    values = Codec().decode(metadata)
    if not isinstance(values, dict) or values.get("thread_id") != source:
        return metadata
    return Codec().encode({**values, "thread_id": target}, like=metadata)


def pruning(saver: Saver, encoding: Encoding, thread_id: str, kept_last: int) -> Plan:
    """The plan that keeps only what is needed to continue from the newest `kept_last` checkpoints of each namespace.

    As ``prune`` of checkpoint-postgres 3.2 (``base.py: _keep_latest``): the namespace of a subgraph's call is removed
    with the root's checkpoint from which the call began, and a kept checkpoint has no parent that was removed.
    checkpoint-redis 0.5.2 (``__init__.py: prune``) does neither, so on Redis both stay.
    """
    needed = _needed(saver, encoding, thread_id, kept_last)
    stays = encoding.form.filter is FilterKind.TAGS
    gone = set() if stays else _ended_calls(saver, encoding, needed)
    kept = {ref for ref in needed if ref.ns not in gone}
    rows = list(saver.rows(thread_id))
    removed = with_writes(saver, [row.ref for row in rows if row.ref not in kept])
    orphans = [row.ref for row in rows if row.ref in kept and row.parent_id and _parent(row) not in kept]
    cut = [] if stays else [one._replace(row=one.row._replace(parent_id=None)) for one in saver.checkpoints(orphans)]
    return Plan("", replace=tuple(cut), remove=removed)


def _parent(row: CheckpointRow) -> Ref:
    return row.ref._replace(checkpoint_id=row.parent_id or "")


def _needed(saver: Saver, encoding: Encoding, thread_id: str, kept_last: int) -> set[Ref]:
    """The newest checkpoints of each namespace, and those from which their channels are rebuilt."""
    needed: set[Ref] = set()
    for ns in saver.namespaces(thread_id):
        for row in saver.newest(thread_id, ns, kept_last):
            rebuilt = delta_ancestors(saver, encoding, row.ref)
            needed |= {row.ref, *rebuilt, *_parent_with_sends(saver, encoding, row.ref)}
    return needed


def _ended_calls(saver: Saver, encoding: Encoding, needed: Collection[Ref]) -> set[str]:
    """The namespaces of calls that began at a checkpoint of the root that isn't needed any more.

    A call's namespace has a task id behind a colon. The root's checkpoint may be stored after the call's.
    """
    heads = {ref.ns: ref for ref in sorted(needed) if ":" in ref.ns}
    ended = set()
    for ref, payload in saver.metadata(list(heads.values())):
        root_id = (encoding.metadata(payload).get("parents") or {}).get("")
        root = Ref(ref.thread_id, "", root_id or "")
        if root_id and root not in needed and saver.row(root) is not None:
            ended.add(ref.ns)
    return ended


def _parent_with_sends(saver: Saver, encoding: Encoding, ref: Ref) -> list[Ref]:
    """The parent, if the checkpoint's format `v` is below 4 and the parent's writes hold its Sends; else nothing."""
    (stored,) = saver.checkpoints([ref])
    parent_id = stored.row.parent_id
    if stored.channels is None or parent_id is None or encoding.body(stored)["v"] >= 4:
        return []
    writes = saver.writes(ref.thread_id, ref.ns, [parent_id], values=0)
    return [ref._replace(checkpoint_id=parent_id)] if any(write.channel == TASKS for write in writes) else []
