"""What an agent leaves in DynamoDB: the items of LangGraph's own saver, whatever happened before."""

import gzip
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from ckpt_cli.langgraph import CkptSaver
from ckpt_cli.savers.dynamodb.connection import Connection
from tests.graphs.building import line, on
from tests.savers.dynamodb.test_cross import official
from tests.savers.dynamodb.test_items import items
from tests.savers.redis.test_agent_rows import config, put
from tests.servers.dynamodb import Dynamo

OPTIONS: Any = {"ttl_seconds": 3600, "enable_checkpoint_compression": True}


@pytest.mark.parametrize("words", [{}, OPTIONS])
def test_items(words: dict[str, Any], dynamo: Dynamo, table: Callable[[], str]) -> None:
    """Items are those of LangGraph's own saver, attribute by attribute; also where they expire and are compressed."""
    stored = []
    for own in (True, False):
        name = table()
        with official(dynamo, name, **words) as theirs, CkptSaver(dynamo.url(name)) as mine:
            line(theirs, "a").invoke({"log": ["x" * 5000]}, on("t"))
            before = items(dynamo, name)
            saver: Any = mine if own else theirs
            for own_id, names in (("ff", {}), ("fff", {"checkpoint_id": "ff"}), ("ff", {})):
                put(saver, own_id, **names)
                saver.put_writes(config(checkpoint_id=own_id), [("a", "y" * 5000), ("__error__", "no")], "task", "path")
                saver.put_writes(config(checkpoint_id=own_id), [("a", "new"), ("b", 1), ("c", 2)], "task", "path")
                saver.put_writes(config(checkpoint_id=own_id), [("__error__", "again")], "task", "path")
        after = items(dynamo, name)
        stored.append({key: after[key] for key in after if key not in before})
    mine_items, their_items = ({key: _without_times(item) for key, item in one.items()} for one in stored)
    assert mine_items == their_items
    assert len(mine_items) == 20
    for key in mine_items:
        expiries = [int(one[key].get("ttl", {"N": "0"})["N"]) for one in stored]
        assert abs(expiries[0] - expiries[1]) < 120, key


def _without_times(item: dict[str, Any]) -> dict[str, Any]:
    """An item without its expiry, and without the time in the header of a compressed payload."""
    item = {name: value for name, value in item.items() if name != "ttl"}
    payload = item.get("payload", {}).get("B", b"")
    return {**item, "payload": {"gzip": gzip.decompress(payload)}} if payload.startswith(b"\x1f\x8b") else item


def test_a_lost_payload(dynamo: Dynamo, table: Callable[[], str]) -> None:
    """A write whose second item was never put, because its program ended, gets the item when it is put again."""
    name = table()
    with CkptSaver(dynamo.url(name)) as saver:
        put(saver, "1")
        saver.put_writes(config(checkpoint_id="1"), [("a", "kept")], "task")
        whole = items(dynamo, name)
        with closing(dynamo.client()) as client:
            client.delete_item(TableName=name, Key={"PK": {"S": "CHUNK_t##1#task#0"}, "SK": {"S": "CHUNK"}})
        assert len(items(dynamo, name)) == len(whole) - 1
        saver.put_writes(config(checkpoint_id="1"), [("a", "kept")], "task")
    assert items(dynamo, name) == whole


def test_no_capacity(dynamo: Dynamo, table: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Items for which the table has no capacity at first are sent again, alone."""
    name, sent = table(), []
    make = Connection._make_client

    def make_busy(self: Connection, *where: Any) -> Any:
        client = make(self, *where)

        def refuse_one(parsed: dict[str, Any], **_: Any) -> None:
            if len(sent) == 1:
                parsed["UnprocessedItems"] = {name: sent[0][name][1:]}

        client.meta.events.register("provide-client-params.dynamodb.BatchWriteItem", note)
        client.meta.events.register("after-call.dynamodb.BatchWriteItem", refuse_one)
        return client

    def note(params: dict[str, Any], **_: Any) -> None:
        sent.append(params["RequestItems"])

    monkeypatch.setattr(Connection, "_make_client", make_busy)
    with CkptSaver(dynamo.url(name)) as saver:
        put(saver, "1")
    assert [len(one[name]) for one in sent] == [2, 1]
    assert len(items(dynamo, name)) == 2
