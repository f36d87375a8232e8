"""Postgres databases of every LangGraph generation: read, and changed by plans."""

from ckpt_cli.savers.postgres.saver import PostgresSaver, open_url

__all__ = ["PostgresSaver", "open_url"]
