"""Reads LangGraph's configs: thread, namespace and checkpoint id; which checkpoints ``list`` selects."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from langchain_core.runnables import RunnableConfig

from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.selection import Selection

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


def run_of(config: RunnableConfig, metadata: Mapping[str, Any]) -> str:
    """The run that makes a checkpoint; "" if neither the config nor the metadata names it.

    checkpoint-redis 0.5.2, ``__init__.py: put``.
    """
    return str(config["configurable"].get("run_id", metadata.get("run_id")) or "")


def newest_first(saver: Saver, selection: Selection) -> list[Ref]:
    """The names of the selected checkpoints, the highest id first; reads neither values nor metadata."""
    thread_id, ns, limit = selection.thread_id, selection.ns, selection.limit
    if thread_id is None:
        threads = [thread.thread_id for thread in saver.threads()]
    else:
        threads = [thread_id]
        is_top = selection.checkpoint_id is None and selection.before is None
        if ns is not None and is_top and limit is not None:
            return [row.ref for row in saver.newest(thread_id, ns, limit)]
    rows = (row for name in threads for row in saver.rows(name, ns))
    refs = [row.ref for row in rows if _is_selected(row, selection)]
    return sorted(refs, key=lambda ref: ref.checkpoint_id, reverse=True)[:limit]


def _is_selected(row: CheckpointRow, selection: Selection) -> bool:
    if selection.checkpoint_id is not None and row.checkpoint_id != selection.checkpoint_id:
        return False
    return selection.before is None or row.checkpoint_id < selection.before


def by_thread(refs: Iterable[Ref]) -> dict[tuple[str, str], list[str]]:
    """Checkpoint ids, grouped by thread and namespace."""
    ids: dict[tuple[str, str], list[str]] = {}
    for ref in refs:
        ids.setdefault((ref.thread_id, ref.ns), []).append(ref.checkpoint_id)
    return ids
