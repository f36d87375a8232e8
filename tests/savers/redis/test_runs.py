"""The run that made a checkpoint: LangGraph's saver stores it in a field beside the metadata, mostly only there."""

import json
from typing import Any

import pytest
from langgraph.checkpoint.redis import RedisSaver

from ckpt_cli.app import run
from tests.graphs.building import line
from tests.servers.redis import Server


@pytest.fixture
def url(redis_server: Server) -> str:
    """A thread of three runs, which their configs name."""
    url = redis_server.empty()
    with RedisSaver.from_conn_string(url) as saver:
        saver.setup()
        for name in ("first", "second", "third"):
            line(saver, "a", "b").invoke({"log": []}, {"configurable": {"thread_id": "t", "run_id": name}})
    return url


def runs(server: Server) -> set[tuple[str, bool]]:
    """The runs that documents name, each with whether their metadata does."""
    documents = [json.loads(value) for key, value in server.contents() if key.startswith(b"checkpoint:")]
    return {(document["run_id"], "run_id" in document["metadata"]) for document in documents}


def history(url: str) -> list[Any]:
    """The thread's states, as LangGraph's own saver reads them."""
    with RedisSaver.from_conn_string(url) as saver:
        saver.setup()
        return list(line(saver, "a", "b").get_state_history({"configurable": {"thread_id": "t"}}))


def test_deleting_runs(url: str, redis_server: Server) -> None:
    """Runs are found that only that field names, and are deleted with their writes; undo restores them."""
    before, whole = history(url), dict(redis_server.contents())
    assert runs(redis_server) == {("first", False), ("second", False), ("third", False)}
    assert run(["delete", "t", "--run", "second", "--run", "third", "-d", url, "--yes"]) == 0
    assert runs(redis_server) == {("first", False)}
    assert history(url) == before[-4:]
    left = {state.config["configurable"]["checkpoint_id"] for state in before[-4:]}
    named = [
        key.decode() for key, _ in redis_server.contents() if key.startswith((b"checkpoint_write:", b"write_keys"))
    ]
    assert {key.split(":")[3] for key in named} <= left
    assert run(["undo", "-d", url, "--yes"]) == 0
    assert dict(redis_server.contents()) == whole


def test_an_unknown_run(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names the runs that made the thread's checkpoints."""
    assert run(["delete", "t", "--run", "fourth", "-d", url, "--yes"]) == 4
    errors = capsys.readouterr().err
    assert [name for name in ("'fourth'", "first", "second", "third") if name not in errors] == []
