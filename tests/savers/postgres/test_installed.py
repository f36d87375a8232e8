"""Whole databases: ckpt reads what the installed PostgresSaver reads, and the same threads as stand in SQLite's."""

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

from ckpt_cli.inspection import Inspection
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
"""Threads that Postgres refused to save in part, as a text or number that stands in the header is none of JSONB's."""

KEY = b"0123456789abcdef" * 2


@pytest.fixture(scope="module")
def full(postgres: PostgresServer) -> str:
    """The full set, loaded once."""
    return postgres.loaded("pg")


def official(postgres: PostgresServer, name: str, serde: Any = None) -> list[CheckpointTuple]:
    """All that the official saver lists, from a copy which it may bring up to date."""
    copy = postgres.new(f"TEMPLATE {name}")
    with PostgresSaver.from_conn_string(postgres.url(copy)) as saver:
        saver.setup()
        saver.serde = serde or saver.serde
        return list(saver.list(None))


def compared(reader: Reader, listed: list[CheckpointTuple]) -> list[Any]:
    """The differences; of the many threads and steps that are alike only some are looked at."""
    assert len(listed) == reader.saver.totals().checkpoints > 0
    chosen = [told for told in listed if not _alike(told) or told.metadata["step"] % 20 == 0]
    return [found for told in chosen for found in _differences(reader, told)]


def _alike(told: CheckpointTuple) -> bool:
    return str(told.config["configurable"]["thread_id"]).startswith(("small-", "long-"))


def test_the_full_set(postgres: PostgresServer, full: str) -> None:
    """Every checkpoint has the parent, metadata, versions, values and writes that the installed saver gives it."""
    listed = official(postgres, full)
    with closing(open_url(postgres.url(full))) as saver:
        assert compared(Reader(saver, Codec()), listed) == []


def test_encrypted(postgres: PostgresServer) -> None:
    """With the key too, though what stands in the header and metadata was never encrypted."""
    name = postgres.loaded("pg-encrypted")
    listed = official(postgres, name, EncryptedSerializer.from_pycryptodome_aes(JsonPlusSerializer(), key=KEY))
    with closing(open_url(postgres.url(name))) as saver:
        assert compared(Reader(saver, Codec(KEY)), listed) == []


def test_of_langgraph_06(postgres: PostgresServer) -> None:
    """A database of langgraph 0.6 is read as it is; the installed saver reads a copy of it the same."""
    name = postgres.loaded("old/pg-oldv06")
    listed = official(postgres, name)
    with closing(open_url(postgres.url(name))) as saver:
        assert compared(Reader(saver, Codec()), listed) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_shallow(postgres: PostgresServer) -> None:
    """A shallow database has its one checkpoint a namespace, as its own saver reads it, and no branches.

    That saver adds pending Sends to checkpoints of format 4 too, where nobody looks at them any more.
    """
    name = postgres.loaded("pg-shallow")
    with ShallowPostgresSaver.from_conn_string(postgres.url(name)) as saver:
        listed = list(saver.list(None))
    with closing(open_url(postgres.url(name))) as mine:
        assert [found for found in compared(Reader(mine, Codec()), listed) if found[1:2] != ("$.pending_sends",)] == []
        assert not {Ability.WRITE, Ability.BRANCHES} & mine.abilities


@pytest.mark.parametrize("name", ["pg-js", "old/pg-oldv02", "old/pg-oldv03"])
def test_older_rows_are_all_there(name: str, postgres: PostgresServer) -> None:
    """Rows, blobs and writes as plain SQL counts them; every checkpoint decodes, and names no blob that isn't read."""
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
            named = {(*state.ref[:2], channel, str(version)): channel for channel, version in state.versions.items()}
            found = {channel: blobs[name] for name, channel in named.items() if name in blobs}
            assert stored.channels == {channel: (tag, data or b"") for channel, (tag, data) in found.items()}


def test_the_same_threads_as_in_sqlite(postgres: PostgresServer, full: str, tmp_path: Path) -> None:
    """The same graphs ran on both: the same threads, steps, sources and values, but for ids and times."""
    (tmp_path / "real").write_bytes(unpacked("real"))
    with closing(open_file(tmp_path / "real")) as theirs, closing(open_url(postgres.url(full))) as mine:
        assert mine.totals().threads == 299
        here, there = dict(_told(Reader(mine, Codec()))), dict(_told(Reader(theirs, Codec())))
        assert {thread_id for thread_id in there if here[thread_id] != there[thread_id]} == UNSAVED


def _told(reader: Reader) -> Iterator[tuple[str, Any]]:
    for thread in reader.saver.threads():
        refs = [row.ref for row in reader.saver.rows(thread.thread_id, "")]
        told = {ref: reader.value(metadata) for ref, metadata in reader.saver.metadata(refs)}
        values = {channel: rendered(value) for channel, value in Inspection(reader, thread.head).values().items()}
        yield thread.thread_id, ([(told[ref].get("source"), told[ref].get("step")) for ref in refs], canonical(values))
