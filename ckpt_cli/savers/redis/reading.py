"""Parts of documents by the names of checkpoints, and values that stay where they are if they are long."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ckpt_cli.model import Checkpoint, Name, Payload, Ref, Write
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis import records
from ckpt_cli.savers.redis.connection import Connection, text
from ckpt_cli.savers.redis.faults import is_unknown
from ckpt_cli.savers.redis.finding import CHECKPOINT, Found, found
from ckpt_cli.savers.redis.keys import Keys

_PAGE = 500  # writes that are read at once
_SHORT_BLOB = """
local b = redis.call('JSON.GET', KEYS[1], '.blob')
if not b then return false end
local n = #b - 2
local size = n
if n > 0 and n % 4 == 0 then
  size = n / 4 * 3
  if b:sub(-3, -2) == '==' then size = size - 2 elseif b:sub(-2, -2) == '=' then size = size - 1 end
end
if size <= tonumber(ARGV[1]) then return {size, b} end
return {size}
"""
"""The value of a write if it is short, and its size anyway; it changes nothing, and is run as such."""


class Documents:
    """One connection's documents.

    Args:
        found: finds the documents of threads, for layouts whose keys can't be told from a checkpoint's name.
        written: finds the writes of threads.
        misnamed: whether documents stand under the ids of their parents (0.0.x).
        old: whether values of writes are JSON as it is (up to 0.1).
        indexed: whether `found` finds documents by their fields, so that one may have another key than its fields say.
    """

    def __init__(
        self,
        connection: Connection,
        keys: Keys,
        found: Callable[[Collection[str]], list[Found]],
        written: Callable[[Collection[str]], Iterable[Mapping[str, Any]]],
        *,
        misnamed: bool,
        old: bool,
        indexed: bool,
    ) -> None:
        self._connection, self._keys, self._found, self._written = connection, keys, found, written
        self._misnamed, self._old, self._indexed = misnamed, old, indexed
        self._scripts = connection.major >= 7 and not old

    def named(self, refs: Sequence[Ref]) -> dict[Ref, Found]:
        """Those that are there."""
        return {one.ref: one for one, _ in self._read(refs, {})}

    def metadata(self, refs: Sequence[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those that are there."""
        for page in pages(refs, _PAGE):
            for one, told in self._read(page, {"metadata": "$.metadata"}):
                yield one.ref, records.metadata(told["metadata"])

    def checkpoints(self, refs: Sequence[Ref]) -> dict[Ref, Checkpoint]:
        """Those that are there, whole."""
        read = self._read(refs, {"metadata": "$.metadata"})
        bodies = self._connection.read(("JSON.GET", one.key, "$.checkpoint") for one, _ in read)
        known: dict[Ref, Checkpoint] = {}
        for (one, told), answer in zip(read, bodies, strict=True):
            if answer:
                there = isinstance(answer, bytes) and answer != b"[]"
                body = records.body(answer[1:-1]) if there else records.lost("its document has no checkpoint")
                row = one.row._replace(size=len(body.data))
                known[one.ref] = Checkpoint(row, body, records.metadata(told["metadata"]))
        return known

    def latest(self, spaces: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Ref]:
        """What the pointers say came last, where it is there."""
        answers = self._connection.read(("GET", self._keys.latest(*space)) for space in spaces)
        pointed = {space: text(key) for space, key in zip(spaces, answers, strict=True) if key is not None}
        told = self._fields([*pointed.values()], CHECKPOINT)
        last: dict[tuple[str, str], Ref] = {}
        for space, key in pointed.items():
            one = self._named(key, told[key]) if key in told else None
            if one is not None and one.ref[:2] == space:
                last[space] = one.ref
        return last

    def writes(self, listed: Iterable[Mapping[str, Any]], values: int | None) -> Iterator[Write]:
        """Writes with their values, or only the short ones'."""
        for page in pages(listed, _PAGE):
            keys = [str(one["key"]) for one in page]
            blobs = self._blobs(keys) if values is None or not self._scripts else self._short(keys, values)
            for one, (blob, size) in zip(page, blobs, strict=True):
                value = None if blob is _UNREAD else records.payload(one.get("type"), blob)
                size = len(value.data) if value is not None else size
                if size >= 0:
                    shown = value if values is None or size <= values else None
                    yield records.write(one, shown, size)

    def _blobs(self, keys: list[str]) -> list[tuple[Any, int]]:
        """What takes the place of the values, which need not be text; a document that is gone has size -1."""
        answers = self._connection.read(("JSON.GET", key, "$.blob") for key in keys)
        told = [json.loads(answer) if isinstance(answer, bytes) else None for answer in answers]
        return [(_UNREAD, -1) if blob is None else (blob[0] if blob else None, 0) for blob in told]

    def _short(self, keys: list[str], values: int) -> list[tuple[Any, int]]:
        asked = (("EVAL_RO", _SHORT_BLOB, 1, key, values) for key in keys)
        answers = [*self._connection.all(asked, failing=True)]
        if any(isinstance(answer, Exception) and is_unknown(answer) for answer in answers):
            self._scripts = False
            return self._blobs(keys)
        odd = [key for key, answer in zip(keys, answers, strict=True) if isinstance(answer, Exception)]
        known = dict(zip(odd, self._blobs(odd), strict=True))  # without a value, or with one that is no text
        return [known.get(key) or _measured(answer) for key, answer in zip(keys, answers, strict=True)]

    def keys_of(self, names: Collection[Name]) -> dict[Name, str]:
        """The keys of documents that have others than their fields say."""
        refs = {name if isinstance(name, Ref) else name.ref for name in names}
        if not self._indexed or not refs:
            return {}
        threads = {ref.thread_id for ref in refs}
        keys: dict[Name, str] = {one.ref: one.key for one in self._found(threads)}
        keys |= {one["name"]: one["key"] for one in self._written(threads)}
        return {name: keys[name] for name in names if name in keys}

    def _read(self, refs: Sequence[Ref], more: Mapping[str, str]) -> list[tuple[Found, dict[str, Any]]]:
        """Documents by the keys they should have; where one isn't there, by those of other layouts."""
        fields = {**CHECKPOINT, **more}
        wanted = {} if self._misnamed else {self._keys.checkpoint(ref): ref for ref in refs}
        read = self._told(wanted, fields)
        missing = set(refs) - {one.ref for one, _ in read}
        if missing:
            read += self._told(self._elsewhere(missing), fields)
        return read

    def _elsewhere(self, refs: set[Ref]) -> dict[str, Ref]:
        found = {self._keys.shallow(ref.thread_id, ref.ns): ref for ref in refs}
        if self._misnamed or self._indexed:
            found |= {one.key: one.ref for one in self._found({ref.thread_id for ref in refs}) if one.ref in refs}
        return found

    def _named(self, key: str, fields: dict[str, Any]) -> Found | None:
        return found(key, fields, self._keys, by_key=not self._indexed)

    def _told(self, keys: Mapping[str, Ref], fields: Mapping[str, str]) -> list[tuple[Found, dict[str, Any]]]:
        read = self._fields([*keys], fields)
        listed = ((self._named(key, told), told, keys[key]) for key, told in read.items())
        return [(one, told) for one, told, ref in listed if one is not None and one.ref == ref]

    def _fields(self, keys: list[str], fields: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        answers = self._connection.read(("JSON.GET", key, *fields.values()) for key in keys)
        told: dict[str, dict[str, Any]] = {}
        for key, answer in zip(keys, answers, strict=True):
            if isinstance(answer, bytes):
                parts = json.loads(answer)
                told[key] = {name: (parts[path] or [None])[0] for name, path in fields.items()}
        return told


_UNREAD = object()


def _measured(answer: Any) -> tuple[Any, int]:
    if not isinstance(answer, list):
        return _UNREAD, -1
    size = int(answer[0])
    return (json.loads(answer[1]), size) if len(answer) > 1 else (_UNREAD, size)
