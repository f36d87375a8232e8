"""The two public methods that a checkpointer is read by, sync or async, and its values as payloads."""

from collections.abc import Iterator
from typing import Any

from langgraph.checkpoint.base import WRITES_IDX_MAP, CheckpointTuple
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write
from ckpt_cli.savers.custom.entering import Entered
from ckpt_cli.savers.custom.inert import inert

_KNOWN = {"msgpack", "json", "null", "bytes", "bytearray", "pickle"}
_PLAIN = JsonPlusSerializer(pickle_fallback=True)  # writes what msgpack refuses as a pickle, which is never loaded


class Calls:
    """An open checkpointer, asked by thread, namespace and id.

    Attributes:
        inert: its values are decoded without making objects.
    """

    def __init__(self, entered: Entered) -> None:
        self._entered = entered._replace(saver=inert(entered.saver))
        self.inert = self._entered.saver is not entered.saver
        serde = self._entered.saver.serde
        # what it gives is decrypted already, and stays so
        self._serde = serde.serde if isinstance(serde, EncryptedSerializer) else serde

    def one(self, ref: Ref) -> CheckpointTuple | None:
        """One checkpoint."""
        saver, config = self._entered.saver, _config(*ref)
        return self._entered.loop.run(saver.aget_tuple(config)) if self._entered.is_async else saver.get_tuple(config)

    def all(self, thread_id: str | None = None, ns: str | None = None) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread or a namespace, or of all threads; its own order."""
        saver, config = self._entered.saver, None if thread_id is None else _config(thread_id, ns)
        if self._entered.is_async:
            yield from self._entered.loop.iterate(saver.alist(config))
        else:
            yield from saver.list(config)

    def checkpoint(self, found: CheckpointTuple) -> Checkpoint:
        """A checkpoint whole, whatever layout its database has."""
        row, body = row_of(found), self.payload(found.checkpoint)
        return Checkpoint(row._replace(size=len(body.data)), body, self.payload(dict(found.metadata)))

    def writes(self, found: CheckpointTuple) -> Iterator[Write]:
        """Its writes in the order given; their paths are unknown, and ordinary writes are numbered anew."""
        ref, places = row_of(found).ref, dict[str, int]()
        for task_id, channel, value in found.pending_writes or ():
            at = places.get(task_id, 0)
            idx = WRITES_IDX_MAP.get(channel, at)
            places[task_id] = at + (idx == at)
            payload = self.payload(value)
            yield Write(*ref, task_id, idx, channel, "", payload, len(payload.data))

    def payload(self, value: Any) -> Payload:
        """A value by the checkpointer's own serializer; by LangGraph's where that makes what nobody else can read."""
        try:
            tag, data = self._serde.dumps_typed(value)
        except Exception:  # somebody else's serializer on somebody else's value
            tag = ""
        if tag not in _KNOWN:
            tag, data = _PLAIN.dumps_typed(value)
        return Payload(tag, bytes(data))


def row_of(found: CheckpointTuple) -> CheckpointRow:
    """The skeleton of what was given."""
    words, parent = found.config["configurable"], (found.parent_config or {}).get("configurable") or {}
    checkpoint_id = str(words.get("checkpoint_id") or found.checkpoint["id"])
    parent_id = parent.get("checkpoint_id")
    return CheckpointRow(
        str(words["thread_id"]), words.get("checkpoint_ns") or "", checkpoint_id, str(parent_id) if parent_id else None
    )


def _config(thread_id: str, ns: str | None, checkpoint_id: str | None = None) -> Any:
    """A ``RunnableConfig`` of LangChain."""
    named = {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}
    return {"configurable": {key: value for key, value in named.items() if value is not None}}
