"""Which checkpoints are LangGraph.js'."""

from typing import Any

import pytest

from ckpt_cli.history.state.era import era
from ckpt_cli.history.state.javascript import is_javascript
from ckpt_cli.model import Ref
from ckpt_cli.values.state import State


def state(ts: str, tasks: list[Any]) -> State:
    """A checkpoint whose versions are numbers."""
    return State(Ref("t", "", "i"), None, 4, ts, {"__pregel_tasks": tasks}, {"x": 1}, {}, {})


@pytest.mark.parametrize(
    ("ts", "tasks", "expected"),
    [
        ("2026-11-30T12:47:56.890Z", [], True),
        ("2026-11-30T12:47:56.890123+00:00", [], False),  # langgraph on MongoDB, after its Sends
        ("2026-11-30T12:47:56.890123+00:00", [{"node": "a", "args": 1}], True),
    ],
)
def test_its_timestamps_and_sends(ts: str, tasks: list[Any], expected: bool) -> None:
    """A timestamp that ends with Z shows it, and so do plain Sends; an empty list of them may be Python's."""
    assert is_javascript(state(ts, tasks)) is expected


def test_a_converted_copy() -> None:
    """`info` names LangGraph.js of its checkpoints in msgpack, as an import into a database of Python stores them."""
    assert era(state("2026-11-30T12:47:56.890Z", []), "msgpack", "D") == "LangGraph.js 0.4 or later"
