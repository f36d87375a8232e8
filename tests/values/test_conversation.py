"""`is_conversation` gives the same answer as `messages`, without reading the messages."""

from typing import Any

import pytest

from ckpt_cli.demo import objects
from ckpt_cli.values.langgraph_values import is_conversation, messages

SAID = objects.human("Hello", "m1")


@pytest.mark.parametrize(
    "value",
    [
        [SAID],
        [SAID, {"role": "user", "content": "Hi"}],
        [SAID, "Hi"],
        [SAID, 3],
        ["Hi", SAID],
        [],
        {},
        None,
        SAID,
        "Hi",
    ],
    ids=repr,
)
def test_a_conversation_is_what_messages_are_found_in(value: Any) -> None:
    """The quick answer is the same as that of `messages`."""
    assert is_conversation(value) == (messages(value) is not None)
