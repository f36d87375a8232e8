"""Selects the records that a deletion, a pruning or a copy of threads changes."""

from collections.abc import Collection, Iterable

from langgraph.checkpoint.serde.types import TASKS

from ckpt_cli.langgraph.configs import by_thread
from ckpt_cli.langgraph.delta import delta_ancestors
from ckpt_cli.langgraph.encoding import Encoding
from ckpt_cli.langgraph.filters import encode_filter
from ckpt_cli.model import Payload, Record, Ref, WriteKey
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
    """The checkpoints that these runs made, in all threads: by the index where it has runs, else by their metadata."""
    if encoding.form.filter is FilterKind.TAGS:
        filters = [encode_filter(encoding, {"run_id": run_id}) for run_id in run_ids]
        return [ref for wanted in filters for ref in saver.select(Selection(metadata=wanted)) or ()]
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


def all_but_latest(saver: Saver, encoding: Encoding, thread_id: str) -> tuple[Ref | WriteKey, ...]:
    """All records of a thread, except those needed to continue from the newest checkpoint of each namespace."""
    needed: set[Ref] = set()
    for ns in saver.namespaces(thread_id):
        for row in saver.newest(thread_id, ns, 1):
            needed |= {
                row.ref,
                *delta_ancestors(saver, encoding, row.ref),
                *_parent_with_sends(saver, encoding, row.ref),
            }
    removed = [row.ref for row in saver.rows(thread_id) if row.ref not in needed]
    return with_writes(saver, removed)


def _parent_with_sends(saver: Saver, encoding: Encoding, ref: Ref) -> list[Ref]:
    """The parent, if the checkpoint's format `v` is below 4 and the parent's writes hold its Sends; else nothing."""
    (stored,) = saver.checkpoints([ref])
    parent_id = stored.row.parent_id
    if stored.channels is None or parent_id is None or encoding.body(stored)["v"] >= 4:
        return []
    writes = saver.writes(ref.thread_id, ref.ns, [parent_id], values=0)
    return [ref._replace(checkpoint_id=parent_id)] if any(write.channel == TASKS for write in writes) else []
