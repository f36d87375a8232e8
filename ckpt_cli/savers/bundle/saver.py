"""`BundleSaver`: a bundle as a database that is only read."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Thread, Write
from ckpt_cli.savers.about import About, Place, RecordFormat, Totals
from ckpt_cli.savers.bundle.ends import VERSION
from ckpt_cli.savers.bundle.index import Entry, Origin, Redaction, lost_differences
from ckpt_cli.savers.bundle.packed import PackedThreads
from ckpt_cli.savers.bundle.reader import BundleReader, Table
from ckpt_cli.savers.bundle.records import StoredCheckpoint
from ckpt_cli.savers.bundle.rows import RowTable
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.measures import Space

T = TypeVar("T")

_SCHEME = "bundle:"
_EMPTY = Origin("", "none: it has no threads", "bundle", RecordFormat())


class BundleSaver(PackedThreads):
    """The threads of a bundle; a later addition is seen from the next moment on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = BundleReader(path)
        self._in_moment = False

    @property
    def form(self) -> RecordFormat:  # type: ignore[override]
        """The format of its first origin."""
        return self._origin.form

    @property
    def _origin(self) -> Origin:
        return next(iter(self._reader.index.origins), _EMPTY)

    def origin(self, thread_id: str) -> Origin:
        """The database that a thread of the bundle was copied from."""
        index = self._reader.index
        return index.origins[index.threads[thread_id].origin]

    def entries(self) -> Collection[Entry]:
        """What the index says of each thread."""
        return self._reader.index.threads.values()

    def row_table(self, thread_id: str) -> RowTable:
        """The rows of a thread that was taken out of its database."""
        return self._reader.row_table(thread_id)

    @property
    def redaction(self) -> Redaction | None:
        """What its records lack; None if they are byte for byte those of their databases."""
        return self._reader.index.redaction

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look` on the index in memory; the index is read again first if the file has grown."""
        if self._in_moment:
            return look()
        if self._reader.current_size() != self._reader.size:
            self._reader.close()
            self._reader = BundleReader(self._path)
        self._in_moment = True
        try:
            return look()
        finally:
            self._in_moment = False

    def about(self) -> About:
        """The format's version, and the databases from which its threads were copied."""
        origins = self._reader.index.origins
        names = dict.fromkeys(f"{one.backend}, {one.generation}" for one in origins)
        facts = {
            "threads from": "; ".join(names) or "nowhere",
            "checksum": self._reader.footer.digest.hex(),
        }
        if self.redaction is not None:
            facts["redacted"] = f"by {', '.join(self.redaction.by)}: not a byte-for-byte copy"
        if self._reader.unfinished:
            facts["unfinished"] = f"{self._reader.unfinished:,} bytes at its end belong to no index, and are ignored"
        generation = f"bundle, version {VERSION}"
        return About("bundle", str(self._path), generation, self._origin.layout, facts, self._reader.size)

    def caveats(self) -> Sequence[str]:
        """A warning about an addition that was cut off."""
        if not self._reader.unfinished:
            return ()
        return ("an addition to this bundle was cut off, or is being written now; what was there before is whole",)

    @property
    def lost_differences(self) -> str:  # type: ignore[override]
        """See `Saver.lost_differences`."""
        return lost_differences(self._path.name, [self.redaction])

    def totals(self) -> Totals:
        """Add up what the index says."""
        threads = self._reader.index.threads.values()
        checkpoints, writes = sum(one.checkpoints for one in threads), sum(one.writes for one in threads)
        oldest, newest = (one.oldest for one in threads), (one.newest for one in threads)
        return Totals(len(threads), checkpoints, writes, min(oldest, default=None), max(newest, default=None))

    def threads(self) -> Iterator[Thread]:
        """Every thread, the highest head id first; from the index alone."""
        threads = [_thread(one) for one in self._reader.index.threads.values()]
        threads.sort(key=lambda one: one.thread_id)
        yield from sorted(threads, key=lambda one: one.head.checkpoint_id, reverse=True)

    def count_threads(self) -> int:
        """The number of threads in the index."""
        return len(self._reader.index.threads)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        entry = self._reader.index.threads.get(thread_id)
        return None if entry is None else _thread(entry)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return sorted({ref.ns for _, ref in self._refs(thread_id)})

    def count(self, thread_id: str) -> int:
        """How many checkpoints a thread has, as the index says."""
        entry = self._reader.index.threads.get(thread_id)
        return 0 if entry is None else entry.checkpoints

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The rows of a thread or a namespace, ascending by namespace and id."""
        yield from (stored.row for table, ref in self._refs(thread_id, ns) if (stored := table.checkpoint(ref)))

    def sizes(self, thread_ids: Collection[str]) -> Mapping[str, int]:
        """What the index says of each thread."""
        threads = self._reader.index.threads
        return {one: threads[one].size if one in threads else 0 for one in thread_ids}

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids, highest first."""
        found = [*self._refs(thread_id, ns)][::-1][:limit]
        return [stored.row for table, ref in found if (stored := table.checkpoint(ref))]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        stored = self._stored(ref)
        return None if stored is None else stored.row

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those checkpoints that exist."""
        for ref in dict.fromkeys(refs):
            if stored := self._stored(ref):
                yield ref, self._reader.payload(stored.metadata)

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """Those checkpoints that exist, in the order of `refs`."""
        for ref in refs:
            if stored := self._stored(ref):
                yield self._reader.checkpoint(stored)

    def headers(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """These checkpoints without the channels that are stored apart from the body."""
        yield from self.with_channels(refs, ())

    def with_channels(self, refs: Iterable[Ref], channels: Collection[str]) -> Iterator[Checkpoint]:
        """These checkpoints; of the channels that are stored apart from the body, only these."""
        for ref in refs:
            if stored := self._stored(ref):
                apart = stored.channels
                some = None if apart is None else {name: one for name, one in apart.items() if name in channels}
                yield self._reader.checkpoint(stored._replace(channels=some))

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """Writes by namespace and checkpoint, then in canonical order."""
        table = self._reader.table(thread_id)
        if table is None:
            return
        ids = None if checkpoint_ids is None else {*checkpoint_ids}
        for ref in table.checkpoints_with_writes():
            if (ns is None or ref.ns == ns) and (ids is None or ref.checkpoint_id in ids):
                yield from (self._reader.write(stored, values) for stored in table.writes(ref))

    def space(self) -> Space:
        """The size of the file."""
        return Space(self._reader.size, None, "a bundle never becomes smaller")

    @property
    def identity(self) -> str:
        """The resolved path of the file."""
        return f"{_SCHEME}{self._path.resolve()}"

    def place(self) -> Place:
        """The path, and the file's device and inode."""
        from ckpt_cli.savers.whereabouts import place_of

        return place_of(self.identity, self._path)

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:
        """Whether `seen` is another bundle that still exists; opens the file at its path to compare."""
        from ckpt_cli.savers.whereabouts import original_at

        return original_at(self._path, Path(seen.address.removeprefix(_SCHEME)), is_it, BundleSaver)

    def close(self) -> None:
        """Close the file."""
        self._reader.close()

    def _stored(self, ref: Ref) -> StoredCheckpoint | None:
        table = self._reader.table(ref.thread_id)
        return None if table is None else table.checkpoint(ref)

    def _refs(self, thread_id: str, ns: str | None = None) -> Iterator[tuple[Table, Ref]]:
        table = self._reader.table(thread_id)
        if table is not None:
            yield from ((table, ref) for ref in table.refs(ns))


def _thread(entry: Entry) -> Thread:
    if entry.head is None:
        raise ValueError(f"thread {entry.thread_id!r} has no checkpoint")
    return Thread(entry.thread_id, entry.head)
