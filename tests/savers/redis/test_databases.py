"""Databases of all generations of LangGraph's saver: everything in their documents is read, and nothing else."""

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.errors import NotSupported
from ckpt_cli.model import Plan, Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.redis import open_url
from ckpt_cli.serde.codec import Codec
from tests.savers.redis.full import full_set, heads
from tests.servers.redis import Server, load
from tests.truth_deviations import differences
from tests.truth_rendering import rendered

NAMES = ("redis", "redis-shallow", "old/redis-0.0.6", "old/redis-0.1.1")


@pytest.fixture(scope="module", params=NAMES)
def loaded(request: pytest.FixtureRequest, redis_server: Server) -> Iterator[tuple[str, Reader, dict[str, Any]]]:
    """A database, a reader of it, and its JSON documents by key."""
    url = redis_server.empty()
    with redis_server.client() as client:
        load(client, request.param)
        keys = [key for key in client.scan_iter(count=5000) if client.type(key) == b"ReJSON-RL"]
        documents = {key.decode(): json.loads(client.execute_command("JSON.GET", key)) for key in keys}
    with closing(open_url(url)) as saver:
        yield request.param, Reader(saver, Codec()), documents


def test_every_checkpoint(loaded: tuple[str, Reader, dict[str, Any]]) -> None:
    """Each checkpoint's document is read with its names, parent, metadata and object, unchanged."""
    name, reader, documents = loaded
    stored = {_ref(d): d for key, d in documents.items() if key.startswith("checkpoint:") and "thread_id" in d}
    rows = [row for thread in reader.saver.threads() for row in reader.saver.rows(thread.thread_id)]
    assert {row.ref for row in rows} == set(stored)
    for checkpoint in reader.saver.checkpoints(row.ref for row in rows):
        document = stored[checkpoint.row.ref]
        body, metadata = json.loads(checkpoint.body.data), document["metadata"]
        assert {"pending_sends": [], **body} == document["checkpoint"]
        assert json.loads(checkpoint.metadata.data) == (json.loads(metadata) if isinstance(metadata, str) else metadata)
        assert checkpoint.row.parent_id == _parent(document, misnamed="0.0" in name)
    assert dict(reader.saver.metadata(stored)) == {c.row.ref: c.metadata for c in reader.saver.checkpoints(stored)}


def test_every_write(loaded: tuple[str, Reader, dict[str, Any]]) -> None:
    """Each write's document is read, its value byte for byte and decoded completely."""
    name, reader, documents = loaded
    stored = {
        (_plain(d["thread_id"]), _plain(d["checkpoint_ns"]), d["checkpoint_id"], d["task_id"], d["idx"]): d
        for key, d in documents.items()
        if key.startswith("checkpoint_write:")
    }
    threads = sorted({place[0] for place in stored})  # some have writes and no checkpoint, which couldn't be saved
    writes = [write for thread_id in threads for write in reader.saver.writes(thread_id)]
    assert {(*w.ref, w.task_id, w.idx) for w in writes} == set(stored)
    assert len(writes) == reader.saver.totals().writes
    for write in writes:
        document = stored[(*write.ref, write.task_id, write.idx)]
        assert write.payload is not None
        assert write.payload.tag.removeprefix("redis-") == document["type"]
        blob = document["blob"]
        assert write.payload.data == (blob.encode() if name.startswith("old") else b64decode(blob, validate=True))
        assert Codec().decode(write.payload) is not None or write.payload.data in (b"", b"null")


def test_heads(loaded: tuple[str, Reader, dict[str, Any]], redis_server: Server) -> None:
    """A thread's head is what its pointer names or, without a pointer, the highest id of its root graph."""
    name, reader, _ = loaded
    for thread in reader.saver.threads():
        assert reader.saver.thread(thread.thread_id) == thread
        with redis_server.client() as client:
            pointed = client.get(f"checkpoint_latest:{thread.thread_id}:__empty__")
        assert pointed is None or pointed.decode().endswith(f":{thread.head.checkpoint_id}")
        assert (pointed is not None) is (name in ("redis", "old/redis-0.1.1"))
        rows = list(reader.saver.rows(thread.thread_id, ""))
        assert pointed is not None or max(row.checkpoint_id for row in rows) == thread.head.checkpoint_id


def test_abilities(loaded: tuple[str, Reader, dict[str, Any]]) -> None:
    """Only generations that the installed saver continues from are written; a shallow database has no branches."""
    name, reader, _ = loaded
    able = reader.saver.abilities
    assert (Ability.WRITE in able) is (name == "redis")
    assert (Ability.BRANCHES in able) is (name != "redis-shallow")
    if Ability.WRITE not in able:
        with pytest.raises(NotSupported):
            reader.saver.apply(Plan("", remove=(Ref("t", "", "1"),)))


@pytest.mark.parametrize("loaded", ["redis"], indirect=True)
def test_same_as_the_full_set(loaded: tuple[str, Reader, dict[str, Any]], tmp_path: Path) -> None:
    """The threads of every other database exist here too, with the same steps and messages at the head.

    But for what the saver lost: of interrupts some runs saw no writes, and some types can't be saved.
    """
    _, reader, _ = loaded
    mine = heads(reader)
    with full_set(tmp_path) as other:
        others = heads(other)
        assert {*others} - {*mine} <= {"type-hugeint", "type-time_tz"}
        assert {*mine} <= {*others}
        for thread_id, head in mine.items():
            if not thread_id.startswith(("type", "delta", "interrupt")):
                assert reader.saver.count(thread_id) == other.saver.count(thread_id)
                assert (
                    dict(reader.state(head).metadata)["step"] == dict(other.state(others[thread_id]).metadata)["step"]
                )
                for channel, value in other.values(others[thread_id]).items():
                    if channel == "messages":
                        assert not list(differences(rendered(reader.values(head)[channel]), rendered(value)))


def _ref(document: dict[str, Any]) -> Ref:
    own = document["checkpoint"]["id"]
    return Ref(_plain(document["thread_id"]), _plain(document["checkpoint_ns"]), own)


def _parent(document: dict[str, Any], *, misnamed: bool) -> str | None:
    stored = document["checkpoint_id"] if misnamed else document.get("parent_checkpoint_id", "")
    return _plain(stored) or None


def _plain(stored: str) -> str:
    return "" if stored in ("__empty__", "00000000-0000-0000-0000-000000000000") else stored
