"""A PgBouncer in transaction mode in front of the session's Postgres, with one connection for all clients."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.requiring import missing
from tests.servers.postgres import PostgresServer, account
from tests.servers.processes import ServerProcess, free_port

_SETTINGS = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
default_pool_size = 1
query_wait_timeout = 2
"""
"""What isn't set is as PgBouncer has it: no startup parameter ignored, ``server_reset_query`` not run in this mode."""


class Pooler:
    """The pooler; what one client leaves in the session, the next one finds."""

    def __init__(self, server: PostgresServer, program: str) -> None:
        self._server = server
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="ckpt-pgbouncer-"))
        users, settings = self._folder / "users", self._folder / "settings"
        password = server.password.replace('"', '""')
        users.write_text(f'"{server.user}" "{password}"\n')
        settings.write_text(_SETTINGS.format(host=server.host, port=server.port, own_port=self.port, users=users))
        user = account() if os.getuid() == 0 else None
        if user:
            for path in (self._folder, users, settings):
                shutil.chown(path, user)
        log = Path(tempfile.gettempdir()) / f"{self._folder.name}.log"
        self.process = ServerProcess([program, settings], log, user=user)
        self.process.wait_until(self._answers)

    def url(self, name: str, more: str = "") -> str:
        """A database of the server, through the pooler."""
        host = f"@{self._server.host}:{self._server.port}/"
        return self._server.url(name, more=more).replace(host, f"@127.0.0.1:{self.port}/")

    def stop(self) -> None:
        """Stop it."""
        self.process.stop(signal.SIGINT)
        self.process.log.unlink(missing_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True


@pytest.fixture(scope="session")
def pooler(request: pytest.FixtureRequest, postgres: PostgresServer) -> Iterator[Pooler]:
    """The pooler of the session."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    if not program:
        missing(request.config, "no pooler here: apt-get install pgbouncer")
    own = Pooler(postgres, program)
    yield own
    own.stop()
