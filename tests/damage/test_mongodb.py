"""MongoDB: documents with fields missing or of any other type."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import bson
import pytest
from bson.raw_bson import RawBSONDocument
from langgraph.checkpoint.mongodb import MongoDBSaver
from pymongo import MongoClient

from tests.damage.kinds import COUNT
from tests.damage.looking import ask, must_answer
from tests.graphs.lines import chat_graph
from tests.servers.mongodb import Mongo

MISSING = object()
VALUES: dict[str, Any] = {
    "missing": MISSING,
    "null": None,
    "number": 7,
    "float": 1.5,
    "bool": True,
    "date": datetime(2026, 1, 1, tzinfo=UTC),
    "id": bson.ObjectId("0" * 24),
    "bytes": b"\xff",
    "list": ["", 1],
    "object": {"a": [1]},
    "text": "%7",
}
FIELDS = {
    "checkpoints": [
        "thread_id",
        "checkpoint_ns",
        "checkpoint_id",
        "parent_checkpoint_id",
        "type",
        "checkpoint",
        "metadata",
    ],
    "checkpoint_writes": [
        "thread_id",
        "checkpoint_ns",
        "checkpoint_id",
        "task_id",
        "idx",
        "channel",
        "type",
        "value",
        "task_path",
    ],
}
_UNMEASURED = ("number", "float", "bool", "date", "id", "list", "object")
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "checkpoint_ns": ("missing", "list"),
    "checkpoint_id": ("list", "object", "bool"),
    "thread_id": ("list",),
    "parent_checkpoint_id": ("list",),
    "task_id": ("list",),
    "idx": ("bool", "list"),
    "checkpoint": _UNMEASURED,
    "value": _UNMEASURED,
}
"""Where the stand-in itself differs from a server, each seen: ``$first`` skips what is missing, ``$min``, ``$in`` and
its index compare no mixed types, lists or objects, true is the key 1, ``$binarySize`` of another type has no error of
its own."""
REMOVED = ("missing", "null", "number", "bytes", "object")
LOOKS = (
    ("threads", "--limit", "0", "--wide", "--sort", "id"),
    ("threads", "--where", "step >= 0"),
    ("info",),
    ("grep", "a"),
    ("log", "{thread}", "--all", "--graph"),
    ("tree", "{thread}", "--full"),
    ("show", "{thread}", "@^"),
    ("diff", "{thread}"),
    ("writes", "{thread}", "@^"),
    ("replay", "{thread}"),
    ("fork", "{thread}", "@", "--dry-run"),
    ("thread",),
    ("revision",),
)


@pytest.fixture
def client(mongo: Mongo) -> Any:
    """A client of the server."""
    with MongoClient(mongo.url) as found:
        yield found


def talked(saver: Any, thread_id: str) -> None:
    """A thread of the official saver."""
    config = {"configurable": {"thread_id": thread_id}}
    chat_graph(saver).invoke({"messages": [("human", "hello")], "topic": "x"}, config)


def listed(url: str) -> dict[str, Any]:
    """The line of `ckpt threads` for each thread."""
    answer = ask(url, "threads", "--limit", "0", "--json")
    assert answer.code in (0, 5), answer.err
    return {thread["thread_id"]: thread for thread in json.loads(answer.out)["threads"]}


def documents(client: MongoClient[Any], name: str) -> dict[str, list[bytes]]:
    """Every document, byte for byte."""
    raw: Any = bson.CodecOptions(document_class=RawBSONDocument)
    db = client.get_database(name, codec_options=raw)
    return {one: sorted(found.raw for found in db[one].find()) for one in FIELDS}


@pytest.mark.parametrize(("collection", "field"), [(c, f) for c, fields in FIELDS.items() for f in fields])
def test_a_field_of_any_type(
    collection: str,
    field: str,
    mongo: Mongo,
    mongo_database: Callable[[], str],
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No command has a bug, the other thread is listed as before, and what is deleted comes back byte for byte."""
    monkeypatch.setenv("CKPT_TRACEBACK", "1")
    name = mongo_database()
    url, db = mongo.database(name), client[name]
    saver = MongoDBSaver(client, name)
    talked(saver, "damaged")
    talked(saver, "sound")
    sound = listed(url)["sound"]
    where = {"thread_id": "damaged"}
    key = max(db[collection].find(where), key=lambda one: one["checkpoint_id"])["_id"]
    old = db[collection].find_one({"_id": key})
    db[collection].delete_one({"_id": key})
    del old["_id"]  # the stand-in keeps what it knew of an id that is used again
    kinds = [kind for kind in VALUES if kind not in LEFT_OUT.get(field, ())]
    start = FIELDS[collection].index(field)  # so that few of each field are together all kinds
    for turn, kind in enumerate([*kinds[start % len(kinds) :], *kinds][: min(COUNT, len(kinds))]):
        value = VALUES[kind]
        new = {k: v for k, v in old.items() if k != field} | ({} if value is MISSING else {field: value})
        made = db[collection].insert_one(new).inserted_id
        check(url, client, name, sound, kind, turn, mixed=field == "checkpoint_id")
        db[collection].delete_one({"_id": made})


def check(url: str, client: MongoClient[Any], name: str, sound: Any, kind: str, turn: int, *, mixed: bool) -> None:
    """Check what the test promises for one damaged document; the stand-in can't order `mixed` ids."""
    found = listed(url)
    assert found["sound"] == sound
    odd = sorted(found.keys() - {"sound"})
    for thread in odd:
        must_answer(url, [words for words in LOOKS[turn % 4 :: 4] if words != ("info",) or not mixed], thread)
    before = documents(client, name)
    for thread in odd if kind in REMOVED else ():
        gone = ask(url, "delete", "--yes", "--", thread)
        assert gone.code == 0, gone.err
        assert listed(url).keys() == found.keys() - {thread}
        back = ask(url, "undo", "--yes")
        assert back.code == 0, back.err
        assert documents(client, name) == before
