"""Editing one of several tool calls without a terminal: the form of the decision is named where it is wrong."""

import json

import pytest

from tests.commands.test_answers import APPROVE, MIXED, SHORT, Asked, asked
from tests.graphs.human_in_the_loop import BOTH, agent

__all__ = ["asked"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--value", json.dumps([APPROVE, {"type": "edit", "args": SHORT[1]}])], "edit needs 'edited_action'"),
        (["--edit", json.dumps(SHORT[1])], "the question is about 2 tool calls"),
        (["--edit", json.dumps(SHORT[1]), "--answer-all"], "--edit has the arguments of one tool call"),
    ],
    ids=["value", "edit", "all"],
)
def test_the_form_of_an_edit_is_named(words: list[str], said: str, asked: Asked) -> None:
    """Whoever edits one of several calls reads the form of its decision, and not the arguments that the call has."""
    asked.start(lambda saver: agent(saver, "batched", MIXED, BOTH))
    error = asked.ckpt(*words, code=2)
    assert error["message"].startswith(said)
    assert '{"type": "edit", "edited_action": {"name": "send_email", "args": {…}}}' in error["hint"]
    assert len(error["hint"]) < 200
