"""A cache of channels' blobs, bounded in bytes: a blob that several checkpoints share is fetched once."""

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from ckpt_cli.model import Payload
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.layout import BLOBS
from ckpt_cli.savers.sql.statements import BlobStatements

_NAMES = 2000  # blob names in one statement
_BATCH = 8_000_000  # bytes fetched at once, unless one blob is longer
_CACHE_SIZE = 32_000_000  # bytes kept for later checkpoints
_OVERHEAD = 400  # bytes of memory that a name takes


class BlobName(NamedTuple):
    """The name of a blob: the columns of its key."""

    thread_id: str
    ns: str
    channel: str
    version: str


class Blobs:
    """Fetches blobs, and caches them for one moment."""

    def __init__(self, engine: Engine, statements: BlobStatements) -> None:
        self._engine = engine
        self._sql = statements
        self._cache: OrderedDict[BlobName, Payload | None] = OrderedDict()
        self._bytes = 0

    def forget(self) -> None:
        """Empty the cache. Call this method when a new moment begins, and after a write."""
        self._cache.clear()
        self._bytes = 0

    def for_checkpoints(self, checkpoints: Sequence[Collection[BlobName]]) -> Iterator[dict[BlobName, Payload]]:
        """For each checkpoint, in order, the blobs that it names; names without a blob are left out."""
        sizes = self._sizes(checkpoints) if len(checkpoints) > 1 else {}
        start = 0
        while start < len(checkpoints):
            end, missing = self._batch(checkpoints, start, sizes)
            self._fetch(missing)
            for names in checkpoints[start:end]:
                yield {name: payload for name in names if (payload := self._cached(name)) is not None}
            self._shrink()
            start = end

    def _sizes(self, checkpoints: Sequence[Collection[BlobName]]) -> dict[BlobName, int]:
        """The sizes in bytes of the blobs that aren't in the cache."""
        missing = dict.fromkeys(name for names in checkpoints for name in names if name not in self._cache)
        sizes: dict[BlobName, int] = {}
        for page in pages(missing, _NAMES):
            for *name, size in self._rows(self._sql.sizes, page):
                sizes[BlobName(*name)] = size or 0
        return sizes

    def _batch(
        self, checkpoints: Sequence[Collection[BlobName]], start: int, sizes: dict[BlobName, int]
    ) -> tuple[int, list[BlobName]]:
        """The end of a batch (at least one checkpoint, at most `_BATCH` bytes), and the blobs to fetch for it."""
        missing: dict[BlobName, None] = {}
        total, end = 0, start
        for names in checkpoints[start:]:
            new = [name for name in names if name not in self._cache and name not in missing]
            size = sum(sizes.get(name, 0) for name in new)
            if end > start and total + size > _BATCH:
                break
            total += size
            end += 1
            missing.update(dict.fromkeys(new))
        return end, list(missing)

    def _fetch(self, names: Sequence[BlobName]) -> None:
        for page in pages(names, _NAMES):
            rows = self._rows(self._sql.contents, page)
            payloads = {BlobName(*name): Payload(tag or "", bytes(data or b"")) for *name, tag, data in rows}
            for name in page:
                payload = payloads.get(name)
                self._cache[name] = payload
                self._bytes += _cost(payload)

    def _rows(self, statement: str, names: Sequence[BlobName]) -> Iterator[tuple[Any, ...]]:
        keys = [name[: len(self._sql.key)] for name in names]
        condition, parameters = self._engine.among(BLOBS, self._sql.key, keys)
        return self._engine.query(statement + condition, parameters)

    def _cached(self, name: BlobName) -> Payload | None:
        self._cache.move_to_end(name)
        return self._cache[name]

    def _shrink(self) -> None:
        """Drop the least recently used blobs."""
        while self._bytes > _CACHE_SIZE:
            _, payload = self._cache.popitem(last=False)
            self._bytes -= _cost(payload)


def _cost(payload: Payload | None) -> int:
    return _OVERHEAD + (len(payload.data) if payload is not None else 0)
