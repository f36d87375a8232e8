"""Reads where a MySQL or MariaDB server is, and whether it has another database of checkpoints."""

from ckpt_cli.savers.mysql.schema import Query

_VARIABLES = """
    SHOW GLOBAL VARIABLES
    WHERE variable_name IN ('server_uuid', 'server_uid', 'hostname', 'datadir', 'port', 'socket')
"""

_CHECKPOINTS = "SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = 'checkpoints'"


def whereabouts(query: Query) -> tuple[str, str]:
    """The server's id ("" if it has none), and its machine, folder, port and socket.

    A copy of a MySQL server's files has the same id (``auto.cnf``) but another folder or machine. MariaDB's id
    (``@@server_uid``, since 10.11 or later) is a hash of the machine and the port.
    """
    variables = {str(name).lower(): str(value) for name, value in query(_VARIABLES)}
    place = [variables.get(name, "") for name in ("hostname", "datadir", "port", "socket")]
    return variables.get("server_uuid") or variables.get("server_uid") or "", ":".join(place)


def has_checkpoints(query: Query, database: str) -> bool:
    """Whether a database with this name has a table of checkpoints that this user can see."""
    return any(True for _ in query(_CHECKPOINTS, [database]))
