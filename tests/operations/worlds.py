"""Places that hold databases, on SQLite and on Postgres, and what can happen to databases there."""

import shutil
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.cross.travel import counters
from tests.graphs.building import on
from tests.servers.postgres import PostgresServer

Row = tuple[Any, ...]

CHECKPOINTS = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id"
WRITES = "thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel"


class World(ABC):
    """Some places by name."""

    @abstractmethod
    def url(self, place: str) -> str:
        """What ``--db`` gets."""

    @abstractmethod
    def official(self, place: str) -> Any:
        """LangGraph's own saver there, as a context manager."""

    @abstractmethod
    def make(self, place: str) -> None:
        """A database with LangGraph's tables and nothing in them."""

    @abstractmethod
    def move(self, place: str, to: str) -> None:
        """Give a database another name."""

    @abstractmethod
    def copy(self, place: str, to: str) -> None:
        """A clone beside the original."""

    @abstractmethod
    def drop(self, place: str) -> None:
        """Remove a database."""

    @abstractmethod
    def run(self, place: str, statement: str) -> list[Row]:
        """Run a statement on a database."""

    bodies: str
    """Columns of a checkpoint that hold its contents."""
    values: str
    """The same of a write."""

    def rows(self, place: str) -> frozenset[Row]:
        """Every row of the tables of checkpoints and of writes."""
        checkpoints = self.run(place, f"SELECT 'c', {CHECKPOINTS}, {self.bodies} FROM checkpoints")
        writes = self.run(place, f"SELECT 'w', {WRITES}, {self.values} FROM {self.table_of_writes}")
        return frozenset(map(tuple, [*checkpoints, *writes]))

    table_of_writes: str

    def talk(self, place: str, thread_id: str, number: int) -> None:
        """Let an application run a turn on a thread."""
        with self.official(place) as official:
            counters(official).invoke({"log": [str(number)], "n": number}, on(thread_id))

    def alter(self, place: str, number: int) -> None:
        """What an application adds to the tables."""
        for table in ("checkpoints", self.table_of_writes):
            self.run(place, f"ALTER TABLE {table} ADD COLUMN extra_{number} TEXT DEFAULT 'x'")
        self.run(place, f"CREATE INDEX extra_index_{number} ON checkpoints (parent_checkpoint_id)")

    @abstractmethod
    def scramble(self, place: str, number: int) -> None:
        """Make other contents of all checkpoints under the same ids: for ckpt another database."""


class Files(World):
    """SQLite."""

    bodies, values, table_of_writes = "type, checkpoint, metadata", "type, value", "writes"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, place: str) -> Path:
        return self._folder / f"{place}.sqlite"

    def url(self, place: str) -> str:
        return str(self._path(place))

    @contextmanager
    def official(self, place: str) -> Iterator[BaseCheckpointSaver[Any]]:
        with closing(sqlite3.connect(self._path(place), check_same_thread=False)) as connection:
            connection.execute("PRAGMA synchronous=off")
            saver = SqliteSaver(connection)
            saver.setup()
            yield saver

    def make(self, place: str) -> None:
        with self.official(place):
            pass

    def move(self, place: str, to: str) -> None:
        self._path(place).rename(self._path(to))

    def copy(self, place: str, to: str) -> None:
        shutil.copy(self._path(place), self._path(to))

    def drop(self, place: str) -> None:
        self._path(place).unlink()

    def run(self, place: str, statement: str) -> list[Row]:
        with closing(sqlite3.connect(self._path(place))) as connection, connection:
            return connection.execute(statement).fetchall()

    def scramble(self, place: str, number: int) -> None:
        self.run(place, f"UPDATE checkpoints SET metadata = json_set(metadata, '$.other', {number})")


class Databases(World):
    """Postgres: databases of one server, cloned from each other."""

    bodies, values, table_of_writes = "checkpoint::text, metadata::text", "type, blob", "checkpoint_writes"

    def __init__(self, server: PostgresServer, prefix: str) -> None:
        self._server, self._prefix = server, prefix
        self.places: set[str] = set()

    def _name(self, place: str) -> str:
        return f"{self._prefix}_{place}"

    def url(self, place: str) -> str:
        return self._server.url(self._name(place))

    def official(self, place: str) -> Any:
        return PostgresSaver.from_conn_string(self.url(place))

    def make(self, place: str) -> None:
        self._server.run(f"CREATE DATABASE {self._name(place)} TEMPLATE template0")
        self.places.add(place)
        with self.official(place) as saver:
            saver.setup()

    def move(self, place: str, to: str) -> None:
        self._server.run(f"ALTER DATABASE {self._name(place)} RENAME TO {self._name(to)}")
        self.places = self.places - {place} | {to}

    def copy(self, place: str, to: str) -> None:
        self._server.run(f"CREATE DATABASE {self._name(to)} TEMPLATE {self._name(place)}")
        self.places.add(to)

    def drop(self, place: str) -> None:
        self._server.run(f"DROP DATABASE {self._name(place)} WITH (FORCE)")
        self.places.discard(place)

    def run(self, place: str, statement: str) -> list[Row]:
        return self._server.run(statement, on=self._name(place))

    def scramble(self, place: str, number: int) -> None:
        self.run(place, f"UPDATE checkpoints SET metadata = metadata || '{{\"other\": {number}}}'")
