"""Finds checkpoints by a scan for the lists of their ids, and reads pages of them: whole, or only the start or end."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write
from ckpt_cli.savers.paging import groups_of_few_bytes, pages
from ckpt_cli.savers.redis.connection import Connection, text
from ckpt_cli.savers.redis.faults import is_unknown
from ckpt_cli.savers.redis.keys import escape_pattern, names_with_prefix
from ckpt_cli.savers.valkey import records

Space = tuple[str, str]

# Bytes to read from a checkpoint's start, tried in turn: the first number is usually enough, the second is enough for a
# long id, the third reads everything.
_STARTS = (400, 1 << 16, 1 << 29)
_ENDS = (2048, 1 << 16, 1 << 29)  # bytes to read from a checkpoint's end, tried in turn
_ALL = "thread:{*"
_PAGE = 500  # checkpoints whose writes are read at once
_SHORT = """
local data = redis.call('GET', KEYS[1])
if not data then return false end
local all = cjson.decode(data)
for _, one in ipairs(all) do
  local odd = type(one) ~= 'table' or type(one.value) ~= 'string' or type(one.task_id) ~= 'string' or one.size
  if odd or type(one.idx) ~= 'number' or one.idx % 1 ~= 0 or math.abs(one.idx) > 2^31 then return data end
end
for _, one in ipairs(all) do
  local n, size = #one.value, #one.value / 4 * 3
  if one.value:sub(-2) == '==' then size = size - 2 elseif one.value:sub(-1) == '=' then size = size - 1 end
  if size > tonumber(ARGV[1]) then one.value, one.size = nil, size end
end
return cjson.encode(all)
"""
"""A read-only script that gives a checkpoint's writes without long values, or the whole text if an entry is damaged."""


def checkpoint_key(ref: Ref) -> str:
    """A checkpoint's key (``base.py: _make_checkpoint_key``)."""
    return f"checkpoint:{{{ref.thread_id}}}:{ref.ns}:{ref.checkpoint_id}"


def writes_key(ref: Ref) -> str:
    """The key of a checkpoint's writes."""
    return f"writes:{{{ref.thread_id}}}:{ref.ns}:{ref.checkpoint_id}"


def thread_key(space: Space) -> str:
    """The key of the list of a namespace's checkpoints, the latest first."""
    return f"thread:{{{space[0]}}}:{space[1]}"


class CheckpointReader:
    """Finds and reads one connection's checkpoints; the lists that a scan found are kept until `forget`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[str, list[str]] = {}
        self._scripts = connection.major >= 7

    def forget(self) -> None:
        """Forget the lists that a scan found, because another moment begins."""
        self._known = {}

    def spaces(self, thread_ids: Collection[str] | None) -> dict[Space, list[str]]:
        """The namespaces of some threads or of all, each with its list of ids, the latest first."""
        if thread_ids is None:
            return self._read_lists(self._scan(_ALL))
        starts = [thread_key((thread_id, "")) for thread_id in thread_ids]
        keys = (key for start in starts for key in names_with_prefix(self._scan(self._pattern(starts)), start))
        return {space: ids for space, ids in self._read_lists([*dict.fromkeys(keys)]).items() if space[0] in thread_ids}

    def some(self, limit: int) -> dict[Space, list[str]]:
        """A few namespaces of any threads."""
        return self._read_lists([*islice(self._connection.keys(_ALL), limit)])

    def _pattern(self, starts: Sequence[str]) -> str:
        """The pattern for a scan: a moment's first thread is scanned alone; for any further thread, all lists are."""
        own = escape_pattern(starts[0]) + "*" if len(starts) == 1 else _ALL
        return own if not self._known.keys() - {own} else _ALL

    def _scan(self, pattern: str) -> list[str]:
        if pattern not in self._known:
            self._known[pattern] = sorted(self._connection.keys(pattern))
        return self._known[pattern]

    def _read_lists(self, keys: list[str]) -> dict[Space, list[str]]:
        """The namespaces of some lists, each with its ids.

        A list's key doesn't show where the thread id ends. So the thread id is read from the list's
        checkpoints, whose keys are made from the list's key and the ids in the list.
        """
        answers = self._connection.read(("LRANGE", key, 0, -1) for key in keys)
        lists = {key: [text(i) for i in ids or ()] for key, ids in zip(keys, answers, strict=True)}
        spaces: dict[Space, list[str]] = {}
        damaged: set[str] = set()
        remaining, depth = {key: 0 for key, ids in lists.items() if ids}, 0
        while remaining:
            wanted = {f"checkpoint{key.removeprefix('thread')}:{lists[key][depth]}": key for key in remaining}
            for name, start in self._starts([*wanted]).items():
                key = wanted[name]
                rest = key.removeprefix(f"thread:{{{start[0]}}}:") if start is not None else key
                if rest != key and start is not None:
                    spaces[start[0], rest] = list(dict.fromkeys(lists[key]))
                    del remaining[key]
                else:
                    damaged.add(key)
            depth += 1
            damaged &= remaining.keys()
            remaining = {key: 0 for key in remaining if len(lists[key]) > depth}
        for key in damaged:
            thread_id, brace, ns = key.removeprefix("thread:{").partition("}:")
            if brace:
                spaces.setdefault((thread_id, ns), list(dict.fromkeys(lists[key])))
        return spaces

    def _starts(self, keys: Sequence[str]) -> dict[str, tuple[str, str, str | None] | None]:
        """Thread, id and parent of each checkpoint that exists, by key; None if its start can't be read."""
        starts: dict[str, tuple[str, str, str | None] | None] = {}
        remaining = [*keys]
        for length in _STARTS:
            answers = self._connection.read(("GETRANGE", key, 0, length) for key in remaining)
            data = {key: answer for key, answer in zip(remaining, answers, strict=True) if answer}
            starts |= {key: records.start(text(answer)) for key, answer in data.items()}
            remaining = [key for key, answer in data.items() if starts[key] is None and len(answer) > length]
            if not remaining:
                break
        return starts

    def rows(self, refs: Iterable[Ref]) -> Iterator[CheckpointRow]:
        """The skeletons of those checkpoints that exist, in the order of `refs`."""
        for page in pages(refs, _PAGE):
            starts = self._starts([checkpoint_key(ref) for ref in page])
            odd = [ref for ref in page if (key := checkpoint_key(ref)) in starts and starts[key] is None]
            whole = self.checkpoints(odd)
            for ref in page:
                start = starts.get(checkpoint_key(ref))
                if ref in whole:
                    yield whole[ref].row._replace(size=None)
                elif start is not None and not records.is_others(ref, *start[:2]):
                    yield CheckpointRow(*ref, start[2])

    def metadata(self, refs: Iterable[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those checkpoints that exist, read from the ends of their values."""
        for page in pages(refs, _PAGE):
            remaining = {checkpoint_key(ref): ref for ref in page}
            for length in _ENDS:
                answers = self._connection.read(("GETRANGE", key, -length, -1) for key in remaining)
                ends = {key: records.end(data) for key, data in zip(remaining, answers, strict=True) if data}
                yield from ((remaining[key], metadata) for key, metadata in ends.items() if metadata is not None)
                remaining = {key: remaining[key] for key, metadata in ends.items() if metadata is None}
                if not remaining:
                    break
            yield from ((ref, whole.metadata) for ref, whole in self.checkpoints([*remaining.values()]).items())

    def checkpoints(self, refs: Sequence[Ref]) -> dict[Ref, Checkpoint]:
        """Those checkpoints that exist, whole."""
        answers = self._connection.read(("GET", checkpoint_key(ref)) for ref in refs)
        return {ref: records.checkpoint(ref, data) for ref, data in zip(refs, answers, strict=True) if data}

    def writes(self, refs: Iterable[Ref], values: int | None) -> Iterator[Write]:
        """The writes of checkpoints, each checkpoint's in the order in which they were put.

        LangGraph's saver gives this order too, and stores no paths by which they could be sorted (1.2.6
        ``checkpoint/valkey/base.py: _merge_writes``).
        """
        for page in pages(refs, _PAGE):
            answers = self._whole(page) if values is None or not self._scripts else self._short(page, values)
            for ref, data in zip(page, answers, strict=True):
                for one in (records.write(*entry) for entry in (records.entries(ref, data) if data else ())):
                    yield one if values is None or one.size <= values else one._replace(payload=None)

    def _whole(self, refs: Sequence[Ref]) -> Iterator[Any]:
        """The writes of each checkpoint as JSON text, in reads of a few megabytes."""
        sizes = self._connection.read(("STRLEN", writes_key(ref)) for ref in refs)
        for group in groups_of_few_bytes((ref, size or 0) for ref, size in zip(refs, sizes, strict=True)):
            yield from self._connection.read(("GET", writes_key(ref)) for ref in group)

    def _short(self, refs: Sequence[Ref], values: int) -> Iterable[Any]:
        commands = (("EVAL_RO", _SHORT, 1, writes_key(ref), values) for ref in refs)
        answers = [*self._connection.all(commands, failing=True)]
        if any(isinstance(answer, Exception) and is_unknown(answer) for answer in answers):
            self._scripts = False
        return answers if not any(isinstance(one, Exception) for one in answers) else self._whole(refs)


def refs_of(spaces: Mapping[Space, Iterable[str]]) -> Iterator[Ref]:
    """The names of all checkpoints of some namespaces, ascending."""
    for space in sorted(spaces):
        yield from (Ref(*space, one) for one in sorted(set(spaces[space])))
