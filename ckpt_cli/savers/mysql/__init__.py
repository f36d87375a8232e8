"""MySQL and MariaDB, read and changed through PyMySQL."""

from ckpt_cli.savers.mysql.saver import MySQLSaver, open_url

__all__ = ["MySQLSaver", "open_url"]
