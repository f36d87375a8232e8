"""What an agent asks for by a config: which thread, which namespace, which checkpoints."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from langchain_core.runnables import RunnableConfig

from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.savers.contract import Saver

T = TypeVar("T")


class ConfigKeys(NamedTuple):
    """A config, read. What it doesn't name is None."""

    thread_id: str | None
    ns: str | None
    checkpoint_id: str | None

    @classmethod
    def of(cls, config: RunnableConfig | None) -> "ConfigKeys":
        """The same keys as LangGraph's savers read, a thread id always as text."""
        words: Mapping[str, Any] = (config or {}).get("configurable") or {}
        thread_id = words.get("thread_id")
        ns, checkpoint_id = words.get("checkpoint_ns"), words.get("checkpoint_id")
        return cls(None if thread_id is None else str(thread_id), ns, checkpoint_id or None)

    @classmethod
    def of_thread(cls, config: RunnableConfig) -> tuple[str, str, str | None]:
        """The thread, the namespace (the root's if none is named), and the checkpoint or None for the newest.

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
    """The names of all checkpoints that are asked for, the highest id first; no value is read."""
    if keys.thread_id is None:
        threads = [thread.thread_id for thread in saver.threads()]
    else:
        threads = [keys.thread_id]
        if keys.ns is not None and keys.checkpoint_id is None and before is None and limit is not None:
            return [row.ref for row in saver.newest(keys.thread_id, keys.ns, limit)]
    rows = (row for thread_id in threads for row in saver.rows(thread_id, keys.ns))
    found = [row.ref for row in rows if _fits(row, keys, before)]
    return sorted(found, key=lambda ref: ref.checkpoint_id, reverse=True)[:limit]


def _fits(row: CheckpointRow, keys: ConfigKeys, before: str | None) -> bool:
    if keys.checkpoint_id is not None and row.checkpoint_id != keys.checkpoint_id:
        return False
    return before is None or row.checkpoint_id < before


def by_thread(refs: Iterable[Ref]) -> dict[tuple[str, str], list[str]]:
    """The ids of some checkpoints by thread and namespace."""
    found: dict[tuple[str, str], list[str]] = {}
    for ref in refs:
        found.setdefault((ref.thread_id, ref.ns), []).append(ref.checkpoint_id)
    return found
