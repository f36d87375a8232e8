"""Blobs of the checkpoints at hand: fetched once where several share them, and kept within bounds."""

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from ckpt_cli.model import Payload
from ckpt_cli.savers.paging import pages
from ckpt_cli.savers.sql.engine import Engine
from ckpt_cli.savers.sql.layout import BLOBS
from ckpt_cli.savers.sql.statements import OfBlobs

_NAMES = 2000  # of one statement
_BATCH = 8_000_000  # bytes fetched at once, but for a longer blob
_KEPT = 32_000_000  # bytes kept for checkpoints that come later
_OVERHEAD = 400  # bytes that a name takes


class BlobName(NamedTuple):
    """The full name of a blob."""

    thread_id: str
    ns: str
    channel: str
    version: str


class Blobs:
    """The blobs of one moment."""

    def __init__(self, engine: Engine, statements: OfBlobs) -> None:
        self._engine = engine
        self._sql = statements
        self._kept: OrderedDict[BlobName, Payload | None] = OrderedDict()
        self._bytes = 0

    def forget(self) -> None:
        """A new moment begins, or something was written."""
        self._kept.clear()
        self._bytes = 0

    def of(self, states: Sequence[Collection[BlobName]]) -> Iterator[dict[BlobName, Payload]]:
        """What each state's names hold, state by state; names without a blob are left out."""
        sizes = self._sizes(states) if len(states) > 1 else {}
        at = 0
        while at < len(states):
            until, missing = self._batch(states, at, sizes)
            self._fetch(missing)
            for state in states[at:until]:
                yield {name: held for name in state if (held := self._look(name)) is not None}
            self._shrink()
            at = until

    def _sizes(self, states: Sequence[Collection[BlobName]]) -> dict[BlobName, int]:
        """How long the blobs are that aren't here yet."""
        wanted = dict.fromkeys(name for state in states for name in state if name not in self._kept)
        found: dict[BlobName, int] = {}
        for page in pages(wanted, _NAMES):
            for *name, size in self._rows(self._sql.sizes, page):
                found[BlobName(*name)] = size or 0
        return found

    def _batch(
        self, states: Sequence[Collection[BlobName]], at: int, sizes: dict[BlobName, int]
    ) -> tuple[int, list[BlobName]]:
        """As many states as stay within the bytes, at least one; and which of their blobs are to be fetched."""
        missing: dict[BlobName, None] = {}
        total, until = 0, at
        for state in states[at:]:
            new = [name for name in state if name not in self._kept and name not in missing]
            size = sum(sizes.get(name, 0) for name in new)
            if until > at and total + size > _BATCH:
                break
            total += size
            until += 1
            missing.update(dict.fromkeys(new))
        return until, list(missing)

    def _fetch(self, names: Sequence[BlobName]) -> None:
        for page in pages(names, _NAMES):
            rows = self._rows(self._sql.contents, page)
            found = {BlobName(*name): Payload(tag or "", bytes(data or b"")) for *name, tag, data in rows}
            for name in page:
                payload = found.get(name)
                self._kept[name] = payload
                self._bytes += _cost(payload)

    def _rows(self, statement: str, names: Sequence[BlobName]) -> Iterator[tuple[Any, ...]]:
        words = [name[: len(self._sql.key)] for name in names]
        condition, parameters = self._engine.among(BLOBS, self._sql.key, words)
        return self._engine.query(statement + condition, parameters)

    def _look(self, name: BlobName) -> Payload | None:
        self._kept.move_to_end(name)
        return self._kept[name]

    def _shrink(self) -> None:
        """Forget the blobs that were looked at longest ago."""
        while self._bytes > _KEPT:
            _, payload = self._kept.popitem(last=False)
            self._bytes -= _cost(payload)


def _cost(payload: Payload | None) -> int:
    return _OVERHEAD + (len(payload.data) if payload is not None else 0)
