"""The full set of threads, left by LangGraph's saver: everything in its keys is read, and nothing else."""

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.valkey import open_url
from ckpt_cli.serde.codec import Codec
from tests.savers.redis.full import full_set, heads
from tests.servers.redis import Server, load
from tests.truth_deviations import differences
from tests.truth_rendering import rendered

Keys = dict[str, bytes]


@pytest.fixture(scope="module")
def loaded(valkey_server: Server) -> Iterator[tuple[Reader, Keys]]:
    """A reader of the database, and its strings by key."""
    url = valkey_server.empty()
    with valkey_server.client() as client:
        load(client, "valkey")
        names = [key for key in client.scan_iter(count=5000) if client.type(key) == b"string"]
        strings = {key.decode(): value for key, value in zip(names, client.mget(names), strict=True)}
    with closing(open_url(url)) as saver:
        yield Reader(saver, Codec()), strings


def rows(reader: Reader) -> list[Any]:
    return [row for thread in reader.saver.threads() for row in reader.saver.rows(thread.thread_id)]


def test_every_checkpoint(loaded: tuple[Reader, Keys]) -> None:
    """Each checkpoint is read with its names, parent, metadata and value, byte for byte."""
    reader, strings = loaded
    listed = rows(reader)
    keys = {f"checkpoint:{{{r.thread_id}}}:{r.ns}:{r.checkpoint_id}": r for r in listed}
    assert set(keys) == {key for key in strings if key.startswith("checkpoint:")}
    assert len(listed) == 2081
    metadata = dict(reader.saver.metadata([row.ref for row in listed]))
    for (key, row), checkpoint in zip(keys.items(), reader.saver.checkpoints(r.ref for r in listed), strict=True):
        stored = json.loads(strings[key])
        assert (row.thread_id, row.checkpoint_id) == (stored["thread_id"], stored["checkpoint_id"])
        assert checkpoint.row._replace(size=None) == row
        assert row.parent_id == stored["parent_checkpoint_id"]
        assert (checkpoint.body.tag, checkpoint.body.data) == (stored["type"], b64decode(stored["checkpoint"]))
        assert checkpoint.metadata == metadata[row.ref]
        assert checkpoint.metadata.data == b64decode(stored["metadata"])


def test_every_write(loaded: tuple[Reader, Keys]) -> None:
    """Each write is read byte for byte, in the order of its list; none is lost and none invented."""
    reader, strings = loaded
    documents = {key: json.loads(data) for key, data in strings.items() if key.startswith("writes:")}
    stored = {key: writes for key, writes in documents.items() if key.replace("writes", "checkpoint", 1) in strings}
    assert len(documents) - len(stored) == 1  # of a checkpoint that couldn't be saved
    order = {thread.thread_id: at for at, thread in enumerate(reader.saver.threads())}
    writes = [write for thread_id in order for write in reader.saver.writes(thread_id)]
    assert len(writes) == sum(map(len, stored.values())) == reader.saver.totals().writes
    for write in writes:
        listed = stored[f"writes:{{{write.thread_id}}}:{write.ns}:{write.checkpoint_id}"]
        (one,) = (w for w in listed if (w["task_id"], w["idx"]) == (write.task_id, write.idx))
        assert write.payload is not None
        payload = (one["channel"], one["type"], b64decode(one["value"]))
        assert (write.channel, write.payload.tag, write.payload.data) == payload
    assert writes == sorted(writes, key=lambda write: (order[write.thread_id], write.ref))
    names = [(write.ref, write.task_id, write.idx) for write in writes]
    for ref in {write.ref for write in writes}:
        listed = stored[f"writes:{{{ref.thread_id}}}:{ref.ns}:{ref.checkpoint_id}"]
        assert [name[1:] for name in names if name[0] == ref] == [(w["task_id"], w["idx"]) for w in listed]


def test_same_as_the_full_set(loaded: tuple[Reader, Keys], tmp_path: Path) -> None:
    """Every thread of every other database exists here, with the same state at its head."""
    reader, _ = loaded
    mine = heads(reader)
    with full_set(tmp_path) as other:
        others = heads(other)
        assert {*others} == {*mine}
        for thread_id, head in mine.items():
            assert reader.saver.count(thread_id) == other.saver.count(thread_id)
            values, theirs = reader.state(head).values, other.state(others[thread_id]).values
            assert set(values) == set(theirs)
            for channel, value in theirs.items():
                if not thread_id.startswith(("type", "delta")):  # the saver folds parallel writes as they were put
                    assert not list(differences(rendered(values[channel]), rendered(value)))


def test_a_key_is_never_taken_apart(valkey_server: Server) -> None:
    """A thread whose id looks like another's key is distinguished from it by the checkpoint's own fields."""
    url = valkey_server.empty()
    with valkey_server.client() as client:
        for thread_id, ns in (("a}:x", "y"), ("a", "")):
            document = {"thread_id": thread_id, "checkpoint_id": "1", "parent_checkpoint_id": None, "type": "null"}
            text = json.dumps({**document, "checkpoint": "", "metadata": ""}, separators=(",", ":"))
            client.set(f"checkpoint:{{{thread_id}}}:{ns}:1", text)
            client.lpush(f"thread:{{{thread_id}}}:{ns}", "1")
    with closing(open_url(url)) as saver:
        assert sorted(thread.head for thread in saver.threads()) == [Ref("a", "", "1"), Ref("a}:x", "y", "1")]
        assert saver.namespaces("a") == [""]
