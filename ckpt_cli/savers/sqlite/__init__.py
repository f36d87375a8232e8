"""SQLite databases of every LangGraph generation: opened read-only, or made new in the current one."""

from ckpt_cli.savers.sqlite.connect import NotCheckpoints
from ckpt_cli.savers.sqlite.create import create
from ckpt_cli.savers.sqlite.saver import SqliteSaver, open_file

__all__ = ["NotCheckpoints", "SqliteSaver", "create", "open_file"]
