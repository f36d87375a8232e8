"""What goes when threads or runs are deleted or pruned, and what a copy of a thread is."""

from collections.abc import Collection, Iterable

from langgraph.checkpoint.serde.types import TASKS

from ckpt_cli.langgraph.configs import by_thread
from ckpt_cli.langgraph.delta import delta_ancestors
from ckpt_cli.langgraph.encoding import Encoding
from ckpt_cli.model import Payload, Record, Ref, WriteKey
from ckpt_cli.savers.contract import Saver
from ckpt_cli.serde.codec import Codec


def all_records(saver: Saver, thread_id: str) -> tuple[Ref | WriteKey, ...]:
    """The names of everything that a thread has, writes first, also those whose checkpoint is gone."""
    return (*_writes(saver, thread_id), *(row.ref for row in saver.rows(thread_id)))


def with_writes(saver: Saver, refs: Collection[Ref]) -> tuple[Ref | WriteKey, ...]:
    """Some checkpoints and their writes, which come first."""
    spaces = by_thread(refs).items()
    return (*(key for (thread_id, ns), ids in spaces for key in _writes(saver, thread_id, ns, ids)), *refs)


def _writes(
    saver: Saver, thread_id: str, ns: str | None = None, ids: Collection[str] | None = None
) -> Iterable[WriteKey]:
    return [WriteKey(w.ref, w.task_id, w.idx) for w in saver.writes(thread_id, ns, ids, values=0)]


def checkpoints_of_runs(saver: Saver, encoding: Encoding, run_ids: Collection[str]) -> list[Ref]:
    """The checkpoints that some runs made, of all threads."""
    found: list[Ref] = []
    for thread in list(saver.threads()):
        refs = [row.ref for row in saver.rows(thread.thread_id)]
        metadata = ((ref, encoding.metadata(payload)) for ref, payload in saver.metadata(refs))
        found += [ref for ref, told in metadata if told.get("run_id") in run_ids]
    return found


def copied_records(saver: Saver, source: str, target: str) -> tuple[Record, ...]:
    """All records of a thread as another thread's, their payloads untouched; metadata that names the thread is told."""
    refs = [row.ref for row in saver.rows(source)]
    checkpoints = [
        checkpoint._replace(
            row=checkpoint.row._replace(thread_id=target), metadata=_renamed(checkpoint.metadata, source, target)
        )
        for checkpoint in saver.checkpoints(refs)
    ]
    return (*checkpoints, *(write._replace(thread_id=target) for write in saver.writes(source)))


def _renamed(metadata: Payload, source: str, target: str) -> Payload:
    told = Codec().decode(metadata)
    if not isinstance(told, dict) or told.get("thread_id") != source:
        return metadata
    return Codec().encode({**told, "thread_id": target}, like=metadata)


def all_but_latest(saver: Saver, encoding: Encoding, thread_id: str) -> tuple[Ref | WriteKey, ...]:
    """What of a thread isn't needed to go on from the newest checkpoint of each of its namespaces."""
    kept: set[Ref] = set()
    for ns in saver.namespaces(thread_id):
        for row in saver.newest(thread_id, ns, 1):
            kept |= {row.ref, *delta_ancestors(saver, encoding, row.ref), *_sent_from(saver, encoding, row.ref)}
    goes = [row.ref for row in saver.rows(thread_id) if row.ref not in kept]
    return with_writes(saver, goes)


def _sent_from(saver: Saver, encoding: Encoding, ref: Ref) -> list[Ref]:
    """The parent of a checkpoint of before `v` 4 where it holds its Sends."""
    (stored,) = saver.checkpoints([ref])
    parent_id = stored.row.parent_id
    if stored.channels is None or parent_id is None or encoding.body(stored)["v"] >= 4:
        return []
    writes = saver.writes(ref.thread_id, ref.ns, [parent_id], values=0)
    return [ref._replace(checkpoint_id=parent_id)] if any(write.channel == TASKS for write in writes) else []
