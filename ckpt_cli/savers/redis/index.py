"""Documents found by the index that LangGraph's saver makes: one statement, however many there are.

Its tags fold case, drop spaces at the ends and split at commas, so only plain ids are asked for, and what comes is held
against the documents' own fields.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis.connection import Connection, text
from ckpt_cli.savers.redis.faults import explained
from ckpt_cli.savers.redis.finding import CHECKPOINT, WRITE, Finder, Found, found, write_key
from ckpt_cli.savers.redis.keys import Keys, from_id, from_ns, safe_id, safe_ns

_PAGE = 2000  # documents in one answer
_NAMES = 100  # ids in one statement
_PLAIN = re.compile(r"[A-Za-z0-9_.:@/+=#~-]{1,500}")


def plain(names: Collection[str]) -> bool:
    """Whether a tag finds these ids."""
    return all(_PLAIN.fullmatch(safe_id(name)) for name in names)


class _ForgottenError(Exception):
    """The index names documents whose fields it can't give any more."""


def indexes(connection: Connection, keys: Keys) -> bool:
    """Whether both indexes are there and whole: nothing failed to get in, and nothing still waits to.

    An index is of database 0, yet answers in every other, finds nothing there, and from then on gives no fields in
    database 0 either (RediSearch 2.10.5): so nowhere else is it asked anything.
    """
    if connection.address.database:
        return False
    asked = [("FT.INFO", name) for name in (keys.prefix, keys.write_prefix)]
    return all(isinstance(told, list) and _is_whole(told) for told in connection.all(asked, failing=True))


def _is_whole(told: list[Any]) -> bool:
    said = {text(name): value for name, value in zip(told[::2], told[1::2], strict=True)}
    done = float(text(said.get("percent_indexed", "0"))) >= 1
    return done and int(text(said.get("hash_indexing_failures", "0"))) == 0


class Index(Finder):
    """One connection's indexes; where one has forgotten documents, `instead` finds them."""

    def __init__(self, connection: Connection, keys: Keys, instead: Finder) -> None:
        self._connection, self._keys, self._instead = connection, keys, instead

    def spaces(self, thread_ids: Collection[str] | None) -> dict[tuple[str, str], int]:
        """See `Finder.spaces`."""
        try:
            return self._spaces(thread_ids)
        except _ForgottenError:
            return self._instead.spaces(thread_ids)

    def _spaces(self, thread_ids: Collection[str] | None) -> dict[tuple[str, str], int]:
        counted = ("GROUPBY", "3", "@t", "@n", "@w", "REDUCE", "COUNT", "0", "AS", "c")
        fields = {"t": CHECKPOINT["t"], "n": CHECKPOINT["n"], "w": CHECKPOINT["w"]}
        seen: dict[tuple[str, str], int] = {}
        for one in self._asked(self._keys.prefix, fields, *counted, thread_ids=thread_ids):
            if one.get("t") is None and one.get("w") is None:
                raise _ForgottenError
            if one.get("t") is not None and (thread_ids is None or from_id(one["t"]) in thread_ids):
                place = (from_id(one["t"]), from_ns(one.get("n")))
                seen[place] = seen.get(place, 0) + int(one["c"])
        return seen

    def checkpoints(self, thread_ids: Collection[str] | None) -> list[Found]:
        """See `Finder.checkpoints`."""
        fields = {"key": "@__key", **CHECKPOINT}
        try:
            listed = [self._named(one) for one in self._asked(self._keys.prefix, fields, thread_ids=thread_ids)]
        except _ForgottenError:
            return self._instead.checkpoints(thread_ids)
        return [one for one in listed if one is not None and (thread_ids is None or one.ref.thread_id in thread_ids)]

    def newest(self, thread_id: str, ns: str, limit: int) -> list[Found]:
        """Sorted by the server, unless another thread or namespace has the same tag."""
        fields = {"key": "@__key", **CHECKPOINT}
        top = ("SORTBY", "2", "@i", "DESC", "MAX", str(limit), "LIMIT", "0", str(limit))
        try:
            asked = [*self._asked(self._keys.prefix, fields, *top, thread_ids=[thread_id], ns=ns)]
        except _ForgottenError:
            return self._instead.newest(thread_id, ns, limit)
        listed = [self._named(one) for one in asked]
        here = [one for one in listed if one is not None and one.ref[:2] == (thread_id, ns)]
        return here if len(here) == len(listed) else self.checkpoints([thread_id])

    def writes(self, thread_ids: Collection[str], ids: Collection[str] | None) -> Iterator[dict[str, Any]]:
        """See `Finder.writes`."""
        fields = {"key": "@__key", **WRITE}
        asked: list[dict[str, Any]] = []
        try:
            for page in [None] if ids is None or not plain(ids) else pages(ids, _NAMES):
                asked += self._asked(self._keys.write_prefix, fields, thread_ids=thread_ids, ids=page)
        except _ForgottenError:
            yield from self._instead.writes(thread_ids, ids)
            return
        named = ({**one, "name": write_key(one, self._keys, by_key=False)} for one in asked)
        yield from (one for one in named if one.get("t") is not None and one["name"].ref.thread_id in thread_ids)

    def _named(self, fields: dict[str, Any]) -> Found | None:
        return found(fields["key"], fields, self._keys, by_key=False)

    def count_writes(self) -> int:
        """See `Finder.count_writes`."""
        return int(self._connection.one("FT.SEARCH", self._keys.write_prefix, "*", "LIMIT", "0", "0")[0])

    def some(self, *, writes: bool = False) -> list[str]:
        """A few keys of any."""
        name = self._keys.write_prefix if writes else self._keys.prefix
        return [text(key) for key in self._connection.one("FT.SEARCH", name, "*", "NOCONTENT", "LIMIT", "0", "20")[1:]]

    def _asked(
        self,
        index: str,
        fields: Mapping[str, str],
        *then: str,
        thread_ids: Collection[str] | None,
        ns: str | None = None,
        ids: Collection[str] | None = None,
    ) -> Iterator[dict[str, Any]]:
        for some in [None] if thread_ids is None else pages(thread_ids, _NAMES):
            where, values = _query(some, ns, ids)
            loaded = [word for name, path in fields.items() for word in _load(name, path)]
            asking = ("WITHCURSOR", "COUNT", str(_PAGE), "TIMEOUT", "0", "DIALECT", "2")
            words = ("FT.AGGREGATE", index, where, *values, "LOAD", str(len(loaded)), *loaded, *then, *asking)
            yield from self._pages(index, words)

    def _pages(self, index: str, words: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        with explained(self._connection.address.location):
            rows, cursor = self._connection.one(*words)
        while True:
            for row in rows[1:]:
                if row is None:
                    raise _ForgottenError
                told = {text(name): value for name, value in zip(row[::2], row[1::2], strict=True)}
                yield {
                    "key" if name == "__key" else name: None if value is None else text(value)
                    for name, value in told.items()
                }
            if not cursor:
                return
            rows, cursor = self._connection.one("FT.CURSOR", "READ", index, cursor, "COUNT", str(_PAGE))


def _load(name: str, path: str) -> tuple[str, ...]:
    return (path,) if path == "@__key" else (path, "AS", name)


def _query(
    thread_ids: Collection[str] | None, ns: str | None, ids: Collection[str] | None
) -> tuple[str, tuple[str, ...]]:
    """A filter whose values are parameters, and those."""
    tags = {"thread_id": [*map(safe_id, thread_ids or ())], "checkpoint_id": [*map(safe_id, ids or ())]}
    tags["checkpoint_ns"] = [] if ns is None or not plain([safe_ns(ns)]) else [safe_ns(ns)]
    values: list[str] = []
    clauses: list[str] = []
    for tag, wanted in tags.items():
        if wanted:
            names = [f"v{len(values) // 2 + at}" for at in range(len(wanted))]
            values += [word for pair in zip(names, wanted, strict=True) for word in pair]
            clauses.append(f"@{tag}:{{{'|'.join(f'${name}' for name in names)}}}")
    if not clauses:
        return "*", ()
    return " ".join(clauses), ("PARAMS", str(len(values)), *values)
