"""`PostgresSaver`: LangGraph's tables in Postgres behind the contract."""

from collections.abc import Callable
from typing import ClassVar

from ckpt_cli.savers.about import About, Form, Place
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.faults import newer
from ckpt_cli.savers.postgres.address import address
from ckpt_cli.savers.postgres.connection import Link
from ckpt_cli.savers.postgres.dialect import PostgresEngine
from ckpt_cli.savers.postgres.schema import NEWEST, NEWEST_SHALLOW, OTHERS, SIZE, Found, generation, look
from ckpt_cli.savers.postgres.whereabouts import STANDBY, still_there, whereabouts
from ckpt_cli.savers.sql.layout import CHECKPOINTS, MIGRATIONS, TABLES
from ckpt_cli.savers.sql.saver import SqlSaver


def open_url(url: str) -> "PostgresSaver":
    """Open an existing database for reading.

    Raises:
        UsageError: the URL can't be read.
        DatabaseUnreachable: it can't be reached, may not be read, or holds no checkpoints.
    """
    link = Link(address(url))
    try:
        return PostgresSaver(link, link.moment(lambda: look(link)))
    except BaseException:
        link.close()
        raise


class PostgresSaver(SqlSaver):
    """An open database."""

    name: ClassVar[str] = "postgres"
    out_of_reach: ClassVar[str] = (
        "dead rows (until `VACUUM checkpoints, checkpoint_blobs, checkpoint_writes`), the server's WAL,"
        " replicas and backups"
    )
    page = 50
    form = Form(apart=True, inline=True, marks_snapshots=True, versions="text", metadata="json", body="json")

    def __init__(self, link: Link, found: Found) -> None:
        version = found.layout.version
        self._newest = NEWEST_SHALLOW if found.layout.shallow else NEWEST
        is_newer = version is not None and version > self._newest
        self._warning = newer(version, self._newest) if is_newer else ""
        super().__init__(PostgresEngine(link, found), found.layout, self._warning)
        self._link = link
        self._found = found

    def about(self) -> About:
        """The server, where the tables are, how large they are with their indexes."""
        found, schema = self._found, self._found.schemas[CHECKPOINTS]
        ((size,),) = self._engine.query(SIZE, [[*found.names()]])
        others = [name for (name,) in self._engine.query(OTHERS, [schema, [*TABLES, MIGRATIONS]])]
        facts = {"server": found.server, "tables in": schema, "collation": found.collation}
        if found.layout.version is not None:
            facts["migration"] = f"{found.layout.version} of {self._newest}"
        if others:
            facts["other tables"] = ", ".join(others)
        if self._warning:
            facts["warning"] = f"{self._warning}: look, don't change"
        letter = "G" if found.layout.shallow else "F"
        return About("Postgres", self._link.place.location, generation(found.layout), letter, facts, size)

    @property
    def identity(self) -> str:
        """Host, port, database and schema, whoever asks."""
        place = self._link.place._replace(schema="")
        return f"{place.location}/{self._found.schemas[CHECKPOINTS]}"

    def place(self) -> Place:
        """The numbers of cluster, database and schema, which a renamed one keeps; and when the server was started."""
        here = whereabouts(self._link, self._found.schemas[CHECKPOINTS])
        return Place(self.identity, here.engine, here.instance)

    def original(self, seen: Place, is_it: Callable[[Saver], bool]) -> bool | None:  # noqa: ARG002
        """Another database of this running server is there or not; what another server has isn't known.

        A standby has what its primary has, and takes no changes.
        """
        here = whereabouts(self._link, self._found.schemas[CHECKPOINTS])
        follows = here.started == STANDBY and here.engine == seen.engine != ""
        return False if follows or here.instance == seen.instance else still_there(self._link, here, seen.instance)
