"""Threads of LangGraph.js are copied as its own savers would have written them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.app import run
from ckpt_cli.copying.recast import Recast
from ckpt_cli.errors import NotSupported
from ckpt_cli.model import NULL_TASK, Checkpoint, CheckpointRow, Payload, Write
from ckpt_cli.savers.dynamodb.halves import join
from ckpt_cli.savers.postgres.saver import PostgresSaver
from ckpt_cli.savers.sqlite.saver import SqliteSaver
from ckpt_cli.serde.codec import Codec
from tests.servers.postgres import PostgresServer

ID = "1f1ecbc4-bd4a-6570-8000-1180750833bb"
HEADER = {
    "v": 4,
    "id": ID,
    "ts": "2026-11-30T12:48:09.544Z",
    "channel_versions": {"log": 2, "raw": 2, "__start__": 2, "branch:to:ask": 2},
    "versions_seen": {"__input__": {}, "__start__": {"__start__": 1}},
}
# as checkpoint-postgres 1.0 of LangGraph.js stores them: the server adds spaces to the header and to metadata
APART = Checkpoint(
    CheckpointRow("t", "", ID, None),
    Payload("json", json.dumps(HEADER).encode()),
    Payload("json", b'{"step": 0, "source": "loop", "parents": {}}'),
    {
        "log": Payload("json", '["ïn",{"lc":2,"type":"undefined"}]'.encode()),
        "raw": Payload("bytes", b"\1\2"),
        "__start__": Payload("empty", b""),
        "branch:to:ask": Payload("json", b"null"),
    },
)
RAW = '{"lc":2,"type":"constructor","id":["Uint8Array"],"method":"from","args":[[1,2]],"kwargs":{}}'
VALUES = '{"log":["ïn",{"lc":2,"type":"undefined"}],"raw":' + RAW + ',"branch:to:ask":null}'
WHOLE = (
    f'{{"v":4,"id":"{ID}","ts":"2026-11-30T12:48:09.544Z","channel_values":{VALUES},"channel_versions":{{"log":2,'
    '"raw":2,"__start__":2,"branch:to:ask":2},"versions_seen":{"__input__":{},"__start__":{"__start__":1}}}'
)


def recast(source: Any, target: Any) -> Recast:
    return Recast(Codec(), source.form, target.form, javascript=True)


def test_a_checkpoint_from_postgres_is_json() -> None:
    """LangGraph.js reads JSON and bytes alone, so a body for SQLite has the bytes that its SQLite saver would store."""
    made = recast(PostgresSaver, SqliteSaver).checkpoint(APART)
    assert made.body == Payload("json", WHOLE.encode()) and made.channels is None
    assert made.metadata == Payload("json", b'{"step":0,"source":"loop","parents":{}}')


def test_a_checkpoint_from_sqlite_keeps_its_numbers() -> None:
    """Its saver for Postgres counts in integers, reads no value in the header, and stores none without a version."""
    body = WHOLE.replace('"branch:to:ask":null}', '"branch:to:ask":null,"n":5,"__pregel_tasks":[]}', 1)
    body = body.replace('"log":2,', '"log":2,"n":1,', 1)
    metadata = Payload("json", b'{"source":"loop","step":0,"parents":{}}')
    one = recast(SqliteSaver, PostgresSaver)
    made = one.checkpoint(Checkpoint(APART.row, Payload("json", body.encode()), metadata, None))
    header = json.loads(made.body.data)
    assert header == {**HEADER, "channel_versions": {"log": 2, "n": 1, "raw": 2, "__start__": 2, "branch:to:ask": 2}}
    assert made.channels is not None and made.channels["n"] == Payload("json", b"5")
    assert made.channels["log"] == APART.channels["log"] and one.left_out == {"__pregel_tasks"}  # type: ignore[index]


def test_what_it_can_not_read_is_refused() -> None:
    """A value of another encoding isn't joined with JSON; DynamoDB, for which it has no saver, can't hold JSON."""
    mixed = APART._replace(channels={"log": Payload("msgpack", b"\x90")})
    with pytest.raises(NotSupported, match=r"'log' .* is stored as msgpack, which LangGraph.js can't read"):
        recast(PostgresSaver, SqliteSaver).checkpoint(mixed)
    with pytest.raises(NotSupported, match="json with msgpack") as refused:
        join(Payload("json", b"{}"), Payload("msgpack", b"\x80"))
    assert not refused.value.hint


def test_a_question_in_the_place_of_a_result_is_refused() -> None:
    """LangGraph.js before 1.1 numbers a question 0 in SQLite: in Postgres the task's first result would be dropped."""
    asked = Write("t", "", ID, "cd63e152-8ea8-5ac3-8f59-f8fc49d51ba6", 0, "__interrupt__", Payload("json", b"{}"))
    one = recast(SqliteSaver, PostgresSaver)
    with pytest.raises(NotSupported, match="would be lost"):
        one.write(asked)
    for kept in (asked._replace(idx=-3), asked._replace(task_id=NULL_TASK, channel="__resume__")):
        assert one.write(kept) == kept
    assert recast(SqliteSaver, SqliteSaver).write(asked) == asked


def test_threads_of_a_whole_database(postgres: PostgresServer, tmp_path: Path, capsys: Any) -> None:
    """Every checkpoint from LangGraph.js' Postgres saver is JSON in SQLite, with the same values."""
    source, copied = postgres.url(postgres.loaded("legacy/js-pg-1.4.17")), str(tmp_path / "copy.sqlite")
    assert run(["copy", source, copied, "--yes"]) == 0, capsys.readouterr()
    with closing(sqlite3.connect(copied)) as connection:
        assert connection.execute("SELECT DISTINCT type FROM checkpoints").fetchall() == [("json",)]
        assert connection.execute("SELECT count(*) FROM checkpoints").fetchone()[0] > 50
    said = []
    for url in (source, copied):
        capsys.readouterr()
        assert run(["show", "chat", "--json", "-d", url]) == 0
        shown = json.loads(capsys.readouterr().out)
        said.append((shown["channels"], shown["next"]))
    assert said[0] == said[1]
    assert run(["copy", source, copied, "--yes"]) == 0 and "already there" in capsys.readouterr().err
