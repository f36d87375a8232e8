"""Databases without a truth file: ckpt reads what the installed LangGraph reads, else what plain SQL and JSON give."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.databases import DATABASES, KEYS, LEGACY, unpacked
from tests.truth_deviations import differences
from tests.truth_objects import rendered_object
from tests.truth_rendering import canonical, enveloped, rendered, whole

INSTALLED = ("real", "hitl", "encrypted", "old/sqlite-v03", "old/sqlite-v06")
"""Databases whose tables and values the installed saver reads as they were written."""

JSON = ("js", "old/sqlite-v00", "old/sqlite-v02")
"""Databases with JSON: other tables, or envelopes that the installed saver doesn't open any more."""

Found = Iterator[tuple[Any, ...]]


def test_every_database_is_compared() -> None:
    """No database under ``tests/data`` is left out."""
    assert sorted([*LEGACY, *INSTALLED, *JSON]) == DATABASES


@pytest.mark.parametrize("name", INSTALLED)
def test_as_the_installed_library_reads(name: str, tmp_path: Path) -> None:
    """Every checkpoint that the saver lists is here with the same parent, metadata, versions, values and writes."""
    for copy in ("mine", "theirs"):  # the saver alters the tables of older generations
        (tmp_path / copy).write_bytes(unpacked(name))
    key = KEYS.get(name)
    serde = EncryptedSerializer.from_pycryptodome_aes(JsonPlusSerializer(), key=key) if key else JsonPlusSerializer()
    reader = Reader(open_file(tmp_path / "mine"), Codec(key))
    with closing(sqlite3.connect(tmp_path / "theirs", check_same_thread=False)) as connection:
        listed = list(SqliteSaver(connection, serde=serde).list(None))
        assert [one for stored in listed for one in _differences(reader, stored)] == []
    assert len(listed) == reader.saver.totals().checkpoints
    reader.saver.close()


def _differences(reader: Reader, listed: CheckpointTuple) -> Found:
    config, kept = listed.config["configurable"], listed.checkpoint
    ref = Ref(config["thread_id"], config["checkpoint_ns"], config["checkpoint_id"])
    state = reader.state(ref)
    got = {
        "v": state.v,
        "ts": state.ts,
        "parent": state.parent_id,
        "metadata": whole(enveloped(dict(state.metadata))),
        "channel_versions": dict(state.versions),
        "versions_seen": {node: dict(seen) for node, seen in state.seen.items()},
        "channel_values": {channel: rendered(value) for channel, value in state.values.items()},
        "pending_sends": rendered(state.sends),
        "writes": [[write.task_id, write.channel, rendered(write.value)] for write in reader.writes(ref)],
    }
    parent = (listed.parent_config or {"configurable": {}})["configurable"].get("checkpoint_id")
    stored = {key: kept.get(key) for key in ("v", "ts", "channel_versions", "versions_seen")}
    want = {
        **stored,
        "parent": parent,
        "metadata": whole(listed.metadata),
        "channel_values": {channel: rendered_object(value) for channel, value in kept["channel_values"].items()},
        "pending_sends": rendered_object(kept.get("pending_sends", [])),
        "writes": [
            [task_id, channel, rendered_object(value)] for task_id, channel, value in listed.pending_writes or []
        ],
    }
    yield from ((ref, *found) for found in differences(got, want))


@pytest.mark.parametrize("name", JSON)
def test_as_plain_json(name: str, tmp_path: Path) -> None:
    """Every row's JSON is read to the last envelope, and nothing else."""
    path = tmp_path / "database.sqlite"
    path.write_bytes(unpacked(name))
    reader = Reader(open_file(path), Codec())
    rows = list(_json_rows(path))
    assert len(rows) == reader.saver.totals().checkpoints
    for ref, parent, body, metadata in rows:
        state = reader.state(ref)
        assert state.parent_id == parent
        assert canonical(whole(enveloped(dict(state.metadata)))) == canonical(whole(metadata))
        for key, got in (("v", state.v), ("ts", state.ts), ("channel_versions", dict(state.versions))):
            assert canonical(got) == canonical(body[key])
        assert canonical({n: dict(s) for n, s in state.seen.items()}) == canonical(body["versions_seen"])
        values = {channel: enveloped(value) for channel, value in state.values.items()}
        assert not list(differences(whole(values), whole(body["channel_values"]))), ref
    written = {(w.row.ref, w.task_id, w.row.idx): w.value for ref, *_ in rows for w in reader.writes(ref)}
    stored = dict(_json_writes(path))
    assert {place: canonical(whole(enveloped(written[place]))) for place in stored} == stored
    assert len(written) == reader.saver.totals().writes
    reader.saver.close()


def _json_writes(path: Path) -> Iterator[tuple[Any, str]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        tables = {name for (name,) in connection.execute("select name from sqlite_master")}
        for row in connection.execute("select * from writes") if "writes" in tables else ():
            if row["type"] == "json":
                ref = Ref(row["thread_id"], row["checkpoint_ns"], row["checkpoint_id"])
                yield (ref, row["task_id"], row["idx"]), canonical(whole(json.loads(row["value"])))


def _json_rows(path: Path) -> Iterator[tuple[Ref, str | None, Any, Any]]:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        for row in connection.execute("select * from checkpoints"):
            named = dict(row)
            own_id = named.get("checkpoint_id") or named.get("thread_ts")
            parent = named.get("parent_checkpoint_id") or named.get("parent_ts")
            ref = Ref(named["thread_id"], named.get("checkpoint_ns") or "", own_id)
            yield ref, parent, json.loads(named["checkpoint"]), json.loads(named["metadata"])
