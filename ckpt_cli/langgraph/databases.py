"""Opens or creates an agent's database, and keeps it open; how each backend keeps values: `encoding`.

The agent uses it from any Python thread.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ckpt_cli.errors import DatabaseUnreachable, NotSupported
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import LostWriting
from ckpt_cli.savers.url import open_database, sqlite_file


def open_for_agent(database: str | Path) -> Saver:
    """Open an existing database, named as for ``--db``; nothing is created.

    Raises:
        DatabaseUnreachable: the database doesn't exist or can't be opened.
    """
    path = database if isinstance(database, Path) else sqlite_file(database)
    if path is None:
        return open_database(str(database), lambda _: None)
    from ckpt_cli.savers.sqlite.long_lived import open_long_lived

    try:
        return open_long_lived(path)
    except DatabaseUnreachable as error:
        if path.exists():
            raise
        raise DatabaseUnreachable(error.message, hint="CkptSaver.create(path) makes a new database") from error


@contextmanager
def agent_faults() -> Iterator[None]:
    """Give errors the hints of an agent, of whose changes the operation log has none.

    Raises:
        LostWriting: the connection broke twice while the block wrote, which may or may not have happened.
    """
    try:
        yield
    except LostWriting as error:
        hint = "it may or may not have happened; when the server answers, the call can be made again"
        raise LostWriting(error.message, hint=hint) from error.__cause__


def must_not_expire(*ttls: object) -> None:
    """Check that no time to live is asked for.

    Raises:
        NotSupported: LangGraph's own savers of Redis, MongoDB, DynamoDB and Valkey can set one; ckpt doesn't.
    """
    if any(ttl is not None for ttl in ttls):
        hint = "LangGraph's own saver of Redis, MongoDB, DynamoDB or Valkey sets it; ckpt opens its databases, too"
        raise NotSupported("CkptSaver can't set a time to live: what ckpt writes stays until it is deleted", hint=hint)


def create_database(path: str | Path) -> Saver:
    """Create an empty SQLite database and open it.

    Raises:
        Refused: the file exists already.
        DatabaseUnreachable: the file can't be created.
    """
    from ckpt_cli.savers.sqlite import create

    create(Path(path)).close()
    return open_for_agent(path)
