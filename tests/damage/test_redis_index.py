"""Redis with its index: ids that no tag can find, in documents that the index lists all the same."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.damage.looking import ask
from tests.damage.of_keys import OnRedis
from tests.servers.redis import Server

_VALUES = [None, True, [], ["ask", "zz"], "a b, c"]


@pytest.fixture(scope="module")
def kind(redis_server: Server) -> Iterator[OnRedis]:
    """A few threads of the official saver."""
    yield OnRedis(redis_server)


def threads(kind: OnRedis) -> dict[str, Any]:
    """What `ckpt threads` lists."""
    answer = ask(kind.url, "threads", "--limit", "0", "--json")
    assert answer.code == 0, answer.err
    return {thread["thread_id"]: thread for thread in json.loads(answer.out)["threads"]}


def harm(kind: OnRedis, start: str, field: str, value: Any) -> None:
    """Replace one field of the document in the middle of those whose keys begin so."""
    with kind.server.client() as client:
        keys = sorted(key for key in kind.sound if key.startswith(start.encode()))
        client.execute_command("JSON.SET", keys[len(keys) // 2], f"$.{field}", json.dumps(value))


@pytest.mark.parametrize("value", _VALUES, ids=json.dumps)
@pytest.mark.parametrize("field", ["thread_id", "checkpoint_id"])
@pytest.mark.parametrize("start", ["checkpoint:chat:", "checkpoint_write:chat:"])
def test_what_is_listed_is_found_and_deleted(kind: OnRedis, start: str, field: str, value: Any) -> None:
    """Each listed thread is shown; deleting it removes it from the list, and undo brings every byte back."""
    kind.restore()
    harm(kind, start, field, value)
    stored, listed = kind.dump(), threads(kind)
    for thread in listed:
        assert ask(kind.url, "show", "--", thread).code == 0
        assert ask(kind.url, "delete", "--yes", "--", thread).code == 0
        assert threads(kind).keys() == listed.keys() - {thread}
        assert ask(kind.url, "undo", "--yes").code == 0
        assert kind.dump() == stored


def test_a_text_and_a_boolean_are_two_threads(kind: OnRedis) -> None:
    """The thread called 1 and a document whose thread is true, which the index gives alike, are two threads."""
    kind.restore()
    harm(kind, "checkpoint:chat:", "thread_id", True)
    harm(kind, "checkpoint:ask:", "thread_id", "1")
    assert {"1", "%true"} <= threads(kind).keys()
    for thread in ("1", "%true"):
        answer = ask(kind.url, "show", "--json", "--", thread)
        assert json.loads(answer.out)["thread_id"] == thread
