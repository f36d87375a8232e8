"""`MeasureMethods`: sizes that the server adds up (`$bsonSize`), and the server's figures of the collections."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar

from ckpt_cli.savers.measures import Advice, Figures, Group, Part, Space, ThreadSize
from ckpt_cli.savers.mongodb.connection import Connection
from ckpt_cli.savers.mongodb.records import name_of, thread_name
from ckpt_cli.savers.mongodb.thread_ids import ThreadIds
from ckpt_cli.savers.mongodb.written_columns import WrittenColumns
from ckpt_cli.savers.paging import pages

_MANY, _WORTH = 10_000, 50_000_000  # checkpoints, bytes
_NAMES = 500  # thread ids in one statement
Document = dict[str, Any]


class MeasureMethods(WrittenColumns):
    """Methods that measure; `MongoSaver` adds the others."""

    unit: ClassVar[str] = "the sizes of whole documents ($bsonSize), without indexes and before compression"
    shrinks: ClassVar[str] = (
        "the files don't shrink after a delete: new documents take the space; `compact` of a collection gives it back"
    )
    _connection: Connection
    _checkpoints: str
    _writes: str
    _thread_ids: ThreadIds

    def groups(self, bounds: Sequence[str], thread_ids: Collection[str] | None = None) -> Iterator[Group]:
        """One aggregation of each collection."""
        for where in self._choices(thread_ids):
            for key, number, size in self._grouped(self._checkpoints, where, _keys(bounds, "type")):
                yield Group(Part.CHECKPOINT, number, size, key[0], "", key[2], "", key[1])
            keys = _keys(bounds, "type", "channel", "task_path")
            for key, number, size in self._grouped(self._writes, where, keys):
                yield Group(Part.WRITE, number, size, key[0], key[3] or "", key[2], key[4] or "", key[1])

    def thread_sizes(
        self,
        since: str,
        thread_ids: Collection[str] | None = None,
        *,
        largest: int | None = None,  # noqa: ARG002 - the two collections are joined here
    ) -> Iterator[ThreadSize]:
        """One aggregation of each collection; the second gives only threads that have writes."""
        for where in self._choices(thread_ids):
            recent = {"recent": {"$sum": _period([since])}}
            writes = {name: (number, size) for name, number, size, _ in self._by_thread(self._writes, where, {})}
            for name, number, size, recently in self._by_thread(self._checkpoints, where, recent):
                written, more = writes.get(name, (0, 0))
                total = None if size is None or more is None else size + more
                yield ThreadSize(name, number, written, total, recently)

    def space(self) -> Space:
        """The server's figures of both collections."""
        stats = {name: self._connection.storage(name) for name in (self._checkpoints, self._writes)}
        known = [one for one in stats.values() if one]
        tables = {name: int(one.get("storageSize", 0)) for name, one in stats.items() if one}
        tables |= {
            f"{name} {index}": int(size)
            for name, one in stats.items()
            for index, size in one.get("indexSizes", {}).items()
        }
        indexes = {f"{name} {index}": text for name in stats for index, text in self._connection.indexes(name).items()}
        free = [one["freeStorageSize"] for one in known if "freeStorageSize" in one]
        size = sum(tables.values()) if known else None
        return Space(size, int(sum(free)) if free else None, self.shrinks, tables, indexes)

    def advice(self, space: Space, figures: Figures) -> Iterator[Advice]:
        """A TTL index if there is none; `compact` if much is free."""
        names = self._checkpoints, self._writes
        if figures.checkpoints > _MANY and not any("expires" in text for text in space.indexes.values()):
            why = "no index lets documents expire; documents need `created_at`, which MongoDBSaver(ttl=…) writes"
            words = "createIndex({created_at: 1}, {expireAfterSeconds: 7776000})"
            yield Advice(why, tuple(f"db.getCollection({json.dumps(name)}).{words}" for name in names))
        if space.free and space.bytes and space.free > space.bytes / 4 and space.free > _WORTH:
            why = f"{100 * space.free // space.bytes} % of the files is free"
            yield Advice(why, tuple(f"db.runCommand({{compact: {json.dumps(name)}}})" for name in names))

    def _choices(self, thread_ids: Collection[str] | None) -> Iterator[Document]:
        if thread_ids is None:
            yield {}
            return
        for page in pages(thread_ids, _NAMES):
            yield {"thread_id": {"$in": [self._thread_ids.stored(thread_id) for thread_id in page]}}

    def _grouped(self, relation: str, where: Document, keys: Document) -> Iterator[tuple[list[Any], int, int | None]]:
        """The keys of each group in their order, the number of its documents, and their bytes if the server tells."""

        def pipeline(sizes: bool) -> list[Document]:
            return [{"$match": where}, {"$group": {"_id": keys, "number": {"$sum": 1}, **_size(sizes)}}]

        for one in self._connection.measured(relation, pipeline):
            values = [one["_id"].get(name) for name in keys]
            texts = [value if at == 1 or value is None else name_of(value) for at, value in enumerate(values)]
            texts[0] = (texts[0] or "").partition(":")[0]
            yield texts, one["number"], one.get("size")

    def _by_thread(self, relation: str, where: Document, more: Document) -> Iterator[tuple[str, int, int | None, int]]:
        def pipeline(sizes: bool) -> list[Document]:
            return [{"$match": where}, {"$group": {"_id": "$thread_id", "number": {"$sum": 1}, **_size(sizes), **more}}]

        for one in self._connection.measured(relation, pipeline):
            yield thread_name(one["_id"]), one["number"], one.get("size"), one.get("recent", 0)


def _size(sizes: bool) -> Document:
    return {"size": {"$sum": {"$bsonSize": "$$ROOT"}}} if sizes else {}


def _keys(bounds: Sequence[str], *columns: str) -> Document:
    """The keys of a group: namespace, period, and columns."""
    ns = {"$arrayElemAt": [{"$split": [{"$toString": "$checkpoint_ns"}, ":"]}, 0]}
    return {"ns": ns, "period": _period(bounds), **{name: f"${name}" for name in columns}}


def _period(bounds: Sequence[str]) -> Document:
    """The expression for `measures.period`."""
    version = {"$arrayElemAt": [{"$split": [{"$toString": "$checkpoint_id"}, "-"]}, 2]}
    is_uuid6 = {"$and": [{"$gte": [version, "6"]}, {"$lt": [version, "7"]}]}
    steps = [{"$cond": [{"$gte": ["$checkpoint_id", bound]}, 1, 0]} for bound in bounds]
    return {"$cond": [is_uuid6, {"$add": [0, *steps]}, None]}
