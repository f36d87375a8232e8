"""DynamoDB's existing items (compressed, with a time to live, encrypted, in S3), and what new ones look like."""

import gzip
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.errors import NotSupported, PayloadCorrupt
from ckpt_cli.model import Payload, Plan
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.savers.dynamodb.halves import join, split
from ckpt_cli.savers.dynamodb.items import unpack
from ckpt_cli.serde.codec import Codec
from tests.graphs.lines import chat_graph
from tests.savers.dynamodb.conftest import SAMPLES
from tests.savers.dynamodb.records import packed
from tests.savers.dynamodb.test_cross import official
from tests.savers.small import opened
from tests.servers.dynamodb import Dynamo

KEY = b"0123456789abcdef"


def talk(saver: Any, text: str = "hello", thread_id: str = "t") -> Any:
    """A thread of the official saver, and the state that it ends with."""
    graph = chat_graph(saver)
    graph.invoke(
        {"messages": [HumanMessage(text, id=text[:9])], "topic": "x"}, {"configurable": {"thread_id": thread_id}}
    )
    return graph.get_state({"configurable": {"thread_id": thread_id}})


def items(dynamo: Dynamo, table: str) -> dict[tuple[str, str], Any]:
    """Everything in a table."""
    client = dynamo.client()
    items = client.scan(TableName=table)["Items"]
    client.close()
    return {(item["PK"]["S"], item["SK"]["S"]): item for item in items}


@pytest.mark.parametrize("words", [{}, {"ttl_seconds": 3600, "enable_checkpoint_compression": True}])
def test_new_items_are_like_the_others(words: dict[str, Any], dynamo: Dynamo, table: Callable[[], str]) -> None:
    """A fork's items have the attributes that the official saver gives its own, and undo restores everything."""
    name = table()
    with official(dynamo, name, **words) as saver:
        talk(saver, "x" * 5000)
        before = items(dynamo, name)
        assert run(["fork", "t", "@", "-d", dynamo.url(name), "--yes"]) == 0
        after = items(dynamo, name)
        made = {key: after[key] for key in after if key not in before}
        (base,) = [made[key] for key in made if key[0] == "CHECKPOINT_t"]
        others = [item for key, item in before.items() if key[0] == "CHECKPOINT_t" and "parent_checkpoint_id" in item]
        assert base.keys() == max(others, key=lambda item: str(item["SK"])).keys()
        assert len(made) == 2 and {key: after[key] for key in before} == before
        if "ttl_seconds" in words:
            assert all(abs(int(item["ttl"]["N"]) - time.time() - 3600) < 600 for item in made.values())
        config = {"configurable": {"thread_id": "t", "checkpoint_id": base["id"]["S"]}}
        assert saver.get_tuple(config).metadata["source"] == "fork"
        assert run(["undo", "-d", dynamo.url(name), "--yes"]) == 0
        assert items(dynamo, name) == before
        assert run(["delete", "t", "-d", dynamo.url(name), "--yes"]) == 0
        assert items(dynamo, name) == {}
        assert run(["undo", "-d", dynamo.url(name), "--yes", "--same-database"]) == 0
        assert items(dynamo, name) == before


def test_compressed_values(dynamo: Dynamo, table: Callable[[], str]) -> None:
    """Compressed values are read; one that can't be decompressed is reported, not raised."""
    name = table()
    with official(dynamo, name, enable_checkpoint_compression=True) as saver:
        state = talk(saver, "x" * 5000)
    assert any(item.get("compression") == {"S": "gzip"} for item in items(dynamo, name).values())
    with opened(dynamo.url(name)) as mine:
        reader = Reader(mine, Codec())
        head = reader.head("t").ref
        assert reader.values(head)["topic"] == state.values["topic"]
        broken = next(
            i for i in items(dynamo, name).values() if i["PK"]["S"].endswith(head.checkpoint_id) and "payload" in i
        )
        dynamo.fill(name, [{**broken, "payload": {"B": b"\x1f\x8b no gzip"}}])
        with pytest.raises(PayloadCorrupt):
            Reader(mine, Codec()).state(head)


def test_values_in_s3(dynamo: Dynamo, table: Callable[[], str]) -> None:
    """Large values are read from their bucket; without its name the output says so, and they are never changed."""
    name, bucket = table(), f"bucket-{time.time_ns()}"
    s3 = dynamo.client("s3")
    s3.create_bucket(Bucket=bucket)
    place = {"bucket_name": bucket, "endpoint_url": dynamo.endpoint, "key_prefix": "a/b"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_S3_ADDRESSING_STYLE", "path")
        with official(dynamo, name, s3_offload_config=place) as saver:
            state = talk(saver, "y" * 400_000)
            saver.storage.s3_client.close()
    s3.close()
    url = dynamo.url(name, s3_bucket=bucket, s3_prefix="a/b", s3_endpoint_url=dynamo.endpoint)
    with opened(url) as mine:
        reader = Reader(mine, Codec())
        head = reader.head("t").ref
        assert len(reader.values(head)["messages"]) == len(state.values["messages"])
        assert mine.about().facts["large values"] == f"S3 bucket {bucket}"
        with pytest.raises(NotSupported, match="in S3"):
            mine.apply(Plan("", remove=(head,)))
    with opened(dynamo.url(name)) as mine:
        with pytest.raises(PayloadCorrupt, match=r"S3 object .*\?s3_bucket="):
            Reader(mine, Codec()).state(head)
        assert [row.checkpoint_id for row in mine.newest("t", "", 1)] == [head.checkpoint_id]


def test_encrypted_values(dynamo: Dynamo, table: Callable[[], str], capsys: pytest.CaptureFixture[str]) -> None:
    """Checkpoint and metadata are one encrypted value: read with the key, carried whole, and not changed."""
    name = table()
    with official(dynamo, name) as saver:
        saver.serializer.serde = EncryptedSerializer.from_pycryptodome_aes(JsonPlusSerializer(), key=KEY)
        state = talk(saver)
    with opened(dynamo.url(name)) as mine:
        reader = Reader(mine, Codec(KEY))
        head = reader.head("t").ref
        assert reader.values(head)["topic"] == state.values["topic"]
        assert reader.state(head).step == state.metadata["step"]
        (stored,) = mine.checkpoints([head])
        assert join(stored.body, stored.metadata).data == stored.body.data
        mine.apply(Plan("", (stored._replace(row=stored.row._replace(thread_id="copy")),)))
        assert Reader(mine, Codec(KEY)).state(head._replace(thread_id="copy")).values == reader.state(head).values
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANGGRAPH_AES_KEY", KEY.decode())
        assert run(["edit", "t", "--set", 'topic="y"', "-d", dynamo.url(name), "--yes"]) == 6
    assert "can't be" in capsys.readouterr().err


@pytest.mark.parametrize(
    "value", [[1] * 70_000, {str(n): n for n in range(70_000)}, "x" * 70_000, b"y" * 300, 2.5, None, -70_000]
)
def test_halves(value: Any) -> None:
    """The end of every kind and length of msgpack is found."""
    data = JsonPlusSerializer().dumps_typed({"checkpoint": {"v": value, "s": {1, "a"}}, "metadata": {"m": value}})
    body, metadata = split(*data)
    assert (body.tag, metadata.tag) == ("msgpack", "msgpack")
    assert join(body, metadata) == Payload(*data)


@pytest.mark.parametrize(
    "data", [b"", b"\x82", b"\x82\xaacheckpoint", b"\x82\xaacheckpoint\x01\xa8metadata", b"\xc1", b"\x93"]
)
def test_damaged_halves_are_carried_whole(data: bytes) -> None:
    """Bytes that end too early, or aren't msgpack, stay one payload and are reported when they are read."""
    body, metadata = split("msgpack", data)
    assert (body, metadata) == (Payload("checkpoint@msgpack", data), Payload("metadata@msgpack", data))
    assert join(body, metadata) == Payload("msgpack", data)


def test_a_value_that_has_no_room(table_url: str) -> None:
    """An item holds at most 400 KB: a larger value is refused before anything is written."""
    with opened(table_url) as saver:
        before = everything(saver)
        for large in (
            SAMPLES.checkpoint("t", "3", payload=Payload("bytes", b"x" * 400_000)),
            SAMPLES.write("t", "2", idx=1, payload=packed("x" * 400_000)),
        ):
            with pytest.raises(NotSupported, match="400 KB"):
                saver.apply(Plan("", (SAMPLES.write("t", "1", idx=5), large)))
            assert everything(saver) == before


def test_form(table_url: str) -> None:
    """The saver declares the format of new records."""
    with opened(table_url) as saver:
        assert saver.form == RecordFormat(versions="int", metadata="msgpack")


def test_a_payload_that_decompresses_to_too_much_stays_compressed() -> None:
    """An item's 400 kB can unpack to as many megabytes: they aren't unpacked; the stored bytes are kept."""
    bomb = gzip.compress(bytes(300 << 20), 9)
    assert len(bomb) < 400_000
    tracemalloc.start()
    try:
        assert unpack(bomb, "gzip") == bomb
        assert tracemalloc.get_traced_memory()[1] < 250 << 20
    finally:
        tracemalloc.stop()
    assert unpack(gzip.compress(b"x" * 10_000_000), "gzip") == b"x" * 10_000_000
    assert unpack(b"\x1f\x8b cut", "gzip") == b"\x1f\x8b cut"
