"""A new database is the same as one that LangGraph's own saver makes, and that saver can use it."""

import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver as Official

from ckpt_cli.conformance.records import checkpoint, write
from ckpt_cli.errors import DatabaseUnreachable, Failed, NotSupported, Refused
from ckpt_cli.model import NULL, Checkpoint, Payload, Plan
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.sqlite import create
from tests.savers.sqlite.writer import folder


def schema(path: Path) -> list[tuple[str, str, str]]:
    """The tables and indexes, with whitespace normalized, and the journal mode."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()
        mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    return [(kind, name, " ".join((sql or "").split())) for kind, name, sql in rows] + [("", "journal mode", mode)]


def test_made_as_the_official_saver_makes_it(tmp_path: Path) -> None:
    """Tables, keys, defaults and journal mode are those of checkpoint-sqlite's own setup."""
    with Official.from_conn_string(str(tmp_path / "official.sqlite")) as official:
        official.setup()
    create(tmp_path / "ours.sqlite").close()
    assert schema(tmp_path / "ours.sqlite") == schema(tmp_path / "official.sqlite")


def test_the_official_saver_reads_it(tmp_path: Path) -> None:
    """checkpoint-sqlite finds the records that a plan added, with the writes in their order."""
    path = tmp_path / "x.sqlite"
    body = b'{"v": 4, "id": "1", "ts": "", "channel_values": {}, "channel_versions": {}, "versions_seen": {}}'
    added = checkpoint("t", "1", parent_id="0", body=Payload("json", body), metadata=Payload("json", b'{"step": 3}'))
    values = [write("t", "1", idx=i, channel=f"c{i}", payload=Payload("json", b"%d" % i)) for i in (1, 0)]
    with closing(create(path)) as saver:
        saver.apply(Plan("records", (added, *values)))
    with Official.from_conn_string(str(path)) as official:
        found = official.get_tuple({"configurable": {"thread_id": "t"}})
    assert found is not None
    assert found.metadata["step"] == 3
    assert found.parent_config == {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "0"}}
    assert found.pending_writes == [("task", "c0", 0), ("task", "c1", 1)]


def test_only_the_file_stays(tmp_path: Path) -> None:
    """A closed new database is one file."""
    saver = create(tmp_path / "x.sqlite")
    saver.apply(Plan("records", (checkpoint("t", "1"),)))
    about = saver.about()
    assert (about.layout, about.facts["journal mode"]) == ("E", "WAL")
    assert saver.abilities == frozenset(Ability)
    saver.close()
    assert list(folder(tmp_path)) == ["x.sqlite"]


def test_an_existing_file_is_refused(tmp_path: Path) -> None:
    """A new database never replaces a file, not even an empty one."""
    (tmp_path / "x.sqlite").touch()
    before = folder(tmp_path)
    with pytest.raises(Refused, match="exists already"):
        create(tmp_path / "x.sqlite")
    assert folder(tmp_path) == before


def test_no_folder_to_make_it_in(tmp_path: Path) -> None:
    """A folder that doesn't exist is an error; it isn't made."""
    with pytest.raises(DatabaseUnreachable, match="can't make"):
        create(tmp_path / "nowhere" / "x.sqlite")
    assert folder(tmp_path) == {}


@pytest.mark.parametrize(
    "record",
    [
        checkpoint("t", "1", metadata=Payload("msgpack", b"\x80")),
        Checkpoint(checkpoint("t", "1").row, Payload("json", b"{}"), NULL, channels={"c": Payload("json", b"1")}),
    ],
    ids=["metadata", "channels"],
)
def test_records_that_sqlite_cant_hold(tmp_path: Path, record: Checkpoint) -> None:
    """Metadata that isn't JSON, and channels apart from their checkpoint, are refused before anything is written."""
    with closing(create(tmp_path / "x.sqlite")) as saver:
        with pytest.raises(NotSupported):
            saver.apply(Plan("records", (checkpoint("t", "0"), record)))
        assert saver.totals().checkpoints == 0


def test_disk_full(tmp_path: Path) -> None:
    """If the disk is full in the middle of a plan, nothing of the plan is written, and the next plan works."""
    with closing(create(tmp_path / "x.sqlite")) as saver:
        saver.apply(Plan("first", (checkpoint("t", "1"),)))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        try:
            with pytest.raises(Failed, match="nothing was written"):
                saver.apply(
                    Plan("big", (checkpoint("t", "2"), checkpoint("t", "3", body=Payload("bytes", bytes(200_000)))))
                )
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert [row.checkpoint_id for row in saver.rows("t")] == ["1"]
        saver.apply(Plan("less", (checkpoint("t", "2"),)))
