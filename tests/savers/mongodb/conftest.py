"""A small database, and the commands that are sent to its server."""

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.mongodb import MongoDBSaver
from pymongo import MongoClient, monitoring

from ckpt_cli.model import Plan
from ckpt_cli.savers.mongodb import client as client_module
from ckpt_cli.savers.mongodb import open_url
from tests.savers.mongodb.records import MongoSamples
from tests.savers.small import two_steps
from tests.servers.mongodb import Mongo

SAMPLES = MongoSamples()


class SentCommands(monitoring.CommandListener):
    """Every command that reads documents, as it was sent, and the names of all."""

    def __init__(self) -> None:
        self.commands: list[dict[str, Any]] = []
        self.names: list[str] = []

    def started(self, event: Any) -> None:
        self.names.append(event.command_name)
        if event.command_name in ("find", "aggregate", "getMore", "count", "distinct"):
            self.commands.append(dict(event.command))

    def succeeded(self, event: Any) -> None:
        pass

    def failed(self, event: Any) -> None:
        pass


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> SentCommands:
    """The commands that ckpt's clients send from now on."""
    sent = SentCommands()
    client: Any = client_module.MongoClient
    monkeypatch.setattr(client_module, "MongoClient", lambda *a, **k: client(*a, **k, event_listeners=[sent]))
    return sent


def filled(url: str, name: str, *records: Any) -> None:
    """Add LangGraph's collections and some records to a database."""
    with MongoClient(url) as client:
        MongoDBSaver(client, name)
    saver = open_url(f"{url}/{name}")
    try:
        saver.apply(Plan("given", records))
    finally:
        saver.close()


@pytest.fixture
def database_url(mongo: Mongo, mongo_database: Callable[[], str]) -> str:
    """The URL of a database with one thread."""
    name = mongo_database()
    filled(mongo.url, name, *two_steps(SAMPLES))
    return mongo.database(name)
