"""Finds AgentCore's sessions and checkpoints by a scan of keys, names their threads, reads them.

The names come from the checkpoints. A key alone doesn't name a checkpoint: its session is a hash of thread and
namespace, and ids may hold the colons that separate a key's parts (``checkpoint/valkey/agentcore/models.py:
ValkeyCheckpointerConfig``).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Write
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.redis.connection import Connection, text
from ckpt_cli.savers.valkey import agentcore_records as records

_CHECKPOINT = "agentcore:checkpoint:"
_WRITES = "agentcore:writes:"
# Bytes to read from a checkpoint's start, tried in turn: the first number is usually enough, the second is enough for a
# long id, the third reads everything.
_STARTS = (500, 1 << 16, 1 << 29)
_ENDS = (2048, 1 << 16, 1 << 29)  # bytes to read from a checkpoint's end, tried in turn
_PAGE = 100  # checkpoints that are read at once
_SHORT = """
local found = redis.call('LRANGE', KEYS[1], 0, -1)
for i, text in ipairs(found) do
  local read, one = pcall(cjson.decode, text)
  local data = read and type(one) == 'table' and type(one.value) == 'table' and one.value.data
  if type(data) == 'string' then
    local size = #data / 4 * 3
    if data:sub(-2) == '==' then size = size - 2 elseif data:sub(-1) == '=' then size = size - 1 end
    if size > tonumber(ARGV[1]) then
      one.value = size
      found[i] = cjson.encode(one)
    end
  end
end
return found
"""
"""A script that gives a checkpoint's writes without long values; it is run by the read-only ``EVAL_RO``."""


class Space(NamedTuple):
    """The checkpoints of one namespace of one actor's thread.

    Attributes:
        place: the part of the namespace's keys before the checkpoint's id.
        ids: the checkpoints' ids, ascending.
    """

    place: str
    ids: list[str]


Threads = dict[str, dict[str, Space]]
"""The `Space` of each namespace by thread and by namespace."""


class AgentCoreReader:
    """Finds and reads one connection's checkpoints; the names that a scan found are kept until `forget`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._scripts = connection.major >= 7
        self._threads: Threads | None = None

    def forget(self) -> None:
        """Forget the names that a scan found, because another moment begins."""
        self._threads = None

    @property
    def threads(self) -> Threads:
        """All threads by the names that `thread_names` gives."""
        if self._threads is None:
            places: dict[str, list[str]] = {}
            for key in self._connection.keys(f"{_CHECKPOINT}*"):
                place, _, checkpoint_id = key.removeprefix(_CHECKPOINT).rpartition(":")
                places.setdefault(place, []).append(checkpoint_id)
            self._threads = self._identified({place: sorted(ids) for place, ids in places.items()})
        return self._threads

    def _identified(self, places: dict[str, list[str]]) -> Threads:
        """The threads of these places, named by the last readable checkpoint in each place."""
        homes: dict[str, records.Start] = {}  # by place
        remaining, depth = {*places}, 0
        while remaining:
            depth += 1
            keys = {f"{_CHECKPOINT}{place}:{places[place][-depth]}": place for place in sorted(remaining)}
            starts = {keys[key]: start for key, start in self._starts([*keys]).items()}
            homes |= {place: start for place, start in starts.items() if start is not None and start.place == place}
            remaining = {place for place in remaining if place not in homes and len(places[place]) > depth}
        names = thread_names((home.actor_id, home.thread_id) for home in homes.values())
        threads: Threads = {}
        for place, home in homes.items():
            threads.setdefault(names[home.actor_id, home.thread_id], {})[home.ns] = Space(place, places[place])
        return threads

    def refs(self, thread_ids: Iterable[str] | None = None, ns: str | None = None) -> Iterator[Ref]:
        """The checkpoints of some threads or of all, ascending within each thread."""
        for thread_id in dict.fromkeys(self.threads if thread_ids is None else thread_ids):
            for name, space in sorted(self.threads.get(thread_id, {}).items()):
                if ns is None or name == ns:
                    yield from (Ref(thread_id, name, one) for one in space.ids)

    def rows(self, refs: Iterable[Ref]) -> Iterator[CheckpointRow]:
        """The skeletons of those checkpoints that exist, in the order of `refs`; damaged ones get no parent."""
        for page in pages(refs, _PAGE):
            keys = {ref: key for ref, key in zip(page, self._keys(_CHECKPOINT, page), strict=True) if key}
            starts = self._starts([*keys.values()])
            for ref, key in keys.items():
                if key in starts:
                    start = starts[key]
                    yield CheckpointRow(*ref, start.parent_id if start else None)

    def metadata(self, refs: Iterable[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those checkpoints that exist, read from the ends of their values."""
        for page in pages(refs, _PAGE):
            remaining = {key: ref for ref, key in zip(page, self._keys(_CHECKPOINT, page), strict=True) if key}
            for length in _ENDS:
                answers = self._connection.read(("GETRANGE", key, -length, -1) for key in remaining)
                ends = {key: records.end(data) for key, data in zip(remaining, answers, strict=True) if data}
                yield from ((remaining[key], metadata) for key, metadata in ends.items() if metadata is not None)
                remaining = {key: remaining[key] for key, metadata in ends.items() if metadata is None}
            yield from ((ref, records.LOST) for ref in remaining.values())

    def checkpoints(self, refs: Sequence[Ref]) -> dict[Ref, Checkpoint]:
        """Those checkpoints that exist, whole."""
        keys = {ref: key for ref, key in zip(refs, self._keys(_CHECKPOINT, refs), strict=True) if key}
        answers = self._connection.read(("GET", key) for key in keys.values())
        return {ref: records.checkpoint(ref, data) for ref, data in zip(keys, answers, strict=True) if data}

    def count_writes(self, refs: Iterable[Ref]) -> int:
        """How many writes these checkpoints have, without reading a write."""
        commands = (("LLEN", key) for page in pages(refs, _PAGE) for key in self._keys(_WRITES, page) if key)
        return sum(count or 0 for count in self._connection.read(commands))

    def writes(self, refs: Iterable[Ref], values: int | None) -> Iterator[Write]:
        """The writes of checkpoints, in canonical order within each checkpoint."""
        for page in pages(refs, _PAGE):
            keys = {ref: key for ref, key in zip(page, self._keys(_WRITES, page), strict=True) if key}
            whole = values is None or not self._scripts
            answers = self._whole(keys.values()) if whole else self._short(keys.values(), values or 0)
            for ref, data in zip(keys, answers, strict=True):
                for one in sorted(records.writes(ref, data or (), short=not whole), key=lambda write: write.order):
                    yield one if values is None or one.size <= values else one._replace(payload=None)

    def _whole(self, keys: Collection[str]) -> list[Any]:
        return [*self._connection.read(("LRANGE", key, 0, -1) for key in keys)]

    def _short(self, keys: Collection[str], values: int) -> list[Any]:
        answers = [*self._connection.all((("EVAL_RO", _SHORT, 1, key, values) for key in keys), failing=True)]
        return answers if not any(isinstance(one, Exception) for one in answers) else self._whole(keys)

    def _keys(self, kind: str, refs: Sequence[Ref]) -> Iterator[str]:
        """The key of each checkpoint, or of its writes; "" if its namespace doesn't exist."""
        for ref in refs:
            space = self.threads.get(ref.thread_id, {}).get(ref.ns)
            yield f"{kind}{space.place}:{ref.checkpoint_id}" if space is not None else ""

    def _starts(self, keys: Sequence[str]) -> dict[str, records.Start | None]:
        """The names in the checkpoints that exist, by key; None for a checkpoint whose start can't be read."""
        starts: dict[str, records.Start | None] = {}
        remaining = [*keys]
        for length in _STARTS:
            answers = self._connection.read(("GETRANGE", key, 0, length) for key in remaining)
            starts |= {key: records.start(text(data)) for key, data in zip(remaining, answers, strict=True) if data}
            remaining = [key for key in remaining if key in starts and starts[key] is None]
        return starts


def thread_names(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A name for each pair of actor and thread: the thread's own or, if that name isn't unique, ``actor/thread``."""
    full = {(actor, thread): f"{actor.replace('%', '%25').replace('/', '%2F')}/{thread}" for actor, thread in pairs}
    shared, taken = Counter(thread for _, thread in full), {*full.values()}
    return {pair: pair[1] if shared[pair[1]] == 1 and pair[1] not in taken else name for pair, name in full.items()}
