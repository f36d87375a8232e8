"""`BundleFolder`: the bundles in a folder as one database; a thread that several have is joined."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from ckpt_cli.errors import DatabaseDamaged, Refused
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Row, Thread, Write, in_words, name_of
from ckpt_cli.savers.about import About, Place, RecordFormat, Totals
from ckpt_cli.savers.bundle.ends import HEADER_SIZE, is_bundle
from ckpt_cli.savers.bundle.index import Entry, Origin, Redaction, lost_differences
from ckpt_cli.savers.bundle.packed import FindRow, PackedThreads
from ckpt_cli.savers.bundle.saver import BundleSaver
from ckpt_cli.savers.measures import Space

T = TypeVar("T")

_OPEN = 2  # bundles that stay open; each may keep some 70 MB of frames and lines
_ENDING = ".ckpt"


def bundles_in(folder: Path) -> Iterator[Path]:
    """The bundles of a folder, by name; other files may have the same ending."""
    return (path for path in sorted(folder.glob(f"*{_ENDING}")) if path.is_file() and _is_bundle(path))


def _is_bundle(path: Path) -> bool:
    with path.open("rb") as file:
        return is_bundle(file.read(HEADER_SIZE))


class BundleFolder(PackedThreads):
    """The threads of all bundles of a folder, each opened where it is needed.

    A record that two bundles have must be the same in both.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: OrderedDict[Path, BundleSaver] = OrderedDict()
        self._seen: dict[Path, int] = {}
        self._threads: dict[str, list[tuple[Path, Entry]]] = {}
        self._redactions: dict[Path, Redaction | None] = {}
        self._origins: dict[str, Origin] = {}
        self._in_moment = False
        self._refresh()

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look`; the indexes are read again first if a bundle was added, removed or has grown."""
        if self._in_moment:
            return look()
        self._refresh()
        self._in_moment = True
        try:
            return look()
        finally:
            self._in_moment = False

    def _refresh(self) -> None:
        sizes = {path: path.stat().st_size for path in bundles_in(self._folder)}
        if sizes == self._seen:
            return
        self.close()
        self._threads, self._redactions, self._origins = {}, {}, {}
        for path in sizes:
            bundle = self._bundle(path)
            self._redactions[path] = bundle.redaction
            for entry in bundle.entries():
                self._threads.setdefault(entry.thread_id, []).append((path, replace(entry, pages=[], rows=[])))
                self._origins.setdefault(entry.thread_id, bundle.origin(entry.thread_id))
        self.lost_differences = lost_differences(f"a bundle in {self._folder.name}", self._redactions.values())
        self._seen = sizes

    def _bundle(self, path: Path) -> BundleSaver:
        if path not in self._open:
            while len(self._open) >= _OPEN:
                self._open.popitem(last=False)[1].close()
            self._open[path] = BundleSaver(path)
        self._open.move_to_end(path)
        return self._open[path]

    def _places(self, thread_id: str) -> list[Path]:
        return [path for path, _ in self._threads.get(thread_id, ())]

    @property
    def form(self) -> RecordFormat:  # type: ignore[override]
        """The format of the first thread's origin."""
        origin = next(iter(self._origins.values()), None)
        return RecordFormat() if origin is None else origin.form

    def origin(self, thread_id: str) -> Origin:
        """See `PackedThreads.origin`.

        Raises:
            DatabaseDamaged: two bundles have the thread from databases that store records in different ways.
        """
        found = {path: self._bundle(path).origin(thread_id) for path in self._places(thread_id)}
        if len({one.form for one in found.values()}) > 1:
            raise DatabaseDamaged(f"thread {thread_id!r} is in different layouts in {_names(found)}")
        return next(iter(found.values()))

    @property
    def redaction(self) -> Redaction | None:
        """See `PackedThreads.redaction`.

        Raises:
            Refused: the bundles were redacted in different ways, or only some of them were.
        """
        ways = {*self._redactions.values()}
        if len(ways) > 1:
            raise Refused(f"the bundles of {self._folder} were redacted in different ways", hint="name one with --db")
        return next(iter(ways), None)

    def row_table(self, thread_id: str) -> FindRow:
        """See `PackedThreads.row_table`."""
        return _Rows(thread_id, [partial(self._bundle, path) for path in self._places(thread_id)])

    def about(self) -> About:
        """How many bundles there are, and the databases from which their threads were copied."""
        names = dict.fromkeys(f"{one.backend}, {one.generation}" for one in self._origins.values())
        facts = {"bundles": f"{len(self._seen):,}", "threads from": "; ".join(names) or "nowhere"}
        if redacted := [path for path, one in self._redactions.items() if one is not None]:
            facts["redacted"] = f"{_names(redacted)}: not byte-for-byte copies"
        origin = next(iter(self._origins.values()), None)
        layout = "bundle" if origin is None else origin.layout
        return About("bundle", str(self._folder), "a folder of bundles", layout, facts, sum(self._seen.values()))

    def caveats(self) -> Sequence[str]:
        """Warnings about additions that were cut off."""
        return [f"{path.name}: {one}" for path in self._seen for one in self._bundle(path).caveats()]

    def totals(self) -> Totals:
        """Add up what the indexes say; threads that several bundles have are counted record by record."""
        single = [places[0][1] for places in self._threads.values() if len(places) == 1]
        joined = [one for one, places in self._threads.items() if len(places) > 1]
        checkpoints = sum(one.checkpoints for one in single) + sum(map(self.count, joined))
        writes = sum(one.writes for one in single) + sum(sum(1 for _ in self.writes(one, values=0)) for one in joined)
        entries = [entry for places in self._threads.values() for _, entry in places]
        oldest = min((one.oldest for one in entries), default=None)
        newest = max((one.newest for one in entries), default=None)
        return Totals(len(self._threads), checkpoints, writes, oldest, newest)

    def threads(self) -> Iterator[Thread]:
        """Every thread, the highest head id first; from the indexes alone."""
        threads = [self._with_head(one) for one in sorted(self._threads)]
        yield from sorted(threads, key=lambda one: one.head.checkpoint_id, reverse=True)

    def count_threads(self) -> int:
        """The number of threads."""
        return len(self._threads)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        return self._with_head(thread_id) if thread_id in self._threads else None

    def _with_head(self, thread_id: str) -> Thread:
        heads = [entry.head for _, entry in self._threads[thread_id] if entry.head is not None]
        return Thread(thread_id, max(heads, key=lambda ref: (ref.ns == "", ref.checkpoint_id, ref.ns)))

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return sorted({ns for path in self._places(thread_id) for ns in self._bundle(path).namespaces(thread_id)})

    def count(self, thread_id: str) -> int:
        """How many checkpoints a thread has."""
        places = self._threads.get(thread_id, ())
        return places[0][1].checkpoints if len(places) == 1 else sum(1 for _ in self.rows(thread_id))

    def sizes(self, thread_ids: Collection[str]) -> Mapping[str, int] | None:
        """What the indexes say; None if several bundles have one of these threads."""
        found = {one: self._threads.get(one, ()) for one in thread_ids}
        if any(len(places) > 1 for places in found.values()):
            return None
        return {one: places[0][1].size if places else 0 for one, places in found.items()}

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The rows of a thread or a namespace, ascending by namespace and id."""
        found: dict[Ref, tuple[Path, CheckpointRow]] = {}
        for path in self._places(thread_id):
            for row in self._bundle(path).rows(thread_id, ns):
                other, before = found.setdefault(row.ref, (path, row))
                if before.parent_id != row.parent_id:
                    raise _differ(in_words(row.ref), other, path)
        return (found[ref][1] for ref in sorted(found))

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids, highest first."""
        return [*self.rows(thread_id, ns)][::-1][:limit]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        found = (self._bundle(path).row(ref) for path in self._places(ref.thread_id))
        return next((row for row in found if row is not None), None)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those checkpoints that exist."""
        for ref in dict.fromkeys(refs):
            found = {path: dict(self._bundle(path).metadata([ref])) for path in self._places(ref.thread_id)}
            payloads = {path: one[ref] for path, one in found.items() if one}
            if payloads:
                yield ref, _same(in_words(ref), payloads)

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """Those checkpoints that exist, in the order of `refs`."""
        return self._checkpoints(refs, lambda bundle, ref: bundle.checkpoints([ref]))

    def headers(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """These checkpoints without the channels that are stored apart from the body."""
        return self.with_channels(refs, ())

    def with_channels(self, refs: Iterable[Ref], channels: Collection[str]) -> Iterator[Checkpoint]:
        """These checkpoints; of the channels that are stored apart from the body, only these."""
        return self._checkpoints(refs, lambda bundle, ref: bundle.with_channels([ref], channels))

    def _checkpoints(
        self, refs: Iterable[Ref], read: Callable[[BundleSaver, Ref], Iterator[Checkpoint]]
    ) -> Iterator[Checkpoint]:
        for ref in refs:
            found = {path: next(read(self._bundle(path), ref), None) for path in self._places(ref.thread_id)}
            whole = {path: one for path, one in found.items() if one is not None}
            if whole:
                yield _same(in_words(ref), whole)

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """Writes by namespace and checkpoint, then in canonical order."""
        places = self._places(thread_id)
        if len(places) == 1:
            return self._bundle(places[0]).writes(thread_id, ns, checkpoint_ids, values=values)
        found: dict[object, tuple[Path, Write]] = {}
        for path in places:
            for write in self._bundle(path).writes(thread_id, ns, checkpoint_ids, values=values):
                other, before = found.setdefault(name_of(write), (path, write))
                _same(in_words(name_of(write)), {other: before, path: write})
        return iter(sorted((write for _, write in found.values()), key=lambda one: (one.ref, one.order)))

    def space(self) -> Space:
        """The size of the files."""
        return Space(sum(self._seen.values()), None, "bundles never become smaller")

    @property
    def identity(self) -> str:
        """The resolved path of the folder."""
        return f"bundle:{self._folder.resolve()}"

    def place(self) -> Place:
        """The path, and the folder's device and inode."""
        from ckpt_cli.savers.whereabouts import place_of

        return place_of(self.identity, self._folder)

    def close(self) -> None:
        """Close the bundles that are open."""
        while self._open:
            self._open.popitem()[1].close()
        self._seen = {}


class _Rows:
    """The rows of a thread in several bundles."""

    def __init__(self, thread_id: str, bundles: Sequence[Callable[[], BundleSaver]]) -> None:
        self._thread_id, self._bundles = thread_id, bundles

    def find(self, relation: str, key: Row) -> Iterator[tuple[str, Row]]:
        """See `FindRow.find`; those of later names come first."""
        for bundle in reversed(self._bundles):
            yield from bundle().row_table(self._thread_id).find(relation, key)


S = TypeVar("S", Checkpoint, Write, Payload)


def _same(what: str, found: Mapping[Path, S]) -> S:
    """The record that several bundles have; it must be the same in all."""
    (path, first), *others = found.items()
    for other, one in others:
        if one != first:
            raise _differ(what, path, other)
    return first


def _differ(what: str, one: Path, other: Path) -> DatabaseDamaged:
    return DatabaseDamaged(f"{what} has other contents in {other.name} than in {one.name}", hint="name one with --db")


def _names(paths: Iterable[Path]) -> str:
    return ", ".join(path.name for path in paths)
