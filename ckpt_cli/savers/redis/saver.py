"""`RedisSaver`: LangGraph's documents behind the contract."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, ClassVar

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Row, RowChange, Thread, Write, WriteKey
from ckpt_cli.savers.about import Ability, About, Form, Totals, able
from ckpt_cli.savers.paging import weighed
from ckpt_cli.savers.redis import records
from ckpt_cli.savers.redis.address import parsed
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.expand import LATEST, REGISTRIES, Expansion, record_of
from ckpt_cli.savers.redis.finding import Finder, Found
from ckpt_cli.savers.redis.index import Index, indexes, plain
from ckpt_cli.savers.redis.keys import Keys
from ckpt_cli.savers.redis.reading import Documents
from ckpt_cli.savers.redis.scan import Scan
from ckpt_cli.savers.redis.schema import Generation, generation
from ckpt_cli.savers.redis.server import NOBODY, KeySaver, headed

_FIRST = 25  # checkpoints that are read while nothing is known of their sizes


def open_saver(url: str) -> "RedisSaver":
    """Open an existing database for reading.

    Raises:
        UsageError: the URL has an option that nobody knows.
        DatabaseUnreachable: no server answers, it doesn't let us in, or the database holds no checkpoints.
    """
    connection = Connection(parsed(url))
    try:
        keys = Keys(connection.address)
        scan = Scan(connection, keys)
        usable = not connection.is_cluster and indexes(connection, keys)
        index = Index(connection, keys, scan) if usable else None
        return RedisSaver(connection, keys, scan, index, generation(connection, keys, index))
    except BaseException:
        connection.close()
        raise


class RedisSaver(KeySaver):
    """A database of the official saver, standard or shallow, of any generation."""

    name: ClassVar[str] = "redis"
    _trials = ("JSON.DEL", "DEL")

    def __init__(self, connection: Connection, keys: Keys, scan: Scan, index: Index | None, made: Generation) -> None:
        super().__init__(connection, keys.checkpoint(NOBODY))
        self._keys, self._scan, self._index, self._made = keys, scan, index, made
        self._documents = Documents(
            connection,
            keys,
            self._found,
            lambda thread_ids: self._finder(thread_ids).writes(thread_ids, None),
            misnamed=made.misnamed,
            old=made.old,
            indexed=index is not None,
        )
        self.form = Form(body=records.TAG)
        self.abilities = able(
            {
                Ability.WRITE: made.writable,
                Ability.ATOMIC: not connection.is_cluster,
                Ability.SKIPS: index is not None,
                Ability.BRANCHES: not made.shallow,
                Ability.TASK_PATHS: True,
            }
        )

    def _forget(self) -> None:
        self._scan.forget()

    def about(self) -> About:
        """The server, what finds documents in it, and which saver wrote them."""
        server = f"{self._connection.version}{', cluster' if self._connection.is_cluster else ''}"
        server += ", replica" if self._connection.is_replica else ""
        finds = "RediSearch" if self._index is not None else "none that is whole: all keys are scanned"
        facts = {"server": server, "index": finds, **self._made.facts}
        return About("Redis", self._connection.address.location, self._made.words, self._made.layout, facts)

    def totals(self) -> Totals:
        """Read the names of all checkpoints, and count the writes."""
        ids = [found.ref for found in self._finder(None).checkpoints(None)]
        span = [ref.checkpoint_id for ref in ids]
        threads = len({ref.thread_id for ref in ids})
        writes = self._finder(None).count_writes()
        return Totals(threads, len(ids), writes, min(span, default=None), max(span, default=None))

    def threads(self) -> Iterator[Thread]:
        """Each thread's namespaces by the index, its head by the pointer."""
        heads = self._heads(None)
        yield from sorted(heads, key=lambda thread: (thread.head.checkpoint_id, thread.thread_id), reverse=True)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread: by its pointer, where the root graph has one."""
        pointed = self._pointed([(thread_id, "")])
        if pointed:
            return Thread(thread_id, pointed[thread_id, ""])
        return next(iter(self._heads([thread_id])), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return sorted(ns for _, ns in self._finder([thread_id]).spaces([thread_id]))

    def count(self, thread_id: str) -> int:
        """Counted by the server, where the index finds the thread."""
        return sum(self._finder([thread_id]).spaces([thread_id]).values())

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The names of one thread's documents."""
        yield from (row for row in self.rows_of([thread_id]) if ns is None or row.ns == ns)

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """The names of some threads' documents, at once."""
        yield from sorted((found.row for found in self._found(thread_ids)), key=lambda row: row.ref)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """Sorted by the server, where the index finds the thread."""
        found = self._finder([thread_id]).newest(thread_id, ns, limit) if limit > 0 else []
        rows = (one.row for one in found if one.ref[:2] == (thread_id, ns))
        return sorted(rows, key=lambda row: row.checkpoint_id, reverse=True)[:limit]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One document's name."""
        found = self._documents.named([ref]).get(ref)
        return None if found is None else found.row

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """Only that part of each document."""
        return self._documents.metadata([*dict.fromkeys(refs)])

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """As many at once as keep it to a few megabytes."""
        return weighed(refs, self._documents.checkpoints, first=_FIRST)

    def sample(self, limit: int) -> list[Ref]:
        """Those that the index gives first, or the scan."""
        keys = self._index.some() if self._index is not None else self._scan.some(limit)
        return [one.ref for one in self._scan.of(keys)][:limit]

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """Found by their own fields; the sorted set may lack some."""
        ids = None if checkpoint_ids is None else {*checkpoint_ids}
        found = self._finder([thread_id]).writes([thread_id], ids) if ids is None or ids else ()
        kept = (one for one in self._documents.writes(found, values))
        yield from sorted(
            (w for w in kept if (ns is None or w.ns == ns) and (ids is None or w.checkpoint_id in ids)), key=_canonical
        )

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """Those of several checkpoints at once."""
        wanted = {*refs}
        threads = {ref.thread_id for ref in wanted}
        found = self._finder(threads).writes(threads, {ref.checkpoint_id for ref in wanted}) if wanted else ()
        of_these = (one for one in found if one["name"].ref in wanted)
        yield from sorted(self._documents.writes(of_these, values), key=_canonical)

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """Those of several threads at once."""
        found = self._finder(thread_ids).writes(thread_ids, None) if thread_ids else ()
        yield from sorted(self._documents.writes(found, values), key=_canonical)

    def must_be_writable(self, *, trying: bool) -> None:
        """Look at the generation, then ask the server."""
        if Ability.WRITE not in self.abilities:
            raise NotSupported(f"{self._connection.address.location}: {self._made.words} is read, not written")
        super().must_be_writable(trying=trying)

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """A document a record, and the keys that lead to them."""
        if Ability.WRITE not in self.abilities:
            raise NotSupported(f"{self._connection.address.location}: {self._made.words} is read, not written")
        return Expansion(plan, self._images, self._keys, self._standing, self._documents.keys_of).rows()

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """Documents are records; pointers and sorted sets are none."""
        return record_of(relation, key)

    def beside(self, ref: Ref) -> Iterator[tuple[str, Row]]:
        """The sorted set that names the checkpoint's writes, and the namespace's pointer."""
        yield REGISTRIES, {"key": self._keys.registry(ref)}
        yield LATEST, {"key": self._keys.latest(ref.thread_id, ref.ns)}

    def _finder(self, thread_ids: Collection[str] | None) -> Finder:
        """The index, but for threads whose ids its tags can't find."""
        return self._index if self._index is not None and plain(thread_ids or ()) else self._scan

    def _found(self, thread_ids: Collection[str]) -> list[Found]:
        odd = [one for one in thread_ids if not plain([one])] if self._index is not None else [*thread_ids]
        rest = [one for one in thread_ids if one not in odd]
        scanned = self._scan.checkpoints(odd) if odd else []
        return scanned + (self._finder(rest).checkpoints(rest) if rest else [])

    def _standing(self, thread_ids: Collection[str]) -> list[Ref]:
        return [found.ref for found in self._found(thread_ids)]

    def _heads(self, thread_ids: Collection[str] | None) -> Collection[Thread]:
        """Of the root graph what the pointer says, else the highest id; of the highest namespace without a root."""
        finder = self._finder(thread_ids)
        spaces = [*finder.spaces(thread_ids)] if self._made.pointers else []
        rooted = {thread_id for thread_id, ns in spaces if ns == ""}
        wanted = [space for space in spaces if space[1] == "" or space[0] not in rooted]
        pointed = self._pointed(wanted)
        lost = {space[0] for space in wanted if space not in pointed} if self._made.pointers else thread_ids
        found = finder.checkpoints(None) if lost is None else self._found(lost) if lost else []
        return headed([*pointed.values(), *(one.ref for one in found if one.ref[:2] not in pointed)])

    def _pointed(self, spaces: list[tuple[str, str]]) -> dict[tuple[str, str], Ref]:
        return self._documents.latest(spaces) if self._made.pointers and spaces else {}


def _canonical(write: Write) -> tuple[Any, ...]:
    return (write.ref, write.order)
