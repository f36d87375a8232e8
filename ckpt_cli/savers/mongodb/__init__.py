"""MongoDB databases of LangGraph's own savers, read and changed by plans."""

from ckpt_cli.savers.contract import Saver


def open_url(url: str) -> Saver:
    """Open an existing database: ``mongodb://host/database?collection=checkpoints&writes_collection=checkpoint_writes``.

    Raises:
        UsageError: the URL has an unknown option.
        DatabaseUnreachable: no server answers, it refuses the login, or the database holds no checkpoints.
    """
    from ckpt_cli.savers.mongodb import saver

    return saver.open_url(url)
