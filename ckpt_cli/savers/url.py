"""What a person typed becomes an open saver."""

from collections.abc import Callable
from pathlib import Path

from ckpt_cli.errors import UsageError
from ckpt_cli.savers.contract import Saver


def open_saver(database: str | None, say: Callable[[str], None]) -> Saver:
    """Open what ``--db`` names."""
    from ckpt_cli.savers.sqlite import open_file

    if database is None:
        raise UsageError("no database named")
    return open_file(Path(database.removeprefix("sqlite:///")), database)
