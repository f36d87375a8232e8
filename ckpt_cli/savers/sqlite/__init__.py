"""SQLite databases of every LangGraph generation: read, changed by plans, or made new in the current one."""

from pathlib import Path

from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.sqlite.faults import NotCheckpoints
from ckpt_cli.savers.sqlite.saver import SqliteSaver, open_file

__all__ = ["NotCheckpoints", "SqliteSaver", "create", "open_file"]


def create(path: Path) -> Saver:
    """Make a new_database, empty database that can be written; what makes it is loaded only for that.

    Raises:
        Refused: there is a file of that name.
        DatabaseUnreachable: no file can be made there.
    """
    from ckpt_cli.savers.sqlite import new_database

    return new_database.create(path)
