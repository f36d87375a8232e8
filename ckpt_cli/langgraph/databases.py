"""Databases opened for an agent: for long, to be read and written, from any thread."""

from pathlib import Path

from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.url import open_saver, sqlite_file


def open_database(database: str | Path) -> Saver:
    """Open an existing database, named as after ``--db``.

    Raises:
        DatabaseUnreachable: it isn't there or can't be opened; nothing is ever made by opening.
    """
    path = database if isinstance(database, Path) else sqlite_file(database)
    if path is None:
        return open_saver(str(database), lambda _: None)
    from ckpt_cli.savers.sqlite.long_lived import open_kept

    try:
        return open_kept(path)
    except DatabaseUnreachable as error:
        if path.exists():
            raise
        raise DatabaseUnreachable(error.message, hint="CkptSaver.create(path) makes a new database") from error


def create_database(path: str | Path) -> Saver:
    """Make a new, empty SQLite database and open it.

    Raises:
        Refused: there is a file of that name.
        DatabaseUnreachable: no file can be made there.
    """
    from ckpt_cli.savers.sqlite import create

    create(Path(path)).close()
    return open_database(path)
