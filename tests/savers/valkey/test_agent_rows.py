"""What an agent leaves in Valkey: the keys of LangGraph's own saver, expiries, the writes of several programs."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_checkpoint_aws import ValkeySaver

from ckpt_cli.langgraph import CkptSaver
from tests.graphs.building import line, on
from tests.savers.redis.test_agent_rows import config, put
from tests.servers.redis import Server

Keys = dict[bytes, Any]


@pytest.fixture
def url(valkey_server: Server) -> str:
    """An empty database."""
    return valkey_server.empty()


@pytest.fixture
def client(url: str, valkey_server: Server) -> Iterator[Any]:
    with valkey_server.client() as client:
        yield client


def keys(client: Any) -> Keys:
    """All keys with their values."""
    names = sorted(client.scan_iter("*"))
    return {name: client.lrange(name, 0, -1) if client.type(name) == b"list" else client.get(name) for name in names}


def test_keys(url: str, client: Any) -> None:
    """Keys and values are those of LangGraph's own saver, byte for byte; a replaced write keeps its place."""
    made = []
    for saver_class in (CkptSaver.from_conn_string, ValkeySaver.from_conn_string):
        with saver_class(url) as saver:
            for own_id, parent in (("1", {}), ("2", {"checkpoint_id": "1"})):
                put(saver, own_id, **parent)
                saver.put_writes(
                    config(checkpoint_id=own_id), [("a", {"x": [1, b"\xff"]}), ("ü", "日")], "task", "path"
                )
                saver.put_writes(config(checkpoint_id=own_id), [("__error__", "no")], "task", "path")
                saver.put_writes(config(checkpoint_id=own_id), [("a", "kept"), ("b", 1), ("c", None)], "task", "path")
                saver.put_writes(config(checkpoint_id=own_id), [("__error__", "again")], "task", "path")
        made.append(keys(client))
        client.flushdb()
    assert made[0] == made[1]
    assert len(made[0]) == 5


def test_put_again(url: str, client: Any) -> None:
    """A checkpoint that is put twice is listed once, and is the newest."""
    with CkptSaver(url) as saver:
        for own_id in ("1", "2", "1"):
            put(saver, own_id)
        newest: Any = saver.get_tuple(config())
    assert client.lrange("thread:{t}:", 0, -1) == [b"1", b"2"]
    assert newest.checkpoint["id"] == "1"


def test_an_expired_head(url: str, client: Any) -> None:
    """If the newest checkpoint has expired, the newest that remains is read."""
    with CkptSaver(url) as saver:
        for own_id in ("1", "2", "3"):
            put(saver, own_id)
        client.delete("checkpoint:{t}::3")
        newest: Any = saver.get_tuple(config())
    assert newest.checkpoint["id"] == "2"


def test_new_keys_expire_with_old_ones(url: str, client: Any) -> None:
    """A thread that expires goes on expiring as a whole; other threads don't expire."""
    with CkptSaver(url) as saver:
        for name in ("t", "other"):
            line(saver, "a").invoke({"log": []}, on(name))
        at = 4_000_000_000_000
        for key in client.scan_iter("*{t}*"):
            client.pexpireat(key, at)
        line(saver, "a").invoke({"log": []}, on("t"))
    expiries = {key: client.pexpiretime(key) for key in client.scan_iter("*")}
    of_thread = {key: expiry for key, expiry in expiries.items() if b"{t}" in key}
    assert len(of_thread) > 8
    assert set(of_thread.values()) == {at}
    assert {expiry for key, expiry in expiries.items() if key not in of_thread} == {-1}


def test_writes_of_several_programs(url: str) -> None:
    """Programs that store writes of one checkpoint at the same time lose none of them."""
    config_1 = config(checkpoint_id="1")

    def store(saver: Any, name: str) -> None:
        for at in range(25):
            saver.put_writes(config_1, [("a", at)], f"{name} {at}")

    with CkptSaver(url) as one, CkptSaver(url) as two, ValkeySaver.from_conn_string(url) as three:
        put(one, "1")
        savers = {"one": one, "two": two, "three": three}
        threads = [threading.Thread(target=store, args=(saver, name)) for name, saver in savers.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stored: Any = one.get_tuple(config_1)
    assert {task_id for task_id, _, _ in stored.pending_writes} == {f"{n} {at}" for n in savers for at in range(25)}
