"""`MySQLSaver`: the saver of LangGraph's tables in MySQL and MariaDB."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from ckpt_cli.model import Plan, Ref, RowChange, Thread
from ckpt_cli.savers.about import Ability, About, Place, RecordFormat
from ckpt_cli.savers.arrivals import Arrivals, Floor
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import newer
from ckpt_cli.savers.measures import Space
from ckpt_cli.savers.mysql.address import parse_url
from ckpt_cli.savers.mysql.connection import Connection
from ckpt_cli.savers.mysql.engine import MySQLEngine
from ckpt_cli.savers.mysql.equal_ids import SharedBlobs, must_not_have_equal_ids
from ckpt_cli.savers.mysql.listing import Head, Listing
from ckpt_cli.savers.mysql.schema import Schema, catalogue_text, detect, size
from ckpt_cli.savers.mysql.whereabouts import has_checkpoints, whereabouts
from ckpt_cli.savers.selection import FilterKind
from ckpt_cli.savers.sql.saver import SqlSaver

if TYPE_CHECKING:
    from ckpt_cli.savers.agent_rows import AgentRows

_ID_INDEX = """
SELECT 1 FROM information_schema.statistics
WHERE table_schema = DATABASE() AND table_name = 'checkpoints' AND column_name = 'checkpoint_id' AND seq_in_index = 1
"""


def open_url(url: str) -> "MySQLSaver":
    """Open an existing database: ``mysql://user:password@host:3306/database``.

    Raises:
        UsageError: the URL can't be read.
        DatabaseUnreachable: the server can't be reached, or the database can't be read or holds no checkpoints.
    """
    connection = Connection(parse_url(url))
    try:
        schema = connection.moment(lambda: detect(connection.address.location, connection.query))
        return MySQLSaver(connection, schema)
    except BaseException:
        connection.abandon()
        raise


class MySQLSaver(SqlSaver):
    """The saver of a database of any generation of langgraph-checkpoint-mysql."""

    name: ClassVar[str] = "mysql"
    out_of_reach: ClassVar[str] = (
        "free space (until `OPTIMIZE TABLE checkpoints, checkpoint_blobs, checkpoint_writes`), the binary log,"
        " replicas and backups"
    )
    form = RecordFormat(
        apart=True, inline=True, versions="text", metadata="json", body="json", filter=FilterKind.CONTAINED
    )

    def __init__(self, connection: Connection, schema: Schema) -> None:
        engine = MySQLEngine(connection, schema)
        super().__init__(engine, schema.layout, _unwritable(schema))
        self._connection = connection
        self._schema = schema
        self._mysql_engine = engine
        self._blobs = SharedBlobs(engine, self._sql_blobs)
        self._listing = Listing(engine, schema)
        self._equal_ids: list[str] | None = None
        self._id_index: bool | None = None

    @property
    def identity(self) -> str:
        """Host, port and database."""
        return self._connection.address.identity

    def place(self) -> Place:
        """The server's id with the database's name; and the place where the server runs, which differs for a clone."""
        server, host = self._connection.moment(lambda: whereabouts(self._connection.query))
        name = self._connection.address.database
        return Place(self.identity, f"{server}/{name}" if server else "", f"{host}/{name}")

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:
        """See `Saver.original`. True only if the other database is on this server and this user may see it."""
        here = self.place()
        (host, _, own), (other_host, _, other) = here.instance.rpartition("/"), seen.instance.rpartition("/")
        exists = self._connection.moment(lambda: has_checkpoints(self._connection.query, other))
        if host == other_host and own != other and exists:
            return True
        return super().original(seen, is_it)

    def about(self) -> About:
        """The generation, the server, and the collation by which the server compares ids."""
        schema, connection = self._schema, self._connection
        facts = {"server": f"{'MariaDB' if connection.is_mariadb else 'MySQL'} {connection.number}"}
        ((user,),) = connection.query("SELECT CURRENT_USER()")
        facts["user"] = catalogue_text(user)
        facts["ids compare by"] = schema.collations.get(("checkpoints", "thread_id"), "")
        if schema.others:
            facts["other tables"] = ", ".join(schema.others)
        if schema.is_newer:
            facts["warning"] = f"{newer(schema.layout.version, schema.newest)}: look, don't change"
        letter = "G" if schema.layout.shallow else "F"
        return About("MySQL", connection.address.location, schema.generation, letter, facts, size(connection.query))

    def space(self) -> Space:
        """See `disk_space.disk_space`."""
        from ckpt_cli.savers.mysql.disk_space import disk_space

        return disk_space(self._connection.query)

    def agent_rows(self) -> "AgentRows":
        """A statement for each table, if the tables are those of LangGraph's own saver; else plans."""
        from ckpt_cli.savers.mysql.agent_rows import MySQLAgentRows
        from ckpt_cli.savers.sql.agent_rows import fits_agent

        if Ability.WRITE not in self.abilities or not fits_agent(self._layout):
            return super().agent_rows()
        return MySQLAgentRows(self, self._connection, self._mysql_engine, self._schema)

    def arrivals(self, floor: Floor, mark: Any = None, thread_ids: Collection[str] | None = None) -> Arrivals:
        """Read the end of the index on ids (checkpoint-mysql 2.0, ``base.py: MIGRATIONS``)."""
        if self._layout.shallow or not self._has_id_index():
            return super().arrivals(floor, mark, thread_ids)
        rows = self._engine.query(f"{self._sql.select} WHERE checkpoint_id >= %s", [floor.lowest_id])
        return Arrivals([Ref(*row) for row in rows])

    def _has_id_index(self) -> bool:
        """Whether ids are indexed by themselves, so that the highest are found without reading all rows."""
        if self._id_index is None:
            self._id_index = any(self._engine.query(_ID_INDEX))
        return self._id_index

    def threads(self) -> Iterator[Thread]:
        """Jump from id to id in the key index; the server sorts only ids, without other columns."""
        equal_ids = self._read_equal_ids()
        by_bytes = list(self._listing.heads_by_bytes(equal_ids))
        rootless = [thread_id for thread_id, head in by_bytes if head is None]
        heads = self._listing.heads(equal_ids)
        first_rooted: list[Head] = []
        for thread_id, head in heads:
            if head is not None:
                first_rooted = [(thread_id, head)]
                break
            rootless.append(thread_id)
        sorted_here = [*self._with_newest_heads(rootless), *_rooted(by_bytes)]
        sorted_by_server = _rooted(chain(first_rooted, heads))
        yield from merge(sorted(sorted_here, key=_head_id, reverse=True), sorted_by_server, key=_head_id, reverse=True)

    def threads_having(
        self, key: str, value: str | float | None, *, or_without: bool = False
    ) -> Iterator[Thread] | None:
        """One statement; none if it would jump over threads because the server treats their ids as equal."""
        return None if self._read_equal_ids() else super().threads_having(key, value, or_without=or_without)

    def heads_by(self, keys: Sequence[str]) -> Iterator[tuple[tuple[str | None, ...], int]] | None:
        """One statement; none if it would jump over threads because the server treats their ids as equal."""
        return None if self._read_equal_ids() else super().heads_by(keys)

    def count_threads(self) -> int:
        """Jump from id to id in the key index; ids that the server treats as equal are counted one by one."""
        return self._listing.count(self._read_equal_ids())

    def _read_equal_ids(self) -> list[str]:
        """One id from each group of equal ids; a moment reads the index for them only once."""
        if self._equal_ids is None or not self._in_moment:
            self._equal_ids = self._listing.equal_ids()
        return self._equal_ids

    def _forget(self) -> None:
        self._equal_ids = None
        super()._forget()

    def namespaces(self, thread_id: str) -> list[str]:
        """Jump from hash to hash in the key index."""
        return sorted(self._listing.namespaces(self._thread(thread_id)))

    def expand(self, plan: Plan) -> Iterator[RowChange]:
        """See `SqlSaver.expand`; refused if, for the server, a thread id of the plan equals another thread's id."""
        must_not_have_equal_ids(self._mysql_engine, plan)
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
