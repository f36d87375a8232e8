"""Existing MongoDB documents (other programs' fields, odd collections), and what new ones look like."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import bson
import pytest
from bson.raw_bson import RawBSONDocument
from langgraph.checkpoint.mongodb import MongoDBSaver
from pymongo import MongoClient

from ckpt_cli.app import run
from ckpt_cli.conformance import everything
from ckpt_cli.errors import DatabaseUnreachable
from ckpt_cli.model import Payload, Plan, Ref
from ckpt_cli.reading import Reader
from ckpt_cli.savers.about import Ability
from ckpt_cli.savers.mongodb import open_url
from ckpt_cli.serde.codec import Codec
from tests.graphs.lines import chat_graph
from tests.savers.mongodb.conftest import SAMPLES
from tests.savers.small import opened
from tests.servers.mongodb import Mongo


class Place:
    """A database of the server, and the documents in it byte for byte."""

    def __init__(self, client: MongoClient[Any], mongo: Mongo, name: str) -> None:
        self.client, self.name, self.url = client, name, mongo.database(name)
        self.db = client[name]

    def documents(self) -> dict[str, list[bytes]]:
        """Every document, by collection."""
        raw: Any = bson.CodecOptions(document_class=RawBSONDocument)
        db = self.client.get_database(self.name, codec_options=raw)
        return {name: sorted(one.raw for one in db[name].find()) for name in sorted(db.list_collection_names())}


@pytest.fixture
def place(mongo: Mongo, mongo_database: Callable[[], str]) -> Iterator[Place]:
    with MongoClient(mongo.url) as client:
        yield Place(client, mongo, mongo_database())


def talked(saver: Any, thread_id: str = "t") -> Any:
    """A thread of the official saver."""
    from langchain_core.messages import HumanMessage

    graph = chat_graph(saver)
    graph.invoke(
        {"messages": [HumanMessage("hello", id="h")], "topic": "x"}, {"configurable": {"thread_id": thread_id}}
    )
    return graph


def test_undo_restores_documents_byte_for_byte(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """An undo restores other programs' fields, the order of fields and ``_id``."""
    talked(MongoDBSaver(place.client, place.name))
    talked(MongoDBSaver(place.client, place.name), "another")
    place.db["checkpoints"].update_many(
        {}, {"$set": {"note": {"b": 1, "a": [None, 2.5]}, "at": datetime(2020, 1, 1, tzinfo=UTC)}}
    )
    place.db["checkpoint_writes"].update_many({}, {"$set": {"_shard": "x"}})
    before = place.documents()
    for words in (
        ["fork", "t", "@"],
        ["edit", "t", "--set", 'topic="y"'],
        ["delete", "t", "--after", "step:0"],
        ["delete", "t"],
    ):
        assert run([*words, "-d", place.url, "--yes"]) == 0, capsys.readouterr().err
        assert place.documents() != before
        vouched = ["--same-database"] if words == ["delete", "t"] else []  # nothing is left that proves the log
        assert run(["undo", "-d", place.url, "--yes", *vouched]) == 0, capsys.readouterr().err
        assert place.documents() == before


def test_a_change_keeps_what_it_does_not_know(place: Place) -> None:
    """A replaced checkpoint keeps its ``_id`` and the fields that are not LangGraph's."""
    MongoDBSaver(place.client, place.name)
    with opened(place.url) as saver:
        saver.apply(Plan("", (SAMPLES.checkpoint("t", "1"),)))
        place.db["checkpoints"].update_one({}, {"$set": {"note": "mine"}})
        (old,) = place.db["checkpoints"].find()
        saver.apply(Plan("", replace=(SAMPLES.checkpoint("t", "1", payload=Payload("bytes", b"new")),)))
    (new,) = place.db["checkpoints"].find()
    assert new == {**old, "type": "bytes", "checkpoint": b"new"}


def test_new_documents_are_like_the_official_savers(place: Place) -> None:
    """A fork's document has the fields, types and metadata that the official saver gives its own."""
    talked(MongoDBSaver(place.client, place.name))
    (newest,) = place.db["checkpoints"].find().sort("checkpoint_id", -1).limit(1)
    assert run(["fork", "t", "@", "-d", place.url, "--yes"]) == 0
    (made,) = place.db["checkpoints"].find().sort("checkpoint_id", -1).limit(1)
    assert made["checkpoint_id"] > newest["checkpoint_id"]
    assert {key: type(value) for key, value in made.items()} == {key: type(value) for key, value in newest.items()}
    assert made["metadata"]["source"] == ["msgpack", b"\xa4fork"]
    assert made["metadata"]["parents"] == {}


@pytest.mark.parametrize("ttl", [None, 3600])
def test_documents_are_dated_where_the_others_are(ttl: int | None, place: Place) -> None:
    """With a time to live the server deletes new documents like the others; without one they stay."""
    talked(MongoDBSaver(place.client, place.name, ttl=ttl))
    assert run(["fork", "t", "@", "-d", place.url, "--yes"]) == 0
    (made,) = place.db["checkpoints"].find().sort("checkpoint_id", -1).limit(1)
    assert ("created_at" in made) == (ttl is not None)
    if ttl:
        now = datetime.now(UTC).replace(tzinfo=None)
        assert abs((made["created_at"] - now).total_seconds()) < 3600


def test_collections_of_other_names(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """The former async saver's collections are found without options, others by their names; none is created."""
    talked(MongoDBSaver(place.client, place.name, "checkpoints_aio", "checkpoint_writes_aio"), "async")
    with opened(place.url) as saver:
        assert [thread.thread_id for thread in saver.threads()] == ["async"]
        assert saver.identity.endswith("/checkpoints_aio,checkpoint_writes_aio")
    talked(MongoDBSaver(place.client, place.name, "mine", "my_writes"), "named")
    names = sorted(place.db.list_collection_names())
    with opened(f"{place.url}?collection=mine&writes_collection=my_writes") as saver:
        assert [thread.thread_id for thread in saver.threads()] == ["named"]
        assert saver.totals().writes > 0
    with pytest.raises(DatabaseUnreachable, match="no LangGraph checkpoints"):
        open_url(f"{place.url}?collection=none")
    assert sorted(place.db.list_collection_names()) == names


def test_no_database(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing database, or one that holds something else, is an error and isn't changed."""
    assert run(["threads", "-d", place.url]) == 3
    assert "no collection 'checkpoints'" in capsys.readouterr().err
    assert place.name not in place.client.list_database_names()
    place.db["checkpoints"].insert_one({"name": "a saved game"})
    assert run(["threads", "-d", place.url]) == 3
    assert "no LangGraph checkpoints" in capsys.readouterr().err


def test_thread_ids_that_are_numbers(place: Place) -> None:
    """Threads that a program named by numbers are found, read, changed and removed by their text."""
    talked(MongoDBSaver(place.client, place.name), "7")
    for name in ("checkpoints", "checkpoint_writes"):
        documents = list(place.db[name].find())
        place.db[name].delete_many({})
        place.db[name].insert_many([{**one, "thread_id": 7} for one in documents])
    talked(MongoDBSaver(place.client, place.name), "8")
    with opened(place.url) as saver:
        threads, checkpoints, writes = everything(saver)
        assert {thread.thread_id for thread in threads} == {"7", "8"}
        assert len({checkpoint.row.ref for checkpoint in checkpoints}) == saver.totals().checkpoints
        assert len(writes) == saver.totals().writes
    assert run(["fork", "7", "@", "-d", place.url, "--yes"]) == 0
    assert run(["delete", "7", "-d", place.url, "--yes"]) == 0
    assert {one["thread_id"] for one in place.db["checkpoints"].find()} == {"8"}


def test_documents_of_langgraph_js(place: Place) -> None:
    """LangGraph.js stores metadata as one value of the checkpoint's type, and no task paths."""
    MongoDBSaver(place.client, place.name)
    js = {"thread_id": "js", "checkpoint_ns": "", "checkpoint_id": "1f1e57c2-6889-65d9-8001-288433f42aac"}
    body = b'{"v":4,"ts":"","channel_values":{"n":1},"channel_versions":{"n":1},"versions_seen":{}}'
    metadata = b'{"source":"loop","step":1,"parents":{}}'
    place.db["checkpoints"].insert_one({**js, "type": "json", "checkpoint": body, "metadata": metadata})
    value = {"task_id": "t", "idx": 0, "channel": "n", "type": "json", "value": b"2"}
    place.db["checkpoint_writes"].insert_one({**js, **value})
    with opened(place.url) as saver:
        reader = Reader(saver, Codec())
        state = reader.state(Ref(*js.values()))
        assert (state.step, state.source, dict(state.values)) == (1, "loop", {"n": 1})
        assert [write.value for write in reader.writes(state.ref)] == [2]
        assert Ability.TASK_PATHS not in saver.abilities
        (stored,) = saver.checkpoints([state.ref])
        saver.apply(Plan("", replace=(stored._replace(metadata=Payload("json", b'{"step":2}')),)))
    assert place.db["checkpoints"].find_one({})["metadata"] == b'{"step":2}'


def test_an_older_server_measures_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the server can't compute sizes, values are read, and the output is the same."""
    MongoDBSaver(place.client, place.name)
    with opened(place.url) as saver:
        saver.apply(Plan("", (SAMPLES.checkpoint("t", "1"), SAMPLES.write("t", "1"))))
        measured = list(saver.writes("t", values=3)), list(saver.rows("t"))
        from ckpt_cli.savers.mongodb.connection import Connection

        aggregate = Connection.aggregate

        def refusing(self: Any, relation: str, pipeline: Any) -> Any:
            if "$binarySize" in str(pipeline):
                self._db.command({"aggregate": relation, "pipeline": [{"$nonsense": 1}], "cursor": {}})
            return aggregate(self, relation, pipeline)

        monkeypatch.setattr(Connection, "aggregate", refusing)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("ckpt_cli.savers.mongodb.connection._NO_OPERATOR", (2, 40324))
            assert (list(saver.writes("t", values=3)), [row._replace(size=None) for row in saver.rows("t")]) == (
                measured[0],
                [row._replace(size=None) for row in measured[1]],
            )


@pytest.mark.parametrize("name", ["checkpoints", "checkpoint_writes"])
def test_a_view_is_refused(
    name: str, mongo: Mongo, mongo_database: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A view in place of a collection is named, and its pipeline doesn't run."""
    database = mongo_database()
    with MongoClient(mongo.url) as client:
        own = {"checkpoints", "checkpoint_writes"} - {name}
        client[database].create_collection(next(iter(own)))
        client[database].command("create", name, viewOn="real", pipeline=[{"$match": {"$expr": {"$sleep": 1}}}])
    assert run(["threads", "-d", mongo.database(database)]) == 3
    assert f"{name} is a view, not a table; it was not read" in capsys.readouterr().err
