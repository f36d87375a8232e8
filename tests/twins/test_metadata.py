"""The application's metadata in new checkpoints is, byte for byte, what the library stores with it in the config."""

import json
from typing import Any

import pytest
from langgraph.graph import END

from tests.twins.twin import RELEASES, Copies

CHANGED = {"plan": 4, "seats": 2.5, "beta": True, "note": "α=β"}
WORDS = ["plan:=4", "seats:=2.5", "beta:=true", "note=α=β", "user="]

SAID = {"topic": "x", "messages": [{"role": "ai", "content": "ok", "id": "m"}]}
KINDS: dict[str, tuple[list[str], Any]] = {
    "a node": (["update", "--values", json.dumps(SAID), "--as-node", "model", "--next", "END"], (SAID, "model")),
    "input": (["update", "--values", '{"topic": "x"}', "--as-input"], ({"topic": "x"}, "__input__")),
    "the end": (["replay", "--commit"], (None, END)),
    "a copy": (["fork"], (None, "__copy__")),
}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_metadata_is_the_librarys(copies: Copies, release: str, kind: str, changed: bool) -> None:
    """With the keys that were there, and with keys set and dropped by ``--metadata``, in the library's order."""
    mine, theirs = copies.pair("chats", "chat")
    config = theirs.targets(9)[4]
    words, update = KINDS[kind]
    options = [word for text in WORDS for word in ("--metadata", text)] if changed else []
    options += ["--finished", "keep"] if kind == "a node" and release == "0.6.11" else []
    before = mine.ask("metadata")
    mine.ckpt(words[0], config["configurable"]["checkpoint_id"], *words[1:], *options)
    theirs.ask("update", config, [[update]], *([CHANGED] if changed else []))
    assert mine.ask("metadata") == theirs.ask("metadata")
    assert mine.ask("metadata")[:-1] == before
    assert ('"user": "Åsa"' in mine.ask("metadata")[-1]) is not changed
