"""Valkey databases of LangGraph's own savers (langgraph-checkpoint-aws); those of the AgentCore saver are only read."""

from ckpt_cli.savers.contract import Saver


def open_url(url: str) -> Saver:
    """Open an existing database: ``valkey://user:password@host:6379/0``.

    Raises:
        UsageError: the URL has an unknown option.
        DatabaseUnreachable: no server answers, it refuses the login, or no LangGraph saver wrote its keys.
    """
    from ckpt_cli.savers.valkey import saver

    return saver.open_url(url)
