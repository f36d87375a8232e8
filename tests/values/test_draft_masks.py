"""Secrets in an edited document are masked with numbers, and each is put back in its place."""

from typing import Any

import pytest

from ckpt_cli.errors import UsageError
from ckpt_cli.values import draft_masks
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.node import Form, Node, Opened
from ckpt_cli.values.same import same


def secret(text: str) -> Node:
    return Node(Opened("pydantic", "SecretStr", Form.VALUE, text))


STATE: dict[str, Any] = {"keys": [secret("abc"), {"deep": secret("xyz")}], "n": 1, "$masked": 7}


def shown() -> tuple[Any, draft_masks.Hidden]:
    """The masked document, and its secrets."""
    document = to_json(STATE)
    return document, draft_masks.number(document, to_json(STATE, reveal=True))


def test_masks_stand_for_their_secrets() -> None:
    """No secret is shown; the unedited document is read back as the state."""
    document, hidden = shown()
    assert "abc" not in str(document) and "xyz" not in str(document)
    assert same(from_json(draft_masks.fill(document, hidden)), STATE)


def test_a_mask_may_be_moved_and_copied() -> None:
    """A mask is for the same secret wherever it is moved; a user's own key of that name is no mask."""
    document, hidden = shown()
    document["keys"].reverse()
    document["more"] = document["keys"][1]
    back = from_json(draft_masks.fill(document, hidden))
    assert [back["keys"][0]["deep"].state, back["keys"][1].state, back["more"].state] == ["xyz", "abc", "abc"]
    assert back["$masked"] == 7


def test_a_secret_can_be_given_anew() -> None:
    """The mark must be removed, so that it is clear that the new secret is meant."""
    document, hidden = shown()
    first = document["keys"][0]
    first["$value"] = "new"
    with pytest.raises(UsageError, match="mask"):
        draft_masks.fill(document, hidden)
    del first["$masked"]
    assert from_json(draft_masks.fill(document, hidden))["keys"][0].state == "new"
