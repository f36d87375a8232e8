"""Postgres databases of every LangGraph generation, read and changed by plans."""

from ckpt_cli.savers.contract import Saver


def open_url(url: str) -> Saver:
    """Open an existing database: ``postgresql://user:password@host:5432/database?schema=name``, or a string of libpq.

    Raises:
        UsageError: the URL can't be read.
        DatabaseUnreachable: the server can't be reached, or the database can't be read or holds no checkpoints.
    """
    from ckpt_cli.savers.postgres import saver

    return saver.open_url(url)
