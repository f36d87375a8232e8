"""Makes records of a task's writes: the index of each, which of several with one index is stored."""

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP

from ckpt_cli.langgraph.configs import ConfigKeys
from ckpt_cli.langgraph.encoding import Encoding
from ckpt_cli.model import Payload, Ref, Write
from ckpt_cli.savers.agent_rows import TaskWrites


def encode_writes(
    encoding: Encoding, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
) -> TaskWrites:
    """What a task wrote on the checkpoint that a config names, as records.

    Raises:
        KeyError: the config names no thread or no checkpoint.
    """
    thread_id, ns, checkpoint_id = ConfigKeys.of_thread(config)
    if checkpoint_id is None:
        raise KeyError("checkpoint_id")
    payloads = [(channel, encoding.payload(value)) for channel, value in writes]
    return _task_writes(Ref(thread_id, ns, checkpoint_id), payloads, task_id, task_path)


def _task_writes(ref: Ref, values: Sequence[tuple[str, Payload]], task_id: str, task_path: str) -> TaskWrites:
    """A task's writes with their indexes, and whether they replace existing writes.

    Special writes (error, interrupt, resume) have fixed indexes. If all writes are special, they replace existing ones,
    and the last of several with one index counts; otherwise existing writes are kept, and the first counts
    (langgraph-checkpoint 4.3, ``base/__init__.py: WRITES_IDX_MAP``; checkpoint-sqlite 3.1, ``put_writes``).
    """
    all_special = all(channel in WRITES_IDX_MAP for channel, _ in values)
    by_idx: dict[int, Write] = {}
    for at, (channel, payload) in enumerate(values):
        idx = WRITES_IDX_MAP.get(channel, at)
        if all_special or idx not in by_idx:
            by_idx[idx] = Write(*ref, task_id, idx, channel, task_path, payload, len(payload.data))
    return TaskWrites(list(by_idx.values()), all_special)
