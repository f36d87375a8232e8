"""An agent's records in DynamoDB: puts of single items, which cost half as much as those of a transaction.

The items are those of langgraph-checkpoint-aws 1.2.6 (``dynamodb/unified_repository.py: put_checkpoint, put_writes``).
A checkpoint and its payload are put in one request. For a write that must not replace another one, the service has no
such request: its two items are put one after the other, as LangGraph's own saver puts them.
"""

import time
from collections.abc import Callable, Sequence

from ckpt_cli.model import Checkpoint, Ref, Write, WriteKey
from ckpt_cli.savers.agent_rows import AgentRows
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.dynamodb.connection import Connection
from ckpt_cli.savers.dynamodb.expand import items_for
from ckpt_cli.savers.dynamodb.items import Item
from ckpt_cli.savers.dynamodb.storage_options import StorageOptions, read_options
from ckpt_cli.savers.paging import pages

_REMEMBERED = 1000
"""Threads whose options are kept; they are read once for each thread."""
_AT_ONCE = 12
"""Records in one request; each has two items, and the service takes 25."""


class DynamoAgentRows(AgentRows):
    """Writes an agent's records without transactions and images."""

    def __init__(self, saver: Saver, connection: Connection) -> None:
        super().__init__(saver)
        self._connection = connection
        self._options: dict[str, StorageOptions] = {}

    def put(self, record: Checkpoint) -> None:
        """See `AgentRows.put`."""
        self._write(lambda: self._connection.put_all(self._items(record.row.ref, record)))

    def put_writes(self, writes: Sequence[Write], *, replace: bool) -> None:
        """See `AgentRows.put_writes`."""
        self._write(lambda: self._put_writes(writes, replace=replace))

    def _put_writes(self, writes: Sequence[Write], *, replace: bool) -> None:
        items = [self._items(WriteKey(write.ref, write.task_id, write.idx), write) for write in writes]
        if replace:
            for page in pages(items, _AT_ONCE):
                self._connection.put_all([item for pair in page for item in pair])
        else:
            for item in (item for pair in items for item in pair):
                self._connection.put_new(item)

    def _items(self, name: Ref | WriteKey, record: Checkpoint | Write) -> list[Item]:
        options = self._options_of((name if isinstance(name, Ref) else name.ref).thread_id)
        stored = items_for(name, record, options.compressed, options.expiry(int(time.time())))
        return [stored.base, *([stored.chunk] if stored.chunk else [])]

    def _options_of(self, thread_id: str) -> StorageOptions:
        if thread_id in self._options:
            return self._options[thread_id]
        options = read_options(self._connection, thread_id)
        if options is None:
            return StorageOptions()
        if len(self._options) == _REMEMBERED:
            self._options.clear()
        self._options[thread_id] = options
        return options

    def _write(self, work: Callable[[], None]) -> None:
        self._connection.moment(work, writing=True)
