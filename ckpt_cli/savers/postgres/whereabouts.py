"""Reads where a Postgres database is, and whether another database still exists on the same server."""

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
    """Numbers that identify a Postgres schema.

    Attributes:
        cluster: the cluster's id, which a base backup has too (Postgres 15, 9.27.12); "" if this user may not read it.
        started: when the server was started (a running clone has another time); `STANDBY` for a standby.
        database: the oid of the database, which renaming doesn't change.
        schema: the oid of the Postgres schema.
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
    """Read the whereabouts of a schema from the server."""
    ((database, schema_oid, started, may_read),) = connection.query(_HERE, [schema])
    ((cluster,),) = connection.query(_CLUSTER) if may_read else [("",)]
    return Whereabouts(cluster, started, database, schema_oid)


def still_exists(connection: Connection, here: Whereabouts, instance: str) -> bool | None:
    """Whether the schema that `instance` names still exists on this server; None if it was on another server.

    A connection sees only the schemas of its own database. So of another database, only the existence is checked.
    """
    started, _, place = instance.partition("/")
    database, _, schema = place.partition("/")
    if started != here.started or not schema:
        return None
    rows = connection.query(_TABLE, [schema]) if database == here.database else connection.query(_DATABASE, [database])
    return next(iter(rows), None) is not None
