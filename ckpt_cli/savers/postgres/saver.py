"""`PostgresSaver`: the saver of LangGraph's tables in Postgres."""

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from ckpt_cli.model import Ref, Thread
from ckpt_cli.savers.about import Ability, About, Place, RecordFormat
from ckpt_cli.savers.arrivals import Arrivals, Floor
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import newer
from ckpt_cli.savers.head_reads import HeadRead
from ckpt_cli.savers.measures import Advice, Figures, Space, Vacuum
from ckpt_cli.savers.paging import GrowingPages
from ckpt_cli.savers.postgres.address import parse
from ckpt_cli.savers.postgres.arrivals import read_new, read_threads
from ckpt_cli.savers.postgres.connection import Connection
from ckpt_cli.savers.postgres.disk_space import VACUUM_EFFECT
from ckpt_cli.savers.postgres.engine import PostgresEngine
from ckpt_cli.savers.postgres.schema import NEWEST, NEWEST_SHALLOW, OTHERS, SIZE, Schema, detect
from ckpt_cli.savers.postgres.whereabouts import STANDBY, still_exists, whereabouts
from ckpt_cli.savers.selection import FilterKind
from ckpt_cli.savers.sql.joined_blobs import LONGEST
from ckpt_cli.savers.sql.layout import CHECKPOINTS, MIGRATIONS, TABLES, WRITES
from ckpt_cli.savers.sql.saver import SqlSaver
from ckpt_cli.savers.thread_order import newest_first

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

    from ckpt_cli.savers.agent_rows import AgentRows

_HEADS = 250  # heads in one statement


def open_url(url: str) -> "PostgresSaver":
    """Open an existing database for reading.

    Raises:
        UsageError: the URL can't be read.
        DatabaseUnreachable: the server can't be reached, or the database can't be read or holds no checkpoints.
    """
    return _open(Connection(parse(url)))


def open_pool(pool: "ConnectionPool[Any]") -> "PostgresSaver":
    """Open the database of an application's pool.

    Raises:
        DatabaseUnreachable: the pool gives no connection, or the database can't be read or holds no checkpoints.
    """
    from ckpt_cli.savers.postgres.pooled_connection import PooledConnection

    return _open(PooledConnection(pool))


def _open(connection: Connection) -> "PostgresSaver":
    try:
        return PostgresSaver(connection, connection.moment(lambda: detect(connection)))
    except BaseException:
        connection.close()
        raise


class PostgresSaver(SqlSaver):
    """The saver of an open database."""

    name: ClassVar[str] = "postgres"
    orders_writes_as_library: ClassVar[bool] = True
    foresees_sizes: ClassVar[bool] = False  # JSONB: Postgres pads and compresses headers
    out_of_reach: ClassVar[str] = (
        "dead rows (until `VACUUM checkpoints, checkpoint_blobs, checkpoint_writes`), the server's WAL,"
        " replicas and backups"
    )
    page = 50
    rewrites_numbers = True
    form = RecordFormat(
        apart=True,
        inline=True,
        marks_snapshots=True,
        versions="text",
        metadata="json",
        body="json",
        filter=FilterKind.CONTAINED,
        none_seeds=False,
    )

    def __init__(self, connection: Connection, schema: Schema) -> None:
        version = schema.layout.version
        self._newest = NEWEST_SHALLOW if schema.layout.shallow else NEWEST
        is_newer = version is not None and version > self._newest
        self._warning = newer(version, self._newest) if is_newer else ""
        self._expressions = PostgresEngine(connection, schema)
        super().__init__(self._expressions, schema.layout, self._warning)
        self._connection = connection
        self._schema = schema

    def about(self) -> About:
        """The server, the Postgres schema of the tables, and the size of the tables and their indexes in bytes."""
        schema, name = self._schema, self._schema.schema_names[CHECKPOINTS]
        ((size,),) = self._engine.query(SIZE, [[*schema.names()]])
        others = [table for (table,) in self._engine.query(OTHERS, [name, [*TABLES, MIGRATIONS]])]
        ((user, login),) = self._engine.query("SELECT current_user, session_user")
        facts = {"server": schema.server, "user": user if user == login else f"{user}, logged in as {login}"}
        facts |= {"tables in": name, "collation": schema.collation}
        if schema.layout.version is not None:
            facts["migration"] = f"{schema.layout.version} of {self._newest}"
        if others:
            facts["other tables"] = ", ".join(others)
        if self._warning:
            facts["warning"] = f"{self._warning}: look, don't change"
        letter = "G" if schema.layout.shallow else "F"
        return About("Postgres", self._connection.address.location, schema.generation, letter, facts, size)

    def arrivals(self, floor: Floor, mark: Any = None, thread_ids: Collection[str] | None = None) -> Arrivals:
        """Read named threads by their key, a small table whole, of a large one the last blocks; see `arrivals`."""
        if self._layout.shallow:
            return super().arrivals(floor, None, thread_ids)
        if thread_ids is not None:
            return read_threads(self._engine, self._sql.select, floor, thread_ids)
        new = read_new(self._engine, self._sql.select, floor, mark)
        if new is None or (new.is_partial and mark is None):
            found = super().arrivals(floor)
            return found if new is None else found._replace(mark=new.mark, is_partial=True)
        return new

    def threads_with(self, channels: Collection[str]) -> Iterator[Thread]:
        """One statement: the server looks at the writes of each head, and sends only ids."""
        condition, parameters = self._engine.among(WRITES, ("channel",), [(channel,) for channel in channels])
        statement = self._sql_threads.marked(condition)
        return newest_first(self._engine.query(statement, parameters, stream=True), self._with_newest_heads)

    def head_reads(self, heads: Collection[Ref]) -> Iterator[HeadRead]:
        """One statement for each page reads heads, their blobs and all rows of their threads, and looks for writes."""
        blobs = self._expressions.joined_blobs()
        if blobs is None or self._layout.shallow:
            yield from super().head_reads(heads)
            return
        from ckpt_cli.savers.postgres.head_statement import head_statement, read_heads, weight

        statement, batches = head_statement(self._engine, blobs), GrowingPages(heads, _HEADS)
        conditions = (self._engine.among(CHECKPOINTS, self._sql.key, page) for page in batches)
        queries = ((statement + condition, [LONGEST, None, *names]) for condition, names in conditions)
        for rows in self._engine.query_each(queries):
            batches.weigh([*map(weight, rows)])
            yield from read_heads(rows, lambda refs: self._with_shared_blobs(refs, None))

    def space(self) -> Space:
        """See `disk_space.disk_space`."""
        from ckpt_cli.savers.postgres.disk_space import disk_space

        return disk_space(self._engine.query, self._schema.names())

    def plan_vacuum(self) -> Vacuum:
        """VACUUM of LangGraph's tables, beside which agents go on."""
        return Vacuum(self._vacuum, VACUUM_EFFECT)

    def vacuum(self) -> str:
        """See `disk_space.vacuum`."""
        from ckpt_cli.savers.postgres.disk_space import vacuum

        return vacuum(self._connection, self._vacuum)

    @property
    def _vacuum(self) -> str:
        return f"VACUUM (SKIP_LOCKED) {', '.join(self._schema.names())}"

    def advice(self, space: Space, figures: Figures) -> Iterator[Advice]:
        """See `disk_space.advice`."""
        from ckpt_cli.savers.postgres.disk_space import advice

        schema = self._schema
        tables = {
            table: table if schema.schema_names[table] == "public" else name
            for table, name in zip(TABLES, schema.names(), strict=True)
        }
        kinds = {name: column.kind for name, column in schema.layout.columns[CHECKPOINTS].items()}
        return advice(space, figures, tables, kinds)

    def agent_rows(self) -> "AgentRows":
        """One statement for each call, if the tables are those of LangGraph's own saver; else plans."""
        from ckpt_cli.savers.postgres.agent_rows import PostgresAgentRows
        from ckpt_cli.savers.sql.agent_rows import fits_agent

        if Ability.WRITE not in self.abilities or not fits_agent(self._layout):
            return super().agent_rows()
        return PostgresAgentRows(self, self._connection, self._expressions, self._layout)

    @property
    def identity(self) -> str:
        """Host, port, database and Postgres schema; the same for every user."""
        address = self._connection.address._replace(schema="")
        return f"{address.location}/{self._schema.schema_names[CHECKPOINTS]}"

    def place(self) -> Place:
        """The ids of cluster, database and schema, which renaming doesn't change; and the server's start time."""
        here = whereabouts(self._connection, self._schema.schema_names[CHECKPOINTS])
        return Place(self.identity, here.engine, here.instance)

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:  # noqa: ARG002
        """Whether the database that was seen still exists on this running server; None if it was on another server.

        False if this server is a standby of the other one: a standby has the data of its primary and takes no changes.
        """
        here = whereabouts(self._connection, self._schema.schema_names[CHECKPOINTS])
        is_standby = here.started == STANDBY and here.engine == seen.engine != ""
        return (
            False
            if is_standby or here.instance == seen.instance
            else still_exists(self._connection, here, seen.instance)
        )
