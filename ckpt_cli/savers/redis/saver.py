"""`RedisSaver`: reads and changes the documents of LangGraph's own saver."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Row, RowChange, Thread, Write, WriteKey
from ckpt_cli.savers.about import Ability, About, RecordFormat, Totals, ability_set
from ckpt_cli.savers.arrivals import Arrivals, Floor
from ckpt_cli.savers.paging import fetch_by_size
from ckpt_cli.savers.redis import records
from ckpt_cli.savers.redis.address import parse_url
from ckpt_cli.savers.redis.connection import Connection
from ckpt_cli.savers.redis.expand import LATEST, REGISTRIES, Expansion, record_of
from ckpt_cli.savers.redis.finder import CheckpointDocument, Finder
from ckpt_cli.savers.redis.index import Index, are_plain, has_indexes
from ckpt_cli.savers.redis.indexed_fields import IndexedFields, selected
from ckpt_cli.savers.redis.keys import Keys
from ckpt_cli.savers.redis.reading import Documents
from ckpt_cli.savers.redis.scan import Scan, ScanThenIndex
from ckpt_cli.savers.redis.schema import Schema, detect
from ckpt_cli.savers.redis.server import NOBODY, KeySaver, threads_with_heads
from ckpt_cli.savers.selection import FilterKind, Selection

if TYPE_CHECKING:
    from ckpt_cli.savers.agent_rows import AgentRows

_FIRST = 25  # checkpoints in the first fetch, before their sizes are known


def open_url(url: str) -> "RedisSaver":
    """Open an existing database for reading.

    Raises:
        UsageError: the URL has an unknown option.
        DatabaseUnreachable: no server answers, it refuses the login, or the database holds no checkpoints.
    """
    connection = Connection(parse_url(url))
    try:
        keys = Keys(connection.address)
        usable = not connection.is_cluster and has_indexes(connection, keys)
        scan = Scan(connection, keys, by_key=not usable)
        index = Index(connection, keys, scan) if usable else None
        return RedisSaver(connection, keys, scan, index, detect(connection, keys, index))
    except BaseException:
        connection.close()
        raise


class RedisSaver(KeySaver):
    """A database of the official saver, standard or shallow, of any generation."""

    name: ClassVar[str] = "redis"
    lists_before: ClassVar[bool] = False
    _trials = ("JSON.DEL", "DEL")

    def __init__(self, connection: Connection, keys: Keys, scan: Scan, index: Index | None, schema: Schema) -> None:
        super().__init__(connection, keys.checkpoint(NOBODY))
        self._keys, self._scan, self._index, self._schema = keys, scan, index, schema
        self._watched = (keys.prefix, keys.write_prefix)
        self._documents = Documents(
            connection,
            keys,
            self._find_documents,
            lambda thread_ids: self._finder(thread_ids).writes(thread_ids, None),
            misnamed=schema.misnamed,
            old=schema.old,
            indexed=index is not None,
        )
        self.form = RecordFormat(body=records.TAG, filter=FilterKind.TAGS)
        self.abilities = ability_set(
            {
                Ability.WRITE: schema.writable,
                Ability.ATOMIC: not connection.is_cluster,
                Ability.SKIPS: index is not None,
                Ability.BRANCHES: not schema.shallow,
                Ability.TASK_PATHS: True,
            }
        )

    def _forget(self) -> None:
        self._scan.forget()

    def about(self) -> About:
        """The server, how documents are found in it, and which saver wrote them."""
        server = f"{self._connection.version}{', cluster' if self._connection.is_cluster else ''}"
        server += ", replica" if self._connection.is_replica else ""
        index = "RediSearch" if self._index is not None else "none that is whole: all keys are scanned"
        facts = {"server": server, **self._connection.user, "index": index, **self._schema.facts}
        return About("Redis", self._connection.address.location, self._schema.generation, self._schema.layout, facts)

    def totals(self) -> Totals:
        """Read the names of all checkpoints, and count the writes."""
        refs = [document.ref for document in self._finder(None).checkpoints(None)]
        ids = [ref.checkpoint_id for ref in refs]
        threads = len({ref.thread_id for ref in refs})
        writes = self._finder(None).count_writes()
        return Totals(threads, len(ids), writes, min(ids, default=None), max(ids, default=None))

    def arrivals(self, floor: Floor, mark: Any = None, thread_ids: Collection[str] | None = None) -> Arrivals:
        """Ask the index for the documents with a high time; without an index, look at all threads."""
        documents = self._index.made_since(floor.time) if self._index is not None else None
        return (
            super().arrivals(floor, mark, thread_ids) if documents is None else Arrivals([one.ref for one in documents])
        )

    def threads(self) -> Iterator[Thread]:
        """Every thread, by the id of its head; namespaces come from the index, heads from the pointers."""
        heads = self._heads(None)
        yield from sorted(heads, key=lambda thread: (thread.head.checkpoint_id, thread.thread_id), reverse=True)

    def thread(self, thread_id: str) -> Thread | None:
        """One thread, by the pointer of its root graph if there is one."""
        pointed = self._pointed([(thread_id, "")])
        if pointed:
            return Thread(thread_id, pointed[thread_id, ""])
        return next(iter(self._heads([thread_id])), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, in text order."""
        return sorted(ns for _, ns in self._finder([thread_id]).spaces([thread_id]))

    def count(self, thread_id: str) -> int:
        """The count by the server, if the index finds the thread."""
        return sum(self._finder([thread_id]).spaces([thread_id]).values())

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The rows of a thread or a namespace, ascending."""
        yield from (row for row in self.rows_of([thread_id]) if ns is None or row.ns == ns)

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """The rows of some threads, read together."""
        yield from sorted((document.row for document in self._find_documents(thread_ids)), key=lambda row: row.ref)

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids, sorted by the server if the index finds the thread."""
        documents = self._finder([thread_id]).newest(thread_id, ns, limit) if limit > 0 else []
        rows = (one.row for one in documents if one.ref[:2] == (thread_id, ns))
        return sorted(rows, key=lambda row: row.checkpoint_id, reverse=True)[:limit]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row, from its document's fields."""
        document = self._documents.named([ref]).get(ref)
        return None if document is None else document.row

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata alone of these checkpoints."""
        return self._documents.metadata([*dict.fromkeys(refs)])

    def runs(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, str]]:
        """The field ``run_id``, which LangGraph's saver indexes."""
        return self._documents.runs([*dict.fromkeys(refs)])

    def select(self, selection: Selection) -> Iterator[Ref] | None:
        """Found by the index if metadata is compared; without an index, by the same fields of all documents."""
        if selection.metadata is None:
            return None
        wanted = IndexedFields.of(selection.metadata)
        documents = self._index.with_fields(selection, wanted) if self._index is not None else None
        if documents is None:
            threads = None if selection.thread_id is None else [selection.thread_id]
            documents = self._scan.with_fields(threads, wanted)
        return iter(selected({one.ref for one in documents}, selection))

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """These checkpoints, in fetches of a few megabytes."""
        return fetch_by_size(refs, self._documents.checkpoints, first=_FIRST)

    def sample(self, limit: int) -> list[Ref]:
        """The first checkpoints that the index or the scan gives."""
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
        """Writes, found by their documents' fields, because the sorted set may lack some writes."""
        ids = None if checkpoint_ids is None else {*checkpoint_ids}
        documents = self._finder([thread_id]).writes([thread_id], ids) if ids is None or ids else ()
        refs = ((one, one["name"].ref) for one in documents)
        of_these = [one for one, r in refs if (ns is None or r.ns == ns) and (ids is None or r.checkpoint_id in ids)]
        yield from self._documents.writes(sorted(of_these, key=_canonical), values)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several checkpoints, read together."""
        wanted = {*refs}
        threads = {ref.thread_id for ref in wanted}
        documents = self._finder(threads).writes(threads, {ref.checkpoint_id for ref in wanted}) if wanted else ()
        of_these = (one for one in documents if one["name"].ref in wanted)
        yield from self._documents.writes(sorted(of_these, key=_canonical), values)

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several threads, read together."""
        documents = self._finder(thread_ids).writes(thread_ids, None) if thread_ids else ()
        yield from self._documents.writes(sorted(documents, key=_canonical), values)

    def must_be_writable(self, *, trying: bool) -> None:
        """Check that ckpt can write this generation, then that the server takes writes."""
        if Ability.WRITE not in self.abilities:
            raise NotSupported(f"{self._connection.address.location}: {self._schema.generation} is read, not written")
        super().must_be_writable(trying=trying)

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """Changes of each record's document, and of the keys by which LangGraph's saver finds it."""
        if Ability.WRITE not in self.abilities:
            raise NotSupported(f"{self._connection.address.location}: {self._schema.generation} is read, not written")
        return Expansion(plan, self._images, self._keys, self._find_existing, self._documents.keys_of).rows()

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """The record in a document; None for pointers and sorted sets."""
        return record_of(relation, key)

    def beside(self, ref: Ref) -> Iterator[tuple[str, Row]]:
        """The sorted set that names the checkpoint's writes, and the namespace's pointer."""
        yield REGISTRIES, {"key": self._keys.registry(ref)}
        yield LATEST, {"key": self._keys.latest(ref.thread_id, ref.ns)}

    def agent_rows(self) -> "AgentRows":
        """A round trip for each call that writes; in a cluster plans."""
        if Ability.WRITE not in self.abilities or self._connection.is_cluster:
            return super().agent_rows()
        from ckpt_cli.savers.redis.agent_rows import RedisAgentRows

        return RedisAgentRows(self, self._connection, self._keys, self._images)

    def _checkpoint_key(self, ref: Ref) -> str:
        shallow = Ability.BRANCHES not in self.abilities
        return self._keys.shallow(ref.thread_id, ref.ns) if shallow else self._keys.checkpoint(ref)

    def _finder(self, thread_ids: Collection[str] | None) -> Finder:
        """The finder for these threads: the index, the scan if there is none, or both for ids that tags can't find."""
        if self._index is None:
            return self._scan
        return self._index if are_plain(thread_ids or ()) else ScanThenIndex(self._scan, self._index)

    def _find_documents(self, thread_ids: Collection[str]) -> list[CheckpointDocument]:
        odd = [one for one in thread_ids if not are_plain([one])]
        groups = (group for group in (odd, [one for one in thread_ids if one not in odd]) if group)
        return [one for group in groups for one in self._finder(group).checkpoints(group)]

    def _find_existing(self, thread_ids: Collection[str]) -> list[Ref]:
        return [document.ref for document in self._find_documents(thread_ids)]

    def _heads(self, thread_ids: Collection[str] | None) -> Collection[Thread]:
        """Threads with heads.

        The head is the checkpoint that the root graph's pointer names, else the root graph's highest, else the
        thread's highest.
        """
        finder = self._finder(thread_ids)
        spaces = [*finder.spaces(thread_ids)] if self._schema.pointers else []
        rooted = {thread_id for thread_id, ns in spaces if ns == ""}
        wanted = [space for space in spaces if space[1] == "" or space[0] not in rooted]
        pointed = self._pointed(wanted)
        lost = {space[0] for space in wanted if space not in pointed} if self._schema.pointers else thread_ids
        others = finder.checkpoints(None) if lost is None else self._find_documents(lost) if lost else []
        return threads_with_heads([*pointed.values(), *(one.ref for one in others if one.ref[:2] not in pointed)])

    def _pointed(self, spaces: list[tuple[str, str]]) -> dict[tuple[str, str], Ref]:
        return self._documents.latest(spaces) if self._schema.pointers and spaces else {}


def _canonical(listed: Mapping[str, Any]) -> tuple[Any, ...]:
    """The place of a listed write among others; writes are sorted before their values are read."""
    write = records.write(listed, None, 0)
    return (write.ref, write.order)
