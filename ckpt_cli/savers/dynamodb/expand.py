"""Turns a plan into changes of rows; each row is an item and the item of its payload."""

import time
from collections.abc import Iterator, Sequence

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Checkpoint, Name, Payload, Plan, Record, Ref, RowChange, WriteKey, in_words, name_of
from ckpt_cli.savers.dynamodb.connection import Connection
from ckpt_cli.savers.dynamodb.halves import join
from ckpt_cli.savers.dynamodb.images import row_key
from ckpt_cli.savers.dynamodb.items import Item, Stored, image, keys, pack, text
from ckpt_cli.savers.dynamodb.storage_options import StorageOptions, read_options
from ckpt_cli.savers.faults import already_exists, must_not_be_lost, no_longer_exists
from ckpt_cli.savers.paging import pages

_PAGE = 50  # records that are read at once
_LARGEST = 390_000  # bytes of a payload that fit in an item


class Expansion:
    """Makes the changes of rows for plans; if a plan is expanded twice, the items are the same."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._created: dict[Name, int] = {}
        self._options: dict[str, StorageOptions] = {}

    def rows(self, plan: Plan) -> Iterator[RowChange]:
        """Each row of a plan before and after the change; removals come first.

        A checkpoint is removed before its writes and added after them, so no reader sees it without its writes.

        Raises:
            NotSupported: a payload is in S3, doesn't fit in an item, or can't be joined with its metadata.
        """
        self._options.clear()
        for names in pages(sorted(plan.remove, key=lambda name: isinstance(name, WriteKey)), _PAGE):
            for name, before in self._existing(names):
                yield RowChange(*row_key(name), image(before), None)
        for some in pages(plan.replace, _PAGE):
            by_name = {name_of(record): record for record in some}
            for name, before in self._existing([*by_name]):
                yield RowChange(*row_key(name), image(before), image(self._replaced(by_name[name], before)))
        seen: set[Name] = set()
        for some in pages(sorted(plan.add, key=lambda record: isinstance(record, Checkpoint)), _PAGE):
            names = [name_of(record) for record in some]
            existing = {*self._connection.stored(names), *(seen & {*names})}
            if existing or len({*names}) < len(names):
                name = next(iter(existing), names[0])
                raise already_exists(name)
            seen.update(names)
            for name, record in zip(names, some, strict=True):
                yield RowChange(*row_key(name), None, image(self._new(name, record)))

    def _existing(self, names: Sequence[Name]) -> Iterator[tuple[Name, Stored]]:
        existing = self._connection.stored(names)
        for name in names:
            if name not in existing:
                raise no_longer_exists(name)
            if existing[name].in_s3:
                raise NotSupported(f"the value of {in_words(name)} is in S3; ckpt changes nothing there")
            yield name, existing[name]

    def _new(self, name: Name, record: Record) -> Stored:
        ref = name if isinstance(name, Ref) else name.ref
        options = self._options_of(ref.thread_id)
        now = self._created.setdefault(name, int(time.time()))  # a plan expanded twice must give the same items
        return items_for(name, record, options.compressed, options.expiry(now))

    def _replaced(self, record: Record, before: Stored) -> Stored:
        """The items with the record's attributes, and their other attributes unchanged."""
        compressed = bool(text(before.base, "compression"))
        new = items_for(name_of(record), record, compressed, {})
        dropped = {"compression", "parent_checkpoint_id", "task_path"} - set(new.base)
        base = {name: value for name, value in before.base.items() if name not in dropped}
        return Stored({**base, **new.base}, {**(before.chunk or {}), **(new.chunk or {})})

    def _options_of(self, thread_id: str) -> StorageOptions:
        """How the last checkpoints of the thread are stored; for a new thread, the defaults."""
        if thread_id not in self._options:
            self._options[thread_id] = read_options(self._connection, thread_id) or StorageOptions()
        return self._options[thread_id]


def items_for(name: Name, record: Record, compress: bool, ttl: Item) -> Stored:
    """A record as LangGraph's saver stores it.

    Raises:
        NotSupported: the payload doesn't fit in an item, or can't be joined with its metadata.
    """
    base, chunk = keys(name)
    payload = _joined_payload(record)
    data, compression = pack(payload.data, compress)
    if len(data) > _LARGEST:
        what = f"{in_words(name)} would take {len(data):,} bytes, and an item of DynamoDB holds at most 400 KB"
        raise NotSupported(what, hint="LangGraph's saver puts such values into S3; ckpt changes nothing there")
    pointer = {"type": {"S": payload.tag}, "ref_loc": {"S": "DYNAMODB"}, "ref_key": chunk["PK"]}
    packing = {"compression": {"S": compression}} if compression else {}
    item = {**base, **_attributes(record), **pointer, **packing, **ttl}
    return Stored(item, {**chunk, "payload": {"B": data}, **ttl})


def _attributes(record: Record) -> Item:
    if isinstance(record, Checkpoint):
        parent = {"parent_checkpoint_id": {"S": record.row.parent_id}} if record.row.parent_id else {}
        return {"id": {"S": record.row.checkpoint_id}, "ns": {"S": record.row.ns}, **parent}
    path = {"task_path": {"S": record.task_path}} if record.task_path else {}
    task = {"task_id": {"S": record.task_id}, "channel": {"S": record.channel}, "idx": {"N": str(record.idx)}}
    return {**task, "checkpoint_id": {"S": record.checkpoint_id}, **path}


def _joined_payload(record: Record) -> Payload:
    if isinstance(record, Checkpoint):
        if record.channels is not None:
            raise NotSupported("DynamoDB's saver keeps a checkpoint whole, not channel by channel")
        must_not_be_lost(record.body, in_words(record.row.ref))
        return join(record.body, record.metadata)
    if record.payload is None:
        raise ValueError(f"{in_words(name_of(record))} has no payload")
    must_not_be_lost(record.payload, in_words(name_of(record)))
    return record.payload
