"""MongoDB databases of real runs: ckpt reads from their documents what LangGraph's serializer reads."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bson import json_util
from langgraph.checkpoint.mongodb.utils import loads_metadata
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pymongo import MongoClient

from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.mongodb import open_url
from ckpt_cli.savers.sqlite import open_file
from ckpt_cli.serde.codec import Codec
from tests.databases import DATA
from tests.servers.mongodb import Mongo
from tests.truth_deviations import differences
from tests.truth_objects import rendered_object
from tests.truth_rendering import enveloped, rendered, whole

_SERDE = JsonPlusSerializer()
Documents = dict[str, list[dict[str, Any]]]


class Loaded(NamedTuple):
    """A database of the server, and the documents that were put into it."""

    reader: Reader
    documents: Documents
    url: str


def documents(name: str) -> Documents:
    """The documents of a dump by collection."""
    documents: Documents = {}
    for line in gzip.decompress((DATA / f"{name}.jsonl.gz").read_bytes()).splitlines():
        row = json_util.loads(line.decode())
        documents.setdefault(row["coll"], []).append(row["doc"])
    return documents


@pytest.fixture(scope="module", params=["mongo", "old/mongo-0.1.1"])
def loaded(request: pytest.FixtureRequest, mongo: Mongo, mongo_database: Callable[[], str]) -> Iterator[Loaded]:
    """Each dump in a database of its own."""
    name, dump = mongo_database(), documents(request.param)
    with MongoClient(mongo.url) as client:
        for collection, some in dump.items():
            client[name][collection].insert_many(some)
    reader = Reader(open_url(mongo.database(name)), Codec())
    yield Loaded(reader, dump, mongo.database(name))
    reader.saver.close()


def test_checkpoints(loaded: Loaded) -> None:
    """Every checkpoint is read with its parent, metadata, versions and values, and no others are."""
    stored = loaded.documents["checkpoints"]
    assert loaded.reader.saver.totals().checkpoints == len(stored)
    wrong = [
        (ref, *found)
        for one in stored
        for ref in [_ref(one)]
        for found in differences(_read(loaded, ref), _stored_checkpoint(one))
    ]
    assert wrong == []


def _read(loaded: Loaded, ref: Ref) -> dict[str, Any]:
    state = loaded.reader.state(ref)
    return {
        "v": state.v,
        "ts": state.ts,
        "parent": state.parent_id,
        "metadata": whole(enveloped(dict(state.metadata))),
        "channel_versions": dict(state.versions),
        "versions_seen": {node: dict(seen) for node, seen in state.seen.items()},
        "channel_values": {channel: rendered(value) for channel, value in state.values.items()},
    }


def _stored_checkpoint(one: dict[str, Any]) -> dict[str, Any]:
    checkpoint: Any = _SERDE.loads_typed((one["type"], one["checkpoint"]))
    return {
        **{key: checkpoint.get(key) for key in ("v", "ts", "channel_versions", "versions_seen")},
        "parent": one["parent_checkpoint_id"],
        "metadata": whole(_metadata(one["metadata"])),
        "channel_values": {channel: rendered_object(value) for channel, value in checkpoint["channel_values"].items()},
    }


def _metadata(document: Any) -> Any:
    """Decoded by the library; JSON without tags, which its current version can't read, by hand."""
    if isinstance(document, bytes):
        return json.loads(document)
    if isinstance(document, dict):
        return {key: _metadata(value) for key, value in document.items()}
    return loads_metadata(_SERDE, document)


def test_writes(loaded: Loaded) -> None:
    """Every pending write is read with its task, index, channel and value, in canonical order."""
    reader, stored = loaded.reader, loaded.documents["checkpoint_writes"]
    assert reader.saver.totals().writes == len(stored)
    stored_values = {_key(one): rendered_object(_SERDE.loads_typed((one["type"], one["value"]))) for one in stored}
    read: dict[Any, Any] = {}
    for thread_id in {one["thread_id"] for one in stored}:
        writes = list(reader.saver.writes(thread_id))
        assert writes == sorted(writes, key=lambda write: (write.ref, write.order))
        for write in writes:
            assert write.payload is not None
            key = (*write.ref, write.task_id, write.task_path, write.idx, write.channel)
            read[key] = rendered(reader.value(write.payload))
    assert read.keys() == stored_values.keys()
    assert [(key, *found) for key in stored_values for found in differences(read[key], stored_values[key])] == []


def test_threads_and_heads(loaded: Loaded) -> None:
    """Every thread is listed with the head that LangGraph's own saver would take, the newest first."""
    threads = list(loaded.reader.saver.threads())
    heads: dict[str, tuple[bool, str, str]] = {}
    for one in loaded.documents["checkpoints"]:
        found = (one["checkpoint_ns"] == "", one["checkpoint_id"], one["checkpoint_ns"])
        heads[one["thread_id"]] = max(heads.get(one["thread_id"], found), found)
    assert {t.thread_id: (t.head.ns, t.head.checkpoint_id) for t in threads} == {
        thread_id: (ns, head) for thread_id, (_, head, ns) in heads.items()
    }
    ids = [thread.head.checkpoint_id for thread in threads]
    assert ids == sorted(ids, reverse=True)


def test_the_full_set_is_that_of_sqlite(loaded: Loaded, database: Callable[[str], Path]) -> None:
    """The same graphs ran on SQLite: the same threads with as many checkpoints; the old release ran others."""
    counted = {t.thread_id: loaded.reader.saver.count(t.thread_id) for t in loaded.reader.saver.threads()}
    other = open_file(database("real"))
    on_sqlite = {thread.thread_id: other.count(thread.thread_id) for thread in other.threads()}
    other.close()
    assert counted == on_sqlite or all(thread_id.startswith("old-") for thread_id in counted)


def _ref(one: dict[str, Any]) -> Ref:
    return Ref(one["thread_id"], one["checkpoint_ns"], one["checkpoint_id"])


def _key(one: dict[str, Any]) -> tuple[Any, ...]:
    return (*_ref(one), one["task_id"], one.get("task_path", ""), one["idx"], one["channel"])
