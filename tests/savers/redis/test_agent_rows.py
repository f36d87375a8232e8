"""What an agent's calls leave in Redis: flags, pointers and expiries that LangGraph's own saver understands."""

import json
from typing import Any

import pytest
from langgraph.checkpoint.redis import RedisSaver

from ckpt_cli.langgraph import CkptSaver
from tests.graphs.building import line, on
from tests.servers.redis import Server


@pytest.fixture
def url(redis_server: Server) -> str:
    """An empty database that LangGraph's own saver has set up."""
    url = redis_server.empty()
    with RedisSaver.from_conn_string(url) as saver:
        saver.setup()
    return url


def config(**names: str) -> Any:
    return {"configurable": {"thread_id": "t", "checkpoint_ns": "", **names}}


def put(saver: Any, own_id: str, **names: str) -> None:
    checkpoint: Any = {"v": 4, "id": own_id, "ts": "2026-01-01T00:00:00+00:00", "channel_values": {"n": 1}}
    checkpoint |= {"channel_versions": {"n": "1"}, "versions_seen": {}, "updated_channels": None}
    saver.put(config(**names), checkpoint, {"source": "loop", "step": 1}, {"n": "1"})


def test_writes_before_their_checkpoint(url: str) -> None:
    """A checkpoint that comes after its writes says that it has some, so that both savers find them."""
    with CkptSaver(url) as mine, RedisSaver.from_conn_string(url) as theirs:
        theirs.setup()
        mine.put_writes(config(checkpoint_id="1"), [("a", "early")], "task")
        assert mine.get_tuple(config(checkpoint_id="1")) is None
        put(mine, "1")
        mine.put_writes(config(checkpoint_id="1"), [("a", "late"), ("b", "late")], "task")
        found = [saver.get_tuple(config()) for saver in (mine, theirs)]
    assert [item and item.pending_writes for item in found] == [[("task", "a", "early"), ("task", "b", "late")]] * 2


def test_new_keys_expire_with_old_ones(url: str, redis_server: Server) -> None:
    """A thread that expires goes on expiring as a whole; other threads don't expire."""
    with CkptSaver(url) as saver, redis_server.client() as client:
        line(saver, "a").invoke({"log": []}, on("t"))
        line(saver, "a").invoke({"log": []}, on("other"))
        at = 4_000_000_000_000
        for key in client.scan_iter("*:t:*"):
            client.pexpireat(key, at)
        line(saver, "a").invoke({"log": []}, on("t"))
        expiries = {key.decode(): client.pexpiretime(key) for key in client.scan_iter("*")}
    of_thread = {key: expiry for key, expiry in expiries.items() if ":t:" in key}
    assert len(of_thread) > 10
    assert set(of_thread.values()) == {at}
    assert {expiry for key, expiry in expiries.items() if key not in of_thread} == {-1}


def test_documents(url: str, redis_server: Server) -> None:
    """Documents have the fields of those by LangGraph's own saver, with the same values but for time and encoding."""
    with CkptSaver(url) as mine, RedisSaver.from_conn_string(url) as theirs, redis_server.client() as client:
        theirs.setup()
        documents = []
        for saver in (mine, theirs):
            put(saver, "2", checkpoint_id="1")
            writes = [("a", {"x": [1, b"\xff"]}), ("__error__", "no")]
            saver.put_writes(config(checkpoint_id="2"), writes, "task", "path")
            keys = sorted(key for key in client.scan_iter("checkpoint*") if client.type(key) == b"ReJSON-RL")
            documents.append([json.loads(client.execute_command("JSON.GET", key)) for key in keys])
            assert client.get("checkpoint_latest:t:__empty__") in keys
            client.delete(*keys)
    for document in (one for side in documents for one in side):
        if "metadata" in document:
            document |= {"checkpoint_ts": 0, "metadata": json.loads(document["metadata"])}
        else:  # the adapter's serializer makes msgpack, which LangGraph's own saver reads too
            document |= {"type": "", "blob": ""}
    assert len(documents[0]) == 3
    for mine_document, their_document in zip(*documents, strict=True):
        assert mine_document == their_document
