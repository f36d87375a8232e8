"""What ckpt reads of every generation's Postgres database equals what the library that wrote it read."""

from collections.abc import Iterator

import pytest

from ckpt_cli.reading import Reader
from ckpt_cli.savers.postgres import open_url
from ckpt_cli.serde.codec import Codec
from tests.databases import DATA, truth
from tests.servers.postgres import PostgresServer
from tests.test_truth import (
    KnownDatabase,
    test_checkpoints,
    test_next,
    test_tasks,
    test_threads_namespaces_checkpoints_and_parents,
    test_values,
    test_what_its_own_library_cannot_read_is_read_here,
    test_what_the_library_could_not_serialize_is_an_error,
    test_writes,
)

__all__ = [
    "test_checkpoints",
    "test_next",
    "test_tasks",
    "test_threads_namespaces_checkpoints_and_parents",
    "test_values",
    "test_what_its_own_library_cannot_read_is_read_here",
    "test_what_the_library_could_not_serialize_is_an_error",
    "test_writes",
]

_ENDING = ".sql.gz"
NAMES = sorted(f"legacy/{path.name.removesuffix(_ENDING)}" for path in (DATA / "legacy").glob(f"*pg-*{_ENDING}"))
"""Databases of Python's, JavaScript's and the shallow saver, and one that six versions wrote one after the other."""

TWICE = "1f1e585c-ca79-6aa1-8001-dbf90e76aa8d"
"""A checkpoint from which a newer version continued: its one task has writes with the ids of both versions."""


@pytest.fixture(scope="module", params=NAMES)
def known_database(request: pytest.FixtureRequest, postgres: PostgresServer) -> Iterator[KnownDatabase]:
    """Each generation's database with its truth."""
    reader = Reader(open_url(postgres.url(postgres.loaded(request.param))), Codec())
    threads = truth(request.param)["threads"]
    spaces = (space for thread in threads.values() for space in thread.values())
    for checkpoint in (checkpoint for space in spaces for checkpoint in space["checkpoints"]):
        if checkpoint["checkpoint_id"] == TWICE:
            del checkpoint["state"]
    yield KnownDatabase(request.param, reader, threads)
    reader.saver.close()


def test_every_generation_is_compared() -> None:
    """There are databases to compare."""
    assert len(NAMES) == 8
