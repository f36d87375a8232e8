"""Every kind of graph on real savers, exported: of the bundle ckpt says what the graph says of the database."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.savers.bundle.files import bundle_writer
from ckpt_cli.savers.bundle.thread_export import export_thread
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.url import open_database
from tests.cross.backend import Backend, Fresh
from tests.cross.look import Look
from tests.servers.postgres import PostgresServer


class Exported(Backend):
    """A database whose bundle is made anew before it is read: `url` is the bundle, beside it is the database's URL."""

    def saver(self) -> Saver:
        """The bundle as ckpt opens it."""
        path = Path(self.url)
        path.unlink(missing_ok=True)
        with closing(open_database(path.with_suffix(".url").read_text(), lambda _: None)) as database:
            threads = database.moment(lambda: list(database.threads()))
            with bundle_writer(path) as writer:
                for thread in threads:
                    export_thread(database, thread.thread_id, writer, None)
        return super().saver()


class TestFromSqlite(Look):
    """Whole bodies."""

    @pytest.fixture(scope="class")
    @classmethod
    def fresh(cls, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
        """A file of its own each time."""

        def make() -> Backend:
            folder = tmp_path_factory.mktemp("sqlite")
            database = folder / "database.sqlite"
            (folder / "some.url").write_text(str(database))

            @contextmanager
            def official() -> Iterator[BaseCheckpointSaver[Any]]:
                with SqliteSaver.from_conn_string(str(database)) as saver:
                    saver.setup()
                    yield saver

            return Exported(str(folder / "some.ckpt"), official)

        return make


class TestFromPostgres(Look):
    """Headers, and blobs that several checkpoints share."""

    @pytest.fixture(scope="class")
    @classmethod
    def fresh(cls, postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
        """A schema of its own each time."""
        folder, numbers = tmp_path_factory.mktemp("postgres"), count()

        def make() -> Backend:
            url, name = postgres.space(), f"{next(numbers)}"
            (folder / f"{name}.url").write_text(url)

            @contextmanager
            def official() -> Iterator[BaseCheckpointSaver[Any]]:
                with PostgresSaver.from_conn_string(url) as saver:
                    yield saver

            return Exported(str(folder / f"{name}.ckpt"), official)

        return make
