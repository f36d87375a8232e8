"""Turns a plan into changes of documents; each document is a row with one column of BSON."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC
from typing import Any

import bson
from bson.codec_options import CodecOptions
from bson.objectid import ObjectId

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Name, Plan, Record, Ref, Row, RowChange, WriteKey, in_words
from ckpt_cli.model import name_of as record_name
from ckpt_cli.savers.faults import already_exists, no_longer_exists
from ckpt_cli.savers.mongodb.connection import Connection
from ckpt_cli.savers.mongodb.reading import filter_for, ids
from ckpt_cli.savers.mongodb.records import fields, filter_of, index_of, key_row, name_of, place, ref_of, stored
from ckpt_cli.savers.paging import pages

Document = dict[str, Any]

_PAGE = 100  # documents in one statement
_LARGEST = 16 << 20
"""Bytes of a document, at most: MongoDB's limit, which no server lets anybody change."""
_TYPED: CodecOptions[Document] = CodecOptions(tz_aware=True, tzinfo=UTC)


class Expansion:
    """Makes the changes of documents for plans; if a plan is expanded twice, the documents are the same.

    Args:
        stored_id: gives a thread id as this database stores it.
        thread_name: gives a thread's name for its stored id.
        task_paths: whether new writes name their task's path.
    """

    def __init__(
        self,
        connection: Connection,
        stored_id: Callable[[str], Any],
        thread_name: Callable[[Any], str],
        *,
        task_paths: bool,
    ) -> None:
        self._connection = connection
        self._stored_id = stored_id
        self._thread_name = thread_name
        self._task_paths = task_paths
        self._ids: dict[Name, ObjectId] = {}

    def rows(self, plan: Plan) -> Iterator[RowChange]:
        """Each document of a plan before and after the change; removals come first.

        A checkpoint is removed before its writes and added after them, so no reader sees it without its writes.
        """
        for names in pages(sorted(plan.remove, key=lambda name: isinstance(name, WriteKey)), _PAGE):
            for name, before in self._existing(names):
                yield RowChange(*self._key(name), {"bson": before}, None)
        for some in pages(plan.replace, _PAGE):
            by_name = {record_name(record): record for record in some}
            for name, before in self._existing([*by_name]):
                yield RowChange(*self._key(name), {"bson": before}, {"bson": self._replaced(by_name[name], before)})
        dated = self._dated(plan.add)
        added = sorted(plan.add, key=lambda record: not isinstance(record_name(record), WriteKey))
        for some in pages(added, _PAGE):
            names = [record_name(record) for record in some]
            if existing := self._find(names):
                raise already_exists(next(iter(existing)))
            for name, record in zip(names, some, strict=True):
                yield RowChange(*self._key(name), None, {"bson": self._new(name, record, dated)})

    def _existing(self, names: Iterable[Name]) -> Iterator[tuple[Name, bytes]]:
        wanted = [*names]
        existing = self._find(wanted)
        for name in wanted:
            if name not in existing:
                raise no_longer_exists(name)
            yield name, existing[name]

    def _find(self, names: Iterable[Name]) -> dict[Name, bytes]:
        """The documents of those records that exist, by one statement for each kind."""
        wanted, existing = {*names}, dict[Name, bytes]()
        for kind, relation in ((Ref, self._connection.address.collection), (WriteKey, self._connection.address.writes)):
            some = [name for name in wanted if isinstance(name, kind)]
            if some:
                thread_ids = {name: self._stored_id(name) for name in {_ref(name).thread_id for name in some}}
                where = filter_for({_ref(name) for name in some}, thread_ids)
                tasks = [stored(name.task_id) for name in some if isinstance(name, WriteKey)]
                for document in self._connection.raw(relation, {**where, "task_id": ids(tasks)} if tasks else where):
                    name = self._name_of(document, kind)
                    if name in wanted:
                        existing[name] = bytes(document.raw)
        return existing

    def _name_of(self, document: Mapping[str, Any], kind: type) -> Name:
        ref = ref_of(self._thread_name(document.get("thread_id")), document)
        return ref if kind is Ref else WriteKey(ref, name_of(document.get("task_id")), index_of(document.get("idx")))

    def _key(self, name: Name) -> tuple[str, Row]:
        address = self._connection.address
        relation = address.collection if isinstance(name, Ref) else address.writes
        return relation, key_row(place(name, self._stored_id(_ref(name).thread_id)))

    def _new(self, name: Name, record: Record, dated: Mapping[str, bool]) -> bytes:
        relation, key = self._key(name)
        own = self._ids.setdefault(name, ObjectId())  # a plan expanded twice must give the same documents
        dates = {"created_at": own.generation_time} if dated[relation] else {}
        own_fields = fields(record, task_paths=self._task_paths)
        return _must_fit(name, bson.encode({"_id": own, **filter_of(key), **own_fields, **dates}))

    def _replaced(self, record: Record, before: bytes) -> bytes:
        """The document with the record's fields, and its other fields unchanged."""
        old = bson.decode(before, _TYPED)
        new = fields(record, task_paths="task_path" in old)
        return _must_fit(record_name(record), bson.encode({"_id": old.pop("_id"), **old, **new}))

    def _dated(self, records: Iterable[Record]) -> dict[str, bool]:
        """Whether each collection's documents have ``created_at``, from which the server counts their time to live."""
        some = next(iter(records), None)
        address = self._connection.address
        if some is None:
            return {}
        dated: dict[str, bool] = {}
        for relation in (address.collection, address.writes):
            one = next(self._connection.find(relation, {}, ("created_at",), {"_id": -1}, 1), {})
            dated[relation] = "created_at" in one
        return dated


def _ref(name: Name) -> Ref:
    return name if isinstance(name, Ref) else name.ref


def _must_fit(name: Name, document: bytes) -> bytes:
    """The document.

    Raises:
        NotSupported: it is larger than the server takes.
    """
    if len(document) > _LARGEST:
        what = f"{in_words(name)} would take {len(document):,} bytes, and a document of MongoDB holds at most 16 MiB"
        raise NotSupported(what)
    return document
