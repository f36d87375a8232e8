"""Reads LangGraph's configs: thread, namespace and checkpoint id; which checkpoints ``list`` selects."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from langchain_core.runnables import RunnableConfig

from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.savers.contract import Saver

T = TypeVar("T")


class ConfigKeys(NamedTuple):
    """The keys of a config that name checkpoints; None for a key that the config doesn't have."""

    thread_id: str | None
    ns: str | None
    checkpoint_id: str | None

    @classmethod
    def of(cls, config: RunnableConfig | None) -> "ConfigKeys":
        """A config's keys that LangGraph's savers read; the thread id becomes text."""
        configurable: Mapping[str, Any] = (config or {}).get("configurable") or {}
        thread_id = configurable.get("thread_id")
        ns, checkpoint_id = configurable.get("checkpoint_ns"), configurable.get("checkpoint_id")
        return cls(None if thread_id is None else str(thread_id), ns, checkpoint_id or None)

    @classmethod
    def of_thread(cls, config: RunnableConfig) -> tuple[str, str, str | None]:
        """The thread, the namespace (default: the root's) and the checkpoint id (None: the newest) of a config.

        Raises:
            KeyError: the config names no thread.
        """
        keys = cls.of(config)
        if keys.thread_id is None:
            raise KeyError("thread_id")
        return keys.thread_id, keys.ns or "", keys.checkpoint_id


def config_of(ref: Ref) -> RunnableConfig:
    """The config that names a checkpoint."""
    thread_id, ns, checkpoint_id = ref
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


def newest_first(saver: Saver, keys: ConfigKeys, before: str | None, limit: int | None) -> list[Ref]:
    """The names of all checkpoints that a config selects, the highest id first; reads no values."""
    if keys.thread_id is None:
        threads = [thread.thread_id for thread in saver.threads()]
    else:
        threads = [keys.thread_id]
        if keys.ns is not None and keys.checkpoint_id is None and before is None and limit is not None:
            return [row.ref for row in saver.newest(keys.thread_id, keys.ns, limit)]
    rows = (row for thread_id in threads for row in saver.rows(thread_id, keys.ns))
    refs = [row.ref for row in rows if _is_selected(row, keys, before)]
    return sorted(refs, key=lambda ref: ref.checkpoint_id, reverse=True)[:limit]


def _is_selected(row: CheckpointRow, keys: ConfigKeys, before: str | None) -> bool:
    if keys.checkpoint_id is not None and row.checkpoint_id != keys.checkpoint_id:
        return False
    return before is None or row.checkpoint_id < before


def by_thread(refs: Iterable[Ref]) -> dict[tuple[str, str], list[str]]:
    """Checkpoint ids, grouped by thread and namespace."""
    ids: dict[tuple[str, str], list[str]] = {}
    for ref in refs:
        ids.setdefault((ref.thread_id, ref.ns), []).append(ref.checkpoint_id)
    return ids
