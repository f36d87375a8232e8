"""Every payload of every stored database decodes, encodes to its own bytes, and survives a round trip through JSON."""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from ckpt_cli.model import Payload
from ckpt_cli.serde import aes
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.msgpack_write import pack
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.same import same
from tests.databases import DATABASES, KEYS, unpacked
from tests.serde.samples import broken_parts


def payloads(name: str) -> Iterator[Payload]:
    """The distinct payloads of a database."""
    database = sqlite3.connect(":memory:")
    try:
        file = unpacked(name)
        database.deserialize(file[:18] + b"\x01\x01" + file[20:])  # out of WAL mode, which memory can't do
        for table, column in (("checkpoints", "checkpoint"), ("checkpoints", "metadata"), ("writes", "value")):
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            if column in columns:
                tag = "type" if "type" in columns and column != "metadata" else "''"
                query = f"SELECT DISTINCT coalesce({tag}, ''), CAST({column} AS BLOB) FROM {table}"
                yield from (Payload(tag, data or b"") for tag, data in database.execute(query) if data or tag)
    finally:
        database.close()


@pytest.mark.parametrize("name", DATABASES)
def test_every_payload_is_read_and_kept(name: str) -> None:
    """Only what JavaScript itself wrote wrongly is broken; msgpack is encoded byte for byte, also from new nodes."""
    codec, count = Codec(KEYS.get(name)), 0
    for stored in payloads(name):
        count += 1
        value = codec.decode(stored)
        shown = to_json(value, reveal=True)
        again = from_json(json.loads(json.dumps(shown)))
        assert same(again, value)
        assert codec.encode(again, stored) is stored
        assert [node.problem for node in broken_parts(value)] == [] or name == "legacy/js-0.2.3"
        data = _msgpack(stored, KEYS.get(name))
        assert data is None or pack(value) == data == pack(again)
    assert count > 10


def _msgpack(stored: Payload, key: bytes | None) -> bytes | None:
    tag, _, cipher = stored.tag.partition("+")
    if tag != "msgpack":
        return None
    return aes.decrypt(stored.data, key) if cipher else stored.data


@pytest.mark.parametrize("name", [name for name in DATABASES if name not in KEYS])
def test_an_edit_changes_nothing_else(name: str) -> None:
    """Adding a channel and removing it again gives the same payload, whichever library wrote it."""
    codec = Codec()
    for stored in payloads(name):
        value = codec.decode(stored)
        if not _is_editable(stored, value):
            continue
        channels = value["channel_values"]
        new = codec.encode({**value, "channel_values": {**channels, "new": [1, {"a": None}]}}, stored)
        assert codec.decode(new)["channel_values"]["new"] == [1, {"a": None}]
        assert codec.encode(value, new) == stored


def _is_editable(stored: Payload, value: Any) -> bool:
    plain = stored.tag != "pickle" and stored.data[:1] != b"\x80" and not broken_parts(value)
    return plain and isinstance(value, dict) and isinstance(value.get("channel_values"), dict)
