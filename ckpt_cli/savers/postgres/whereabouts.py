"""What a Postgres server says of where a database is, and of other databases of its own."""

from typing import NamedTuple

from ckpt_cli.savers.postgres.connection import Connection

STANDBY = "standby"

_HERE = """
SELECT d.oid::text, coalesce((SELECT n.oid::text FROM pg_namespace n WHERE n.nspname = %s), ''),
    CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE extract(epoch FROM pg_postmaster_start_time())::text END,
    coalesce(has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE'), false)
FROM pg_database d WHERE d.datname = current_database()
"""

_CLUSTER = "SELECT system_identifier::text FROM pg_control_system()"

_DATABASE = "SELECT 1 FROM pg_database WHERE oid::text = %s"
_TABLE = "SELECT 1 FROM pg_class WHERE relnamespace::text = %s AND relname = 'checkpoints'"


class Whereabouts(NamedTuple):
    """Numbers of a schema's place.

    Attributes:
        cluster: the identifier that a base backup shares (Postgres 15, 9.27.12); "" where this user may not ask.
        started: when the server was started, which tells a clone that runs beside it; `STANDBY` where it follows.
        database: the oid, which a renamed database keeps.
        schema: the same.
    """

    cluster: str
    started: str
    database: str
    schema: str

    @property
    def engine(self) -> str:
        """See `Place.engine`."""
        return f"{self.cluster}/{self.database}/{self.schema}" if self.cluster else ""

    @property
    def instance(self) -> str:
        """See `Place.instance`."""
        return f"{self.started}/{self.database}/{self.schema}"


def whereabouts(connection: Connection, schema: str) -> Whereabouts:
    """Ask the server."""
    ((database, space, started, may_ask),) = connection.query(_HERE, [schema])
    ((cluster,),) = connection.query(_CLUSTER) if may_ask else [("",)]
    return Whereabouts(cluster, started, database, space)


def still_there(connection: Connection, here: Whereabouts, instance: str) -> bool | None:
    """Whether the schema of an earlier instance is still there, on this server; None if it was another server's.

    What another database holds can't be seen from here, so that one is there is taken for an answer.
    """
    started, _, place = instance.partition("/")
    database, _, schema = place.partition("/")
    if started != here.started or not schema:
        return None
    found = connection.query(_TABLE, [schema]) if database == here.database else connection.query(_DATABASE, [database])
    return next(iter(found), None) is not None
