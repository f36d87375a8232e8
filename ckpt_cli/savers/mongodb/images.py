"""Documents as the operation log keeps them: whole, byte for byte, and changed only where they are as they were."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any, cast

import bson
from bson.codec_options import CodecOptions
from bson.objectid import ObjectId
from bson.raw_bson import RawBSONDocument
from pymongo import DeleteOne, InsertOne, ReplaceOne, errors

from ckpt_cli.errors import Refused
from ckpt_cli.model import Name, Plan, Record, Ref, Row, RowChange, WriteKey
from ckpt_cli.model import name_of as record_name
from ckpt_cli.savers.faults import already_exists, no_longer_exists
from ckpt_cli.savers.mongodb.connection import Connection
from ckpt_cli.savers.mongodb.reading import ids, named
from ckpt_cli.savers.mongodb.records import fields, filtered, index_of, key_row, name_of, place, ref_of, stored
from ckpt_cli.savers.paging import pages

Document = dict[str, Any]

_PAGE = 100  # documents that one statement finds or changes
_BYTES = 8 << 20  # of documents in one statement
_COMPARED = 4 << 20  # bytes of a document up to which all of it must be as it was
_DUPLICATE = 11000
_TYPED: CodecOptions[Document] = CodecOptions(tz_aware=True, tzinfo=UTC)


class Images:
    """Rows of a database: a document is one column of BSON.

    Args:
        stored: a thread id as this database stores it.
        called: the name of a thread by its id as it is stored.
        task_paths: whether new writes name their task's path.
    """

    def __init__(
        self, connection: Connection, stored: Callable[[str], Any], called: Callable[[Any], str], *, task_paths: bool
    ) -> None:
        self._connection = connection
        self._stored = stored
        self._called = called
        self._task_paths = task_paths
        self._ids: dict[Name, ObjectId] = {}

    def current(self, relation: str, key: Row) -> Row | None:
        """A document as it is now."""
        found = next(self._connection.raw(relation, filtered(key)), None)
        return None if found is None else {"bson": bytes(found.raw)}

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """Documents as they are now, some in a statement."""
        found: dict[tuple[Any, ...], Row] = {}
        for relation in dict.fromkeys(relation for relation, _ in names):
            for page in pages([filtered(key) for of, key in names if of == relation], _PAGE):
                for document in self._connection.raw(relation, {"$or": [*page]}):
                    name = (relation, *key_row({field: document.get(field) for field in page[0]}).values())
                    found[name] = {"bson": bytes(document.raw)}
        return [found.get((relation, *key.values())) for relation, key in names]

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """The documents of a plan before and after; removals first.

        A checkpoint goes before its writes and comes after them, so that nobody sees one without what belongs to it.
        """
        for names in pages(sorted(plan.remove, key=lambda name: isinstance(name, WriteKey)), _PAGE):
            for name, before in self._standing(names):
                yield RowChange(*self._key(name), {"bson": before}, None)
        for some in pages(plan.replace, _PAGE):
            by_name = {record_name(record): record for record in some}
            for name, before in self._standing([*by_name]):
                yield RowChange(*self._key(name), {"bson": before}, {"bson": self._replaced(by_name[name], before)})
        dated = self._dated(plan.add)
        added = sorted(plan.add, key=lambda record: not isinstance(record_name(record), WriteKey))
        for some in pages(added, _PAGE):
            names = [record_name(record) for record in some]
            if standing := self._found(names):
                raise already_exists(next(iter(standing)))
            for name, record in zip(names, some, strict=True):
                yield RowChange(*self._key(name), None, {"bson": self._new(name, record, dated)})

    def change(self, changes: Iterable[RowChange]) -> None:
        """Make the changes in order, some in one statement; the last one alone, when all before it are made.

        So whoever finds the last one made knows it of all.

        Raises:
            Refused: a document isn't as its before-image says; those before it, and some after, are changed.
        """
        page: list[RowChange] = []
        size = 0
        for change in changes:
            if page and (len(page) == _PAGE or size > _BYTES or page[0].relation != change.relation):
                self._write(page)
                page, size = [], 0
            page.append(change)
            size += sum(len(_raw(row)) for row in (change.before, change.after) if row is not None)
        for last in (page[:-1], page[-1:]):
            if last:
                self._write(last)

    def _write(self, page: list[RowChange]) -> None:
        try:
            done = self._connection.write(page[0].relation, [_operation(change) for change in page])
        except errors.BulkWriteError as error:
            code = next((one.get("code") for one in error.details.get("writeErrors", [])), None)
            if code != _DUPLICATE:
                raise
            raise Refused(f"a document of {page[0].relation} exists already; nothing was written") from error
        if done.inserted_count + done.matched_count + done.deleted_count != len(page):
            what = f"a document of {page[0].relation} was changed or removed by somebody else"
            raise Refused(what, hint="run the command again")

    def _standing(self, names: Iterable[Name]) -> Iterator[tuple[Name, bytes]]:
        asked = [*names]
        found = self._found(asked)
        for name in asked:
            if name not in found:
                raise no_longer_exists(name)
            yield name, found[name]

    def _found(self, names: Iterable[Name]) -> dict[Name, bytes]:
        """Those that are there, in one statement for each kind."""
        asked, found = {*names}, dict[Name, bytes]()
        for kind, relation in ((Ref, self._connection.address.collection), (WriteKey, self._connection.address.writes)):
            some = [name for name in asked if isinstance(name, kind)]
            if some:
                thread_ids = {name: self._stored(name) for name in {_ref(name).thread_id for name in some}}
                where = named({_ref(name) for name in some}, thread_ids)
                tasks = [stored(name.task_id) for name in some if isinstance(name, WriteKey)]
                for document in self._connection.raw(relation, {**where, "task_id": ids(tasks)} if tasks else where):
                    name = self._name_of(document, kind)
                    if name in asked:
                        found[name] = bytes(document.raw)
        return found

    def _name_of(self, document: Mapping[str, Any], kind: type) -> Name:
        ref = ref_of(self._called(document.get("thread_id")), document)
        return ref if kind is Ref else WriteKey(ref, name_of(document.get("task_id")), index_of(document.get("idx")))

    def _key(self, name: Name) -> tuple[str, Row]:
        address = self._connection.address
        relation = address.collection if isinstance(name, Ref) else address.writes
        return relation, key_row(place(name, self._stored(_ref(name).thread_id)))

    def _new(self, name: Name, record: Record, dated: Mapping[str, bool]) -> bytes:
        relation, key = self._key(name)
        own = self._ids.setdefault(name, ObjectId())  # a plan that is expanded again is the same plan
        born = {"created_at": own.generation_time} if dated[relation] else {}
        return bson.encode({"_id": own, **filtered(key), **fields(record, task_paths=self._task_paths), **born})

    def _replaced(self, record: Record, before: bytes) -> bytes:
        """The document with the record's fields and whatever else it had."""
        old = bson.decode(before, _TYPED)
        new = fields(record, task_paths="task_path" in old)
        return bson.encode({"_id": old.pop("_id"), **old, **new})

    def _dated(self, records: Iterable[Record]) -> dict[str, bool]:
        """Whether the others have a time from which the server counts how long they live."""
        some = next(iter(records), None)
        address = self._connection.address
        if some is None:
            return {}
        dated: dict[str, bool] = {}
        for relation in (address.collection, address.writes):
            one = next(self._connection.find(relation, {}, ("created_at",), {"_id": -1}, 1), {})
            dated[relation] = "created_at" in one
        return dated


def _operation(change: RowChange) -> Any:
    if change.before is None:
        return InsertOne(_document(change.after))
    if change.after is None:
        return DeleteOne(_as_it_was(change))
    return ReplaceOne(_as_it_was(change), cast(Any, _document(change.after)))


def _as_it_was(change: RowChange) -> Document:
    """A filter that finds the document only as its before-image says; of a very large one, all but the largest field.

    Each field is compared by ``$eq``, so that no name in it is taken for an operator.
    """
    raw = _raw(change.before)
    fields = {name: {"$eq": value} for name, value in bson.decode(raw, _TYPED).items()}
    if len(raw) > _COMPARED:
        fields.pop(max(fields, key=lambda name: len(bson.encode(fields[name]))))
    return {**fields, **filtered(change.key), "_id": fields["_id"]["$eq"]}


def _document(row: Row | None) -> RawBSONDocument:
    return RawBSONDocument(_raw(row))


def _raw(row: Row | None) -> bytes:
    return cast(bytes, (row or {})["bson"])


def _ref(name: Name) -> Ref:
    return name if isinstance(name, Ref) else name.ref
