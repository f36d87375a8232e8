"""Reads a checkpointer through `list` and `get_tuple` or their async versions, and makes payloads of its values."""

from collections.abc import Iterator
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write
from ckpt_cli.savers.custom.checkpointer import OpenCheckpointer
from ckpt_cli.savers.custom.inert import inert
from ckpt_cli.savers.selection import Selection

_READABLE = {"msgpack", "json", "null", "bytes", "bytearray", "pickle"}
_PLAIN = JsonPlusSerializer(pickle_fallback=True)  # pickles what msgpack refuses; ckpt loads no pickle


class CheckpointerReader:
    """Reads an open checkpointer by thread, namespace and id.

    Attributes:
        inert: whether the checkpointer's values are decoded without making objects.
    """

    def __init__(self, opened: OpenCheckpointer) -> None:
        self._opened = opened._replace(saver=inert(opened.saver))
        self.inert = self._opened.saver is not opened.saver
        serde = self._opened.saver.serde
        # the checkpointer's values arrive decrypted, so payloads are made without encryption
        self._serde = serde.serde if isinstance(serde, EncryptedSerializer) else serde

    def one(self, ref: Ref) -> CheckpointTuple | None:
        """One checkpoint."""
        saver, config = self._opened.saver, _config(*ref)
        return self._opened.loop.run(saver.aget_tuple(config)) if self._opened.is_async else saver.get_tuple(config)

    def all(self, thread_id: str | None = None, ns: str | None = None) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread, a namespace or all threads, in the checkpointer's own order."""
        saver, config = self._opened.saver, None if thread_id is None else _config(thread_id, ns)
        if self._opened.is_async:
            yield from self._opened.loop.iterate(saver.alist(config))
        else:
            yield from saver.list(config)

    def selected(self, selection: Selection) -> Iterator[CheckpointTuple]:
        """The checkpoints that the checkpointer's own ``list`` gives for a selection."""
        saver, thread_id = self._opened.saver, selection.thread_id
        config = None if thread_id is None else _config(thread_id, selection.ns, selection.checkpoint_id)
        before = None if selection.before is None else {"configurable": {"checkpoint_id": selection.before}}
        wanted = None if selection.metadata is None else _PLAIN.loads_typed(selection.metadata)
        words: Any = {"filter": wanted, "before": before, "limit": selection.limit}
        if self._opened.is_async:
            yield from self._opened.loop.iterate(saver.alist(config, **words))
        else:
            yield from saver.list(config, **words)

    def checkpoint(self, item: CheckpointTuple) -> Checkpoint:
        """A whole checkpoint, with all channel values in its body."""
        row, body = row_of(item), self.payload(item.checkpoint)
        return Checkpoint(row._replace(size=len(body.data)), body, self.payload(dict(item.metadata)))

    def writes(self, item: CheckpointTuple) -> Iterator[Write]:
        """The writes of a checkpoint, in the order of `item`, without task paths; ordinary ones are numbered anew."""
        ref, counts = row_of(item).ref, dict[str, int]()
        for task_id, channel, value in item.pending_writes or ():
            at = counts.get(task_id, 0)
            idx = WRITES_IDX_MAP.get(channel, at)
            counts[task_id] = at + (idx == at)
            payload = self.payload(value)
            yield Write(*ref, task_id, idx, channel, "", payload, len(payload.data))

    def payload(self, value: Any) -> Payload:
        """A value, encoded by the checkpointer's own serializer or, if ckpt can't read the result, by LangGraph's."""
        try:
            tag, data = self._serde.dumps_typed(value)
        except Exception:  # the user's serializer may raise anything
            tag = ""
        if tag not in _READABLE:
            tag, data = _PLAIN.dumps_typed(value)
        return Payload(tag, bytes(data))


def row_of(item: CheckpointTuple) -> CheckpointRow:
    """The skeleton row of a checkpoint."""
    config, parent = item.config["configurable"], (item.parent_config or {}).get("configurable") or {}
    checkpoint_id = str(config.get("checkpoint_id") or item.checkpoint["id"])
    parent_id = parent.get("checkpoint_id")
    return CheckpointRow(
        str(config["thread_id"]),
        config.get("checkpoint_ns") or "",
        checkpoint_id,
        str(parent_id) if parent_id else None,
    )


def _config(thread_id: str, ns: str | None, checkpoint_id: str | None = None) -> Any:
    """A ``RunnableConfig`` of LangChain."""
    configurable = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
    return {"configurable": {key: value for key, value in configurable.items() if value is not None}}
