"""`DevSaver`: reads the pickles of an `InMemorySaver`, always whole files; never writes them."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ckpt_cli.errors import Refused
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Ref, Thread, Write
from ckpt_cli.savers.about import Ability, About, Place, RecordFormat, Totals
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.dev.files import Files, find_files
from ckpt_cli.savers.dev.pickles import Storage, Stored, load
from ckpt_cli.savers.in_memory_rows import ReadOnlySaver, Skeleton
from ckpt_cli.savers.measures import Group, Part, ThreadSize, outermost
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values.node import Form, Node

T = TypeVar("T")

_ATTEMPTS = 5
_SCHEME = "dev:"
_KEY = "LANGGRAPH_AES_KEY"  # LangGraph's variable; an encrypted header must be decrypted to find its blobs
_KEY_SIZES = (16, 24, 32)


class DevSaver(ReadOnlySaver):
    """The three dicts as they were last written to the files."""

    name: ClassVar[str] = "dev"
    form = RecordFormat(apart=True, metadata="msgpack")
    abilities = frozenset({Ability.MOMENT, Ability.BRANCHES, Ability.TASK_PATHS})
    why_not = "its server holds everything in memory and writes over these files"

    def __init__(self, files: Files, location: str) -> None:
        self._files = files
        self._location = location
        key = (os.environ.get(_KEY) or "").encode()
        self._codec = Codec(key if len(key) in _KEY_SIZES else None)
        self._in_moment = False
        if not files.served:
            self.why_not = "a program holds everything in memory; `ckpt copy` takes its threads into a database"
        self._read()

    def _read(self) -> None:
        for _ in range(_ATTEMPTS):
            self._marks = self._files.marks()
            self._storage: Storage = load(self._files)
            if self._files.marks() == self._marks:
                self._skeleton = Skeleton(stored.row for stored in self._storage.checkpoints.values())
                return
        raise Refused(f"{self._location} is being written all the time", hint="try again when its server is quieter")

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look` on the data in memory; the files are read again first if they have changed."""
        if self._in_moment:
            return look()
        if self._files.marks() != self._marks:
            self._read()
        self._in_moment = True
        try:
            return look()
        finally:
            self._in_moment = False

    def about(self) -> About:
        """The program that wrote the files, and the files' names."""
        backend = "langgraph dev" if self._files.served else "InMemorySaver"
        facts = {"files": ", ".join(path.name for path in self._files.all)}
        if self._files.served:
            facts["written"] = "by `langgraph dev` every ten seconds and when it stops"
        size = sum(size for _, size, _ in self._marks)
        return About(backend, self._location, "pickles of InMemorySaver", "dev", facts, size)

    def totals(self) -> Totals:
        """Count in memory."""
        ids = list(self._skeleton.ids())
        writes = sum(len(entries) for entries in self._storage.writes.values())
        threads = sum(1 for _ in self._skeleton.threads())
        return Totals(threads, len(ids), writes, min(ids, default=None), max(ids, default=None))

    def threads(self) -> Iterator[Thread]:
        """Every thread, by the id of its head, highest first."""
        return self._skeleton.threads()

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        return self._skeleton.thread(thread_id)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return self._skeleton.namespaces(thread_id)

    def count(self, thread_id: str) -> int:
        """How many checkpoints a thread has."""
        return sum(1 for _ in self._skeleton.rows(thread_id))

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The rows of a thread or a namespace, ascending by namespace and id."""
        return self._skeleton.rows(thread_id, ns)

    def sizes(self, thread_ids: Collection[str]) -> Mapping[str, int]:
        """Add up the lengths of headers and blobs, which are in memory."""
        sizes = dict.fromkeys(thread_ids, 0)
        headers = ((ref.thread_id, stored.header) for ref, stored in self._storage.checkpoints.items())
        blobs = ((thread_id, blob) for (thread_id, *_), blob in self._storage.blobs.items())
        for thread_id, payload in chain(headers, blobs):
            if thread_id in sizes:
                sizes[thread_id] += len(payload.data)
        return sizes

    def groups(self, bounds: Sequence[str], thread_ids: Collection[str] | None = None) -> Iterator[Group]:
        """See `Measurer.groups`; and the blobs, whose periods aren't known."""
        yield from super().groups(bounds, thread_ids)
        for (thread_id, ns, channel, _), blob in self._storage.blobs.items():
            if thread_ids is None or thread_id in thread_ids:
                yield Group(Part.CHANNEL, 1, len(blob.data), outermost(ns), channel, blob.tag)

    def thread_sizes(
        self, since: str, thread_ids: Collection[str] | None = None, *, largest: int | None = None
    ) -> Iterator[ThreadSize]:
        """See `Measurer.thread_sizes`; the blobs are added."""
        blobs = Counter[str]()
        for (thread_id, *_), blob in self._storage.blobs.items():
            blobs[thread_id] += len(blob.data)
        for one in super().thread_sizes(since, thread_ids, largest=largest):
            yield one if one.bytes is None else one._replace(bytes=one.bytes + blobs[one.thread_id])

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids, highest first."""
        return self._skeleton.newest(thread_id, ns, limit)

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        return self._skeleton.row(ref)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of those checkpoints that exist."""
        checkpoints = self._storage.checkpoints
        yield from [(ref, checkpoints[ref].metadata) for ref in dict.fromkeys(refs) if ref in checkpoints]

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """Those checkpoints that exist, in the order of `refs`, with the blobs of their channel versions."""
        for ref in refs:
            stored = self._storage.checkpoints.get(ref)
            if stored is not None:
                yield Checkpoint(stored.row, stored.header, stored.metadata, self._channels(stored))

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """Writes by namespace and checkpoint, then in canonical order."""
        for ref in sorted(ref for ref in self._storage.writes if ref.thread_id == thread_id):
            if (ns is None or ref.ns == ns) and (checkpoint_ids is None or ref.checkpoint_id in checkpoint_ids):
                for write in self._storage.writes[ref]:
                    yield write if values is None or write.size <= values else write._replace(payload=None)

    @property
    def identity(self) -> str:
        """The resolved path of the storage file."""
        return f"{_SCHEME}{self._files.storage}"

    def place(self) -> Place:
        """The path, and the file's device and inode."""
        from ckpt_cli.savers.whereabouts import place_of

        return place_of(self.identity, self._files.storage)

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:
        """Whether `seen` is another database that still exists; opens the file at its path to compare."""
        from ckpt_cli.savers.whereabouts import original_at

        path = Path(seen.address.removeprefix(_SCHEME))
        return original_at(self._files.storage, path, is_it, lambda other: DevSaver(find_files(other), str(other)))

    def close(self) -> None:
        """Do nothing: no file is open."""

    def _channels(self, stored: Stored) -> dict[str, Payload]:
        """The blobs that a header's ``channel_versions`` name (checkpoint 4.3, ``memory: _load_blobs``)."""
        header: Any = self._codec.decode(stored.header)
        if isinstance(header, Node) and header.form is Form.BROKEN:
            return {}
        versions = header.get("channel_versions") if isinstance(header, dict) else None
        row, blobs = stored.row, self._storage.blobs
        keys = {c: (row.thread_id, row.ns, c, v) for c, v in _plain_versions(versions).items()}
        return {channel: blobs[key] for channel, key in keys.items() if key in blobs}


def _plain_versions(versions: Any) -> dict[str, str | int | float]:
    """The entries with a value that can be a version; a hostile header may hold any value."""
    items = versions.items() if isinstance(versions, dict) else ()
    return {channel: version for channel, version in items if isinstance(version, str | int | float)}
