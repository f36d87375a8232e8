"""Whole databases: ckpt reads what the installed PostgresSaver reads, and the same threads as from SQLite."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.shallow import ShallowPostgresSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.postgres import open_url
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.databases import unpacked
from tests.servers.postgres import PostgresServer
from tests.test_truth_installed import _differences
from tests.truth_rendering import canonical, rendered

UNSAVED = {"type-inf", "type-nan", "type-nul", "type-surrogate", "types-all"}
"""Threads that Postgres saved only in part: JSONB can't hold a text or a number of their headers."""

KEY = b"0123456789abcdef" * 2


@pytest.fixture(scope="module")
def full(postgres: PostgresServer) -> str:
    """The full set, loaded once."""
    return postgres.loaded("pg")


def official(postgres: PostgresServer, name: str, serde: Any = None) -> list[CheckpointTuple]:
    """All that the official saver lists, from a copy, since it may migrate the tables."""
    copy = postgres.new(f"TEMPLATE {name}")
    with PostgresSaver.from_conn_string(postgres.url(copy)) as saver:
        saver.setup()
        saver.serde = serde or saver.serde
        return list(saver.list(None))


def compared(reader: Reader, listed: list[CheckpointTuple]) -> list[Any]:
    """The differences; of the many similar threads and steps only some are compared."""
    assert len(listed) == reader.saver.totals().checkpoints > 0
    chosen = [item for item in listed if not _is_similar(item) or item.metadata["step"] % 20 == 0]
    return [difference for item in chosen for difference in _differences(reader, item)]


def _is_similar(item: CheckpointTuple) -> bool:
    return str(item.config["configurable"]["thread_id"]).startswith(("small-", "long-"))


def test_the_full_set(postgres: PostgresServer, full: str) -> None:
    """Every checkpoint has the parent, metadata, versions, values and writes that the installed saver gives it."""
    listed = official(postgres, full)
    with closing(open_url(postgres.url(full))) as saver:
        assert compared(Reader(saver, Codec()), listed) == []


def test_encrypted(postgres: PostgresServer) -> None:
    """An encrypted database is read with the key; values in headers and metadata were never encrypted."""
    name = postgres.loaded("pg-encrypted")
    listed = official(postgres, name, EncryptedSerializer.from_pycryptodome_aes(JsonPlusSerializer(), key=KEY))
    with closing(open_url(postgres.url(name))) as saver:
        assert compared(Reader(saver, Codec(KEY)), listed) == []


def test_of_langgraph_06(postgres: PostgresServer) -> None:
    """A database of langgraph 0.6 is read like a copy that the installed saver has migrated."""
    name = postgres.loaded("old/pg-oldv06")
    listed = official(postgres, name)
    with closing(open_url(postgres.url(name))) as saver:
        assert compared(Reader(saver, Codec()), listed) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_shallow(postgres: PostgresServer) -> None:
    """A shallow database is read as its own saver reads it: one checkpoint in a namespace, and no branches.

    That saver adds pending Sends to checkpoints of format 4 too, where nothing uses them.
    """
    name = postgres.loaded("pg-shallow")
    with ShallowPostgresSaver.from_conn_string(postgres.url(name)) as saver:
        listed = list(saver.list(None))
    with closing(open_url(postgres.url(name))) as mine:
        differences = compared(Reader(mine, Codec()), listed)
        assert [difference for difference in differences if difference[1:2] != ("$.pending_sends",)] == []
        assert not {Ability.WRITE, Ability.BRANCHES} & mine.abilities


@pytest.mark.parametrize("name", ["pg-js", "old/pg-oldv02", "old/pg-oldv03"])
def test_older_rows_are_all_read(name: str, postgres: PostgresServer) -> None:
    """All rows, blobs and writes that plain SQL counts are read, and every checkpoint decodes."""
    database = postgres.loaded(name)
    ((checkpoints, writes),) = postgres.run(
        "SELECT (SELECT count(*) FROM checkpoints), (SELECT count(*) FROM checkpoint_writes)", on=database
    )
    blobs = {row[:4]: row[4:] for row in postgres.run("SELECT * FROM checkpoint_blobs", on=database)}
    with closing(open_url(postgres.url(database))) as saver:
        reader = Reader(saver, Codec())
        refs = [row.ref for thread in saver.threads() for row in saver.rows(thread.thread_id)]
        assert (len(refs), saver.totals().writes) == (checkpoints, writes)
        for state, stored in zip(reader.states(refs), saver.checkpoints(refs), strict=True):
            names = {(*state.ref[:2], channel, str(version)): channel for channel, version in state.versions.items()}
            expected = {channel: blobs[name] for name, channel in names.items() if name in blobs}
            assert stored.channels == {channel: (tag, data or b"") for channel, (tag, data) in expected.items()}


def test_the_same_threads_as_in_sqlite(postgres: PostgresServer, full: str, tmp_path: Path) -> None:
    """The same graphs ran on both databases, so threads, steps, sources and values are equal; ids and times aren't."""
    (tmp_path / "real").write_bytes(unpacked("real"))
    with closing(open_file(tmp_path / "real")) as theirs, closing(open_url(postgres.url(full))) as mine:
        assert mine.totals().threads == 299
        on_postgres, on_sqlite = dict(_summaries(Reader(mine, Codec()))), dict(_summaries(Reader(theirs, Codec())))
        assert {thread_id for thread_id in on_sqlite if on_postgres[thread_id] != on_sqlite[thread_id]} == UNSAVED


def _summaries(reader: Reader) -> Iterator[tuple[str, Any]]:
    for thread in reader.saver.threads():
        refs = [row.ref for row in reader.saver.rows(thread.thread_id, "")]
        metadata = {ref: reader.value(payload) for ref, payload in reader.saver.metadata(refs)}
        steps = [(metadata[ref].get("source"), metadata[ref].get("step")) for ref in refs]
        values = {channel: rendered(value) for channel, value in reader.values(thread.head).items()}
        yield thread.thread_id, (steps, canonical(values))
