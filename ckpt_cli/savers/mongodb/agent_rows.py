"""An agent's records in MongoDB: each call that writes is one request, as in LangGraph's own saver.

The requests are those of checkpoint-mongodb 0.5.1, ``saver.py: put, put_writes, get_tuple``: documents are added or
replaced by upserts on the fields that identify them.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from pymongo import UpdateOne, errors

from ckpt_cli.errors import Failed
from ckpt_cli.model import Checkpoint, Ref, Write, WriteKey
from ckpt_cli.savers.agent_rows import AgentRows, Found
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.mongodb import reading, records
from ckpt_cli.savers.mongodb.connection import Connection
from ckpt_cli.savers.mongodb.schema import Schema
from ckpt_cli.savers.mongodb.thread_ids import ThreadIds

Document = dict[str, Any]

_CHECKPOINT = (*reading.SKELETON, "type", "checkpoint", "metadata")
_WRITE = (*reading.WRITE, "value")
_NUMBER = re.compile(r"[-+.0-9E]*[0-9]", re.IGNORECASE)
_DUPLICATE = 11000


class MongoAgentRows(AgentRows):
    """Reads and writes an agent's records outside any transaction: a change of one document is atomic by itself."""

    def __init__(self, saver: Saver, connection: Connection, schema: Schema) -> None:
        super().__init__(saver)
        self._connection, self._schema = connection, schema
        self._number_of = lru_cache(maxsize=1000)(self._find_number)

    def get(self, thread_id: str, ns: str, checkpoint_id: str | None) -> Found | None:
        """See `AgentRows.get`. It reads what an agent wrote with any write concern, so it uses no snapshot."""
        place = records.place(Ref(thread_id, ns, checkpoint_id or ""), self._stored_id(thread_id))
        if checkpoint_id is None:
            del place["checkpoint_id"]
        return self._connection.moment(lambda: self._find(thread_id, place), snapshot=False)

    def put(self, record: Checkpoint) -> None:
        """See `AgentRows.put`."""
        place = records.place(record.row.ref, self._stored_id(record.row.thread_id))
        own = {**records.fields(record, task_paths=self._schema.task_paths), **self._dates()}
        upsert = UpdateOne(place, {"$set": own}, upsert=True)
        self._connection.write_alone(self._connection.address.collection, [upsert])

    def put_writes(self, writes: Sequence[Write], *, replace: bool) -> None:
        """See `AgentRows.put_writes`; a write that has another path, or none, needs a plan."""
        verb, dates = "$set" if replace else "$setOnInsert", self._dates()
        upserts = []
        for write in writes:
            place, own = self._divided(write)
            upserts.append(UpdateOne(place, {verb: {**own, **dates}}, upsert=True))
        try:
            self._connection.write_alone(self._connection.address.writes, upserts)
        except Failed as error:
            if not _is_duplicate(error.__cause__):
                raise
            super().put_writes(writes, replace=replace)

    def _divided(self, write: Write) -> tuple[Document, Document]:
        """The fields by which a write is looked up, and its other fields; LangGraph's saver also looks for the path."""
        place = records.place(WriteKey(write.ref, write.task_id, write.idx), self._stored_id(write.thread_id))
        own = records.fields(write, task_paths=self._schema.task_paths)
        if self._schema.task_paths:
            idx = place.pop("idx")
            place |= {"task_path": own.pop("task_path"), "idx": idx}
        return place, own

    def _find(self, thread_id: str, place: Document) -> Found | None:
        address, newest = self._connection.address, {"checkpoint_id": -1}
        document = next(self._connection.find(address.collection, place, _CHECKPOINT, newest, 1), None)
        if document is None:
            return None
        on_it = {**place, "checkpoint_id": document["checkpoint_id"]}
        documents = self._connection.find(address.writes, on_it, _WRITE, {})
        writes = [records.write(thread_id, one, read=True) for one in documents]
        return Found(records.checkpoint(thread_id, document), sorted(writes, key=lambda write: write.order))

    def _dates(self) -> Document:
        return {"created_at": datetime.now(tz=UTC)} if self._schema.dated else {}

    def _stored_id(self, thread_id: str) -> Any:
        return self._number_of(thread_id) if _NUMBER.fullmatch(thread_id) else records.stored(thread_id)

    def _find_number(self, thread_id: str) -> Any:
        """The stored form of an id that looks like a number; it is read once, so an agent pays for it once."""
        return self._connection.moment(lambda: ThreadIds(self._connection).stored(thread_id), snapshot=False)


def _is_duplicate(error: BaseException | None) -> bool:
    details = (error.details or {}) if isinstance(error, errors.BulkWriteError) else {}
    return any(one.get("code") == _DUPLICATE for one in details.get("writeErrors", ()))
