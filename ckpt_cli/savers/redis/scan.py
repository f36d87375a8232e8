"""Finds documents by a scan of the keys: on servers without the index, and for ids that its tags can't find."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from heapq import nlargest
from itertools import islice
from typing import Any

from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.finder import (
    CHECKPOINT,
    WRITE,
    CheckpointDocument,
    Finder,
    name_document,
    read_fields,
    write_key,
)
from ckpt_cli.savers.redis.indexed_fields import FIELDS, IndexedFields
from ckpt_cli.savers.redis.keys import Keys, names_with_prefix


class Scan(Finder):
    """Finds documents by a scan of one connection's keys, which are kept until `forget`.

    Args:
        by_key: see `finder.name_document`.
    """

    def __init__(self, connection: Connection, keys: Keys, *, by_key: bool) -> None:
        self._connection, self._keys, self._by_key = connection, keys, by_key
        self.forget()

    def forget(self) -> None:
        """Forget the scanned keys, because another moment begins."""
        self._scanned: dict[bool, dict[str | None, list[str]]] = {False: {}, True: {}}

    def spaces(self, thread_ids: Collection[str] | None) -> dict[tuple[str, str], int]:
        """See `Finder.spaces`."""
        return Counter(one.ref[:2] for one in self._checkpoints(thread_ids))

    def checkpoints(self, thread_ids: Collection[str] | None) -> list[CheckpointDocument]:
        """See `Finder.checkpoints`."""
        return [*self._checkpoints(thread_ids)]

    def _checkpoints(self, thread_ids: Collection[str] | None) -> Iterator[CheckpointDocument]:
        for key, fields in read_fields(self._connection, self._scan_keys(thread_ids, writes=False), CHECKPOINT):
            one = name_document(key, fields, self._keys, by_key=self._by_key)
            if one is not None and (thread_ids is None or one.ref.thread_id in thread_ids):
                yield one

    def with_fields(self, thread_ids: Collection[str] | None, wanted: IndexedFields) -> list[CheckpointDocument]:
        """The checkpoints whose documents have these fields."""
        documents = {one.key: one for one in self._checkpoints(thread_ids)}
        fields = read_fields(self._connection, documents, FIELDS)
        return [documents[key] for key, own in fields if wanted.match(own)]

    def with_keys(self, thread_ids: Collection[str]) -> set[str]:
        """Those of these threads that have keys of checkpoints; no document is read."""
        if not any(self._scan_keys(thread_ids, writes=False)):  # all are scanned at once
            return set()
        return {one for one in thread_ids if any(self._scan_keys([one], writes=False))}

    def some(self, limit: int) -> list[str]:
        """The first keys of checkpoints that a scan gives."""
        return [*islice(self._connection.keys(self._keys.pattern(None, writes=False)), limit)]

    def of(self, keys: Iterable[str]) -> Iterator[CheckpointDocument]:
        """The documents of the checkpoints at these keys."""
        named = (
            name_document(key, fields, self._keys, by_key=self._by_key)
            for key, fields in read_fields(self._connection, keys, CHECKPOINT)
        )
        return (one for one in named if one is not None)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointDocument]:
        """See `Finder.newest`."""
        here = (one for one in self._checkpoints([thread_id]) if one.ref.ns == ns)
        return nlargest(limit, here, key=lambda one: one.ref.checkpoint_id)

    def writes(self, thread_ids: Collection[str], ids: Collection[str] | None) -> Iterator[dict[str, Any]]:
        """See `Finder.writes`."""
        for key, fields in read_fields(self._connection, self._scan_keys(thread_ids, writes=True), WRITE):
            name = write_key({"key": key, **fields}, self._keys, by_key=self._by_key)
            if name.ref.thread_id in thread_ids and (ids is None or name.ref.checkpoint_id in ids):
                yield {"key": key, "name": name, **fields}

    def count_writes(self) -> int:
        """See `Finder.count_writes`."""
        return sum(1 for _ in self._connection.keys(self._keys.pattern(None, writes=True)))

    def _scan_keys(self, thread_ids: Collection[str] | None, *, writes: bool) -> Iterator[str]:
        """Keys that may belong to these threads: one scan for the first thread alone, then one scan for all keys."""
        scanned = self._scanned[writes]
        if thread_ids is None:
            yield from (
                scanned[None] if None in scanned else self._connection.keys(self._keys.pattern(None, writes=writes))
            )
            return
        unknown = {*thread_ids} - scanned.keys()
        if None not in scanned and len(unknown) + len(scanned) > 1:
            scanned[None] = sorted(self._connection.keys(self._keys.pattern(None, writes=writes)))
        if None not in scanned:
            scanned |= {one: [*self._connection.keys(self._keys.pattern(one, writes=writes))] for one in unknown}
            yield from (key for one in thread_ids for key in scanned[one])
            return
        starts = [self._keys.start(one, writes=writes) for one in thread_ids]
        yield from dict.fromkeys(key for start in starts for key in names_with_prefix(scanned[None], start))


class ScanThenIndex(Finder):
    """Finds ids that the index's tags can't find: by a scan of the keys, then among all documents that the index lists.

    The second search finds documents whose key doesn't hold their id: damage or another tool may leave a list in place
    of an id, or a document under a wrong key.
    """

    def __init__(self, scan: Scan, index: Finder) -> None:
        self._scan, self._index = scan, index

    def spaces(self, thread_ids: Collection[str] | None) -> dict[tuple[str, str], int]:
        """See `Finder.spaces`."""
        return Counter(one.ref[:2] for one in self.checkpoints(thread_ids))

    def checkpoints(self, thread_ids: Collection[str] | None) -> list[CheckpointDocument]:
        """See `Finder.checkpoints`."""
        if thread_ids is None:
            return self._index.checkpoints(None)
        scanned = self._scan.checkpoints(thread_ids)
        lost = {*thread_ids} - {one.ref.thread_id for one in scanned}
        return scanned + (self._index.checkpoints(lost) if lost else [])

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointDocument]:
        """See `Finder.newest`."""
        return self._scan.newest(thread_id, ns, limit) or self.checkpoints([thread_id])

    def writes(self, thread_ids: Collection[str], ids: Collection[str] | None) -> Iterator[dict[str, Any]]:
        """See `Finder.writes`."""
        scanned = self._scan.with_keys(thread_ids)
        if scanned:
            yield from self._scan.writes(scanned, ids)
        lost = {*thread_ids} - scanned
        if lost:
            yield from self._index.writes(lost, ids)

    def count_writes(self) -> int:
        """See `Finder.count_writes`."""
        return self._index.count_writes()
