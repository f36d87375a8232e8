"""`SqliteSaver`: LangGraph's two tables behind the contract, whatever generation made them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, groupby
from pathlib import Path
from typing import ClassVar, TypeVar

from ckpt_cli.model import (
    NULL,
    Checkpoint,
    CheckpointRow,
    Payload,
    Ref,
    Scalar,
    Thread,
    Write,
)
from ckpt_cli.savers.about import Ability, About, Place, Totals, ability_set
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.spelling import text_of
from ckpt_cli.savers.sqlite import columns
from ckpt_cli.savers.sqlite import statements as sql
from ckpt_cli.savers.sqlite.changing import Changing
from ckpt_cli.savers.sqlite.connection import File, NotCheckpoints, ReadOnlyFile, Row
from ckpt_cli.savers.sqlite.parameters import among, bound, data, equals
from ckpt_cli.savers.sqlite.schema import Layout, detect
from ckpt_cli.savers.sqlite.thread_ids import OddIds

T = TypeVar("T")

_SCHEME = "sqlite:"
_EVERYTHING = 1 << 62


def open_file(path: Path, location: str = "") -> "SqliteSaver":
    """Open an existing database for reading.

    Args:
        path: the file.
        location: how the person named it; the path unless given.

    Raises:
        DatabaseUnreachable: it isn't there, can't be read, or holds no checkpoints.
    """
    file = ReadOnlyFile(path.resolve())
    try:
        layout = file.moment(lambda: detect(path, file.query))
        return SqliteSaver(file, layout, location or str(path))
    except BaseException:
        file.close()
        raise


class SqliteSaver(Changing):
    """A database file of any generation."""

    name: ClassVar[str] = "sqlite"
    out_of_reach: ClassVar[str] = (
        "free pages of the file (until `VACUUM`), its -wal (until `PRAGMA wal_checkpoint(TRUNCATE)`) and its backups"
    )

    def __init__(self, file: File, layout: Layout, location: str) -> None:
        self._file = file
        self._layout = layout
        self._location = location
        self._odd_ids: OddIds | None = None
        self._images = self._fresh_images()
        self.abilities = ability_set(
            {
                Ability.WRITE: layout.parents,
                Ability.ATOMIC: layout.parents,
                Ability.MOMENT: True,
                Ability.SKIPS: True,
                Ability.BRANCHES: layout.parents,
                Ability.TASK_PATHS: layout.task_paths,
            }
        )

    def moment(self, look: Callable[[], T]) -> T:
        """One read transaction, or a look at a file that nobody changed meanwhile."""

        def fresh() -> T:
            self._odd_ids = None
            return look()

        return self._file.moment(fresh)

    def about(self) -> About:
        """The generation, and how the file was found."""
        seen, layout = self._file.seen, self._layout
        facts = {"journal mode": "WAL" if seen.wal_mode else "rollback journal", "page size": str(seen.page_size)}
        if seen.wal_mode:
            facts["opened"] = seen.way.value
        if layout.other_tables:
            facts["other tables"] = ", ".join(layout.other_tables)
        size = seen.size + seen.log_size
        return About("SQLite", self._location, layout.generation, layout.letter, facts, size)

    def totals(self) -> Totals:
        """Three counts over the key indexes."""
        ((threads,),) = self._rows(sql.COUNT_THREADS)
        ((checkpoints, oldest, newest),) = self._rows(sql.COUNT_CHECKPOINTS)
        writes = next(self._rows(sql.COUNT_WRITES))[0] if self._layout.writes else 0
        threads += None in self._odd.names
        return Totals(threads, checkpoints, writes, columns.parent(oldest) or None, columns.parent(newest) or None)

    def threads(self) -> Iterator[Thread]:
        """Skip from thread to thread in the key index; only the ids are sorted, by SQLite."""
        null = [(None, None)] if None in self._odd.names else []
        found = ((self._name(raw), head) for raw, head in chain(null, self._rows(sql.THREADS)))
        by_root = groupby(found, key=lambda pair: pair[1] is None)
        rootless: list[Thread] = []
        for without_root, pairs in by_root:
            if without_root:
                rootless = sorted((self._headed(thread_id) for thread_id, _ in pairs), key=_head_id, reverse=True)
            else:
                rooted = (Thread(thread_id, Ref(thread_id, "", text_of(head))) for thread_id, head in pairs)
                yield from merge(rootless, rooted, key=_head_id, reverse=True)
                return
        yield from rootless

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        spaces = self.namespaces(thread_id)
        return self._headed(thread_id, spaces) if spaces else None

    def namespaces(self, thread_id: str) -> list[str]:
        """Skip from namespace to namespace in the key index."""
        key, word = self._key(thread_id)
        return [text_of(ns) for (ns,) in self._rows(sql.NAMESPACES, [word, word, word], thread=key)]

    def count(self, thread_id: str) -> int:
        """Count the thread's part of the key index."""
        key, word = self._key(thread_id)
        return int(next(self._rows(sql.COUNT, [word], thread=key))[0])

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """Reads the first page of each row: the parent is there, and the header has the size."""
        key, word = self._key(thread_id)
        words, only = [word], ""
        if ns is not None:
            is_ns, space = equals(ns)
            words, only = [word, space], self._layout.sql(sql.ONE_NS, is_ns=is_ns)
        for row_ns, *row in self._rows(sql.ROWS, words, thread=key, only=only):
            yield columns.skeleton(thread_id, text_of(row_ns), *row)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """Walk the key index backwards."""
        key, word = self._key(thread_id)
        is_ns, space = equals(ns)
        found = self._rows(sql.NEWEST, [word, space, limit], thread=key, is_ns=is_ns)
        return [columns.skeleton(thread_id, ns, *row) for row in found]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        found = next(self._rows_of_one(sql.ROW, ref), None)
        return CheckpointRow(*ref, columns.parent(found[0]), found[1]) if found else None

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """Metadata is stored after the checkpoint, so each costs a walk over that row's pages."""
        for (thread_id, ns), some in groupby(sorted(set(refs)), key=lambda ref: (ref.thread_id, ref.ns)):
            (key, word), (is_ns, space) = self._key(thread_id), equals(ns)
            for condition, chunk in among(self._layout.columns["id"], [ref.checkpoint_id for ref in some]):
                words = [word, space, *chunk]
                for checkpoint_id, text in self._rows(sql.METADATA, words, thread=key, is_ns=is_ns, some=condition):
                    yield Ref(thread_id, ns, text_of(checkpoint_id)), self._metadata(text)

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """One row at a time, by its key."""
        for ref in refs:
            for parent_id, tag, body, metadata in self._rows_of_one(sql.CHECKPOINT, ref):
                raw = data(body)
                row = CheckpointRow(*ref, columns.parent(parent_id), len(raw))
                yield Checkpoint(row, Payload(columns.tag(tag), raw), self._metadata(metadata))

    def sample(self, limit: int) -> list[Ref]:
        """Those of the first and the last threads in the key index, and the rows that were put first and last."""
        words = [limit // 4] * 4
        found = dict.fromkeys(self._rows(sql.SAMPLE, words))
        return [Ref(self._name(thread_id), text_of(ns), text_of(own)) for thread_id, ns, own in found]

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """In the order of the key index, but for the task path, which is in no index."""
        if not self._layout.writes:
            return
        key, word = self._key(thread_id)
        words: list[object] = [_EVERYTHING if values is None else values, word]
        only = ""
        if ns is not None:
            is_ns, space = equals(ns)
            words.append(space)
            only = self._layout.sql(sql.ONE_WRITE_NS, is_ns=is_ns)
        if checkpoint_ids is None:
            yield from self._writes(thread_id, words, key, only)
            return
        for condition, chunk in among(self._layout.columns["write_id"], sorted(set(checkpoint_ids))):
            yield from self._writes(thread_id, [*words, *chunk], key, f"{only} AND {condition}")

    @property
    def identity(self) -> str:
        """The file itself, by whatever name it was opened."""
        return f"{_SCHEME}{self._file.path}"

    def place(self) -> Place:
        """The path, and the file's numbers."""
        from ckpt_cli.savers.whereabouts import place_of

        return place_of(self.identity, self._file.path)

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:
        """Look at the file that has the other path now."""
        from ckpt_cli.savers.whereabouts import original_at

        return original_at(self._file.path, Path(seen.address.removeprefix(_SCHEME)), is_it, _opened)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _rows(self, template: str, words: Sequence[object] = (), **parts: str) -> Iterator[Row]:
        return self._file.query(self._layout.sql(template, **parts), words)

    def _writes(self, thread_id: str, words: Sequence[object], key: str, only: str) -> Iterator[Write]:
        found = self._rows(sql.WRITES, words, thread=key, only=only)
        return (columns.write(thread_id, row) for row in found)

    def _metadata(self, text: object) -> Payload:
        """JSON text also beside encrypted checkpoints; where the generation stores no type tags it has none either."""
        return NULL if text is None else Payload("json" if self._layout.typed else "", data(text))

    def _headed(self, thread_id: str, spaces: Sequence[str] = ()) -> Thread:
        """A thread with its head: in the root namespace, or the highest id of any where root has none."""
        spaces = spaces or self.namespaces(thread_id)
        heads = [self.newest(thread_id, ns, 1)[0].ref for ns in spaces if ns == "" or spaces[0] != ""]
        return Thread(thread_id, max(heads, key=lambda ref: ref.checkpoint_id))

    @property
    def _odd(self) -> OddIds:
        self._odd_ids = self._odd_ids or OddIds(self._file.query)
        return self._odd_ids

    def _stored(self, thread_id: str) -> Scalar:
        """A thread id as it is stored, which some programs did as a number."""
        return self._odd.stored.get(thread_id, thread_id)

    def _name(self, raw: Scalar) -> str:
        """A stored thread id as text."""
        return raw if isinstance(raw, str) else self._odd.names.get(raw) or text_of(raw)

    def _key(self, thread_id: str) -> tuple[str, Scalar]:
        """The end of the condition and the parameter that find a thread, also one whose id was stored as no text."""
        if thread_id in self._odd.stored:
            return "IS ?", self._odd.stored[thread_id]
        return "= CAST(? AS TEXT)", bound(thread_id)

    def _rows_of_one(self, template: str, ref: Ref) -> Iterator[Row]:
        (key, word), (is_ns, ns), (is_id, own_id) = self._key(ref.thread_id), equals(ref.ns), equals(ref.checkpoint_id)
        return self._rows(template, [word, ns, own_id], thread=key, is_ns=is_ns, is_id=is_id)


def _opened(path: Path) -> SqliteSaver | None:
    try:
        return open_file(path)
    except NotCheckpoints:
        return None


def _head_id(thread: Thread) -> str:
    return thread.head.checkpoint_id
