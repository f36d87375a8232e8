"""A DynamoDB table of real runs: ckpt reads from its items what LangGraph's serializer reads."""

import gzip
import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.model import Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.dynamodb import open_url
from ckpt_cli.savers.dynamodb.halves import join
from ckpt_cli.serde.codec import Codec
from tests.databases import DATA
from tests.servers.dynamodb import Dynamo
from tests.truth_deviations import differences
from tests.truth_objects import rendered_object
from tests.truth_rendering import rendered

_SERDE = JsonPlusSerializer()
Item = dict[str, Any]


class Loaded(NamedTuple):
    """A table of the server, and the items that were put into it, by partition and sort key."""

    reader: Reader
    items: dict[tuple[str, str], Item]

    def value(self, item: Item) -> Any:
        """An item's payload, as the library reads it."""
        chunk = self.items[item["ref_key"]["S"], "CHUNK"]
        return _SERDE.loads_typed((item["type"]["S"], chunk["payload"]["B"]))

    def some(self, kind: str) -> list[Item]:
        """The items of a kind."""
        return [item for (pk, _), item in self.items.items() if pk.startswith(kind)]


def _items() -> Iterator[Item]:
    for line in gzip.decompress((DATA / "dynamo.jsonl.gz").read_bytes()).splitlines():
        item = json.loads(line)
        if "payload" in item:
            item["payload"] = {"B": b64decode(item["payload"]["B"])}
        yield item


@pytest.fixture(scope="module")
def loaded(dynamo: Dynamo, table: Callable[[], str]) -> Iterator[Loaded]:
    """The dump in a table of its own."""
    name, items = table(), {(item["PK"]["S"], item["SK"]["S"]): item for item in _items()}
    dynamo.fill(name, items.values())
    reader = Reader(open_url(dynamo.url(name)), Codec())
    yield Loaded(reader, items)
    reader.saver.close()


def test_checkpoints(loaded: Loaded) -> None:
    """Every checkpoint is read with its parent, metadata, versions and values, and no others are."""
    stored = {_ref(item): item for item in loaded.some("CHECKPOINT_")}
    read = {c.row.ref: c for c in loaded.reader.saver.checkpoints(sorted(stored))}
    assert read.keys() == stored.keys()
    wrong = []
    for ref, item in stored.items():
        value, state = loaded.value(item), loaded.reader.decode(read[ref])
        kept = value["checkpoint"]
        got = {
            "v": state.v,
            "ts": state.ts,
            "parent": state.parent_id,
            "metadata": rendered(dict(state.metadata)),
            "channel_versions": dict(state.versions),
            "versions_seen": {node: dict(seen) for node, seen in state.seen.items()},
            "channel_values": {channel: rendered(one) for channel, one in state.values.items()},
        }
        want = {
            **{key: kept.get(key) for key in ("v", "ts", "channel_versions", "versions_seen")},
            "parent": item.get("parent_checkpoint_id", {}).get("S"),
            "metadata": rendered_object(value["metadata"]),
            "channel_values": {channel: rendered_object(one) for channel, one in kept["channel_values"].items()},
        }
        wrong += [(ref, *found) for found in differences(got, want)]
    assert wrong == []


def test_writes(loaded: Loaded) -> None:
    """Every pending write is read with its task, index, channel and value, in canonical order.

    One run failed before its checkpoint was saved: a write that belongs to none isn't found.
    """
    saved = {f"WRITES_{'#'.join(_ref(item))}" for item in loaded.some("CHECKPOINT_")}
    written = [item for item in loaded.some("WRITES_") if item["PK"]["S"] in saved]
    assert len(written) == len(loaded.some("WRITES_")) - 1
    stored = {(item["PK"]["S"], item["SK"]["S"]): rendered_object(loaded.value(item)) for item in written}
    read: dict[Any, Any] = {}
    for thread_id in {_ref(item).thread_id for item in loaded.some("CHECKPOINT_")}:
        writes = list(loaded.reader.saver.writes(thread_id))
        assert writes == sorted(writes, key=lambda write: (write.ref, write.order))
        for write in writes:
            assert write.payload is not None
            key = (f"WRITES_{'#'.join(write.ref)}", f"{write.task_id}#{write.idx}")
            assert write.channel == loaded.items[key]["channel"]["S"]
            read[key] = rendered(loaded.reader.value(write.payload))
    assert read.keys() == stored.keys()
    assert [(key, *found) for key in stored for found in differences(read[key], stored[key])] == []


def test_threads_and_heads(loaded: Loaded) -> None:
    """Every thread is listed with the head that LangGraph's own saver would take, the newest first."""
    threads = list(loaded.reader.saver.threads())
    heads: dict[str, tuple[bool, str, str]] = {}
    for item in loaded.some("CHECKPOINT_"):
        ref = _ref(item)
        found = (ref.ns == "", ref.checkpoint_id, ref.ns)
        heads[ref.thread_id] = max(heads.get(ref.thread_id, found), found)
    assert {t.thread_id: (t.head.ns, t.head.checkpoint_id) for t in threads} == {
        thread_id: (ns, head) for thread_id, (_, head, ns) in heads.items()
    }
    ids = [thread.head.checkpoint_id for thread in threads]
    assert ids == sorted(ids, reverse=True)
    totals = loaded.reader.saver.totals()
    assert (totals.threads, totals.checkpoints, totals.writes) == (
        len(heads),
        len(loaded.some("CHECKPOINT_")),
        len(loaded.some("WRITES_")),
    )


def test_a_copied_value_is_the_same_bytes(loaded: Loaded) -> None:
    """Split and joined again, a checkpoint and its metadata are the payload that the library wrote."""
    stored = {_ref(item): item for item in loaded.some("CHECKPOINT_")}
    for checkpoint in loaded.reader.saver.checkpoints(sorted(stored)):
        chunk = loaded.items[stored[checkpoint.row.ref]["ref_key"]["S"], "CHUNK"]
        assert checkpoint.body.tag == checkpoint.metadata.tag == "msgpack"
        assert join(checkpoint.body, checkpoint.metadata).data == chunk["payload"]["B"]


def _ref(item: Item) -> Ref:
    return Ref(item["PK"]["S"].removeprefix("CHECKPOINT_"), item["ns"]["S"], item["id"]["S"])
