"""Documents found by a scan of the keys: for a server without the index, and for ids that its tags can't find."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import nlargest
from itertools import islice
from typing import Any

from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.finding import CHECKPOINT, WRITE, Finder, Found, found, write_key
from ckpt_cli.savers.redis.keys import Keys, begun


class Scan(Finder):
    """One connection's keys; what a scan found holds until `forget`."""

    def __init__(self, connection: Connection, keys: Keys) -> None:
        self._connection, self._keys = connection, keys
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
        for key, fields in self._fields(self._found(thread_ids, writes=False), CHECKPOINT):
            one = found(key, fields, self._keys, by_key=True)
            if one is not None and (thread_ids is None or one.ref.thread_id in thread_ids):
                yield one

    def some(self, limit: int) -> list[str]:
        """The first keys of checkpoints that a scan comes upon."""
        return [*islice(self._connection.keys(self._keys.pattern(None, writes=False)), limit)]

    def of(self, keys: Iterable[str]) -> Iterator[Found]:
        """The names of the checkpoints at these keys."""
        listed = (found(key, fields, self._keys, by_key=True) for key, fields in self._fields(iter(keys), CHECKPOINT))
        return (one for one in listed if one is not None)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[Found]:
        """See `Finder.newest`."""
        here = (one for one in self._checkpoints([thread_id]) if one.ref.ns == ns)
        return nlargest(limit, here, key=lambda one: one.ref.checkpoint_id)

    def writes(self, thread_ids: Collection[str], ids: Collection[str] | None) -> Iterator[dict[str, Any]]:
        """See `Finder.writes`."""
        for key, fields in self._fields(self._found(thread_ids, writes=True), WRITE):
            name = write_key({"key": key, **fields}, self._keys, by_key=True)
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

    def _fields(self, keys: Iterator[str], fields: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
        listed = [*keys]
        answers = self._connection.read(("JSON.GET", key, *fields.values()) for key in listed)
        for key, answer in zip(listed, answers, strict=True):
            told = json.loads(answer) if isinstance(answer, bytes) else {}
            if told:
                yield key, {name: (told[path] or [None])[0] for name, path in fields.items()}
