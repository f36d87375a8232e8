"""A MySQL or MariaDB server: the one that ``CKPT_TEST_MYSQL_URL`` names, else MariaDB started here."""

import gzip
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pymysql
import pytest
from langgraph.checkpoint.mysql.pymysql import PyMySQLSaver

from tests.databases import DATA
from tests.requiring import missing
from tests.servers.processes import ServerProcess, free_port, listens

COLLATIONS = {"general": "utf8mb4_general_ci", "exact": "utf8mb4_bin"}
"""One that takes some ids for equal, and one that takes each for itself."""


class MySQLServer:
    """A server on which databases can be made; each name is given once."""

    def __init__(self, host: str, port: int, user: str, password: str) -> None:
        self.host, self.port, self.user, self.password = host, port, user, password
        self._numbers = count()
        self._names: list[str] = []
        self._users: list[str] = []
        self._tables: dict[str, list[str]] = {}

    def url(self, name: str, *, user: str = "", password: str = "", more: str = "") -> str:
        """A database of it, as ``--db`` gets it."""
        who = quote(user or self.user, safe="")
        secret = quote(password if user else self.password, safe="")
        return f"mysql://{who}:{secret}@{self.host}:{self.port}/{name}{more}"

    def connect(self, name: str | None = None) -> Any:
        """The administrator's connection."""
        return pymysql.connect(
            host=self.host,
            port=self.port,
            user=self.user,
            password=self.password.encode(),
            database=name,
            autocommit=True,
            charset="utf8mb4",
        )

    def run(self, *statements: str, on: str | None = None) -> list[tuple[Any, ...]]:
        """Run some statements and give the rows of the last."""
        with closing(self.connect(on)) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    @cached_property
    def collation(self) -> str:
        """The server's own: LangGraph's saver joins what it makes of JSON, which has that, to its tables."""
        return str(self.run("SELECT @@collation_server")[0][0])

    def new(self, collation: str = "") -> str:
        """An empty database."""
        name = f"ckpt_{os.getpid()}_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} COLLATE {collation or self.collation}")
        self._names.append(name)
        return name

    def fresh(self, collation: str = "") -> str:
        """A database with the tables that the official saver makes, empty."""
        name = self.new(collation)
        with closing(self.connect(name)) as connection:
            if collation in self._tables:
                _run(connection, self._tables[collation])
            else:
                PyMySQLSaver(connection).setup()
                self._tables[collation] = _remade(connection)
        return name

    def loaded(self, data: str) -> str:
        """A database of ``tests/data``, by name."""
        name = self.new()
        text = gzip.decompress((DATA / f"{data}.sql.gz").read_bytes()).decode()
        statements = [line for part in text.split(";\n") if (line := _without_comments(part))]
        with closing(self.connect(name)) as connection:
            if "MariaDB" not in connection.get_server_info():
                statements = [_as_mysql(statement, self.collation) for statement in statements]
            _run(connection, statements)
        return name

    def new_user(self, password: str, *grants: str) -> str:
        """A user with these grants (``SELECT ON db.*``) and no others."""
        name = f"ckpt_{os.getpid()}_{next(self._numbers)}"
        granted = (f"GRANT {grant} TO {name}@'%'" for grant in grants)
        self.run(f"CREATE USER {name}@'%' IDENTIFIED BY '{password}'", *granted)
        self._users.append(name)
        return name

    def clear(self) -> None:
        """Drop what was made."""
        self.run("DO 0", *(f"DROP DATABASE IF EXISTS {name}" for name in self._names))
        self.run("DO 0", *(f"DROP USER IF EXISTS {name}@'%'" for name in self._users))


class OwnServer(MySQLServer):
    """A MariaDB that can be killed and started again on the same data."""

    def __init__(self, folder: Path) -> None:
        super().__init__("127.0.0.1", free_port(), "admin", "a:b@/c?#é")
        self._folder = folder
        self._as_root = ["--user=root"] if os.getuid() == 0 else []
        (folder / "tmp").mkdir()  # a server that starts clears its folder of temporary tables, whoever's they are
        where = [f"--datadir={folder / 'data'}", f"--tmpdir={folder / 'tmp'}", *self._as_root]
        make = ["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]
        subprocess.run([*make, *where], check=True, capture_output=True)
        secret = self.password.replace("'", "''")
        (folder / "init.sql").write_text(
            f"CREATE USER '{self.user}'@'127.0.0.1' IDENTIFIED BY '{secret}';\n"
            f"GRANT ALL ON *.* TO '{self.user}'@'127.0.0.1' WITH GRANT OPTION;\n"
        )
        self.start(f"--init-file={folder / 'init.sql'}")

    def start(self, *more: str) -> None:
        """Start it and wait until it answers."""
        command = [
            *("mariadbd", "--no-defaults", *self._as_root, f"--datadir={self._folder / 'data'}"),
            f"--tmpdir={self._folder / 'tmp'}",
            *(f"--port={self.port}", "--bind-address=127.0.0.1", f"--socket={self._folder / 's'}"),
            *("--character-set-server=utf8mb4", "--collation-server=utf8mb4_general_ci"),
            *(
                "--innodb-flush-log-at-trx-commit=2",
                "--innodb-buffer-pool-size=64M",
                "--skip-name-resolve",
                "--skip-ssl",
            ),
            *(f"--pid-file={self._folder / 'pid'}", *more),
        ]
        self.process = ServerProcess(command, self._folder / "log")
        self.process.wait_until(lambda: listens(self.port))

    def stop(self) -> None:
        """Stop it; its data is discarded."""
        self.process.stop(signal.SIGKILL)


def _run(connection: Any, statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith(("--", "/*M!")))


def _as_mysql(statement: str, collation: str) -> str:
    """MariaDB's description of a table that LangGraph's saver made, in the words that MySQL has for it."""
    if not statement.startswith("CREATE TABLE"):
        return statement
    pattern = r"longtext CHARACTER SET \w+ COLLATE \w+(.*?) CHECK \(json_valid\(`\w+`\)\)"
    statement = re.sub(pattern, r"json\1", statement).replace("DEFAULT '{}'", "DEFAULT ('{}')")
    return statement.replace("COLLATE=utf8mb4_general_ci", f"COLLATE={collation}")


def _remade(connection: Any) -> list[str]:
    """The statements that make the tables again as they are, in a moment."""
    with connection.cursor() as cursor:
        made = []
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "checkpoint_migrations"):
            cursor.execute(f"SHOW CREATE TABLE {table}")
            made.append(cursor.fetchone()[1])
        cursor.execute("SELECT v FROM checkpoint_migrations")
        steps = ", ".join(f"({v})" for (v,) in cursor.fetchall())
    return [*made, f"INSERT INTO checkpoint_migrations VALUES {steps}"]


def own_server(config: pytest.Config, folder: Path) -> OwnServer:
    """A server of the caller's own, to be stopped."""
    if not shutil.which("mariadbd") or not shutil.which("mariadb-install-db"):
        missing(config, "no MariaDB here: apt-get install mariadb-server, or set CKPT_TEST_MYSQL_URL")
    return OwnServer(folder)


@pytest.fixture(scope="session")
def mysql(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MySQLServer]:
    """The server of the session."""
    given = os.environ.get("CKPT_TEST_MYSQL_URL")
    if given:
        parts = urlsplit(given)
        who = unquote(parts.username or "root"), unquote(parts.password or "")
        server = MySQLServer(parts.hostname or "127.0.0.1", parts.port or 3306, *who)
        yield server
        server.clear()
        return
    own = own_server(request.config, tmp_path_factory.mktemp("mysql"))
    yield own
    own.stop()
