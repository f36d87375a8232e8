"""Checkpoints of many threads are read with their blobs in one statement, exactly as one by one."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ckpt_cli.model import Checkpoint, Ref
from ckpt_cli.savers.postgres.saver import PostgresSaver, open_url
from ckpt_cli.savers.sql.joined_blobs import LONGEST
from tests.servers.postgres import PostgresServer

VERSIONS: dict[str, Any] = {
    "of texts": {"a": "1", "bb": "1", "gone": "7"},
    "of numbers": {"a": 1, "bb": 1.5},
    "of other types": {"a": None, "bb": [1]},
    "no object": ["a", "bb"],
    "null": None,
    "of long blobs": {"a": "long", "bb": "1", "long": "long"},
    "of blobs without bytes": {"a": "null", "bb": "1"},
    "in another order": {"bb": "1", "ccc": "1", "a": "1"},
}
BLOBS = [
    *((channel, version, "msgpack", b"\x01") for channel in ("a", "bb", "ccc") for version in ("1", "1.5")),
    *((channel, "long", "bytes", b"x" * (LONGEST + 1)) for channel in ("a", "long")),
    ("a", "null", "empty", None),
]


@pytest.fixture(scope="module")
def saver(postgres: PostgresServer) -> Iterator[PostgresSaver]:
    """A thread for each kind of versions, and one whose header lacks them; all have the same blobs."""
    url = postgres.url(postgres.fresh())
    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        headers = {name: {"v": 4, "id": "1", "channel_versions": versions} for name, versions in VERSIONS.items()}
        for thread_id, header in {**headers, "lacking": {"v": 4}}.items():
            row = [thread_id, json.dumps(header)]
            cursor.execute(
                "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint, metadata) VALUES (%s, '1', %s, '{}')",
                row,
            )
            cursor.executemany(
                "INSERT INTO checkpoint_blobs (thread_id, channel, version, type, blob) VALUES (%s, %s, %s, %s, %s)",
                [(thread_id, *blob) for blob in BLOBS],
            )
    with closing(open_url(url)) as opened:
        yield opened


def refs() -> list[Ref]:
    return [Ref(name, "", "1") for name in (*reversed(VERSIONS), "lacking", "nobody")]


def test_the_same_as_one_by_one(saver: PostgresSaver) -> None:
    """Of damaged versions, numbers, long blobs and NULL too; channels come in the header's order."""
    singly: list[Checkpoint] = [checkpoint for ref in refs() for checkpoint in saver.checkpoints([ref])]
    together = list(saver.checkpoints(refs()))
    assert together == singly
    assert [[*(one.channels or {})] for one in together] == [[*(one.channels or {})] for one in singly]
    assert {len(one.channels or {}) for one in together} == {0, 2, 3}


def test_only_some_channels(saver: PostgresSaver) -> None:
    """Others aren't sent, even if they are long; names that no column can hold name no channel."""
    for channels in (["bb"], ["long", "a"], ["bb\x00"], ["\ud800"], []):
        for some, whole in zip(saver.with_channels(refs(), channels), saver.checkpoints(refs()), strict=True):
            wanted = {name: data for name, data in (whole.channels or {}).items() if name in channels}
            assert (some.row, some.channels) == (whole.row, wanted)
