"""SQLite databases of every LangGraph generation, read and changed by plans. New ones have the current generation."""

from pathlib import Path

from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.sqlite.faults import NotCheckpoints
from ckpt_cli.savers.sqlite.saver import SqliteSaver, open_file

__all__ = ["NotCheckpoints", "SqliteSaver", "create", "open_file"]


def create(path: Path) -> Saver:
    """Make a new, empty database and open it. The module for new databases is imported only here.

    Raises:
        Refused: a file with that name exists.
        DatabaseUnreachable: no file can be made there.
    """
    from ckpt_cli.savers.sqlite import new_database

    return new_database.create(path)
