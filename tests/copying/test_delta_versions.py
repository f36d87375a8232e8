"""Delta channels copied to a database that stores values by version, and back: nothing seems to have changed."""

import json
from typing import Any

import pytest

from ckpt_cli.app import run
from tests.commands.test_delta_stretches import counting, of_audit, on, snapshots
from tests.langgraph.places import places


def said(capsys: Any, *words: str) -> Any:
    """What a command says as JSON."""
    capsys.readouterr()
    assert run([*words, "--json"]) == 0, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_there_and_back(request: pytest.FixtureRequest, kind: str, capsys: Any) -> None:
    """The copy shows the same evidence, and copied back it is the same; a stored value that is gone is a conflict."""
    source, other = places(request, "sqlite")(), places(request, kind)()
    with source.official() as saver:
        graph = counting(saver)
        for _ in range(5):
            graph.invoke({}, on("t"))
        first, second = snapshots(saver, "t")[:2]
        graph.invoke(None, graph.update_state(second.parent_config, {"n": 50}))
        assert said(capsys, "copy", source.url, other.url, "--yes")["done"] == 1
        here, there = (said(capsys, "verify", "t", "-d", one.url) for one in (source, other))
        assert of_audit(here) == of_audit(there)
        back = said(capsys, "copy", other.url, source.url, "--dry-run")
        assert [one["problem"] for one in back["threads"]] == []
        del first.checkpoint["channel_values"]["audit"]
        saver.put(parent_of(first), first.checkpoint, first.metadata, {})
    back = said(capsys, "copy", other.url, source.url, "--dry-run")
    assert "with other contents" in back["threads"][0]["problem"]


def parent_of(one: Any) -> Any:
    """The config under which a checkpoint is stored once more."""
    parent = (one.parent_config or {}).get("configurable", {})
    return {"configurable": {**one.config["configurable"], "checkpoint_id": parent.get("checkpoint_id")}}
