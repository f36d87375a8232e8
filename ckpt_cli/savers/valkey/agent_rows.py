"""An agent's records in Valkey: the commands of LangGraph's own saver, in as many round trips.

langgraph-checkpoint-aws 1.2.6, ``checkpoint/valkey/saver.py: put, put_writes, get_tuple``. Three things differ. A
checkpoint that is put again has one entry in its namespace's list, not two. Writes replace existing ones only if all
are special, as on other databases. New keys expire with the checkpoint that they continue; only then another round trip
is needed.
"""

from collections.abc import Sequence
from typing import Any

from redis import exceptions

from ckpt_cli.model import Checkpoint, Ref, Write, WriteKey
from ckpt_cli.savers import faults
from ckpt_cli.savers.agent_rows import Found
from ckpt_cli.savers.redis.connection import text
from ckpt_cli.savers.redis.faults import translate_errors
from ckpt_cli.savers.redis.key_agent_rows import KeyAgentRows
from ckpt_cli.savers.valkey import records
from ckpt_cli.savers.valkey.expand import merged_entries
from ckpt_cli.savers.valkey.reading import checkpoint_key, thread_key, writes_key

_TRIES = 100
"""How often writes are stored anew if another task stored its own meanwhile (``base.py: _PUT_WRITES_MAX_ATTEMPTS``)."""


class ValkeyAgentRows(KeyAgentRows):
    """Reads and writes an agent's records on one server."""

    def get(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Found | None:
        """See `AgentRows.get`. The newest is the first of the list; if that has expired, the others are searched."""
        if checkpoint_id is not None:
            return self._connection.moment(lambda: self._by_key(Ref(thread_id, ns, checkpoint_id)))
        head = self._connection.moment(lambda: self._head(thread_id, ns))
        if head is None:
            return None
        return self._connection.moment(lambda: self._by_key(head)) or super().get(thread_id, ns, None)

    def put(self, record: Checkpoint) -> None:
        """See `AgentRows.put`."""
        row, key, listed = record.row, checkpoint_key(record.row.ref), thread_key(record.row.ref[:2])
        parent = checkpoint_key(Ref(row.thread_id, row.ns, row.parent_id)) if row.parent_id else key
        expiry, _, _, length = self._write(
            self._images.expiry(parent),
            ("SET", key, records.text(records.checkpoint_document(record, None))),
            ("LREM", listed, 0, row.checkpoint_id),
            ("LPUSH", listed, row.checkpoint_id),
        )
        # An agent may store writes before their checkpoint has its expiry, from which they take theirs.
        self._write(*self._expire(expiry, [key, writes_key(row.ref), *([listed] if length == 1 else [])]))

    def put_writes(self, writes: Sequence[Write], *, replace: bool) -> None:
        """See `AgentRows.put_writes`; one key holds the writes of all tasks, so it may change meanwhile."""
        for _ in range(_TRIES):
            if self._repeated(lambda: self._merge(writes, replace=replace)):
                return
        raise faults.busy(self._connection.address.location)

    def _merge(self, writes: Sequence[Write], *, replace: bool) -> bool:
        """Add writes to those of other tasks; False if another program changed these meanwhile."""
        ref = writes[0].ref
        key = writes_key(ref)
        with (
            translate_errors(self._connection.address.location, writing=True),
            self._connection.pipeline(key) as pipeline,
        ):
            pipeline.watch(key)
            stored = pipeline.execute_command("GET", key)
            pipeline.multi()
            pipeline.execute_command(*self._images.expiry(key if stored else checkpoint_key(ref)))
            pipeline.execute_command("SET", key, records.text(_merged(ref, stored, writes, replace=replace)))
            try:
                expiry, _ = self._checked(pipeline.execute(raise_on_error=False))
            except exceptions.WatchError:
                return False
        self._write(*self._expire(expiry, [key]))
        return True

    def _head(self, thread_id: str, ns: str) -> Ref | None:
        (ids,) = self._connection.read([("LRANGE", thread_key((thread_id, ns)), 0, 0)])
        return Ref(thread_id, ns, text(ids[0])) if ids else None

    def _by_key(self, ref: Ref) -> Found | None:
        stored, on_it = self._connection.read([("GET", checkpoint_key(ref)), ("GET", writes_key(ref))])
        if not stored:
            return None
        writes = [records.write(*entry) for entry in (records.entries(ref, on_it) if on_it else ())]
        return Found(records.checkpoint(ref, stored), writes)


def _merged(ref: Ref, stored: bytes | None, writes: Sequence[Write], *, replace: bool) -> list[Any]:
    known = records.entries(ref, stored) if stored else []
    existing = {name for name, _ in known}
    new = [(write, WriteKey(ref, write.task_id, write.idx) in existing) for write in writes]
    return merged_entries(known, (), [(write, exists) for write, exists in new if replace or not exists])
