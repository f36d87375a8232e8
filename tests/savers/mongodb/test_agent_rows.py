"""An agent's documents in MongoDB: fields, dates, ids of other kinds; and threads whose names look like operators."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from langgraph.checkpoint.mongodb import MongoDBSaver
from pymongo import MongoClient

from ckpt_cli.langgraph import CkptSaver
from tests.graphs.building import on
from tests.graphs.lines import asking
from tests.servers.mongodb import Mongo

COLLECTIONS = ("checkpoints", "checkpoint_writes")


class Place(NamedTuple):
    """A database that an agent on LangGraph's own saver made."""

    db: Any
    url: str
    official: MongoDBSaver

    def documents(self, collection: str, thread_id: Any) -> list[dict[str, Any]]:
        """A thread's documents, in the order in which they were added."""
        return list(self.db[collection].find({"thread_id": {"$eq": thread_id}}).sort("_id", 1))

    def everything(self) -> list[list[dict[str, Any]]]:
        """All documents."""
        return [list(self.db[name].find().sort("_id", 1)) for name in COLLECTIONS]


@pytest.fixture
def place(mongo: Mongo, mongo_database: Callable[[], str]) -> Iterator[Place]:
    with MongoClient[Any](mongo.url) as client:
        name = mongo_database()
        official = MongoDBSaver(client, name)
        asking(official).invoke({"log": []}, on("t"))
        yield Place(client[name], mongo.database(name), official)


@pytest.mark.parametrize("ttl", [None, 3600])
def test_fields(place: Place, ttl: int | None) -> None:
    """A thread on the adapter has documents with the same fields in the same order, dated if the others are."""
    place.official.ttl = ttl
    asking(place.official).invoke({"log": []}, on("theirs"))
    with CkptSaver(place.url) as saver:
        asking(saver).invoke({"log": []}, on("mine"))
    for collection in COLLECTIONS:
        mine, theirs = (place.documents(collection, name) for name in ("mine", "theirs"))
        assert [list(one) for one in mine] == [list(one) for one in theirs]
        assert ("created_at" in mine[0]) == (ttl is not None)
        assert [{name: type(value) for name, value in one.items()} for one in mine] == [
            {name: type(value) for name, value in one.items()} for one in theirs
        ]


@pytest.mark.parametrize("number", [7, 7.5])
def test_numbers(place: Place, number: float) -> None:
    """A thread whose id another program stored as a number goes on under that number."""
    for collection in COLLECTIONS:
        documents = list(place.db[collection].find())
        place.db[collection].delete_many({})
        place.db[collection].insert_many([{**one, "thread_id": number} for one in documents])
    before = len(place.documents("checkpoints", number))
    with CkptSaver(place.url) as saver:
        assert saver.get_tuple(on(str(number)))
        asking(saver).update_state(on(str(number)), {"log": ["more"]})
    assert len(place.documents("checkpoints", number)) == before + 1
    assert {type(one["thread_id"]) for one in place.db["checkpoints"].find()} == {type(number)}


@pytest.mark.parametrize("is_mixed", [True, False])
def test_writes_without_path(place: Place, is_mixed: bool) -> None:
    """Writes that an earlier saver stored without their task's path, all or some, are kept or replaced alike."""
    (head, *_) = place.official.list(on("t"))
    task = {**place.documents("checkpoint_writes", "t")[-1], **head.config["configurable"], "task_id": "task"}
    del task["_id"], task["task_path"]
    place.db["checkpoint_writes"].update_many({}, {"$unset": {"task_path": ""}} if not is_mixed else {"$set": {"x": 1}})
    place.db["checkpoint_writes"].insert_many(
        [
            {**task, "_id": 1, "idx": 0, "channel": "log"},
            {**task, "_id": 2, "idx": -3, "channel": "__interrupt__"},
        ]
    )
    with CkptSaver(place.url) as saver:
        saver.put_writes(head.config, [("__interrupt__", "new")], "task", "~")
        saver.put_writes(head.config, [("log", "new"), ("log", "second")], "task", "~")
        stored: Any = saver.get_tuple(head.config)
    writes = [(channel, value) for task_id, channel, value in stored.pending_writes if task_id == "task"]
    old = place.official.serde.loads_typed((task["type"], task["value"]))
    assert sorted(writes, key=repr) == sorted([("__interrupt__", "new"), ("log", old), ("log", "second")], key=repr)


@pytest.mark.parametrize(
    "name", ['%{"$ne": ""}', '%{"$regularExpression": {"options": "", "pattern": "."}}', '%{"$gt": null}']
)
def test_operators(place: Place, name: str) -> None:
    """A thread id that spells an operator or a pattern is only a name: other threads aren't read, changed, removed."""
    before = place.everything()
    with CkptSaver(place.url) as saver:
        assert saver.get_tuple(on(name)) is None
        saver.delete_thread(name)
        assert place.everything() == before
        asking(saver).invoke({"log": []}, on(name))
        assert [len(place.documents("checkpoints", one)) for one in (name, "t")] == [3, 3]
        saver.delete_thread(name)
    assert place.everything() == before
