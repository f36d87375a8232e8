"""What an application adds to LangGraph's documents, and when they expire, is in the way of no undo."""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from ckpt_cli.app import run
from tests.cross.backend import Backend
from tests.cross.travel import counters
from tests.graphs.building import on
from tests.langgraph.places import PLACES

Touch = Callable[[Backend, str], None]


def _touch_mongodb(backend: Backend, value: str) -> None:
    with backend.official() as saver:
        for collection in (saver.checkpoint_collection, saver.writes_collection):
            collection.update_many({}, {"$set": {"tenant": value, "nested": {"$x": [1, {"y": value}]}}})


def _touch_redis(backend: Backend, value: str) -> None:
    from redis import Redis

    with Redis.from_url(backend.url) as client:
        for key in client.scan_iter("checkpoint*"):
            client.expire(key, 5000 + len(value))
            if client.type(key) == b"ReJSON-RL":
                client.json().set(key, "$.tenant", value)


def _touch_valkey(backend: Backend, value: str) -> None:
    from redis import Redis

    with Redis.from_url(backend.url.replace("valkey://", "redis://")) as client:
        for key in client.scan_iter("*"):
            client.expire(key, 5000 + len(value))


def _touch_dynamodb(backend: Backend, value: str) -> None:
    with backend.official() as saver:
        name = backend.url.partition("://")[2].partition("?")[0].rpartition("/")[2]
        for item in saver.client.scan(TableName=name)["Items"]:
            saver.client.put_item(TableName=name, Item={**item, "tenant": {"S": value}, "ttl": {"N": "99999999999"}})


TOUCH: dict[str, Touch] = {
    "mongodb": _touch_mongodb,
    "redis": _touch_redis,
    "valkey": _touch_valkey,
    "dynamodb": _touch_dynamodb,
}


@pytest.fixture(params=TOUCH)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of database that keeps documents."""
    return str(request.param)


def stored(backend: Backend) -> Any:
    """Every row of the thread as the log would keep it, but for when it expires."""
    with closing(backend.saver()) as saver:
        refs = list(saver.rows("t"))
        changes = saver.transaction(lambda: list(saver.expand(_removing(saver))))
        return len(refs), [
            (one.relation, one.key, {n: v for n, v in (one.before or {}).items() if n != "expires"}) for one in changes
        ]


def _removing(saver: Any) -> Any:
    from ckpt_cli.model import Plan, WriteKey
    from ckpt_cli.operations.apply import basis_of_threads

    ((thread, _),) = basis_of_threads(saver, ["t"])
    names = [WriteKey(w.ref, w.task_id, w.idx) for w in thread.writes]
    return Plan("", remove=(*names, *(row.ref for row in thread.rows)))


def test_undo_goes_on_beside_them(kind: str, request: pytest.FixtureRequest) -> None:
    """A fork whose documents got a field since is undone; a delete brings the fields of its time back."""
    backend = PLACES[kind](request)
    with backend.official() as saver:
        counters(saver).invoke({"log": ["x"], "n": 1}, on("t"))
    TOUCH[kind](backend, "acme")
    before = stored(backend)
    assert run(["fork", "t", "@~1", "-d", backend.url, "--yes"]) == 0
    TOUCH[kind](backend, "other")
    assert run(["undo", "-d", backend.url, "--yes"]) == 0
    TOUCH[kind](backend, "acme")
    assert stored(backend) == before
    assert run(["delete", "t", "-d", backend.url, "--yes"]) == 0
    assert run(["undo", "-d", backend.url, "--yes", "--same-database"]) == 0
    assert stored(backend) == before
    with backend.official() as saver:
        assert counters(saver).get_state(on("t")).values["n"] == 4
