"""Reads the documents of checkpoints by name, and the values of writes up to a given size."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ckpt_cli.model import Checkpoint, Name, Payload, Ref, Write
from ckpt_cli.savers.paging import groups_of_few_bytes, pages
from ckpt_cli.savers.redis import records
from ckpt_cli.savers.redis.connection import Connection, text
from ckpt_cli.savers.redis.faults import is_unknown
from ckpt_cli.savers.redis.finder import CHECKPOINT, CheckpointDocument, name_document, read_fields
from ckpt_cli.savers.redis.keys import Keys, from_id

_PAGE = 500  # writes that are read at once
_SHORT = 1 << 13  # values up to so many bytes are read together
_UNSIZED = 25  # so many values are read together if the server can't tell their sizes
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
"""A script that gives a write's size, and its value if that is short; it is run by the read-only ``EVAL_RO``."""


class Documents:
    """Reads the documents of one connection.

    Args:
        find_documents: finds the documents of threads, for layouts whose keys don't follow from a checkpoint's name.
        find_writes: finds the writes of threads.
        misnamed: whether documents have their parents' ids in their keys (0.0.x).
        old: whether values of writes are plain JSON, not base64 (up to 0.1).
        indexed: whether the index finds documents by their fields; then a document's key may contradict its fields.
    """

    def __init__(
        self,
        connection: Connection,
        keys: Keys,
        find_documents: Callable[[Collection[str]], list[CheckpointDocument]],
        find_writes: Callable[[Collection[str]], Iterable[Mapping[str, Any]]],
        *,
        misnamed: bool,
        old: bool,
        indexed: bool,
    ) -> None:
        self._connection, self._keys = connection, keys
        self._find_documents, self._find_writes = find_documents, find_writes
        self._misnamed, self._old, self._indexed = misnamed, old, indexed
        self._scripts = connection.major >= 7 and not old

    def named(self, refs: Sequence[Ref]) -> dict[Ref, CheckpointDocument]:
        """The documents of those checkpoints that exist."""
        return {one.ref: one for one, _ in self._read(refs, {})}

    def metadata(self, refs: Sequence[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those checkpoints that exist."""
        for page in pages(refs, _PAGE):
            for one, fields in self._read(page, {"metadata": "$.metadata"}):
                yield one.ref, records.metadata(fields["metadata"])

    def runs(self, refs: Sequence[Ref]) -> Iterator[tuple[Ref, str]]:
        """The run that made each checkpoint, where its document names one."""
        for page in pages(refs, _PAGE):
            named = ((one.ref, from_id(fields["run"])) for one, fields in self._read(page, {"run": "$.run_id"}))
            yield from ((ref, run_id) for ref, run_id in named if run_id)

    def checkpoints(self, refs: Sequence[Ref]) -> dict[Ref, Checkpoint]:
        """Those checkpoints that exist, whole."""
        read = self._read(refs, {"metadata": "$.metadata"})
        bodies = self._connection.read(("JSON.GET", one.key, "$.checkpoint") for one, _ in read)
        checkpoints: dict[Ref, Checkpoint] = {}
        for (one, fields), answer in zip(read, bodies, strict=True):
            if answer:
                has_body = isinstance(answer, bytes) and answer != b"[]"
                body = records.body(answer[1:-1]) if has_body else records.lost("its document has no checkpoint")
                row = one.row._replace(size=len(body.data))
                checkpoints[one.ref] = Checkpoint(row, body, records.metadata(fields["metadata"]))
        return checkpoints

    def latest(self, spaces: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Ref]:
        """The checkpoint that each namespace's pointer names, if both the pointer and the checkpoint exist."""
        answers = self._connection.read(("GET", self._keys.latest(*space)) for space in spaces)
        pointed = {space: text(key) for space, key in zip(spaces, answers, strict=True) if key is not None}
        documents = self._fields([*pointed.values()], CHECKPOINT)
        last: dict[tuple[str, str], Ref] = {}
        for space, key in pointed.items():
            one = self._name_document(key, documents[key]) if key in documents else None
            if one is not None and one.ref[:2] == space:
                last[space] = one.ref
        return last

    def writes(self, listed: Iterable[Mapping[str, Any]], values: int | None) -> Iterator[Write]:
        """The listed writes; values longer than `values` bytes are left out."""
        for page in pages(listed, _PAGE):
            keys = [str(one["key"]) for one in page]
            blobs = self._whole(keys) if values is None or not self._scripts else self._short(keys, values)
            for one, (blob, size) in zip(page, blobs, strict=True):
                value = None if blob is _UNREAD else records.payload(one.get("type"), blob)
                size = len(value.data) if value is not None else size
                if size >= 0:
                    short = value if values is None or size <= values else None
                    yield records.write(one, short, size)

    def _whole(self, keys: list[str]) -> Iterator[tuple[Any, int]]:
        """Each stored value with its size, as `_blobs` gives them, in reads of a few megabytes."""
        if not self._scripts:
            for some in pages(keys, _UNSIZED):
                yield from self._blobs(some)
            return
        short = self._short(keys, _SHORT)
        unread = [(key, size) for key, (blob, size) in zip(keys, short, strict=True) if blob is _UNREAD]
        groups = groups_of_few_bytes(unread)
        fetched: dict[str, tuple[Any, int]] = {}
        for key, (blob, size) in zip(keys, short, strict=True):
            if blob is not _UNREAD:
                yield blob, size
                continue
            if key not in fetched:
                group = next(groups)
                fetched = dict(zip(group, self._blobs(group), strict=True))
            yield fetched[key]

    def _blobs(self, keys: list[str]) -> list[tuple[Any, int]]:
        """Each stored value, of any type, with 0 as its size; the size is -1 for a document that no longer exists."""
        answers = self._connection.read(("JSON.GET", key, "$.blob") for key in keys)
        blobs = [json.loads(answer) if isinstance(answer, bytes) else None for answer in answers]
        return [(_UNREAD, -1) if blob is None else (blob[0] if blob else None, 0) for blob in blobs]

    def _short(self, keys: list[str], values: int) -> list[tuple[Any, int]]:
        commands = (("EVAL_RO", _SHORT_BLOB, 1, key, values) for key in keys)
        answers = [*self._connection.all(commands, failing=True)]
        if any(isinstance(answer, Exception) and is_unknown(answer) for answer in answers):
            self._scripts = False
            return self._blobs(keys)
        odd = [key for key, answer in zip(keys, answers, strict=True) if isinstance(answer, Exception)]
        known = dict(zip(odd, self._blobs(odd), strict=True))  # without a value, or with a value that isn't text
        return [known.get(key) or _short_value(answer) for key, answer in zip(keys, answers, strict=True)]

    def keys_of(self, names: Collection[Name]) -> dict[Name, str]:
        """The keys of these records' documents, found by the documents' fields; a key may contradict the fields."""
        refs = {name if isinstance(name, Ref) else name.ref for name in names}
        if not self._indexed or not refs:
            return {}
        threads = {ref.thread_id for ref in refs}
        keys: dict[Name, str] = {one.ref: one.key for one in self._find_documents(threads)}
        keys |= {one["name"]: one["key"] for one in self._find_writes(threads)}
        return {name: keys[name] for name in names if name in keys}

    def _read(self, refs: Sequence[Ref], more: Mapping[str, str]) -> list[tuple[CheckpointDocument, dict[str, Any]]]:
        """Documents with their fields, read at the keys of this layout or, if missing there, of other layouts."""
        fields = {**CHECKPOINT, **more}
        wanted = {} if self._misnamed else {self._keys.checkpoint(ref): ref for ref in refs}
        read = self._read_keys(wanted, fields)
        missing = set(refs) - {one.ref for one, _ in read}
        if missing:
            read += self._read_keys(self._other_keys(missing), fields)
        return read

    def _other_keys(self, refs: set[Ref]) -> dict[str, Ref]:
        keys = {self._keys.shallow(ref.thread_id, ref.ns): ref for ref in refs}
        if self._misnamed or self._indexed:
            keys |= {
                one.key: one.ref for one in self._find_documents({ref.thread_id for ref in refs}) if one.ref in refs
            }
        return keys

    def _name_document(self, key: str, fields: dict[str, Any]) -> CheckpointDocument | None:
        return name_document(key, fields, self._keys, by_key=not self._indexed)

    def _read_keys(
        self, keys: Mapping[str, Ref], fields: Mapping[str, str]
    ) -> list[tuple[CheckpointDocument, dict[str, Any]]]:
        read = self._fields([*keys], fields)
        named = ((self._name_document(key, own), own, keys[key]) for key, own in read.items())
        return [(one, own) for one, own, ref in named if one is not None and one.ref == ref]

    def _fields(self, keys: list[str], fields: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        return dict(read_fields(self._connection, keys, fields))


_UNREAD = object()


def _short_value(answer: Any) -> tuple[Any, int]:
    if not isinstance(answer, list):
        return _UNREAD, -1
    size = int(answer[0])
    return (json.loads(answer[1]), size) if len(answer) > 1 else (_UNREAD, size)
