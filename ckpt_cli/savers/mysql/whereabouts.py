"""What a MySQL or MariaDB server says of where it is."""

from ckpt_cli.savers.mysql.schema import Query

_VARIABLES = """
    SHOW GLOBAL VARIABLES
    WHERE variable_name IN ('server_uuid', 'server_uid', 'hostname', 'datadir', 'port', 'socket')
"""

_CHECKPOINTS = "SELECT 1 FROM information_schema.tables WHERE table_schema = %s AND table_name = 'checkpoints'"


def whereabouts(query: Query) -> tuple[str, str]:
    """The server's id, "" where it has none, and its machine, folder and port.

    A copy of a server's files has its id (``auto.cnf``); MariaDB's (``@@server_uid``, since 10.11 or later) is a hash
    of the machine and the port. The folder or the machine is another one then.
    """
    told = {str(name).lower(): str(value) for name, value in query(_VARIABLES)}
    place = [told.get(name, "") for name in ("hostname", "datadir", "port", "socket")]
    return told.get("server_uuid") or told.get("server_uid") or "", ":".join(place)


def has_checkpoints(query: Query, database: str) -> bool:
    """Whether this user sees a database of that name with checkpoints in it."""
    return any(True for _ in query(_CHECKPOINTS, [database]))
