"""MySQL and MariaDB databases of every LangGraph generation, read and changed by plans through PyMySQL."""

from ckpt_cli.savers.contract import Saver


def open_url(url: str) -> Saver:
    """Open an existing database: ``mysql://user:password@host:3306/database``.

    Raises:
        UsageError: the URL can't be read.
        DatabaseUnreachable: the server can't be reached, or the database can't be read or holds no checkpoints.
    """
    from ckpt_cli.savers.mysql import saver

    return saver.open_url(url)
