"""What an agent asks for by a config: which thread, which namespace, which checkpoints."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from langchain_core.runnables import RunnableConfig

from ckpt_cli.model import CheckpointRow, Ref
from ckpt_cli.savers.contract import Saver

T = TypeVar("T")


class Asked(NamedTuple):
    """A config, read. What it doesn't name is None."""

    thread_id: str | None
    ns: str | None
    checkpoint_id: str | None

    @classmethod
    def of(cls, config: RunnableConfig | None) -> "Asked":
        """The same keys as LangGraph's savers read, a thread id always as text."""
        words: Mapping[str, Any] = (config or {}).get("configurable") or {}
        thread_id = words.get("thread_id")
        ns, checkpoint_id = words.get("checkpoint_ns"), words.get("checkpoint_id")
        return cls(None if thread_id is None else str(thread_id), ns, checkpoint_id or None)

    @classmethod
    def one(cls, config: RunnableConfig) -> tuple[str, str, str | None]:
        """The thread, the namespace (the root's if none is named), and the checkpoint or None for the newest.

        Raises:
            KeyError: the config names no thread.
        """
        asked = cls.of(config)
        if asked.thread_id is None:
            raise KeyError("thread_id")
        return asked.thread_id, asked.ns or "", asked.checkpoint_id


def config_of(ref: Ref) -> RunnableConfig:
    """The config that names a checkpoint."""
    thread_id, ns, checkpoint_id = ref
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}


def newest_first(saver: Saver, asked: Asked, before: str | None, limit: int | None) -> list[Ref]:
    """The names of all checkpoints that are asked for, the highest id first; no value is read."""
    if asked.thread_id is None:
        threads = [thread.thread_id for thread in saver.threads()]
    else:
        threads = [asked.thread_id]
        if asked.ns is not None and asked.checkpoint_id is None and before is None and limit is not None:
            return [row.ref for row in saver.newest(asked.thread_id, asked.ns, limit)]
    rows = (row for thread_id in threads for row in saver.rows(thread_id, asked.ns))
    found = [row.ref for row in rows if _fits(row, asked, before)]
    return sorted(found, key=lambda ref: ref.checkpoint_id, reverse=True)[:limit]


def _fits(row: CheckpointRow, asked: Asked, before: str | None) -> bool:
    if asked.checkpoint_id is not None and row.checkpoint_id != asked.checkpoint_id:
        return False
    return before is None or row.checkpoint_id < before


def by_thread(refs: Iterable[Ref]) -> dict[tuple[str, str], list[str]]:
    """The ids of some checkpoints by thread and namespace."""
    found: dict[tuple[str, str], list[str]] = {}
    for ref in refs:
        found.setdefault((ref.thread_id, ref.ns), []).append(ref.checkpoint_id)
    return found
