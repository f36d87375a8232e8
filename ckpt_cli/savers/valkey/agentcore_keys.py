"""Keys of AgentCoreValkeySaver: found by a scan, and distinguished by what checkpoints say of themselves.

A namespace's session is a hash of thread and namespace, and ids may hold the colons that keys are made with, so a key
alone tells nothing (``checkpoint/valkey/agentcore/models.py: ValkeyCheckpointerConfig``).
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
_STARTS = (500, 1 << 16, 1 << 29)  # bytes of a checkpoint's beginning: usually, with a long id, all of it
_ENDS = (2048, 1 << 16, 1 << 29)  # of its end
_PAGE = 100  # checkpoints that are asked for at once
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
"""The writes of a checkpoint without the long values; it changes nothing, and is run as such."""


class Space(NamedTuple):
    """The checkpoints of one namespace of one actor's thread.

    Attributes:
        place: what stands before the id in the keys of each.
        ids: ascending.
    """

    place: str
    ids: list[str]


Threads = dict[str, dict[str, Space]]
"""Namespaces by thread, and by their own name."""


class Keys:
    """One connection's keys; what a scan found holds until `forget`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._scripts = connection.major >= 7
        self._threads: Threads | None = None

    def forget(self) -> None:
        """Another moment begins."""
        self._threads = None

    @property
    def threads(self) -> Threads:
        """All of them, by the names that `called` gives."""
        if self._threads is None:
            places: dict[str, list[str]] = {}
            for key in self._connection.keys(f"{_CHECKPOINT}*"):
                place, _, checkpoint_id = key.removeprefix(_CHECKPOINT).rpartition(":")
                places.setdefault(place, []).append(checkpoint_id)
            self._threads = self._told({place: sorted(ids) for place, ids in places.items()})
        return self._threads

    def _told(self, places: dict[str, list[str]]) -> Threads:
        """One checkpoint of each tells whose it is; the next one, where that can't be read."""
        homes: dict[str, records.Start] = {}
        left, depth = {*places}, 0
        while left:
            depth += 1
            asked = {f"{_CHECKPOINT}{place}:{places[place][-depth]}": place for place in sorted(left)}
            starts = {asked[key]: said for key, said in self._starts([*asked]).items()}
            homes |= {place: said for place, said in starts.items() if said is not None and said.place == place}
            left = {place for place in left if place not in homes and len(places[place]) > depth}
        names = called((home.actor_id, home.thread_id) for home in homes.values())
        found: Threads = {}
        for place, home in homes.items():
            found.setdefault(names[home.actor_id, home.thread_id], {})[home.ns] = Space(place, places[place])
        return found

    def refs(self, thread_ids: Iterable[str] | None = None, ns: str | None = None) -> Iterator[Ref]:
        """The checkpoints of some threads or of all, ascending in each."""
        for thread_id in dict.fromkeys(self.threads if thread_ids is None else thread_ids):
            for name, space in sorted(self.threads.get(thread_id, {}).items()):
                if ns is None or name == ns:
                    yield from (Ref(thread_id, name, one) for one in space.ids)

    def rows(self, refs: Iterable[Ref]) -> Iterator[CheckpointRow]:
        """Skeletons of those that are there, in that order; of one that is damaged the parent isn't known."""
        for page in pages(refs, _PAGE):
            keys = {ref: key for ref, key in zip(page, self._keys(_CHECKPOINT, page), strict=True) if key}
            told = self._starts([*keys.values()])
            for ref, key in keys.items():
                if key in told:
                    said = told[key]
                    yield CheckpointRow(*ref, said.parent_id if said else None)

    def metadata(self, refs: Iterable[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The ends of those that are there."""
        for page in pages(refs, _PAGE):
            left = {key: ref for ref, key in zip(page, self._keys(_CHECKPOINT, page), strict=True) if key}
            for length in _ENDS:
                answers = self._connection.read(("GETRANGE", key, -length, -1) for key in left)
                told = {key: records.end(data) for key, data in zip(left, answers, strict=True) if data}
                yield from ((left[key], found) for key, found in told.items() if found is not None)
                left = {key: left[key] for key, found in told.items() if found is None}
            yield from ((ref, records.LOST) for ref in left.values())

    def checkpoints(self, refs: Sequence[Ref]) -> dict[Ref, Checkpoint]:
        """Those that are there, whole."""
        keys = {ref: key for ref, key in zip(refs, self._keys(_CHECKPOINT, refs), strict=True) if key}
        answers = self._connection.read(("GET", key) for key in keys.values())
        return {ref: records.checkpoint(ref, data) for ref, data in zip(keys, answers, strict=True) if data}

    def count_writes(self, refs: Iterable[Ref]) -> int:
        """How many writes these checkpoints have, none of them read."""
        asked = (("LLEN", key) for page in pages(refs, _PAGE) for key in self._keys(_WRITES, page) if key)
        return sum(count or 0 for count in self._connection.read(asked))

    def writes(self, refs: Iterable[Ref], values: int | None) -> Iterator[Write]:
        """The writes of checkpoints, each one's in canonical order."""
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
        """A key for each; "" where its namespace isn't there."""
        for ref in refs:
            space = self.threads.get(ref.thread_id, {}).get(ref.ns)
            yield f"{kind}{space.place}:{ref.checkpoint_id}" if space is not None else ""

    def _starts(self, keys: Sequence[str]) -> dict[str, records.Start | None]:
        """What those that are there say of themselves; None where one says nothing."""
        known: dict[str, records.Start | None] = {}
        left = [*keys]
        for length in _STARTS:
            answers = self._connection.read(("GETRANGE", key, 0, length) for key in left)
            known |= {key: records.start(text(data)) for key, data in zip(left, answers, strict=True) if data}
            left = [key for key in left if key in known and known[key] is None]
        return known


def called(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What the thread of an actor is called: as the actor calls it, unless another's could be meant too."""
    full = {(actor, thread): f"{actor.replace('%', '%25').replace('/', '%2F')}/{thread}" for actor, thread in pairs}
    shared, taken = Counter(thread for _, thread in full), {*full.values()}
    return {pair: pair[1] if shared[pair[1]] == 1 and pair[1] not in taken else name for pair, name in full.items()}
