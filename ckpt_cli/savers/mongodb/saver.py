"""`MongoSaver`: LangGraph's two collections behind the contract."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby
from typing import Any, ClassVar, TypeVar

from ckpt_cli.model import Checkpoint, CheckpointRow, Payload, Plan, Ref, Row, RowChange, Thread, Write, WriteKey
from ckpt_cli.savers.about import Ability, About, Form, Place, Totals, able
from ckpt_cli.savers.mongodb import reading, records
from ckpt_cli.savers.mongodb.address import parsed
from ckpt_cli.savers.mongodb.connection import Connection
from ckpt_cli.savers.mongodb.faults import explained
from ckpt_cli.savers.mongodb.images import Images
from ckpt_cli.savers.mongodb.own_fields import OwnFields
from ckpt_cli.savers.mongodb.schema import Generation, generation
from ckpt_cli.savers.paging import pages, weighed

T = TypeVar("T")

_NAMES = 500  # checkpoints that one statement names
_FIRST = 4  # checkpoints that are read while nothing is known of their sizes: a document may be of 16 MB


def open_saver(url: str) -> "MongoSaver":
    """Open an existing database for reading.

    Raises:
        UsageError: the URL has an option that nobody knows.
        DatabaseUnreachable: no server answers, it doesn't let us in, or the database holds no checkpoints.
    """
    connection = Connection(parsed(url))
    try:
        found, _ = connection.settled()
        with explained(connection.address.location):
            return MongoSaver(connection, generation(connection, found))
    except BaseException:
        connection.close()
        raise


class MongoSaver(OwnFields):
    """A database of the official saver, its former async twin, or LangGraph.js."""

    name: ClassVar[str] = "mongodb"
    out_of_reach: ClassVar[str] = "free space of the collections (until `compact`), the oplog, replicas and backups"
    page = 25

    def __init__(self, connection: Connection, made: Generation) -> None:
        self._connection = connection
        self._made = made
        self._numbers: dict[str, Any] | None = None
        self._images = Images(connection, self._stored, records.thread_name, task_paths=made.task_paths)
        self.form = Form(versions="int", metadata=records.METADATA)
        self.abilities = able(
            {
                Ability.WRITE: True,
                Ability.ATOMIC: connection.is_cluster,
                Ability.MOMENT: connection.has_snapshots,
                Ability.SKIPS: True,
                Ability.BRANCHES: True,
                Ability.TASK_PATHS: made.task_paths,
            }
        )

    def moment(self, look: Callable[[], T]) -> T:
        """One snapshot on a replica set; elsewhere an application may write between two reads."""

        def fresh() -> T:
            self._numbers = None
            return look()

        return self._connection.moment(fresh)

    def about(self) -> About:
        """The server, the collections, and which saver wrote them."""
        server = "replica set or cluster" if self._connection.is_cluster else "one server"
        facts = {"server": f"{self._connection.version}, {server}", **self._made.facts}
        return About("MongoDB", self._connection.address.location, self._made.words, "mongodb", facts)

    def totals(self) -> Totals:
        """Read the index once, and count the writes."""
        found = next(self._connection.aggregate(self._checkpoints, reading.TOTALS), None)
        counted = next(self._connection.aggregate(self._writes, [{"$count": "n"}]), {"n": 0})
        if found is None:
            return Totals(0, 0, counted["n"])
        ends = (None if found.get(end) is None else records.name_of(found[end]) for end in ("oldest", "newest"))
        return Totals(found["threads"], found["count"], counted["n"], *ends)

    def threads(self) -> Iterator[Thread]:
        """Each thread's first entry in the index; only those without a root graph are looked at again."""
        found = self._connection.aggregate(self._checkpoints, reading.HEADS)
        by_root = groupby(found, key=lambda document: document.get("checkpoint_ns") == "")
        rootless: list[Thread] = []
        for is_rooted, some in by_root:
            if not is_rooted:
                rootless = sorted(self._rootless([one["_id"] for one in some]), key=reading.head_id, reverse=True)
            else:
                rooted = (reading.headed(one["_id"], "", one.get("checkpoint_id")) for one in some)
                yield from merge(rootless, rooted, key=reading.head_id, reverse=True)
                return
        yield from rootless

    def thread(self, thread_id: str) -> Thread | None:
        """One thread by its exact id."""
        found = self._headed({"thread_id": self._stored(thread_id)})
        return next((thread for thread in found if thread.thread_id == thread_id), None)

    def namespaces(self, thread_id: str) -> list[str]:
        """Skip from namespace to namespace in the index."""
        where = {"thread_id": self._stored(thread_id)}
        found = self._connection.aggregate(self._checkpoints, reading.spaces(where))
        return sorted({records.name_of(one["_id"].get("checkpoint_ns")) for one in found})

    def count(self, thread_id: str) -> int:
        """Count the thread's part of the index."""
        where = {"$match": {"thread_id": self._stored(thread_id)}}
        return int(next(self._connection.aggregate(self._checkpoints, [where, {"$count": "n"}]), {"n": 0})["n"])

    def rows(self, thread_id: str, ns: str | None = None) -> Iterator[CheckpointRow]:
        """In the order of the index, one way or the other."""
        where: dict[str, Any] = {"thread_id": self._stored(thread_id)}
        if ns is None:
            found = reading.ascending(self._rows(where, reading.DOWNWARDS))
        else:
            found = self._rows({**where, "checkpoint_ns": records.stored(ns)}, reading.UPWARDS)
        yield from (records.row(thread_id, one) for one in found if records.thread_of(one) == thread_id)

    def rows_of(self, thread_ids: Collection[str]) -> Iterator[CheckpointRow]:
        """Some hundred threads in a statement, in the order of the index."""
        for page in pages(thread_ids, _NAMES):
            found = self._rows({"thread_id": reading.ids(map(self._stored, page))}, reading.DOWNWARDS)
            yield from (records.row(records.thread_of(one), one) for one in reading.ascending(found))

    def newest(self, thread_id: str, ns: str, limit: int) -> list[CheckpointRow]:
        """The first of the namespace in the index."""
        where = {"thread_id": self._stored(thread_id), "checkpoint_ns": records.stored(ns)}
        return [records.row(thread_id, one) for one in self._rows(where, {"checkpoint_id": -1}, limit)]

    def row(self, ref: Ref) -> CheckpointRow | None:
        """One skeleton row."""
        found = self._rows(records.place(ref, self._stored(ref.thread_id)), reading.UPWARDS, 1)
        return next((records.row(ref.thread_id, one) for one in found), None)

    def metadata(self, refs: Collection[Ref]) -> Iterator[tuple[Ref, Payload]]:
        """Some hundreds in a statement, without the checkpoints."""
        columns = ("thread_id", "checkpoint_ns", "checkpoint_id", "type", "metadata")
        for page in pages(sorted(set(refs)), _NAMES):
            stored = self._all_stored(page)
            for found in self._connection.find(self._checkpoints, reading.named(page, stored), columns, {}):
                yield records.ref_of(records.thread_of(found), found), records.metadata(found)

    def checkpoints(self, refs: Iterable[Ref]) -> Iterator[Checkpoint]:
        """As many in a statement as keep it to a few megabytes."""
        return weighed(refs, self._whole, first=_FIRST)

    def sample(self, limit: int) -> list[Ref]:
        """The first and the last of the index."""
        return reading.ends(lambda *order: self._connection.find(self._checkpoints, {}, *order), limit)

    def writes(
        self,
        thread_id: str,
        ns: str | None = None,
        checkpoint_ids: Collection[str] | None = None,
        *,
        values: int | None = None,
    ) -> Iterator[Write]:
        """In the order of the index, but for the task path, which is in none."""
        if ns is None:
            yield from self._writes_of_all(thread_id, checkpoint_ids, values)
            return
        where: dict[str, Any] = {"thread_id": self._stored(thread_id), "checkpoint_ns": records.stored(ns)}
        known = [None] if checkpoint_ids is None else pages(sorted(set(checkpoint_ids)), _NAMES)
        for page in known:
            some = where if page is None else {**where, "checkpoint_id": reading.ids(map(records.stored, page))}
            yield from self._found_writes(some, reading.UPWARDS, values)

    def writes_on(self, refs: Collection[Ref], *, values: int | None = None) -> Iterator[Write]:
        """Some hundred checkpoints in a statement, whatever threads they are of."""
        for page in pages(sorted(set(refs)), _NAMES):
            where = reading.named(page, self._all_stored(page))
            yield from self._found_writes(where, reading.DOWNWARDS, values)

    def writes_of(self, thread_ids: Collection[str], *, values: int | None = None) -> Iterator[Write]:
        """Some hundred threads in a statement, in the order of the index."""
        for page in pages(thread_ids, _NAMES):
            where = {"thread_id": reading.ids(map(self._stored, page))}
            yield from self._found_writes(where, reading.DOWNWARDS, values)

    @property
    def identity(self) -> str:
        """The hosts, the database, and the collections where they aren't the usual ones."""
        return self._connection.address.identity

    def place(self) -> Place:
        """The collections' own ids, which copies of documents don't share, and who the primary is."""
        ids, instance = self._connection.marks()
        return Place(self.identity, ids, f"{instance}/{ids}" if instance else "")

    def must_be_writable(self, *, trying: bool) -> None:  # noqa: ARG002 - the server tells it without
        """Ask the server."""
        self._connection.must_be_writable()

    def transaction(self, work: Callable[[], T]) -> T:
        """A transaction on a replica set; elsewhere every change is made only where a document is as it was."""
        self._numbers = None
        return self._connection.transaction(work)

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """One document a record."""
        return self._images.expand(plan)

    def record_of(self, relation: str, key: Row) -> Ref | WriteKey | None:
        """Every document of the two collections is a record."""
        words: Any = {"thread_id": None, **records.filtered(key)}
        ref = records.ref_of(records.thread_of(words), words)
        if relation == self._checkpoints:
            return ref
        return WriteKey(ref, records.name_of(words["task_id"]), records.index_of(words["idx"]))

    def current(self, relation: str, key: Row) -> Row | None:
        """A whole document as one column."""
        return self._images.current(relation, key)

    def currents(self, names: Sequence[tuple[str, Row]]) -> list[Row | None]:
        """Whole documents, some in a statement."""
        return self._images.currents(names)

    def change(self, changes: Iterable[RowChange]) -> None:
        """Insert, replace and delete by key, where the documents are as they were."""
        self._images.change(changes)

    def close(self) -> None:
        """Close the sockets."""
        self._connection.close()

    @property
    def _checkpoints(self) -> str:
        return self._connection.address.collection

    @property
    def _writes(self) -> str:
        return self._connection.address.writes

    def _rows(self, where: dict[str, Any], sort: dict[str, int], limit: int = 0) -> Iterator[dict[str, Any]]:
        return self._connection.measured(
            self._checkpoints, lambda sizes: reading.rows(where, sort, limit=limit, sizes=sizes)
        )

    def _found_writes(self, where: dict[str, Any], sort: dict[str, int], values: int | None) -> Iterator[Write]:
        def pipeline(sizes: bool) -> list[dict[str, Any]]:
            return reading.writes(where, sort, values, sizes=sizes)

        found = self._connection.measured(self._writes, pipeline)
        if sort is reading.DOWNWARDS:
            found = reading.ascending(found)
        made = (records.write(records.thread_of(one), one, read=True) for one in found)
        for write in reading.by_checkpoint(made):
            yield write if values is None or write.size <= values else write._replace(payload=None)

    def _writes_of_all(
        self, thread_id: str, checkpoint_ids: Collection[str] | None, values: int | None
    ) -> Iterator[Write]:
        """The root graph's, which may be long, one after another; then the others', a namespace at a time."""
        where: dict[str, Any] = {"thread_id": self._stored(thread_id)}
        if checkpoint_ids is not None:
            where["checkpoint_id"] = {"$in": [*map(records.stored, sorted(set(checkpoint_ids)))]}
        yield from self._found_writes({**where, "checkpoint_ns": ""}, reading.UPWARDS, values)
        yield from self._found_writes({**where, "checkpoint_ns": {"$ne": ""}}, reading.DOWNWARDS, values)

    def _whole(self, refs: Sequence[Ref]) -> dict[Ref, Checkpoint]:
        columns = ("thread_id", *reading.SKELETON, "type", "checkpoint", "metadata")
        found = self._connection.find(self._checkpoints, reading.named(refs, self._all_stored(refs)), columns, {})
        stored = (records.checkpoint(records.thread_of(one), one) for one in found)
        return {checkpoint.row.ref: checkpoint for checkpoint in stored}

    def _headed(self, where: dict[str, Any]) -> Iterator[Thread]:
        """Threads with their heads: in the root namespace, or the highest id of any where root has none."""
        yield from reading.heads(self._connection.aggregate(self._checkpoints, reading.spaces(where)))

    def _rootless(self, thread_ids: list[Any]) -> Iterator[Thread]:
        for page in pages(thread_ids, _NAMES):
            yield from self._headed({"thread_id": {"$in": [*page]}})

    def _stored(self, thread_id: str) -> Any:
        """A thread id as it is stored, which some programs did as a number."""
        if not thread_id[-1:].isdecimal():
            return records.stored(thread_id)
        if self._numbers is None:
            found = self._connection.aggregate(self._checkpoints, reading.NUMBER_IDS)
            self._numbers = {str(one["_id"]): one["_id"] for one in found}
        return self._numbers[thread_id] if thread_id in self._numbers else records.stored(thread_id)

    def _all_stored(self, refs: Iterable[Ref]) -> dict[str, Any]:
        return {thread_id: self._stored(thread_id) for thread_id in {ref.thread_id for ref in refs}}
