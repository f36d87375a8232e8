"""`MySQLSaver`: LangGraph's tables on MySQL and MariaDB behind the contract."""

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import chain
from typing import ClassVar, Self

from ckpt_cli.model import Plan, Ref, RowChange, Thread
from ckpt_cli.savers.about import About, Form, Place, Totals
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import newer
from ckpt_cli.savers.mysql.address import parse
from ckpt_cli.savers.mysql.connection import Connection
from ckpt_cli.savers.mysql.engine import MySQLEngine
from ckpt_cli.savers.mysql.listing import Head, Listing
from ckpt_cli.savers.mysql.schema import Schema, detect, size
from ckpt_cli.savers.mysql.spellings import SharedBlobs, must_be_alone
from ckpt_cli.savers.mysql.whereabouts import stands, whereabouts
from ckpt_cli.savers.sql.saver import SqlSaver


def open_url(url: str) -> "MySQLSaver":
    """Open ``mysql://user:password@host:3306/database``.

    Raises:
        UsageError: the URL isn't one.
        DatabaseUnreachable: the server can't be reached or won't have us, or the database holds no checkpoints.
    """
    return MySQLSaver.at(url)


class MySQLSaver(SqlSaver):
    """A database of any generation of langgraph-checkpoint-mysql."""

    name: ClassVar[str] = "mysql"
    out_of_reach: ClassVar[str] = (
        "free space (until `OPTIMIZE TABLE checkpoints, checkpoint_blobs, checkpoint_writes`), the binary log,"
        " replicas and backups"
    )
    form = Form(apart=True, inline=True, versions="text", metadata="json", body="json")

    def __init__(self, connection: Connection, schema: Schema) -> None:
        engine = MySQLEngine(connection, schema)
        super().__init__(engine, schema.layout, _unwritable(schema))
        self._connection = connection
        self._schema = schema
        self._own = engine
        self._blobs = SharedBlobs(engine, self._sql_blobs)
        self._listing = Listing(engine, schema)

    @classmethod
    def at(cls, url: str) -> Self:
        """See `open_url`."""
        connection = Connection(parse(url))
        try:
            schema = connection.moment(lambda: detect(connection.address.location, connection.query))
            return cls(connection, schema)
        except BaseException:
            connection.abandon()
            raise

    @property
    def identity(self) -> str:
        """Host, port and database."""
        return self._connection.address.identity

    def place(self) -> Place:
        """The server's own id and the database's name; and where the server runs, which isn't where a clone does."""
        server, host = self._connection.moment(lambda: whereabouts(self._connection.query))
        name = self._connection.address.database
        return Place(self.identity, f"{server}/{name}" if server else "", f"{host}/{name}")

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:
        """Another database of this server may be there, where this user may see it."""
        here = self.place()
        (host, _, own), (other_host, _, other) = here.instance.rpartition("/"), seen.instance.rpartition("/")
        is_there = self._connection.moment(lambda: stands(self._connection.query, other))
        if host == other_host and own != other and is_there:
            return True
        return super().original(seen, is_it)

    def about(self) -> About:
        """The generation, the server, and whether it compares ids byte for byte."""
        schema, connection = self._schema, self._connection
        facts = {"server": f"{'MariaDB' if connection.is_mariadb else 'MySQL'} {connection.number}"}
        facts["ids compare by"] = schema.collations.get(("checkpoints", "thread_id"), "")
        if schema.others:
            facts["other tables"] = ", ".join(schema.others)
        if schema.is_newer:
            facts["warning"] = f"{newer(schema.layout.version, schema.newest)}: look, don't change"
        letter = "G" if schema.layout.shallow else "F"
        return About("MySQL", connection.address.location, schema.generation, letter, facts, size(connection.query))

    def totals(self) -> Totals:
        """Counts over the key indexes, ids that the server takes for one counted apart."""
        ((checkpoints, oldest, newest),) = self._engine.query(self._sql.totals)
        ((writes,),) = self._engine.query(self._sql_writes.total)
        return Totals(self._listing.count(), checkpoints, writes, oldest, newest)

    def threads(self) -> Iterator[Thread]:
        """Skip from id to id in the key index; only the ids are sorted, by the server."""
        mixed = self._listing.mixed()
        apart = list(self._listing.apart(mixed))
        rootless = [thread_id for thread_id, head in apart if head is None]
        pairs = self._listing.heads(mixed)
        first: list[Head] = []
        for thread_id, head in pairs:
            if head is not None:
                first = [(thread_id, head)]
                break
            rootless.append(thread_id)
        several = [*self._headed(rootless), *_rooted(apart)]
        rest = _rooted(chain(first, pairs))
        yield from merge(sorted(several, key=_head_id, reverse=True), rest, key=_head_id, reverse=True)

    def namespaces(self, thread_id: str) -> list[str]:
        """Skip from hash to hash in the key index."""
        return sorted(self._listing.namespaces(self._thread(thread_id)))

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """As on every SQL server, if no thread of the plan is there in another spelling."""
        must_be_alone(self._own, plan)
        yield from super().expand(plan)


def _rooted(heads: Iterable[Head]) -> Iterator[Thread]:
    return (Thread(thread_id, Ref(thread_id, "", head)) for thread_id, head in heads if head is not None)


def _head_id(thread: Thread) -> str:
    return thread.head.checkpoint_id


def _unwritable(schema: Schema) -> str:
    if schema.is_newer:
        return newer(schema.layout.version, schema.newest)
    if schema.computed:
        return "its server computes the hash of namespaces (schema 15 to 18)"
    return ""
