"""Documents found by a scan of the keys: for a server without the index, and for ids that its tags can't find."""

import json
from collections.abc import Collection, Iterator, Mapping
from heapq import nlargest
from typing import Any

from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.finding import CHECKPOINT, WRITE, Finder, Found, found
from ckpt_cli.savers.redis.keys import Keys, from_id, safe_id


class Scan(Finder):
    """One connection's keys; what a scan found holds until `forget`."""

    def __init__(self, connection: Connection, keys: Keys) -> None:
        self._connection, self._keys = connection, keys
        self._known: dict[str, list[str]] = {}

    def forget(self) -> None:
        """Another moment begins."""
        self._known = {}

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
            one = found(key, fields)
            if one is not None and (thread_ids is None or one.ref.thread_id in thread_ids):
                yield one

    def newest(self, thread_id: str, ns: str, limit: int) -> list[Found]:
        """See `Finder.newest`."""
        here = (one for one in self._checkpoints([thread_id]) if one.ref.ns == ns)
        return nlargest(limit, here, key=lambda one: one.ref.checkpoint_id)

    def writes(self, thread_ids: Collection[str], ids: Collection[str] | None) -> Iterator[dict[str, Any]]:
        """See `Finder.writes`."""
        for key, fields in self._fields(self._found(thread_ids, writes=True), WRITE):
            wanted = ids is None or from_id(fields["i"]) in ids
            if wanted and fields["t"] is not None and from_id(fields["t"]) in thread_ids:
                yield {"key": key, **fields}

    def count_writes(self) -> int:
        """See `Finder.count_writes`."""
        return sum(1 for _ in self._connection.keys(self._keys.pattern(None, writes=True)))

    def _found(self, thread_ids: Collection[str] | None, *, writes: bool) -> Iterator[str]:
        """Keys that may be of these threads: one scan for one of them or for all, kept where writes are asked again."""
        if thread_ids is None:
            yield from self._connection.keys(self._keys.pattern(None, writes=writes))
            return
        patterns = {thread_id: self._keys.pattern(thread_id, writes=writes) for thread_id in thread_ids}
        missing = {thread_id: pattern for thread_id, pattern in patterns.items() if pattern not in self._known}
        if len(missing) == 1:
            (pattern,) = missing.values()
            self._known[pattern] = [*self._connection.keys(pattern)]
        elif missing:
            self._known |= {pattern: [] for pattern in missing.values()}
            start = f"{self._keys.write_prefix if writes else self._keys.prefix}:"
            starts = {f"{start}{safe_id(thread_id)}:": pattern for thread_id, pattern in missing.items()}
            for key in self._connection.keys(self._keys.pattern(None, writes=writes)):
                for begins, pattern in starts.items():
                    if key.startswith(begins):
                        self._known[pattern].append(key)
        yield from dict.fromkeys(key for pattern in patterns.values() for key in self._known[pattern])

    def _fields(self, keys: Iterator[str], fields: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
        listed = [*keys]
        answers = self._connection.read(("JSON.GET", key, *fields.values()) for key in listed)
        for key, answer in zip(listed, answers, strict=True):
            told = json.loads(answer) if isinstance(answer, bytes) else {}
            if told:
                yield key, {name: (told[path] or [None])[0] for name, path in fields.items()}
