"""Makes LangGraph's tables, or brings older ones up to date, by the setup of that database's own saver."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar, cast

from ckpt_cli.errors import CkptError, Failed, MissingExtra, NoCheckpoints
from ckpt_cli.langgraph.databases import open_for_agent
from ckpt_cli.langgraph.driver_objects import is_pool, open_pool
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.database_name import mask_database
from ckpt_cli.savers.faults import one_line, safe_text
from ckpt_cli.savers.memory import MemorySaver
from ckpt_cli.savers.url import is_conninfo, names, spelled_out, sqlite_file

T = TypeVar("T")
Database = str | Path | object
"""A URL, a path, a name from the config file, or a driver's pool."""

_AT_ONCE = ("", "sqlite", "mongodb")
"""Kinds of databases whose own savers make what they need when they are opened; "" is a path."""


class NotSetUp(MemorySaver):
    """The saver of a database without tables: each read or write raises the error that opening it raised."""

    def __init__(self, database: Database, error: NoCheckpoints) -> None:
        super().__init__()
        self._database = database
        hint = f"setup() makes LangGraph's tables; {error.hint}"
        self._error = NoCheckpoints(error.message, hint=hint)

    def moment(self, look: Callable[[], T]) -> T:  # noqa: ARG002 - nothing is read
        """Raise the error."""
        raise self._error

    def transaction(self, work: Callable[[], T]) -> T:  # noqa: ARG002
        """Raise the error."""
        raise self._error

    def set_up(self) -> Saver:
        """Make the tables, and open the database."""
        make_tables(self._database)
        return open_given(self._database)


def open_given(database: Database) -> Saver:
    """Open what an application gives: a database's name, which must have LangGraph's tables, or a driver's pool.

    As with the own savers, a pool's tables may be missing until `CkptSaver.setup` makes them.

    Raises:
        DatabaseUnreachable: the database can't be reached or, if it is named, has none of LangGraph's tables.
        NotSupported: it is another object of a driver.
    """
    if isinstance(database, str | Path):
        return open_for_agent(database)
    try:
        return open_pool(database)
    except NoCheckpoints as error:
        return NotSetUp(database, error)


def migrate(database: Database, saver: Saver) -> bool:
    """Change tables that an older saver of LangGraph made as its newest saver's setup does; True if that was possible.

    Tables of a shallow saver, of a LangGraph server, of SQLite files before langgraph 0.2 and of other kinds of
    databases stay as they are: no setup of LangGraph's brings them up to date. So do all where the own saver isn't
    installed.

    Raises:
        Failed: the server refused.
    """
    about = saver.about()
    if about.backend == "SQLite" and about.layout == "D" and isinstance(database, str | Path):
        return _add_task_paths(database)
    if about.layout != "F" or "uuid" in about.generation or _kind(database) not in _MIGRATED:
        return False
    try:
        make_tables(database)
    except MissingExtra:
        return False
    return True


def _add_task_paths(database: str | Path) -> bool:
    from ckpt_cli.savers.sqlite.new_database import add_task_paths

    path = database if isinstance(database, Path) else sqlite_file(database)
    if path is not None:
        add_task_paths(path)
    return path is not None


def open_or_make(database: str) -> Saver:
    """Open a database as LangGraph's own savers do, which make a missing SQLite file and MongoDB's indexes at once.

    Raises:
        DatabaseUnreachable: the database can't be reached.
    """
    if database == ":memory:":
        return MemorySaver()
    if _is_new_path(database):
        make_sqlite_tables(Path(database))
    try:
        return open_for_agent(database)
    except NoCheckpoints as error:
        missing = NotSetUp(database, error)
        return missing.set_up() if _kind(database) in _AT_ONCE else missing


def _is_new_path(database: str) -> bool:
    """Whether this can only be the path of a file to make: no URL, ``module:attribute`` or name in the config file."""
    return ":" not in database and not Path(database).exists() and database not in names()


def make_tables(database: Database) -> None:
    """Make LangGraph's tables, collections or indexes; existing ones are brought up to date.

    Raises:
        MissingExtra: LangGraph's own saver of this kind of database isn't installed.
        Failed: the server refused; the message says why.
    """
    kind, name = _kind(database), mask_database(str(database)) if isinstance(database, str | Path) else "the pool"
    make = _MAKERS.get(kind)
    if isinstance(database, str):
        database = spelled_out(database)
    if make is None:
        raise Failed(f"{name}: ckpt can't make LangGraph's tables here")
    try:
        make(database)
    except ModuleNotFoundError as error:
        what = f"{name}: LangGraph's own saver, which makes its tables, isn't installed"
        raise MissingExtra(what, hint=f"pip install {_PACKAGES.get(kind, '')}") from error
    except CkptError:
        raise
    except Exception as error:  # the driver's or the saver's own
        reason = safe_text(one_line(str(error)))
        raise Failed(f"{name}: its tables can't be made: {reason}") from error


def make_sqlite_tables(path: Path) -> None:
    """Make the tables in a file; the file is created if it doesn't exist."""
    from ckpt_cli.savers.sqlite.new_database import make_tables as make

    make(path)


def _sqlite(database: str) -> None:
    path = sqlite_file(database)
    if path is not None:
        make_sqlite_tables(path)


def _postgres(database: Any) -> None:
    from langgraph.checkpoint.postgres import PostgresSaver

    from ckpt_cli.savers.postgres.address import parse
    from ckpt_cli.savers.postgres.connection import Connection
    from ckpt_cli.savers.postgres.pooled_connection import PooledConnection
    from ckpt_cli.savers.postgres.schema import bare

    with closing(PooledConnection(database) if is_pool(database) else Connection(parse(database))) as connection:
        if connection.address.schema:
            list(connection.query("SELECT set_config('search_path', %s, false)", [bare(connection.address.schema)]))
        PostgresSaver(cast(Any, connection.driver)).setup()


def _mysql(database: str) -> None:
    from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver

    from ckpt_cli.savers.mysql.address import parse_url
    from ckpt_cli.savers.mysql.driver import connect

    with closing(connect(parse_url(database))) as driver:
        PyMySQLSaver(driver).setup()


def _mongodb(database: str) -> None:
    from langgraph.checkpoint.mongodb import MongoDBSaver

    from ckpt_cli.savers.mongodb.address import PAIRS, parse_url
    from ckpt_cli.savers.mongodb.client import make_client

    address = parse_url(database)
    with make_client(address) as client:
        MongoDBSaver(client, address.database, address.collection or PAIRS[0][0], address.writes or PAIRS[0][1])


def _redis(database: str) -> None:
    from langgraph.checkpoint.redis import RedisSaver

    from ckpt_cli.savers.redis.address import parse_url
    from ckpt_cli.savers.redis.client import server_client

    address = parse_url(database)
    prefixes: Any = {"checkpoint_prefix": address.prefix, "checkpoint_write_prefix": address.write_prefix}
    with closing(server_client(address)) as client:
        RedisSaver(redis_client=client, **prefixes).setup()


_MAKERS: dict[str, Callable[[Any], None]] = {
    **dict.fromkeys(("", "sqlite"), _sqlite),
    **dict.fromkeys(("postgresql", "postgres"), _postgres),
    **dict.fromkeys(("mysql", "mariadb"), _mysql),
    "mongodb": _mongodb,
    **dict.fromkeys(("redis", "rediss"), _redis),
}

_MIGRATED = ("postgresql", "postgres", "mysql", "mariadb")
"""Kinds of databases whose own savers number the changes of their tables (``checkpoint_migrations``)."""

_PACKAGES = {
    **dict.fromkeys(("postgresql", "postgres"), "langgraph-checkpoint-postgres"),
    **dict.fromkeys(("mysql", "mariadb"), "'langgraph-checkpoint-mysql[pymysql]'"),
    "mongodb": "langgraph-checkpoint-mongodb",
    **dict.fromkeys(("redis", "rediss"), "langgraph-checkpoint-redis"),
}


def _kind(database: Database) -> str:
    """The scheme of a URL, without what follows a plus; "" for a path; ``postgresql`` for a pool and a libpq string."""
    if not isinstance(database, str | Path):
        return "postgresql"
    spelled = spelled_out(str(database))
    if is_conninfo(spelled):
        return "postgresql"
    scheme, separator, _ = spelled.partition("://")
    return scheme.partition("+")[0].lower() if separator else ""
