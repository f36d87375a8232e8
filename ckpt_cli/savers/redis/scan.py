"""Documents found by a scan of the keys: for a server without the index, and for ids that its tags can't find."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from heapq import nlargest
from itertools import islice
from typing import Any

from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.finding import CHECKPOINT, WRITE, Finder, Found, documents, found, write_key
from ckpt_cli.savers.redis.keys import Keys, begun


class Scan(Finder):
    """One connection's keys; what a scan found holds until `forget`.

    Args:
        by_key: see `finding.found`.
    """

    def __init__(self, connection: Connection, keys: Keys, *, by_key: bool) -> None:
        self._connection, self._keys, self._by_key = connection, keys, by_key
        self.forget()

    def forget(self) -> None:
        """Another moment begins."""
        self._known: dict[bool, dict[str | None, list[str]]] = {False: {}, True: {}}

    def spaces(self, thread_ids: Collection[str] | None) -> dict[tuple[str, str], int]:
        """See `Finder.spaces`."""
        seen: dict[tuple[str, str], int] = {}
        for one in self._checkpoints(thread_ids):
            seen[one.ref[:2]] = seen.get(one.ref[:2], 0) + 1
        return seen

    def checkpoints(self, thread_ids: Collection[str] | None) -> list[Found]:
        """See `Finder.checkpoints`."""
        return [*self._checkpoints(thread_ids)]

    def _checkpoints(self, thread_ids: Collection[str] | None) -> Iterator[Found]:
        for key, fields in documents(self._connection, self._found(thread_ids, writes=False), CHECKPOINT):
            one = found(key, fields, self._keys, by_key=self._by_key)
            if one is not None and (thread_ids is None or one.ref.thread_id in thread_ids):
                yield one

    def some(self, limit: int) -> list[str]:
        """The first keys of checkpoints that a scan comes upon."""
        return [*islice(self._connection.keys(self._keys.pattern(None, writes=False)), limit)]

    def of(self, keys: Iterable[str]) -> Iterator[Found]:
        """The names of the checkpoints at these keys."""
        listed = (
            found(key, fields, self._keys, by_key=self._by_key)
            for key, fields in documents(self._connection, keys, CHECKPOINT)
        )
        return (one for one in listed if one is not None)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[Found]:
        """See `Finder.newest`."""
        here = (one for one in self._checkpoints([thread_id]) if one.ref.ns == ns)
        return nlargest(limit, here, key=lambda one: one.ref.checkpoint_id)

    def writes(self, thread_ids: Collection[str], ids: Collection[str] | None) -> Iterator[dict[str, Any]]:
        """See `Finder.writes`."""
        for key, fields in documents(self._connection, self._found(thread_ids, writes=True), WRITE):
            name = write_key({"key": key, **fields}, self._keys, by_key=self._by_key)
            if name.ref.thread_id in thread_ids and (ids is None or name.ref.checkpoint_id in ids):
                yield {"key": key, "name": name, **fields}

    def count_writes(self) -> int:
        """See `Finder.count_writes`."""
        return sum(1 for _ in self._connection.keys(self._keys.pattern(None, writes=True)))

    def _found(self, thread_ids: Collection[str] | None, *, writes: bool) -> Iterator[str]:
        """Keys that may be of these threads: the first is scanned for by itself, for others one scan finds all keys."""
        known = self._known[writes]
        if thread_ids is None:
            yield from known[None] if None in known else self._connection.keys(self._keys.pattern(None, writes=writes))
            return
        unknown = {*thread_ids} - known.keys()
        if None not in known and len(unknown) + len(known) > 1:
            known[None] = sorted(self._connection.keys(self._keys.pattern(None, writes=writes)))
        if None not in known:
            known |= {one: [*self._connection.keys(self._keys.pattern(one, writes=writes))] for one in unknown}
            yield from (key for one in thread_ids for key in known[one])
            return
        starts = [self._keys.start(one, writes=writes) for one in thread_ids]
        yield from dict.fromkeys(key for start in starts for key in begun(known[None], start))


class Anywhere(Finder):
    """Ids that the index's tags can't find: by a scan of the keys, and those that have no keys in all the index lists.

    Damage or another tool may leave a list in the place of an id, or a document under a key that isn't its own.
    """

    def __init__(self, scan: Scan, index: Finder) -> None:
        self._scan, self._index = scan, index

    def spaces(self, thread_ids: Collection[str] | None) -> dict[tuple[str, str], int]:
        """See `Finder.spaces`."""
        return Counter(one.ref[:2] for one in self.checkpoints(thread_ids))

    def checkpoints(self, thread_ids: Collection[str] | None) -> list[Found]:
        """See `Finder.checkpoints`."""
        if thread_ids is None:
            return self._index.checkpoints(None)
        scanned = self._scan.checkpoints(thread_ids)
        lost = {*thread_ids} - {one.ref.thread_id for one in scanned}
        return scanned + (self._index.checkpoints(lost) if lost else [])

    def newest(self, thread_id: str, ns: str, limit: int) -> list[Found]:
        """See `Finder.newest`."""
        return self._scan.newest(thread_id, ns, limit) or self.checkpoints([thread_id])

    def writes(self, thread_ids: Collection[str], ids: Collection[str] | None) -> Iterator[dict[str, Any]]:
        """See `Finder.writes`."""
        scanned = {one.ref.thread_id for one in self._scan.checkpoints(thread_ids)}
        if scanned:
            yield from self._scan.writes(scanned, ids)
        lost = {*thread_ids} - scanned
        if lost:
            yield from self._index.writes(lost, ids)

    def count_writes(self) -> int:
        """See `Finder.count_writes`."""
        return self._index.count_writes()
