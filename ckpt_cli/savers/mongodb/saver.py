"""`MongoSaver`: reads and changes LangGraph's two collections."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Row, RowChange, Thread, Write, WriteKey
from ckpt_cli.savers.about import Ability, About, Place, RecordFormat, Totals, ability_set
from ckpt_cli.savers.mongodb import reading, records, select_filter
from ckpt_cli.savers.mongodb.address import parse_url
from ckpt_cli.savers.mongodb.connection import Connection
from ckpt_cli.savers.mongodb.expand import Expansion
from ckpt_cli.savers.mongodb.faults import translate_errors
from ckpt_cli.savers.mongodb.images import Images
from ckpt_cli.savers.mongodb.measure_methods import MeasureMethods
from ckpt_cli.savers.mongodb.schema import Schema, detect
from ckpt_cli.savers.mongodb.thread_ids import ThreadIds
from ckpt_cli.savers.paging import fetch_by_size, pages
from ckpt_cli.savers.selection import FilterKind, Selection

if TYPE_CHECKING:
    from ckpt_cli.savers.agent_rows import AgentRows

T = TypeVar("T")

_NAMES = 500  # checkpoints that one statement names
_FIRST = 4  # checkpoints in the first fetch, before their sizes are known: a document may have 16 MB


def open_url(url: str) -> "MongoSaver":
    """Open an existing database for reading.

    Raises:
        UsageError: the URL has an unknown option.
        DatabaseUnreachable: no server answers, it refuses the login, or the database holds no checkpoints.
    """
    connection = Connection(parse_url(url))
    try:
        collections, _ = connection.choose_collections()
        with translate_errors(connection.address.location):
            return MongoSaver(connection, detect(connection, collections))
    except BaseException:
        connection.close()
        raise


class MongoSaver(MeasureMethods):
    """A database of LangGraph's own saver, of its former async variant, or of LangGraph.js."""

    name: ClassVar[str] = "mongodb"
    finds_writes_by_path = True
    out_of_reach: ClassVar[str] = "free space of the collections (until `compact`), the oplog, replicas and backups"
    page = 25

    def __init__(self, connection: Connection, schema: Schema) -> None:
        self._connection = connection
        self._checkpoints, self._writes = connection.address.collection, connection.address.writes
        self._schema = schema
        self._thread_ids = ThreadIds(connection)
        self._stored_id = self._thread_ids.stored
        self._images = Images(connection)
        self._expansion = Expansion(connection, self._stored_id, records.thread_name, task_paths=schema.task_paths)
        self.form = RecordFormat(versions="int", metadata=records.METADATA, filter=FilterKind.FIELDS)
        self.abilities = ability_set(
            {
                Ability.WRITE: True,
                Ability.ATOMIC: connection.is_cluster,
                Ability.MOMENT: connection.has_snapshots,
                Ability.SKIPS: True,
                Ability.BRANCHES: True,
                Ability.TASK_PATHS: schema.task_paths,
            }
        )

    def moment(self, look: Callable[[], T]) -> T:
        """Run `look`: on a snapshot of a replica set; elsewhere an application may write between two reads."""

        def fresh() -> T:
            self._thread_ids.forget()
            return look()

        return self._connection.moment(fresh)

    def about(self) -> About:
        """The server, the collections, and which saver wrote them."""
        server = "replica set or cluster" if self._connection.is_cluster else "one server"
        facts = {"server": f"{self._connection.version}, {server}", "user": self._connection.user, **self._schema.facts}
        return About("MongoDB", self._connection.address.location, self._schema.generation, "mongodb", facts)

    def totals(self) -> Totals:
        """Read the index once, and count the writes."""
        checkpoints = next(self._connection.aggregate(self._checkpoints, reading.TOTALS), None)
        writes = next(self._connection.aggregate(self._writes, [{"$count": "n"}]), {"n": 0})
        return reading.totals_of(checkpoints, writes["n"])

    def threads(self) -> Iterator[Thread]:
        """Every thread, read from its first entry in the index; threads without a root graph need a second query."""
        documents = self._connection.aggregate(self._checkpoints, reading.HEADS)
        by_root = groupby(documents, key=lambda document: document.get("checkpoint_ns") == "")
        rootless: list[Thread] = []
        for is_rooted, some in by_root:
            if not is_rooted:
                rootless = sorted(self._rootless([one["_id"] for one in some]), key=reading.head_id, reverse=True)
            else:
                rooted = (reading.thread_with_head(one["_id"], "", one.get("checkpoint_id")) for one in some)
                yield from merge(rootless, rooted, key=reading.head_id, reverse=True)
                return
        yield from rootless

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        threads = self._with_heads({"thread_id": self._stored_id(thread_id)})
        return next((thread for thread in threads if thread.thread_id == thread_id), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """The namespaces of a thread, found by skips in the index."""
        where = {"thread_id": self._stored_id(thread_id)}
        spaces = self._connection.aggregate(self._checkpoints, reading.namespaces_with_heads(where))
        return sorted({records.name_of(one["_id"].get("checkpoint_ns")) for one in spaces})

    def count(self, thread_id: str) -> int:
        """How many checkpoints a thread has, counted in the index."""
        where = {"$match": {"thread_id": self._stored_id(thread_id)}}
        return int(next(self._connection.aggregate(self._checkpoints, [where, {"$count": "n"}]), {"n": 0})["n"])

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """The rows of a thread or a namespace, ascending; the index is read forwards or backwards."""
        where: dict[str, Any] = {"thread_id": self._stored_id(thread_id)}
        if ns is None:
            documents = reading.ascending(self._rows(where, reading.DESCENDING))
        else:
            documents = self._rows({**where, "checkpoint_ns": records.stored(ns)}, reading.ASCENDING)
        yield from (records.row(thread_id, one) for one in documents if records.thread_of(one) == thread_id)

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """The rows of several threads, some hundred threads in each statement."""
        for page in pages(thread_ids, _NAMES):
            documents = self._rows({"thread_id": reading.ids(map(self._stored_id, page))}, reading.DESCENDING)
            yield from (records.row(records.thread_of(one), one) for one in reading.ascending(documents))

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The rows with the highest ids, highest first: the namespace's first entries in the index."""
        where = {"thread_id": self._stored_id(thread_id), "checkpoint_ns": records.stored(ns)}
        return [records.row(thread_id, one) for one in self._rows(where, {"checkpoint_id": -1}, limit)]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        documents = self._rows(records.place(ref, self._stored_id(ref.thread_id)), reading.ASCENDING, 1)
        return next((records.row(ref.thread_id, one) for one in documents), None)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """The metadata of these checkpoints, some hundred in each statement."""
        columns = ("thread_id", "checkpoint_ns", "checkpoint_id", "type", "metadata")
        for page in pages(sorted(set(refs)), _NAMES):
            stored = self._stored_ids(page)
            for document in self._connection.find(self._checkpoints, reading.filter_for(page, stored), columns, {}):
                yield records.ref_of(records.thread_of(document), document), records.metadata(document)

    def select(self, selection: Selection) -> Iterator[Ref]:
        """See `select_filter.select`."""
        thread_id = None if selection.thread_id is None else self._stored_id(selection.thread_id)
        return select_filter.select(self._connection, selection, thread_id)

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """These checkpoints, in fetches of a few megabytes."""
        return fetch_by_size(refs, self._whole, first=_FIRST)

    def sample(self, limit: int) -> list[Ref]:
        """The first and the last checkpoints of the index."""
        return reading.ends(lambda *order: self._connection.find(self._checkpoints, {}, *order), limit)

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """Writes; they are sorted here within each checkpoint, because no index has the task path."""
        if ns is None:
            yield from self._writes_of_all(thread_id, checkpoint_ids, values)
            return
        where: dict[str, Any] = {"thread_id": self._stored_id(thread_id), "checkpoint_ns": records.stored(ns)}
        some_ids = [None] if checkpoint_ids is None else pages(sorted(set(checkpoint_ids)), _NAMES)
        for page in some_ids:
            some = where if page is None else {**where, "checkpoint_id": reading.ids(map(records.stored, page))}
            yield from self._find_writes(some, reading.ASCENDING, values)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several checkpoints of any threads, some hundred checkpoints in each statement."""
        for page in pages(sorted(set(refs)), _NAMES):
            where = reading.filter_for(page, self._stored_ids(page))
            yield from self._find_writes(where, reading.DESCENDING, values)

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """The writes of several threads, some hundred threads in each statement."""
        for page in pages(thread_ids, _NAMES):
            where = {"thread_id": reading.ids(map(self._stored_id, page))}
            yield from self._find_writes(where, reading.DESCENDING, values)

    @property
    def identity(self) -> str:
        """The hosts, the database, and collections other than the default."""
        return self._connection.address.identity

    def place(self) -> Place:
        """The collections' UUIDs, which copies of documents don't share, and an id of the primary."""
        ids, instance = self._connection.marks()
        return Place(self.identity, ids, f"{instance}/{ids}" if instance else "")

    def must_be_writable(self, *, trying: bool) -> None:  # noqa: ARG002 - the server says it without a trial
        """Check that the server's role and the user's roles allow writes."""
        self._connection.must_be_writable()

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work`: in a transaction of a replica set; elsewhere each change first compares the document."""
        self._thread_ids.forget()
        return self._connection.transaction(work)

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """One document for each record."""
        return self._expansion.rows(plan)

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """The record of a document; each document of the two collections is a record."""
        document: Any = {"thread_id": None, **records.filter_of(key)}
        ref = records.ref_of(records.thread_of(document), document)
        if relation == self._checkpoints:
            return ref
        return WriteKey(ref, records.name_of(document["task_id"]), records.index_of(document["idx"]))

    def current(self, relation: str, key: Row) -> Row | None:
        """A whole document as one column."""
        return self._images.current(relation, key)

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """Whole documents, a page in each statement."""
        return self._images.currents(names)

    def change(self, changes: Iterable[RowChange]) -> None:
        """Insert, replace and delete by key, each document only if it equals its before-image."""
        self._images.change(changes)

    def agent_rows(self) -> "AgentRows":
        """A request for each call that writes, as LangGraph's own saver sends it."""
        from ckpt_cli.savers.mongodb.agent_rows import MongoAgentRows

        return MongoAgentRows(self, self._connection, self._schema)

    def close(self) -> None:
        """Close the sockets."""
        self._connection.close()

    def _rows(self, where: dict[str, Any], sort: dict[str, int], limit: int = 0) -> Iterator[dict[str, Any]]:
        return self._connection.measured(
            self._checkpoints, lambda sizes: reading.rows(where, sort, limit=limit, sizes=sizes)
        )

    def _find_writes(self, where: dict[str, Any], sort: dict[str, int], values: int | None) -> Iterator[Write]:
        def pipeline(sizes: bool) -> list[dict[str, Any]]:
            return reading.writes(where, sort, values, sizes=sizes)

        documents = self._connection.measured(self._writes, pipeline)
        if sort is reading.DESCENDING:
            documents = reading.ascending(documents)
        writes = (records.write(records.thread_of(one), one, read=True) for one in documents)
        for write in reading.by_checkpoint(writes):
            yield write if values is None or write.size <= values else write._replace(payload=None)

    def _writes_of_all(
        self, thread_id: str, checkpoint_ids: Collection[str] | None, values: int | None
    ) -> Iterator[Write]:
        """The writes of all namespaces: first those of the root graph, which may be many, then others by namespace."""
        where: dict[str, Any] = {"thread_id": self._stored_id(thread_id)}
        if checkpoint_ids is not None:
            where["checkpoint_id"] = {"$in": [*map(records.stored, sorted(set(checkpoint_ids)))]}
        yield from self._find_writes({**where, "checkpoint_ns": ""}, reading.ASCENDING, values)
        yield from self._find_writes({**where, "checkpoint_ns": {"$ne": ""}}, reading.DESCENDING, values)

    def _whole(self, refs: Sequence[Ref]) -> dict[Ref, Checkpoint]:
        columns = ("thread_id", *reading.SKELETON, "type", "checkpoint", "metadata")
        where = reading.filter_for(refs, self._stored_ids(refs))
        found = self._connection.find(self._checkpoints, where, columns, {})
        return {one.row.ref: one for one in (records.checkpoint(records.thread_of(item), item) for item in found)}

    def _with_heads(self, where: dict[str, Any]) -> Iterator[Thread]:
        """Threads with heads: the root graph's head or, without a root, the highest checkpoint of any namespace."""
        spaces = self._connection.aggregate(self._checkpoints, reading.namespaces_with_heads(where))
        yield from reading.threads_with_heads(spaces)

    def _rootless(self, thread_ids: list[Any]) -> Iterator[Thread]:
        for page in pages(thread_ids, _NAMES):
            yield from self._with_heads({"thread_id": {"$in": [*page]}})

    def _stored_ids(self, refs: Iterable[Ref]) -> dict[str, Any]:
        return {thread_id: self._stored_id(thread_id) for thread_id in {ref.thread_id for ref in refs}}
